"""What may stand in a spider, read from its syntax tree: where to fetch, how to read one record, nothing else."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.raw_offer import FIELD_NAMES
from spiders.shared.source import RECORDED

SPIDERS = RECORDED.parent
FOLDERS = [path for path in SPIDERS.iterdir() if path.is_dir() and (path / "__init__.py").exists()]
FILES = sorted(
    path
    for folder in [SPIDERS, *(folder for folder in FOLDERS if folder.name not in {"shared", "rates"})]
    for path in folder.glob("*.py")
    if (folder, path.name) != (SPIDERS, "__init__.py")
)
RATE_FILES = sorted(path for path in (SPIDERS / "rates").glob("*.py") if path.name != "__init__.py")

# What a number in a spider may be; all else could be a price, a size of a card, a rate.
NUMBERS = {
    "indices, and cents in a dollar": {0, 1, 2, 3, 100},
    "months of a term named in words": {6, 12, 24, 36},
    "powers of ten that the provider scales money by": {5, 8, 9},
    "page sizes": {10, 64, 200, 1000},
    "status codes": {401, 404},
}
ALLOWED = {number for numbers in NUMBERS.values() for number in numbers}
# A container of four words or more is a table, unless it says where to fetch or which keys an answer must hold.
LONGEST = 3
NAMED = {"anchors", "start_urls", "documents", "records_path", "allowed_domains", "labels"}
FORBIDDEN = (ast.Try, ast.TryStar, ast.Global, ast.Nonlocal)
FORBIDDEN_IMPORTS = {"logging", "requests", "urllib.request", "os", "random", "time", "storage", "flows"}


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def name_of(path: Path) -> str:
    return str(path.relative_to(SPIDERS).with_suffix(""))


def constants(node: ast.Dict | ast.List | ast.Set | ast.Tuple) -> bool:
    elements = [*node.keys, *node.values] if isinstance(node, ast.Dict) else node.elts
    return all(isinstance(element, ast.Constant) for element in elements)


def tables(module: ast.Module) -> Iterator[str]:
    """Every container that is a lookup table or a list of things of the provider's."""
    named: set[ast.AST] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            if node.value and any(name in NAMED or name.endswith(("KEYS", "FIELDS")) for name in names):
                named.add(node.value)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in {"having", "expect_anchors"}:
            named |= set(node.args)
    for node in ast.walk(module):
        if not isinstance(node, ast.Dict | ast.List | ast.Set | ast.Tuple) or not constants(node):
            continue
        if isinstance(node, ast.Dict):
            words = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if len(words) > 1 and not set(words) <= set(FIELD_NAMES):
                yield f"line {node.lineno}: {ast.unparse(node)[:80]}"
        elif len(node.elts) > LONGEST and node not in named:
            yield f"line {node.lineno}: {ast.unparse(node)[:80]}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_spider_holds_no_table_and_no_number_of_its_own(path: Path) -> None:
    module = tree(path)
    numbers = {
        node.value
        for node in ast.walk(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | complex)
    }
    assert numbers - ALLOWED - {True, False} == set()
    assert list(tables(module)) == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_spider_catches_nothing_and_logs_nothing(path: Path) -> None:
    for node in ast.walk(tree(path)):
        assert not isinstance(node, FORBIDDEN), f"line {node.lineno}"
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        imported += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert not FORBIDDEN_IMPORTS & set(imported)
        if isinstance(node, ast.Name | ast.Attribute):
            word = node.id if isinstance(node, ast.Name) else node.attr
            assert word not in {"logger", "logging", "print", "testing", "environ"}


def test_spiders_are_short() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: length for name, length in lengths.items() if length > 120} == {}
    assert statistics.median(lengths.values()) <= 70


@pytest.mark.parametrize("path", [*FILES, *RATE_FILES], ids=name_of)
def test_a_spider_says_what_it_reads(path: Path) -> None:
    said = ast.get_docstring(tree(path)) or ""
    if path.name == "__init__.py" or path.parent == SPIDERS or path in RATE_FILES:
        assert [
            line.partition(":")[0] for line in said.splitlines() if line[:5] in {"Docs:", "Gives", "Lacks", "Quirk"}
        ]
    for heading in ("Docs:", "Gives:", "Lacks:", "Quirk:") if path.parent == SPIDERS else ():
        assert heading in said


def test_the_rule_finds_what_it_is_for() -> None:
    bad = ast.parse(
        'PRICES = {"H100": "2.49", "A100": "1.29"}\nREGIONS = ["a", "b", "c", "d"]\nanchors = ("a", "b", "c", "d")'
    )
    assert [line.partition(":")[0] for line in tables(bad)] == ["line 1", "line 2"]

"""One name everywhere: file stem = spider name = folder of recordings = key in providers.toml, both ways."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from schemas.providers import providers
from spiders.shared.source import RECORDED

ROOT = Path(__file__).parents[1]
SPIDERS = {path.stem: path for path in (ROOT / "spiders").glob("*.py") if path.stem not in {"__init__"}} | {
    path.parent.name: path
    for path in (ROOT / "spiders").glob("*/__init__.py")
    if path.parent.name not in {"shared", "rates"}
}
HEADINGS = ("Docs:", "Gives:", "Lacks:", "Quirk:")


def test_spiders_are_the_collected_providers() -> None:
    collected = {slug for slug, facts in providers().items() if facts.status in {"active", "frozen"}}
    assert set(SPIDERS) <= set(providers())
    assert collected <= set(SPIDERS)


def test_recordings_belong_to_spiders() -> None:
    rates = {path.stem for path in (ROOT / "spiders" / "rates").glob("*.py")} - {"__init__"}
    recorded = {path.name for path in RECORDED.iterdir() if path.is_dir()}
    assert recorded <= set(SPIDERS) | rates
    assert set(SPIDERS) <= recorded


@pytest.mark.parametrize("name", sorted(SPIDERS))
def test_spider_module(name: str) -> None:
    source = SPIDERS[name].read_text()
    tree = ast.parse(source)
    docstring = ast.get_docstring(tree) or ""
    assert all(heading in docstring for heading in HEADINGS), f"{name}: the docstring lacks one of {HEADINGS}"
    names = [
        ast.literal_eval(line.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for line in node.body
        if isinstance(line, ast.Assign) and getattr(line.targets[0], "id", "") == "name"
    ]
    assert names == [name]
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.Try)], f"{name}: a spider catches no errors"

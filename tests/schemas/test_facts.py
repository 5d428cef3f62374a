"""The strict loader: what a table may hold, and how a fault is told."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction

import pytest

from schemas import facts
from schemas.facts import FactsError, parse_csv
from schemas.gpu_table import Gpu


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    count: int
    size: float | None
    price: Decimal | None
    share: Fraction | None
    open: bool
    day: date
    aliases: tuple[str, ...]


HEADER = "name,count,size,price,share,open,day,aliases\n"
GOOD = "a,3,1.5,0.10,1/8,yes,2026-12-01,x;y z\n"


def test_cells_become_what_the_annotations_say() -> None:
    assert parse_csv("t.csv", HEADER + GOOD, Row) == (
        Row("a", 3, 1.5, Decimal("0.10"), Fraction(1, 8), True, date(2026, 12, 1), ("x", "y z")),
    )


def test_an_empty_cell_is_none_where_the_column_may_be_none() -> None:
    (row,) = parse_csv("t.csv", HEADER + "a,3,,,,no,2026-12-01,\n", Row)
    assert (row.size, row.price, row.share, row.open, row.aliases) == (None, None, None, False, ())


def test_columns_may_stand_in_any_order() -> None:
    text = "day,name,count,size,price,share,open,aliases\n2026-12-01,a,3,,,,no,\n"
    assert parse_csv("t.csv", text, Row)[0].day == date(2026, 12, 1)


@pytest.mark.parametrize(
    ("row", "column"),
    [
        (",3,,,,no,2026-12-01,\n", "name"),
        ("a,,,,,no,2026-12-01,\n", "count"),
        ("a,3.5,,,,no,2026-12-01,\n", "count"),
        ("a,3,nan,,,no,2026-12-01,\n", "size"),
        ("a,3,,inf,,no,2026-12-01,\n", "price"),
        ("a,3,,1;2,,no,2026-12-01,\n", "price"),
        ("a,3,,,1/0,no,2026-12-01,\n", "share"),
        ("a,3,,,,true,2026-12-01,\n", "open"),
        ("a,3,,,,no,1.12.2026,\n", "day"),
    ],
)
def test_a_bad_cell_names_line_and_column(row: str, column: str) -> None:
    with pytest.raises(FactsError) as caught:
        parse_csv("t.csv", HEADER + GOOD + row, Row)
    assert (caught.value.file, caught.value.line, caught.value.column) == ("t.csv", 3, column)
    assert "expected" in str(caught.value)


@pytest.mark.parametrize(
    ("header", "column"),
    [
        (HEADER.replace("aliases", "alias"), "alias"),
        (HEADER.replace(",aliases", ""), "aliases"),
        ("name," + HEADER, "name"),
        ("", "name"),
    ],
)
def test_unknown_missing_and_doubled_columns_are_refused(header: str, column: str) -> None:
    with pytest.raises(FactsError) as caught:
        parse_csv("t.csv", header, Row)
    assert (caught.value.line, caught.value.column) == (1, column)


def test_a_short_row_is_refused() -> None:
    with pytest.raises(FactsError, match=r"expected 8 cells, came 2"):
        parse_csv("t.csv", HEADER + "a,3\n", Row)


def test_a_quoted_cell_may_hold_comma_and_line_break() -> None:
    (row,) = parse_csv("t.csv", HEADER + '"a, b\nc",3,,,,no,2026-12-01,\n', Row)
    assert row.name == "a, b\nc"


def test_tables_are_read_once() -> None:
    assert facts.load_csv("gpus.csv", Gpu) is facts.load_csv("gpus.csv", Gpu)


def test_toml_is_a_fresh_dict_with_decimals(tmp_path, monkeypatch) -> None:
    (tmp_path / "x.toml").write_text("a = 0.1\n")
    monkeypatch.setattr(facts, "FACTS_DIR", tmp_path)
    assert facts.load_toml("x.toml") == {"a": Decimal("0.1")}
    facts.load_toml("x.toml")["a"] = 2
    assert facts.load_toml("x.toml") == {"a": Decimal("0.1")}


def test_the_version_moves_with_a_byte_and_not_with_a_read(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(facts, "FACTS_DIR", tmp_path)
    versions = set()
    for name, text in (("a.csv", "x"), ("a.csv", "y"), ("b.toml", "z"), ("note.txt", "not a fact")):
        (tmp_path / name).write_text(text)
        facts.facts_version.cache_clear()
        versions.add(facts.facts_version())
        assert facts.facts_version() in versions
    facts.facts_version.cache_clear()
    assert len(versions) == 3

"""One declaration per record: schema, checks and dictionary come from it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from schemas.change import Change
from schemas.offer import Offer
from schemas.rate import Rate
from schemas.record import Violation, arrow_schema, column, columns, dictionary, from_arrow, to_arrow, violations
from schemas.scrape import Scrape


@dataclass(slots=True, kw_only=True)
class Thing:
    """A record for these tests."""

    name: str = column("string", "Its name.", required=True, choices=("a", "b"))
    size: float | None = column("float64", "Its size.", unit="m", above=0.0, high=10.0)
    tags: list[str] | None = column("strings", "Words.")


def test_round_trip_keeps_values_and_nulls() -> None:
    things = [Thing(name="a", size=1.5, tags=["x"]), Thing(name="b")]
    assert from_arrow(to_arrow(things, Thing), Thing) == things


def test_violations_name_column_rule_and_rows() -> None:
    things = [
        Thing(name="c", size=0.0),
        Thing(name="a", size=float("nan")),
        Thing(name="b", size=11.0),
        Thing(name="a"),
    ]
    found = violations(to_arrow(things, Thing), Thing)
    assert Violation("name", "choices", (0,)) in found
    assert Violation("size", "> 0", (0,)) in found
    assert Violation("size", "finite", (1,)) in found
    assert Violation("size", "<= 10", (2,)) in found


def test_a_required_column_that_is_null_is_a_violation() -> None:
    table = pa.table(
        {
            "name": pa.array([None], pa.string()),
            "size": pa.array([1.0]),
            "tags": pa.array([None], pa.list_(pa.string())),
        }
    )
    assert violations(table, Thing) == [Violation("name", "required", (0,))]


def test_a_column_that_the_file_lacks_reads_as_null() -> None:
    assert from_arrow(pa.table({"name": ["a"]}), Thing) == [Thing(name="a")]


@pytest.mark.parametrize("record", [Offer, Change, Scrape, Rate])
def test_every_column_is_explained(record: type) -> None:
    assert [row["column"] for row in dictionary(record)] == list(columns(record)) == arrow_schema(record).names
    assert all(row["meaning"].endswith(".") or row["meaning"].endswith("?") for row in dictionary(record))

"""One declaration per record.

A record is a dataclass whose fields are made by `column`. Arrow schema, checks, data dictionary and help text are
derived from that one declaration, so a column is never listed twice by hand. Types are named by words and turned into
Arrow only on use: a command that needs no Arrow must not pay for its import.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pyarrow as pa

ArrowType = Literal["string", "int32", "int64", "float64", "bool", "money", "instant", "day", "strings"]


@dataclass(frozen=True, slots=True)
class Column:
    """What one field of a record holds.

    `low` and `high` bound numbers (both included), `above` is a bound that is excluded, `choices` lists the words that
    may stand there. `since` is the schema version that brought the column; readers of an older file see null.
    """

    type: ArrowType
    doc: str
    unit: str = ""
    required: bool = False
    choices: tuple[str, ...] = ()
    low: float | None = None
    above: float | None = None
    high: float | None = None
    since: int = 1


def column(
    type: ArrowType,
    doc: str,
    *,
    unit: str = "",
    required: bool = False,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    since: int = 1,
) -> Any:
    """A dataclass field that carries its `Column`; optional columns default to None, unknown."""
    declared = Column(type, doc, unit, required, choices, low, above, high, since)
    if required:
        return dataclasses.field(metadata={"column": declared})
    return dataclasses.field(default=None, metadata={"column": declared})


@lru_cache(maxsize=None)
def columns(record: type) -> dict[str, Column]:
    """Name to `Column`, in the order of declaration."""
    return {field.name: field.metadata["column"] for field in dataclasses.fields(record)}


@lru_cache(maxsize=None)
def arrow_schema(record: type) -> pa.Schema:
    """The Arrow schema of a record; nullability follows `required`, the doc and unit ride along as field metadata."""
    import pyarrow as pa

    types: dict[ArrowType, pa.DataType] = {
        "string": pa.string(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float64": pa.float64(),
        "bool": pa.bool_(),
        "money": pa.decimal128(24, 10),
        "instant": pa.timestamp("us", tz="UTC"),
        "day": pa.date32(),
        "strings": pa.list_(pa.string()),
    }
    return pa.schema(
        [
            pa.field(name, types[c.type], nullable=not c.required, metadata={"doc": c.doc, "unit": c.unit})
            for name, c in columns(record).items()
        ]
    )


def to_arrow(records: Sequence[Any], record: type) -> pa.Table:
    """A table of the records in the record's schema. Raises pyarrow.ArrowInvalid on a value that does not fit."""
    import pyarrow as pa

    schema = arrow_schema(record)
    values = zip(*map(attrgetter(*schema.names), records), strict=True) if records else ((),) * len(schema)
    return pa.Table.from_arrays(
        [pa.array(column, type=field.type) for column, field in zip(values, schema, strict=True)], schema=schema
    )


def from_arrow(table: pa.Table, record: type) -> list[Any]:
    """The rows of a table as records; columns that the table lacks are None, those unknown to the record left out."""
    wanted = [name for name in columns(record) if name in table.column_names]
    return [record(**row) for row in table.select(wanted).to_pylist()]


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule of the declaration that some rows break."""

    column: str
    rule: str
    rows: tuple[int, ...]


def violations(table: pa.Table, record: type) -> list[Violation]:
    """Rows that break the declaration: missing where required, outside choices or bounds. NaN breaks any bound."""
    return [
        Violation(name, rule, rows)
        for name, c in columns(record).items()
        for rule, rows in _broken(table[name], c)
        if rows
    ]


def _broken(values: pa.ChunkedArray, c: Column) -> Iterable[tuple[str, tuple[int, ...]]]:
    import pyarrow as pa
    import pyarrow.compute as pc

    def rows(mask: pa.ChunkedArray) -> tuple[int, ...]:
        return tuple(pc.indices_nonzero(pc.fill_null(mask, False)).to_pylist())

    if c.required:
        yield "required", rows(pc.is_null(values))
    if c.choices:
        allowed = pc.is_in(values, value_set=pa.array(c.choices))
        yield "choices", rows(pc.and_(pc.is_valid(values), pc.invert(allowed)))
    if c.low is not None or c.above is not None or c.high is not None:
        numbers = pc.cast(values, pa.float64())
        if c.type == "float64":
            yield "finite", rows(pc.and_(pc.is_valid(numbers), pc.invert(pc.is_finite(numbers))))
        if c.low is not None:
            yield f">= {c.low:g}", rows(pc.less(numbers, c.low))
        if c.above is not None:
            yield f"> {c.above:g}", rows(pc.less_equal(numbers, c.above))
        if c.high is not None:
            yield f"<= {c.high:g}", rows(pc.greater(numbers, c.high))


def dictionary(record: type) -> list[dict[str, str]]:
    """The data dictionary: one row per column with name, type, unit, whether null may stand there, and meaning."""
    return [
        {
            "column": name,
            "type": c.type,
            "unit": c.unit,
            "null": "no" if c.required else "yes",
            "meaning": c.doc + (f" One of: {', '.join(c.choices)}." if c.choices else ""),
        }
        for name, c in columns(record).items()
    ]

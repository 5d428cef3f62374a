"""View: an answer on its way to a reader. Every format writes the same rows out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from table.cells import text_of

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
SAMPLE = "SAMPLE, not market prices"
VERSION = 1


def _always(rows: Sequence[Row]) -> bool:
    return True


class Shown(NamedTuple):
    """A column of the terminal's table.

    `text` makes the cell. `drop` says who gives way first on a narrow terminal (higher goes first, 0 never); `shrink`
    lets long text be cut, which no number ever is. `when` leaves the column out where it has nothing to say.
    """

    heading: str
    text: Callable[[Row], str]
    align: Literal["left", "right", "point"] = "left"
    drop: int = 0
    shrink: bool = False
    when: Callable[[Sequence[Row]], bool] = _always
    name: str = ""


def column(name: str, zone: tzinfo | None = None, heading: str | None = None, drop: int = 0) -> Shown:
    """A column that shows one value as it is."""
    return Shown(heading or name.upper(), lambda row: text_of(row.get(name), zone), drop=drop, shrink=True, name=name)


@dataclass(frozen=True)
class View:
    """An answer. `name` and VERSION make the schema's name; `query` holds filters and defaults as they took effect.

    `data` is an Arrow table or a list of rows. `shown` is what a terminal shows; other formats write all columns, or
    those of `only`. `header` and `notes` stand above and below a terminal's table.
    """

    name: str
    data: pa.Table | Sequence[Row]
    shown: Sequence[Shown]
    as_of: datetime
    query: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    sample: bool = False
    header: Sequence[str] = ()
    notes: Sequence[str] = ()
    only: Sequence[str] | None = None
    columns: Sequence[str] | None = None
    """Names of all columns, for an answer of rows that may be none."""
    most: int | None = None
    """At most so many rows on a terminal; other formats write all."""
    narrow: str = "not shown for want of room: {columns}"
    """What a terminal says that is too narrow for all columns."""
    parts: Sequence[View] = ()
    """Further tables below this one, for a reader of the terminal or of Markdown."""

    @cached_property
    def total(self) -> int:
        """Number of rows."""
        return len(self.data)

    def names(self) -> list[str]:
        """Names of the columns that are written."""
        if self.only is not None:
            names = list(self.only)
        elif isinstance(self.data, Sequence) and self.columns is not None:
            names = list(self.columns)
        elif isinstance(self.data, Sequence):
            names = list(self.data[0]) if self.data else [column.name for column in self.shown if column.name]
        else:
            names = list(self.data.column_names)
        return [*names, "notice"] if self.sample else names

    def all_columns(self, most: int | None = None) -> list[Row]:
        """The first rows, or all, with every column that the answer came with."""
        if isinstance(self.data, Sequence):
            return list(self.data if most is None else self.data[:most])
        return rows_of(self.data if most is None else self.data.slice(0, most))

    def rows(self) -> list[Row]:
        """All rows, with the columns that are to be written."""
        rows = self.all_columns()
        if self.only is not None:
            rows = [{name: row.get(name) for name in self.only} for row in rows]
        return [{**row, "notice": SAMPLE} for row in rows] if self.sample else rows

    def arrow(self) -> pa.Table:
        """As `rows`, as an Arrow table that says of a sample what it is."""
        import pyarrow as pa

        if isinstance(self.data, Sequence):
            table = pa.Table.from_pylist(self.rows())
        else:
            table = self.data if self.only is None else self.data.select(list(self.only))
            if self.sample:
                table = table.append_column("notice", pa.array([SAMPLE] * table.num_rows, pa.string()))
        words = {"schema": f"{self.name}/{VERSION}", "as_of": self.as_of.isoformat()}
        if self.sample:
            words["notice"] = SAMPLE
        return table.replace_schema_metadata({**(table.schema.metadata or {}), **words})


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of an Arrow table. Instants are counted by hand: pyarrow would import pandas for them."""
    import pyarrow as pa

    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            counts = [count for chunk in column.chunks for count in chunk.view(pa.int64()).to_pylist()]
            columns.append([_instant(count, PER_SECOND[column.type.unit]) for count in counts])
        else:
            columns.append(column.to_pylist())
    names = table.column_names
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _instant(count: int | None, per_second: int) -> datetime | None:
    if count is None:
        return None
    seconds, part = divmod(count, per_second)
    return EPOCH + timedelta(seconds=seconds, microseconds=part * 10**6 // per_second)

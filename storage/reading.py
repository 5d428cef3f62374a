"""DuckDB over Parquet files: one way to open a connection, to name a set of files, and to take the answer as Arrow.

A set of files always shows every column that the record declares, in the declared type: a column that came later is
null in older files, a column that only newer files have is left out unless it is asked for by name.
"""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from schemas.record import columns
from storage.errors import told

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SQL_TYPES = {
    "string": "VARCHAR",
    "int32": "INTEGER",
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "bool": "BOOLEAN",
    "money": "DECIMAL(24,10)",
    "instant": "TIMESTAMPTZ",
    "day": "DATE",
    "strings": "VARCHAR[]",
}


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory whose clock is UTC whatever the machine's zone, and which fetches nothing by itself."""
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute("SET TimeZone='UTC'")
    return connection


def relation(files: Sequence[str], record: type) -> str:
    """SQL of a relation with the record's columns over the files; empty, with the same columns, where there are none.

    The empty typed part is what gives a column that none of the files has; DuckDB still reads only the columns used.
    """
    typed = ", ".join(f'NULL::{SQL_TYPES[c.type]} AS "{name}"' for name, c in columns(record).items())
    nothing = f"SELECT {typed} WHERE false"
    names = ", ".join(f'"{name}"' for name in columns(record))
    if not files:
        return f"({nothing})"
    parquet = f"read_parquet({file_list(files)}, union_by_name=true, hive_partitioning=false)"
    return f"(SELECT {names} FROM ({nothing} UNION ALL BY NAME SELECT * FROM {parquet}))"


def file_list(files: Sequence[str]) -> str:
    """The files as a SQL list. A path is no pattern: what DuckDB would expand becomes a class of one character."""
    return "[" + ", ".join(literal(re.sub(r"([*?\[])", r"[\1]", file)) for file in files) + "]"


def literal(text: str) -> str:
    """The text as a SQL string."""
    return "'" + text.replace("'", "''") + "'"


def ask(connection: duckdb.DuckDBPyConnection, sql: str, params: Mapping[str, Any] | None = None) -> pa.Table:
    """The answer as Arrow. Raises StoreError where a file is missing or does not hold what the log says."""
    with told("cannot read", "the store"):
        return connection.sql(sql, params=dict(params or {})).to_arrow_table()


class Answer:
    """A question that is asked once its answer is wanted: as Arrow, or as rows.

    Rows come from DuckDB itself and need no pyarrow, whose import takes as long as the question. Raises StoreError as
    `ask` does.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, sql: str, params: Mapping[str, Any]) -> None:
        self._connection = connection
        self._sql = sql
        self._params = dict(params)

    @cached_property
    def table(self) -> pa.Table:
        """The answer as Arrow."""
        return ask(self._connection, self._sql, self._params)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The answer as one dict for each row; instants are UTC, money is Decimal."""
        with told("cannot read", "the store"):
            found = self._connection.sql(self._sql, params=self._params)
            names = found.columns
            return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def shaped(table: pa.Table, record: type) -> pa.Table:
    """The table in exactly the record's schema (order, types, nullability); missing columns are null."""
    import pyarrow as pa

    from schemas.record import arrow_schema

    schema = arrow_schema(record)
    arrays = [
        table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(len(table), field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)

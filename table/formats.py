"""The formats of `-o`: one answer, the same rows in each.

JSON is one object `{schema, as_of, query, counts, rows}`; numbers are numbers, unknown is null, units stand in names.
JSONL, CSV and Parquet hold the same rows and columns. Markdown and the terminal's table are for reading and show the
columns that the answer picks. In CSV and Markdown, control characters of a provider's text are written out as escapes,
and in CSV a text that a spreadsheet would take for a formula gets an apostrophe before it; the other formats keep every
character.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import date, datetime
from typing import IO, Any

from table.cells import safe
from table.jsontext import dumps, iso
from table.terminal import Terminal, cells, render
from table.view import SAMPLE, VERSION, Row, View

FORMATS = ("table", "json", "jsonl", "csv", "markdown", "parquet")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MARKDOWN = re.compile(r"([\\`*\[\]<>|~#&])")


def lines(view: View, format: str, terminal: Terminal | None = None) -> Iterator[str]:
    """The answer as text, piece by piece; every format but Parquet."""
    match format:
        case "table":
            yield from render(view, terminal or Terminal())
            for part in view.parts:
                yield "\n"
                yield from render(part, terminal or Terminal())
        case "json":
            yield from _json(view)
        case "jsonl":
            yield from (dumps(row) + "\n" for row in view.rows())
        case "csv":
            yield from _csv(view)
        case "markdown":
            yield from _markdown(view)
            for part in view.parts:
                yield "\n"
                yield from _markdown(part)
        case _:
            raise ValueError(f"{format} is no text format")


def write_parquet(view: View, sink: str | IO[bytes]) -> None:
    """The rows as one Parquet file, its metadata with schema, time and, of a sample, what it is."""
    import pyarrow.parquet as pq

    if isinstance(sink, str):
        pq.write_table(view.arrow(), sink, compression="zstd")
        return
    # Parquet's writer wants to seek, which a pipe cannot.
    whole = io.BytesIO()
    pq.write_table(view.arrow(), whole, compression="zstd")
    sink.write(whole.getbuffer())


def _json(view: View) -> Iterator[str]:
    head: dict[str, Any] = {"schema": f"gpufare.{view.name}/{VERSION}", "as_of": view.as_of}
    if view.sample:
        head["notice"] = SAMPLE
    head |= {"query": view.query, "counts": view.counts, **view.extra}
    yield dumps(head)[:-1] + ', "rows": ['
    separator = "\n"
    for row in view.rows():
        yield separator + dumps(row)
        separator = ",\n"
    yield "\n]}\n" if separator != "\n" else "]}\n"


def _csv(view: View) -> Iterator[str]:
    import csv

    rows = view.rows()
    names = list(rows[0]) if rows else list(view.names())
    for values in (names, *(list(row.values()) for row in rows)):
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow([_cell(value) for value in values])
        yield line.getvalue()


def _cell(value: Any) -> str:
    """A value in CSV: unknown is empty, a list is parted by `;`."""
    if isinstance(value, str):
        text = safe(value)
        return f"'{text}" if text.startswith(_FORMULA) else text
    if isinstance(value, list | tuple):
        return ";".join(_cell(part) for part in value)
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, date):
        return value.isoformat()
    text = dumps(value)
    return "" if text == "null" else text


def _markdown(view: View) -> Iterator[str]:
    for line in view.header:
        yield f"{_escaped(safe(line))}\n\n"
    if view.sample:
        yield f"**{SAMPLE}**\n\n"
    rows: list[Row] = view.all_columns()
    columns = [column for column in view.shown if column.when(rows)]
    yield "| " + " | ".join(_escaped(column.heading) for column in columns) + " |\n"
    yield "|" + "|".join("---" if column.align == "left" else "--:" for column in columns) + "|\n"
    for row in cells(rows, columns):
        yield "| " + " | ".join(_escaped(cell.strip()) for cell in row) + " |\n"


def _escaped(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)

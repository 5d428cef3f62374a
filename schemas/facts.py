"""Strict loading of the fact tables that lie beside this module.

Promises: a row is converted by the annotations of its dataclass or not at all; every fault names file, line, column,
what was expected and what came. Files are read once per process. Nothing here knows what a table means.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import tomllib
import types
import typing
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

FACTS_DIR = Path(__file__).resolve().parent

T = TypeVar("T")


class FactsError(ValueError):
    """A fact table does not hold what its record declares."""

    def __init__(self, file: str, line: int, column: str, expected: str, came: str) -> None:
        self.file = file
        self.line = line
        self.column = column
        self.expected = expected
        self.came = came
        super().__init__(f"{file}, line {line}, column {column}: expected {expected}, came {came}")


def load_csv(name: str, row_type: type[T]) -> tuple[T, ...]:
    """All rows of `schemas/<name>` as `row_type`, a frozen slots dataclass whose fields are the columns, in any order.

    Cells may be str, int, float, Decimal, Fraction, bool (yes or no), date (ISO), `tuple[str, ...]` (parted by `;`, may
    be empty) and `X | None` of these (an empty cell is None).
    """
    return typing.cast("tuple[T, ...]", _load_csv(name, typing.cast("Any", row_type)))


@lru_cache(maxsize=64)
def _load_csv(name: str, row_type: type[Any]) -> tuple[Any, ...]:
    return parse_csv(name, (FACTS_DIR / name).read_text(encoding="utf-8"), row_type)


def parse_csv(name: str, text: str, row_type: type[T]) -> tuple[T, ...]:
    """As `load_csv`, of a text at hand; `name` only stands in the errors."""
    hints = typing.get_type_hints(row_type)
    fields = [field.name for field in dataclasses.fields(typing.cast("Any", row_type))]
    convert = {column: _converter(hints[column]) for column in fields}
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header = next(reader, [])
    for column in header:
        if column not in convert:
            raise FactsError(name, 1, column or "(empty)", f"one of {', '.join(fields)}", "an unknown column")
        if header.count(column) > 1:
            raise FactsError(name, 1, column, "each column once", f"{header.count(column)} of them")
    for column in fields:
        if column not in header:
            raise FactsError(name, 1, column, "this column", "a header without it")
    return tuple(_rows(name, reader, header, convert, row_type))


def _rows(
    name: str,
    reader: Any,
    header: list[str],
    convert: dict[str, tuple[str, Callable[[str], Any]]],
    row_type: type[T],
) -> Iterator[T]:
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(header):
            raise FactsError(name, reader.line_num, "(row)", f"{len(header)} cells", f"{len(cells)}")
        values = {}
        for column, cell in zip(header, cells, strict=True):
            wanted, function = convert[column]
            try:
                values[column] = function(cell.strip())
            except (ValueError, InvalidOperation, ZeroDivisionError):
                raise FactsError(name, reader.line_num, column, wanted, repr(cell)) from None
        yield row_type(**values)


def load_toml(name: str) -> dict[str, Any]:
    """`schemas/<name>` as a fresh dict; floats are Decimal, for money stands in these files."""
    return tomllib.loads(_text(name), parse_float=Decimal)


@lru_cache(maxsize=32)
def _text(name: str) -> str:
    return (FACTS_DIR / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def facts_version() -> str:
    """Twelve hex digits that change with any byte of any fact table."""
    return digest(sorted(path.name for path in FACTS_DIR.iterdir() if path.suffix in {".csv", ".toml"}))


def digest(names: list[str] | tuple[str, ...]) -> str:
    """Twelve hex digits over the names and bytes of these files of `schemas/`."""
    import hashlib

    total = hashlib.sha256()
    for name in names:
        content = (FACTS_DIR / name).read_bytes()
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:12]


def word_set(text: str) -> frozenset[str]:
    """The words of a text, for vocabularies too plain to be tables."""
    return frozenset(text.split())


def _converter(hint: Any) -> tuple[str, Callable[[str], Any]]:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        inner = [arg for arg in typing.get_args(hint) if arg is not type(None)]
        if len(inner) != 1 or len(typing.get_args(hint)) != 2:
            raise TypeError(f"a column may be X or X | None, not {hint}")
        wanted, function = _converter(inner[0])
        return f"{wanted} or nothing", lambda cell: function(cell) if cell else None
    if origin is tuple and typing.get_args(hint) == (str, ...):
        return "texts parted by ;", lambda cell: tuple(part.strip() for part in cell.split(";") if part.strip())
    if hint not in _SCALARS:
        raise TypeError(f"no way to read {hint} from a cell")
    return _SCALARS[hint]


def _filled(cell: str) -> str:
    if not cell:
        raise ValueError("empty")
    return cell


def _yes_no(cell: str) -> bool:
    return {"yes": True, "no": False}[cell] if cell in {"yes", "no"} else _refuse(cell)


def _refuse(cell: str) -> bool:
    raise ValueError(cell)


def _finite_float(cell: str) -> float:
    number = float(cell)
    if number - number != 0:  # nan and the infinities
        raise ValueError(cell)
    return number


def _finite_decimal(cell: str) -> Decimal:
    number = Decimal(cell)
    if not number.is_finite():
        raise ValueError(cell)
    return number


_SCALARS: dict[Any, tuple[str, Callable[[str], Any]]] = {
    str: ("a text", _filled),
    int: ("a whole number", int),
    float: ("a number", _finite_float),
    Decimal: ("a decimal number", _finite_decimal),
    Fraction: ("a number or a share such as 1/8", Fraction),
    bool: ("yes or no", _yes_no),
    date: ("a date such as 2026-12-01", date.fromisoformat),
}

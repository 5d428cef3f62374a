"""JSON as this program writes it: numbers keep every digit, and no text can harm the terminal it is printed on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

from table.cells import plain, safe

_quoted = json.encoder.encode_basestring


def dumps(value: Any) -> str:
    """One line of JSON. Decimal and float become numbers without trailing zeros, instants ISO 8601 in UTC with a Z.

    NaN and the infinities are no values: null. Raises TypeError for anything that JSON has no place for.
    """
    if value is None:
        return "null"
    known = _BY_TYPE.get(type(value))
    if known is not None:
        return known(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join([_key(str(key)) + dumps(part) for key, part in value.items()]) + "}"
    if isinstance(value, Iterable):
        return "[" + ", ".join([dumps(part) for part in value]) + "]"
    raise TypeError(f"no JSON for {type(value).__name__}")


def iso(value: datetime) -> str:
    """An instant as ISO 8601 in UTC: 2026-11-30T02:00:00Z."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "null"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _text(value: str) -> str:
    quoted = _quoted(value)
    # Of ASCII, everything that could do harm is escaped already but DEL.
    if (quoted.isascii() and "\x7f" not in quoted) or safe(quoted) == quoted:
        return quoted
    # The escape of JSON itself: a reader gets the very same text back, a terminal sees no control character.
    return "".join(char if safe(char) == char else json.dumps(char)[1:-1] for char in quoted)


@lru_cache(maxsize=4096)
def _key(name: str) -> str:
    return f"{_text(name)}: "


_BY_TYPE: dict[type, Callable[[Any], str]] = {
    str: _text,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: _number,
    Decimal: lambda value: plain(value) if value.is_finite() else "null",
    datetime: lambda value: f'"{iso(value)}"',
    date: lambda value: f'"{value.isoformat()}"',
    time: lambda value: f'"{value.isoformat()}"',
    timedelta: lambda value: f'"{value}"',
    bytes: lambda value: f'"{value.hex()}"',
}

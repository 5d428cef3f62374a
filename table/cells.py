"""One value as a person reads it: prices, ages, counts, and text that cannot harm the terminal it is shown on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, tzinfo
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

UNKNOWN = "?"
# Control characters, what turns the direction of writing, what takes no room, and what breaks a line: a provider's text
# that holds one of these could repaint the terminal or show another name than it has.
_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
SHARES = 64


def safe(text: str) -> str:
    """The text with every harmful character written out as an escape; harmless text comes back as it is."""
    return _HARMFUL.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def money(amount: Decimal | None) -> str:
    """A price: at least 2 decimals, at most 4, and never fewer than 4 digits that count (0.0041 stays 0.0041).

    Rounding is finer where the amount is smaller, so of two prices the lower never shows as the higher.
    """
    if amount is None:
        return UNKNOWN
    decimals = 4 if amount == 0 else max(4, 3 - amount.adjusted())
    text = format(amount.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN), "f")
    whole, _, part = text.partition(".")
    return f"{whole}.{part.rstrip('0').ljust(2, '0')}"


def plain(amount: Decimal) -> str:
    """All digits of a number, without an exponent and without trailing zeros: 1.6568, 3, 0.0041."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def share(count: float | None) -> str:
    """How many GPUs: 8, or the share of one as 1/8."""
    if count is None:
        return UNKNOWN
    if count == int(count):
        return str(int(count))
    from fractions import Fraction

    near = Fraction(count).limit_denominator(SHARES)
    return f"{near.numerator}/{near.denominator}" if abs(float(near) - count) < 1e-3 else f"{count:.4g}"


def number(value: float | None) -> str:
    """A number without needless zeros."""
    if value is None:
        return UNKNOWN
    return str(int(value)) if value == int(value) else f"{value:.6g}"


def age(seconds: float | None, stale: bool = False) -> str:
    """How old an observation is: 12m, 3h, 2d; `!` marks one past its freshness window."""
    if seconds is None:
        return UNKNOWN
    minutes = max(0, int(seconds // 60))
    # Whole days only from two on: 36 hours say more than one day.
    text = f"{minutes}m" if minutes < 60 else f"{minutes // 60}h" if minutes < 48 * 60 else f"{minutes // 1440}d"
    return f"{text}!" if stale else text


def duration(seconds: float | None) -> str:
    """Time that something took: 0.8s, 12s, 3m."""
    if seconds is None:
        return UNKNOWN
    return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s" if seconds < 120 else f"{seconds / 60:.0f}m"


def instant(value: datetime | None, zone: tzinfo | None = None) -> str:
    """A moment to the minute, in UTC (`2026-11-30 02:00Z`) or in the reader's zone with its offset."""
    if value is None:
        return UNKNOWN
    if zone is None:
        return f"{value:%Y-%m-%d %H:%M}Z"
    local = value.astimezone(zone)
    offset = f"{local:%z}"
    return f"{local:%Y-%m-%d %H:%M}{offset[:3]}:{offset[3:5]}"


def percent(relative: float | None) -> str:
    """A relative move: +12.5 %."""
    return "" if relative is None else f"{relative * 100:+.1f}%"


def text_of(value: Any, zone: tzinfo | None = None) -> str:
    """Any value of a row; None is `?`."""
    if isinstance(value, datetime):
        return instant(value, zone)
    known = _BY_TYPE.get(type(value))
    return known(value) if known else safe(str(value))


def _listed(parts: Iterable[Any]) -> str:
    return ", ".join(text_of(part) for part in parts) or "none"


_BY_TYPE: dict[type, Callable[[Any], str]] = {
    type(None): lambda value: UNKNOWN,
    str: safe,
    bool: lambda value: "yes" if value else "no",
    Decimal: money,
    int: str,
    float: number,
    date: date.isoformat,
    list: _listed,
    tuple: _listed,
    dict: lambda value: _listed(f"{key} {text_of(part)}" for key, part in value.items()),
}

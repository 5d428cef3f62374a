"""Single values of a record: a provider's word for stock, an amount, a count, an instant. Pure.

What would state something wrong raises Unreadable; what merely is not understood is None and a flag.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

from schemas.money import read_price
from schemas.units import MONEY_STEP

# Words by which providers tell stock. A word that stands in none of these is unknown, and flagged.
STOCK_WORDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("true", "yes", "available", "in stock", "instock", "high", "sell", "enoughstock", "medium", "normal"),
        "available",
    ),
    **dict.fromkeys(("scarce", "low", "limited", "few", "normalstock", "understock"), "limited"),
    **dict.fromkeys(
        (
            "false",
            "no",
            "shortage",
            "sold out",
            "soldout",
            "out of stock",
            "outofstock",
            "none",
            "unavailable",
            "withoutstock",
        ),
        "sold_out",
    ),
    **dict.fromkeys(("unknown", ""), "unknown"),
}
KIND_WORDS: Mapping[str, str] = {
    **dict.fromkeys(("vm", "virtual-machine", "virtual machine", "instance"), "vm"),
    **dict.fromkeys(("bare_metal", "bare-metal", "bare metal", "bm", "baremetal"), "bare_metal"),
    **dict.fromkeys(("container", "pod", "docker"), "container"),
    **dict.fromkeys(("serverless",), "serverless"),
}


class Unreadable(ValueError):
    """The record would state something wrong."""


@lru_cache(maxsize=4096)
def count_of(text: str) -> Fraction:
    """A number of GPUs as published, a share as `1/8`. Raises Unreadable."""
    try:
        count = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise Unreadable(f"GPU count {text[:40]!r} is no number") from None
    if not 0 < count <= 100_000:
        raise Unreadable(f"GPU count {text[:40]!r} is out of range")
    return count


def amount_of(value: str | Decimal | int | None, currency: str, zero: bool = False) -> Decimal | None:
    """Money as published. Text goes through the price reader, so `"9.0E-4"` and `"$2.15"` are both read.

    Raises Unreadable for what is no price: no amount, a floor ("from $1.99"), another currency than the record's, not
    finite, not above zero (`zero` allows it), or out of what can be stored.
    """
    if value is None:
        return None
    if isinstance(value, str):
        amount = _said(value, currency)
    elif isinstance(value, Decimal | int) and not isinstance(value, bool):
        amount = Decimal(value)
    else:
        raise Unreadable(f"price is {type(value).__name__}, no amount")
    if not amount.is_finite():
        raise Unreadable(f"price {value} is not finite")
    if amount < 0 or (amount == 0 and not zero):
        raise Unreadable(f"price {value} is not above zero")
    if amount >= Decimal(10) ** 13:
        raise Unreadable(f"price {amount:.3E} is out of range")
    amount = amount.quantize(MONEY_STEP)
    if amount == 0 and not zero:
        raise Unreadable(f"price {value} is below what can be stored")
    return amount


def _said(text: str, currency: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        price = read_price(text)
    if price.amount is None:
        raise Unreadable(f"price {text[:60]!r} holds no amount")
    if price.from_:
        raise Unreadable(f"price {text[:60]!r} is a floor, not the price of an offer")
    if price.currency is not None and price.currency != currency.upper():
        raise Unreadable(f"price {text[:60]!r} is in {price.currency}, not in {currency.upper()}")
    return price.amount


def word_of(value: str | bool | None, words: Mapping[str, str], what: str, flags: list[str]) -> str | None:
    """The canonical word for a provider's; None where it is not known, then with a flag `<what>_word_unknown`."""
    if value is None:
        return None
    known = words.get(str(value).strip().casefold().replace("_", " ")) or words.get(str(value).strip().casefold())
    if known is None:
        flags.append(f"{what}_word_unknown")
    return known


def number_of(value: str | int | Decimal | None, what: str, flags: list[str]) -> float | None:
    """A plain number above zero; None where it is none, with a flag `<what>_unreadable` where it was not readable."""
    if value is None:
        return None
    try:
        number = float(str(value).replace(",", "").strip())
    except ValueError:
        flags.append(f"{what}_unreadable")
        return None
    return number if 0 < number <= 100_000 else None


def positive(value: float | None) -> float | None:
    """The value where it is above zero, else None."""
    return value if value is not None and value > 0 else None


def instant_of(value: str | None) -> datetime | None:
    """An ISO 8601 instant with its zone. Raises Unreadable for anything else."""
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise Unreadable(f"instant {value!r} is no ISO 8601") from None
    if at.tzinfo is None:
        raise Unreadable(f"instant {value!r} says no time zone")
    return at

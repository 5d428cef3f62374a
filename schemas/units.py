"""Sizes, rates and the units of prices, in exact arithmetic.

GB and GiB: sellers write GB for memory that is a power of two, so the label `80 GB` is 80 GiB (the nominal class) and
`81559 MiB` is 79.6. Money never passes through a float.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType

HOURS_PER: Mapping[str, Fraction] = MappingProxyType(
    {
        "second": Fraction(1, 3600),
        "minute": Fraction(1, 60),
        "hour": Fraction(1),
        "day": Fraction(24),
        "month": Fraction(730),
        "year": Fraction(8760),
    }
)
"""a month and a year of average length, for providers that do not say how many hours their own month has"""

MONEY_STEP = Decimal("1e-10")
_WIDE = Context(prec=60, rounding=ROUND_HALF_EVEN)

_SIZE = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:[, ]\d{3})+(?:\.\d{1,9})?|\d{1,18}(?:\.\d{1,9})?)\s?([kmgtp]?)(i?)b(ytes?)?(?![a-z/])",
    re.IGNORECASE,
)
_SHORT_SIZE = re.compile(r"(?<![\w.,])(\d{1,6}(?:\.\d{1,9})?)\s?([mgt])(i?)(?![a-z0-9/])", re.IGNORECASE)
_PLAIN = re.compile(r"\s*(\d{1,3}(?:,\d{3})+(?:\.\d{1,9})?|\d{1,18}(?:\.\d{1,9})?(?:e[+-]?\d{1,2})?)\s*", re.IGNORECASE)
_GIB_IN = {
    "": Fraction(1, 1 << 30),
    "k": Fraction(1, 1 << 20),
    "m": Fraction(1, 1024),
    "g": Fraction(1),
    "t": Fraction(1024),
    "p": Fraction(1 << 20),
}
_SPEED = re.compile(
    r"(?<![\w.,])(\d{1,3}(?:,\d{3})+|\d{1,9}(?:\.\d{1,6})?)\s?(k|m|g|t)(?:iga|ega|era)?(?:bit(?:s)?|be|bps|b)?(?:/s|ps)?(?![a-z])",
    re.IGNORECASE,
)
_GBPS_IN = {"k": Fraction(1, 1_000_000), "m": Fraction(1, 1000), "g": Fraction(1), "t": Fraction(1000)}
_TIMES = re.compile(r"(\d{1,3})\s?[x×*]\s?$", re.IGNORECASE)

Number = str | int | float | Decimal | None


@lru_cache(maxsize=65536, typed=True)
def gib(text: Number) -> float | None:
    """Size in GiB of `81559 MiB`, `80 GB`, `1,152 GiB`, `2 TB`, `309237645312 B`, `80Gi`, `8 x 3840 GB SSD`.

    A plain number is GiB already. None where no size is said. Megabytes are counted in 1024s, as memory is: `24576 MB`
    is 24; bytes likewise.
    """
    number = _plain(text)
    if number is not None:
        return _float(number)
    if not isinstance(text, str):
        return None
    short = text[:200].replace("\u00a0", " ").replace("\u202f", " ")
    match = _SIZE.search(short) or _SHORT_SIZE.search(short)
    if match is None:
        return None
    size = Fraction(re.sub("[, ]", "", match[1])) * _GIB_IN[match[2].lower()]
    return _float(size * _times(short, match))


@lru_cache(maxsize=65536, typed=True)
def gbps(text: Number) -> float | None:
    """Gbit/s of `3200 Gigabit`, `Up to 25 Gigabit`, `100 Gbps`, `500 Mbps`, `8x 400 Gbps`, or of a plain number."""
    number = _plain(text)
    if number is not None:
        return _float(number)
    if not isinstance(text, str):
        return None
    short = text[:200].replace("\u00a0", " ")
    match = _SPEED.search(short)
    if match is None:
        return None
    speed = Fraction(match[1].replace(",", "")) * _GBPS_IN[match[2].lower()]
    return _float(speed * _times(short, match))


def per_hour(
    amount: Decimal, price_unit: str, gpu_count: Fraction | None, hours_per_month: int | None = None
) -> tuple[Decimal | None, Decimal | None]:
    """What an amount in this unit is per instance-hour and per GPU-hour, to 10 decimals, half-even.

    `price_unit` is `[cent/]<gpu|instance>-<second|minute|hour|day|month|year>`. Where the count is unknown the side
    that needs it is None. A share of a GPU (1/8) makes the GPU-hour eight times the instance-hour. hours_per_month: of
    the provider's own month (672, 720 ...), where it says so.
    """
    instance, gpu = _factors(price_unit, gpu_count, hours_per_month)
    return _money(amount, instance), _money(amount, gpu)


@lru_cache(maxsize=4096)
def _factors(
    price_unit: str, gpu_count: Fraction | None, hours_per_month: int | None
) -> tuple[Fraction | None, Fraction | None]:
    """What an amount in this unit is multiplied by, for the instance-hour and for the GPU-hour."""
    cents, per, hours = split_unit(price_unit)
    if hours_per_month and price_unit.endswith("-month"):
        hours = Fraction(hours_per_month)
    one = 1 / hours / (100 if cents else 1)
    count = gpu_count if gpu_count is not None and gpu_count > 0 else None
    if per == "gpu":
        return (one * count if count is not None else None), one
    return one, (one / count if count is not None else None)


def split_unit(price_unit: str) -> tuple[bool, str, Fraction]:
    """(in cents?, gpu or instance, hours of its unit). Raises ValueError for anything else."""
    match = re.fullmatch(r"(cent/)?(gpu|instance)-(\w+)", price_unit)
    if match is None or match[3] not in HOURS_PER:
        raise ValueError(f"price unit {price_unit!r}: expected [cent/]<gpu|instance>-<{'|'.join(HOURS_PER)}>")
    return match[1] is not None, match[2], HOURS_PER[match[3]]


def _money(amount: Decimal, factor: Fraction | None) -> Decimal | None:
    """The product to 10 decimals. Sixty digits hold every tie exactly, so that rounding twice cannot show."""
    if factor is None:
        return None
    return _WIDE.quantize(_WIDE.divide(_WIDE.multiply(amount, factor.numerator), factor.denominator), MONEY_STEP)


def _plain(text: Number) -> Fraction | None:
    if isinstance(text, bool) or text is None:
        return None
    if isinstance(text, str):
        match = _PLAIN.fullmatch(text[:60])
        return Fraction(match[1].replace(",", "")) if match else None
    if isinstance(text, Decimal) and (not text.is_finite() or text.adjusted() > 30):
        return None
    if isinstance(text, float) and (text - text != 0 or abs(text) > 1e30):
        return None
    return Fraction(text) if text >= 0 else None


def _times(text: str, match: re.Match[str]) -> int:
    before = _TIMES.search(text[max(0, match.start() - 6) : match.start()])
    return int(before[1]) if before and int(before[1]) else 1


def _float(value: Fraction) -> float:
    return float(value)

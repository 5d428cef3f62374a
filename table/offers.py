"""Offers as a terminal shows them: `# GPU N VRAM $/GPU-h $/h PURCHASE PROVIDER REGION STOCK AGE`, and what may join."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any

from table.cells import UNKNOWN, age, money, number, safe, share, text_of
from table.view import Row, Shown

STOCK = {"available": "yes", "limited": "limited", "sold_out": "no"}
USUAL = (
    "rank",
    "gpu",
    "gpu_count",
    "vram_gib",
    "usd_per_gpu_hour",
    "usd_per_hour",
    "purchase",
    "term_months",
    "upfront",
    "min_gpu_count",
    "provider",
    "tier",
    "region",
    "availability",
    "age",
    "flags",
)


def gpu_name(row: Row) -> str:
    """Model and form factor, for an SXM card is another card than a PCIe one; unknown hardware in its maker's words."""
    if row.get("gpu") is None:
        words = row.get("accelerator_raw") or row.get("instance_type")
        return f"{UNKNOWN} {safe(words)}" if words else UNKNOWN
    form = row.get("form_factor")
    return safe(f"{row['gpu']} {form}" if form else row["gpu"])


def region_name(row: Row) -> str:
    """The provider's region, or its zone where it tells no region, with the country where the name does not say it."""
    place = row.get("region") or row.get("zone")
    country = row.get("country")
    if place is None:
        return country or UNKNOWN
    told = country is None or country in re.split(r"[^A-Z]+", place.upper())
    return safe(place) if told else f"{safe(place)} {country}"


def _total(row: Row) -> float | None:
    each, count = row.get("vram_gib"), row.get("gpu_count")
    return None if each is None or count is None else float(each * count)


def _any(name: str) -> Callable[[Sequence[Row]], bool]:
    return lambda rows: any(row.get(name) for row in rows)


def _any_reserved(name: str) -> Callable[[Sequence[Row]], bool]:
    return lambda rows: any(row.get(name) and row["purchase"] in {"reserved", "capacity_block"} for row in rows)


def _text(name: str) -> Callable[[Row], str]:
    return lambda row: text_of(row.get(name))


def _or_dash(name: str) -> Callable[[Row], str]:
    """For what most rows do not have, such as a tier: `-` says that there is none, not that it is unknown."""
    return lambda row: text_of(row[name]) if row.get(name) else "-"


def _unit_price(heading: str, name: str) -> Shown:
    return Shown(heading, lambda row: money(row.get(name)), "point", drop=2, name=name)


SHOWN: dict[str, Shown] = {
    "rank": Shown("#", lambda row: str(row.get("rank", UNKNOWN)), "right", name="rank"),
    "gpu": Shown("GPU", gpu_name, shrink=True, name="gpu"),
    "gpu_count": Shown("N", lambda row: share(row.get("gpu_count")), "right", name="gpu_count"),
    "vram_gib": Shown("VRAM", lambda row: number(row.get("vram_gib")), "right", drop=4, name="vram_gib"),
    "usd_per_gpu_hour": Shown(
        "$/GPU-h", lambda row: money(row.get("usd_per_gpu_hour")), "point", name="usd_per_gpu_hour"
    ),
    "usd_per_gib_hour": _unit_price("$/GiB-h", "usd_per_gib_hour"),
    "usd_per_bf16_tflop_hour": _unit_price("$/TFLOP-h", "usd_per_bf16_tflop_hour"),
    "usd_per_gbs_hour": _unit_price("$/(GB/s)-h", "usd_per_gbs_hour"),
    "usd_per_hour": Shown("$/h", lambda row: money(row.get("usd_per_hour")), "point", drop=5, name="usd_per_hour"),
    "purchase": Shown("PURCHASE", _text("purchase"), drop=3, name="purchase"),
    "term_months": Shown(
        "TERM",
        lambda row: f"{row['term_months']}mo" if row.get("term_months") else "-",
        "right",
        drop=2,
        when=_any("term_months"),
        name="term_months",
    ),
    "upfront": Shown(
        "UPFRONT",
        lambda row: f"{money(row['upfront'])} {row['currency']}" if row.get("upfront") is not None else "-",
        "right",
        drop=8,
        when=_any_reserved("upfront"),
        name="upfront",
    ),
    "min_gpu_count": Shown(
        "MIN", _or_dash("min_gpu_count"), "right", drop=8, when=_any_reserved("min_gpu_count"), name="min_gpu_count"
    ),
    "provider": Shown("PROVIDER", _text("provider"), name="provider"),
    "tier": Shown("TIER", _or_dash("tier"), drop=1, shrink=True, when=_any("tier"), name="tier"),
    "region": Shown("REGION", region_name, drop=6, shrink=True, name="region"),
    "total_vram_gib": Shown("TOTAL VRAM", lambda row: number(_total(row)), "right", drop=4, name="total_vram_gib"),
    "availability": Shown("STOCK", lambda row: STOCK.get(row["availability"], UNKNOWN), name="availability"),
    "age": Shown("AGE", lambda row: age(row.get("age_s"), bool(row.get("stale"))), "right", name="age_s"),
    "flags": Shown("FLAGS", _or_dash("flags"), drop=9, shrink=True, when=_any("flags"), name="flags"),
}


def shown(names: Sequence[str], zone: tzinfo | None = None, asked: bool = False) -> list[Shown]:
    """The columns of the table, in the order of the names; one that was asked for stays even where it says nothing."""
    return [_column(name, zone, asked) for name in names]


def _column(name: str, zone: tzinfo | None, asked: bool) -> Shown:
    known = SHOWN.get("age" if name == "age_s" else name)
    if known is None:
        return Shown(name.upper(), lambda row: text_of(row.get(name), zone), drop=7, shrink=True, name=name)
    if not asked:
        return known
    return Shown(known.heading, known.text, known.align, known.drop, known.shrink, name=known.name)


def line(row: dict[str, Any]) -> str:
    """One offer in one line of text."""
    price, old = money(row.get("usd_per_gpu_hour")), age(row.get("age_s"), bool(row.get("stale")))
    stock = STOCK.get(row["availability"], UNKNOWN)
    return (
        f"{gpu_name(row)} x{share(row.get('gpu_count'))} at {price} $/GPU-h, {text_of(row['purchase'])}, "
        f"{text_of(row['provider'])}, {region_name(row)}, stock {stock}, {old}"
    )

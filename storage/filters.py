"""What a reader may ask for: one set of filters for offers, changes and history, turned into SQL in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from schemas.places import countries
from storage.flags import WITHHELD

Range = tuple[float | None, float | None]  # both ends included; None is open
DEFAULT_PURCHASE = ("on_demand",)


@dataclass(frozen=True, slots=True)
class Gpu:
    """A canonical model, all its form factors and sizes unless named; `count` narrows to nodes of that many."""

    model: str
    form_factor: str | None = None
    vram_gib: float | None = None
    count: float | None = None

    def __str__(self) -> str:
        size = f"-{self.vram_gib:g}GB" if self.vram_gib else ""
        name = "-".join(part for part in (self.model, self.form_factor) if part) + size
        return f"{name}:{self.count:g}" if self.count else name


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """An empty tuple or None asks for everything. Several values of one filter are alternatives.

    gpus: canonical models. counts: GPUs per offer. vram, total_vram: GiB per GPU and in all. regions: provider's names,
    case ignored. countries: alpha-2. continents: AF AN AS EU NA OC SA. purchase: default on demand only.
    in_stock: available or limited, seen within the provider's freshness window. max_price: USD per GPU-hour.
    fractional: let shares of a GPU through a filter on counts. unknown_price: keep rows without a price (they come
    last).
    """

    gpus: tuple[Gpu, ...] = ()
    vendors: tuple[str, ...] = ()
    counts: Range | None = None
    vram: Range | None = None
    total_vram: Range | None = None
    providers: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    countries: tuple[str, ...] = ()
    continents: tuple[str, ...] = ()
    purchase: tuple[str, ...] = DEFAULT_PURCHASE
    tiers: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    in_stock: bool = False
    max_price: Decimal | None = None
    fractional: bool = False
    unknown_price: bool = True
    offer_keys: tuple[str, ...] = ()

    def described(self) -> dict[str, Any]:
        """The filters in force, defaults too, ready for a header or for JSON."""
        said: dict[str, Any] = {
            "gpu": [str(gpu) for gpu in self.gpus],
            "vendor": list(self.vendors),
            "count": _range_text(self.counts),
            "vram_gib": _range_text(self.vram),
            "total_vram_gib": _range_text(self.total_vram),
            "provider": list(self.providers),
            "region": list(self.regions),
            "country": list(self.countries),
            "continent": list(self.continents),
            "purchase": list(self.purchase) or ["any"],
            "tier": list(self.tiers),
            "segment": list(self.segments),
            "in_stock": self.in_stock or None,
            "max_usd_per_gpu_hour": None if self.max_price is None else float(self.max_price),
            "fractional": self.fractional or None,
            "unknown_price": None if self.unknown_price else False,
            "offer_key": list(self.offer_keys),
        }
        return {name: value for name, value in said.items() if value not in (None, [])}


@dataclass(slots=True)
class Where:
    """A SQL condition that is being put together, with its parameters."""

    parts: list[str] = field(default_factory=list)
    params: dict[str, Any] = field(default_factory=dict)

    def add(self, condition: str, **params: Any) -> None:
        """One more condition that must hold."""
        self.parts.append(condition)
        self.params.update(params)

    def sql(self) -> str:
        """The condition; `true` where nothing is asked."""
        return " AND ".join(f"({part})" for part in self.parts) or "true"


def machine(filters: Filters) -> Where:
    """What holds of the machine, its place and how it is bought; columns that Offer and Change share."""
    where = Where()
    _gpus(filters, where)
    if filters.counts is not None:
        low, high = filters.counts
        whole = Where()
        _between(whole, "gpu_count", low, high, "count")
        share = " OR (gpu_count > 0 AND gpu_count < 1)" if filters.fractional else ""
        where.add(f"{whole.sql()}{share}", **whole.params)
    for column, values in (
        ("provider", filters.providers),
        ("purchase", filters.purchase),
        ("tier", filters.tiers),
        ("offer_key", filters.offer_keys),
    ):
        if values:
            where.add(f"{column} IN ${column}s", **{f"{column}s": list(values)})
    if filters.regions:
        where.add("lower(region) IN $regions", regions=[region.lower() for region in filters.regions])
    if filters.countries:
        where.add("country IN $countries", countries=[country.upper() for country in filters.countries])
    if filters.continents:
        wanted = {continent.upper() for continent in filters.continents}
        inside = [code for code, country in countries().items() if country.continent in wanted]
        where.add("country IN $continent_countries", continent_countries=inside)
    return where


def offer(filters: Filters) -> Where:
    """As `hardware`, and what only a priced offer tells. Rows that the gate holds back never pass."""
    where = hardware(filters)
    where.add("NOT coalesce(list_contains(flags, $withheld), false)", withheld=WITHHELD)
    if filters.max_price is not None:
        where.add("usd_per_gpu_hour <= $max_price", max_price=filters.max_price)
    if not filters.unknown_price:
        where.add("usd_per_gpu_hour IS NOT NULL")
    return where


def hardware(filters: Filters) -> Where:
    """As `machine`, and memory, vendor and kind of provider, which only an offer tells."""
    where = machine(filters)
    if filters.vendors:
        where.add("vendor IN $vendors", vendors=[vendor.lower() for vendor in filters.vendors])
    if filters.segments:
        where.add("segment IN $segments", segments=list(filters.segments))
    if filters.vram is not None:
        _between(where, "vram_gib", *filters.vram, "vram")
    if filters.total_vram is not None:
        _between(where, "vram_gib * gpu_count", *filters.total_vram, "total_vram")
    return where


def _gpus(filters: Filters, where: Where) -> None:
    wanted = []
    for i, gpu in enumerate(filters.gpus):
        parts = [f"gpu = $gpu{i}"]
        where.params[f"gpu{i}"] = gpu.model
        if gpu.form_factor:
            parts.append(f"form_factor = $form_factor{i}")
            where.params[f"form_factor{i}"] = gpu.form_factor
        if gpu.vram_gib:
            parts.append(f"abs(vram_gib - $gpu_vram{i}) <= 0.07 * $gpu_vram{i}")
            where.params[f"gpu_vram{i}"] = gpu.vram_gib
        if gpu.count is not None:
            parts.append(f"gpu_count = $gpu_count{i}")
            where.params[f"gpu_count{i}"] = gpu.count
        wanted.append(" AND ".join(parts))
    if wanted:
        where.add(" OR ".join(f"({part})" for part in wanted))


def _between(where: Where, column: str, low: float | None, high: float | None, name: str) -> None:
    if low is not None:
        where.add(f"{column} >= ${name}_low", **{f"{name}_low": low})
    if high is not None:
        where.add(f"{column} <= ${name}_high", **{f"{name}_high": high})


def _range_text(span: Range | None) -> str | None:
    if span is None:
        return None
    low, high = ("" if end is None else f"{end:g}" for end in span)
    return low if low == high else f"{low}..{high}"

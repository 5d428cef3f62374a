"""What a reader may ask for: one set of filters for offers, changes and history, turned into SQL in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from schemas.places import countries
from schemas.providers import providers
from storage.flags import WITHHELD

Range = tuple[float | None, float | None]  # both ends included; None is open
DEFAULT_PURCHASE = ("on_demand",)
SELLERS_GB = 1e9 / 2**30
"""what a seller calls 16 GB of RAM may be 16000 MB: a lower bound in GB keeps it"""


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
    last). ram: GB of the instance, as sellers count. network: kinds of the network between nodes, as words;
    network_gbps: Gbit/s of one node; the offer's own words, else the provider's facts. has: facts of the provider that
    must all hold. direct: no resellers. serverless: let in what runs functions or models, not a machine of one's own.
    disk_gib: a disk of this size is counted into the price.
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
    ram: Range | None = None
    network: tuple[str, ...] = ()
    network_gbps: Range | None = None
    has: tuple[str, ...] = ()
    direct: bool = False
    serverless: bool = False
    disk_gib: float | None = None
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
            "ram_gib": _range_text(self.ram),
            "network": list(self.network),
            "network_gbps": _range_text(self.network_gbps),
            "has": list(self.has),
            "direct": self.direct or None,
            "serverless": self.serverless or None,
            "disk_gib": self.disk_gib,
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
    if filters.ram is not None:
        low, high = filters.ram
        _between(where, "ram_gib", low and low * SELLERS_GB, high, "ram")
    if not filters.serverless:
        where.add("kind IS DISTINCT FROM 'serverless'")
    if filters.direct:
        where.add("reseller_of IS NULL AND segment <> 'reseller'")
    _facts(filters, where)
    return where


def _facts(filters: Filters, where: Where) -> None:
    """What providers' facts tell of every offer of theirs."""
    if filters.network:
        kinds = {slug: str(known.fact("network_kind") or "").casefold() for slug, known in providers().items()}
        of_kind = [slug for slug, kind in kinds.items() if any(word in kind for word in filters.network)]
        own = [f"lower(coalesce(interconnect, '')) LIKE $network{i}" for i in range(len(filters.network))]
        words = {f"network{i}": f"%{word}%" for i, word in enumerate(filters.network)}
        where.add(" OR ".join([*own, "provider IN $network_providers"]), **words, network_providers=of_kind)
    if filters.network_gbps is not None:
        measured = Where()
        _between(measured, "network_gbps", *filters.network_gbps, "network_gbps")
        fast = [slug for slug, known in providers().items() if within(known.fact("network_gbps"), filters.network_gbps)]
        otherwise = "network_gbps IS NULL AND provider IN $fast_providers"
        where.add(f"({measured.sql()}) OR ({otherwise})", **measured.params, fast_providers=fast)
    if filters.has:
        able = [slug for slug, known in providers().items() if all(known.fact(name) is True for name in filters.has)]
        where.add("provider IN $able_providers", able_providers=able)


def within(value: Any, span: Range) -> bool:
    """Is a number known, and in the range?"""
    low, high = span
    return value is not None and (low is None or value >= low) and (high is None or value <= high)


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

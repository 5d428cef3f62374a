"""Answers from the store: the comparison table and one offer with its provenance. Arrow to the last step."""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from schemas.offer import Offer
from schemas.providers import providers as known_providers
from schemas.record import columns
from storage import filters as asked
from storage.filters import Filters, Gpu
from storage.lake import Lake
from storage.visible import END_OF_TIME, with_current

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SORTS", "Current", "Filters", "Gpu", "OffersAnswer", "current", "offers"]

DEFAULT_FRESH_H = 36
# Rows that are equal in what is sorted by always come in the same order.
TIES = "usd_per_gpu_hour ASC NULLS LAST, usd_per_hour ASC NULLS LAST, provider, gpu NULLS LAST, region NULLS LAST, offer_key"
SORTS: dict[str, str] = {
    "usd_per_gpu_hour": "usd_per_gpu_hour ASC NULLS LAST",
    "usd_per_hour": "usd_per_hour ASC NULLS LAST",
    "price": "usd_per_hour ASC NULLS LAST",
    "spot": "spot_usd_per_gpu_hour ASC NULLS LAST",
    "vram": "vram_gib DESC NULLS LAST",
    "total_vram": "vram_gib * gpu_count DESC NULLS LAST",
    "count": "gpu_count DESC NULLS LAST",
    "provider": "provider ASC",
    "gpu": "gpu ASC NULLS LAST",
    "region": "region ASC NULLS LAST",
    "age": "age_s ASC",
    "availability": "array_position(['available', 'limited', 'unknown', 'sold_out'], availability) ASC",
}
SHAPE = (
    "provider",
    "coalesce(instance_type, accelerator_raw)",
    "gpu",
    "form_factor",
    "gpu_count",
    "region",
    "tier",
    "os",
)


@dataclass(frozen=True, slots=True)
class Current:
    """The snapshot of a provider that a reader sees: how old, past its window, and did a later attempt fail?"""

    provider: str
    scrape_id: str
    observed_at: datetime
    age_s: float
    stale: bool
    carried_forward: bool


@dataclass(frozen=True, slots=True)
class OffersAnswer:
    """Rows of Offer with age_s, stale, carried_forward (and, sorted by spot, spot_usd_per_gpu_hour).

    as_of: the moment the answer holds for. newest: latest observation in it. total: rows before the limit.
    stale: providers whose snapshot is past its window; carried_forward: those whose later attempt failed.
    """

    table: pa.Table
    as_of: datetime
    newest: datetime | None
    total: int
    stale: list[str]
    carried_forward: list[str]
    filters: dict[str, Any]
    gpus: list[str]
    sort: str
    origin: str


def fresh_for_h(provider: str) -> float:
    """How many hours an observation of the provider counts as current."""
    known = known_providers().get(provider)
    return float(known.fresh_for_h if known else DEFAULT_FRESH_H)


def current(lake: Lake, as_of: datetime, known_at: datetime | None = None) -> list[Current]:
    """The snapshot of each provider at a moment, as known at another (default: as known today)."""
    rows = lake.query(
        f"""WITH {with_current(lake.relation("scrapes"))}
        SELECT provider, scrape_id, observed_at, EXISTS (
            SELECT 1 FROM judged j WHERE j.provider = c.provider AND j.observed_at > c.observed_at
            AND j.observed_at <= $as_of AND j.verdict NOT IN ('accepted', 'accepted_with_warnings')) AS carried
        FROM current c ORDER BY provider""",
        as_of=as_of,
        known_at=known_at or END_OF_TIME,
    )
    found = []
    for row in rows.to_pylist():
        age = (as_of - row["observed_at"]).total_seconds()
        stale = age > fresh_for_h(row["provider"]) * 3600
        found.append(Current(row["provider"], row["scrape_id"], row["observed_at"], age, stale, row["carried"]))
    return found


def offers(
    lake: Lake,
    filters: Filters,
    *,
    now: datetime,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    sort: str = "usd_per_gpu_hour",
    limit: int | None = None,
) -> OffersAnswer:
    """The comparison table at `as_of` (default `now`): every provider's visible snapshot, filtered, sorted, cut.

    A provider whose last attempts failed shows its last accepted rows with their age. Rows without a price come last.
    Raises KeyError for an unknown sort.
    """
    order = SORTS[sort]
    at = as_of or now
    seen = [c for c in current(lake, at, known_at) if not filters.providers or c.provider in filters.providers]
    where = asked.offer(filters)
    if filters.in_stock:
        where.add("availability IN ('available', 'limited') AND NOT stale")
    if sort == "spot" and filters.purchase:
        # The spot price of a shape stands in another row of it, which the wish for on-demand rows would hide.
        where.params.pop("purchases")
        where.parts.remove("purchase IN $purchases")
        where.add("asked_purchase IN $purchases", purchases=list(filters.purchase))
    models = [gpu.model for gpu in filters.gpus] or None
    ids = [c.scrape_id for c in seen]
    source = lake.relation("snapshots", scrape_ids=ids, providers=[c.provider for c in seen], gpus=models)
    names = ", ".join(columns(Offer))
    spot = f", {_spot_price()} AS spot_usd_per_gpu_hour, purchase AS asked_purchase" if sort == "spot" else ""
    rows = lake.query(
        f"""WITH seen AS ({_values(seen)}),
        every AS (SELECT o.*, s.age_s, s.stale, s.carried_forward{spot}
            FROM {source} o JOIN seen s USING (scrape_id) WHERE o.scrape_id IN $ids)
        SELECT {names}, age_s, stale, carried_forward{", spot_usd_per_gpu_hour" if spot else ""},
            count(*) OVER () AS _total
        FROM every WHERE {where.sql()} ORDER BY {order}, {TIES} LIMIT $limit""",
        ids=ids,
        limit=2**31 if limit is None else limit,
        **where.params,
    )
    total = rows["_total"][0].as_py() if rows.num_rows else 0
    return OffersAnswer(
        table=rows.drop_columns(["_total"]),
        as_of=at,
        newest=max((c.observed_at for c in seen), default=None),
        total=total,
        stale=[c.provider for c in seen if c.stale],
        carried_forward=[c.provider for c in seen if c.carried_forward],
        filters=filters.described(),
        gpus=list(dict.fromkeys(models or [])),
        sort=sort,
        origin=lake.origin,
    )


def _spot_price() -> str:
    shape = ", ".join(SHAPE)
    return f"min(usd_per_gpu_hour) FILTER (WHERE purchase = 'spot') OVER (PARTITION BY {shape})"


def _values(seen: list[Current]) -> str:
    """The visible snapshots as a SQL relation; ids are ours (see `lake`), still they are quoted."""
    from storage.reading import literal

    kind = "NULL::VARCHAR AS scrape_id, NULL::DOUBLE AS age_s, NULL::BOOLEAN AS stale, NULL::BOOLEAN AS carried_forward"
    rows = [f"SELECT {literal(c.scrape_id)}, {c.age_s!r}, {c.stale}, {c.carried_forward}" for c in seen]
    return " UNION ALL ".join([f"SELECT {kind} WHERE false", *rows])

"""Answers from the store: the comparison table and one offer with its provenance. Arrow to the last step."""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from schemas.offer import Offer
from schemas.providers import providers as known_providers
from schemas.record import columns
from schemas.scrape import Scrape
from storage import filters as asked
from storage.delta import DataFile
from storage.errors import NotFound, StoreError
from storage.figures import UNIT_PRICES, priced
from storage.filters import Filters, Gpu
from storage.flags import WITHHELD
from storage.lake import DECISIVE, Lake
from storage.reading import Answer
from storage.visible import END_OF_TIME, with_current

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FACT_COLUMNS", "SORTS", "Current", "Filters", "Gpu", "OffersAnswer", "Shown", "current", "offers", "show"]

DEFAULT_FRESH_H = 36
# Rows that are equal in what is sorted by always come in the same order.
TIES = (
    "usd_per_gpu_hour ASC NULLS LAST, usd_per_hour ASC NULLS LAST,"
    " provider, gpu NULLS LAST, region NULLS LAST, offer_key"
)
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
    **{name: f"{name} ASC NULLS LAST" for name in UNIT_PRICES},
}
# Facts of the provider that stand beside each of its offers: yes, no or unknown, or the fact's words; then the sources.
FACT_COLUMNS = (
    *("ssh", "docker", "jupyter", "storage_outlives_instance", "charged_while_stopped"),
    *("network_kind", "fact_sources"),
)
# USD per hour of the disk that was asked for: a listing that names its own price charges all of it, else what the
# machine brings is free and the rest costs what the provider's facts say; unknown where neither is told.
DISK_USD_PER_HOUR = """CASE
    WHEN o.storage_usd_per_gib_month IS NOT NULL THEN $disk_gib * o.storage_usd_per_gib_month / 730
    WHEN o.disk_gib >= $disk_gib THEN 0
    WHEN s.disk_price IS NOT NULL THEN ($disk_gib - coalesce(o.disk_gib, 0)) * s.disk_price / 730 END"""
WITH_DISK = f""" REPLACE (
    (o.usd_per_hour + {DISK_USD_PER_HOUR})::DECIMAL(24, 10) AS usd_per_hour,
    (o.usd_per_gpu_hour + {DISK_USD_PER_HOUR} / nullif(o.gpu_count, 0))::DECIMAL(24, 10) AS usd_per_gpu_hour)"""
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
    offers: int
    age_s: float
    stale: bool
    carried_forward: bool


@dataclass(frozen=True, slots=True)
class OffersAnswer:
    """Rows of Offer with age_s, stale, carried_forward (and, sorted by spot, spot_usd_per_gpu_hour).

    as_of: the moment the answer holds for. newest: latest observation in it. total: rows before the limit.
    stale: providers whose snapshot is past its window; carried_forward: those whose later attempt failed.
    """

    asked: Answer
    counted: Answer
    limit: int | None
    as_of: datetime
    newest: datetime | None
    stale: list[str]
    carried_forward: list[str]
    filters: dict[str, Any]
    gpus: list[str]
    sort: str
    origin: str

    @property
    def table(self) -> pa.Table:
        """The rows as Arrow."""
        return self.asked.table

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts."""
        return self.asked.rows

    @property
    def total(self) -> int:
        """How many rows there are before the limit; asked for only where the limit may have cut some."""
        found = self.asked.table.num_rows if "table" in vars(self.asked) else len(self.asked.rows)
        return found if self.limit is None or found < self.limit else int(self.counted.rows[0]["n"])


def fresh_for_h(provider: str) -> float:
    """How many hours an observation of the provider counts as current."""
    known = known_providers().get(provider)
    return float(known.fresh_for_h if known else DEFAULT_FRESH_H)


def current(lake: Lake, as_of: datetime, known_at: datetime | None = None) -> list[Current]:
    """The snapshot of each provider at a moment, as known at another (default: as known today)."""
    # Only what decides: the other columns, checks and rejected records among them, would be carried through every step.
    scrapes = f"(SELECT {', '.join(DECISIVE)}, offers FROM {lake.relation('scrapes')})"
    answer = lake.asked(
        f"""WITH {with_current(scrapes)}
        SELECT provider, scrape_id, observed_at, offers, EXISTS (
            SELECT 1 FROM judged j WHERE j.provider = c.provider AND j.observed_at > c.observed_at
            AND j.verdict NOT IN ('accepted', 'accepted_with_warnings')) AS carried
        FROM current c ORDER BY provider""",
        as_of=as_of,
        known_at=known_at or END_OF_TIME,
    )
    found = []
    for row in answer.rows:
        at = row["observed_at"]
        age = (as_of - at).total_seconds()
        stale = age > fresh_for_h(row["provider"]) * 3600
        found.append(Current(row["provider"], row["scrape_id"], at, row["offers"], age, stale, row["carried"]))
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
    unit_prices: Sequence[str] = (),
) -> OffersAnswer:
    """The comparison table at `as_of` (default `now`): every provider's visible snapshot, filtered, sorted, cut.

    A provider whose last attempts failed shows its last accepted rows with their age. Rows without a price come last.
    `unit_prices`: which of UNIT_PRICES stand beside them, as the one does that is sorted by. Raises KeyError for an
    unknown sort.
    """
    order = SORTS[sort]
    at = as_of or now
    seen = [c for c in current(lake, at, known_at) if _wanted(c.provider, filters.providers, at)]
    where = asked.offer(filters)
    where.params |= {} if filters.disk_gib is None else {"disk_gib": filters.disk_gib}
    if filters.in_stock:
        where.add("availability IN ('available', 'limited') AND NOT stale")
    if sort == "spot" and filters.purchase:
        # The spot price of a shape stands in another row of it, which the wish for on-demand rows would hide.
        where.params.pop("purchases")
        where.parts.remove("purchase IN $purchases")
        where.add("asked_purchase IN $purchases", purchases=list(filters.purchase))
    models = [gpu.model for gpu in filters.gpus] or None
    ids = [c.scrape_id for c in seen]
    files = _files_of(lake, seen)
    source = lake.over("snapshots", [file for file in files if models is None or file.may_hold("gpu", models)])
    names = ", ".join(
        [*columns(Offer), "age_s", "stale", "carried_forward", *FACT_COLUMNS]
        + (["spot_usd_per_gpu_hour"] if sort == "spot" else [])
        + (units := [name for name in UNIT_PRICES if name in unit_prices or name == sort])
    )
    found = priced("every") if units else "every"
    spot = f", {_spot_price()} AS spot_usd_per_gpu_hour, purchase AS asked_purchase" if sort == "spot" else ""
    every = f"""WITH seen AS ({_values(seen)}),
        every AS (SELECT o.*{"" if filters.disk_gib is None else WITH_DISK}, s.* EXCLUDE (scrape_id){spot}
            FROM {source} o JOIN seen s USING (scrape_id) WHERE o.scrape_id IN $ids)"""
    answer = lake.asked(
        f"""{every} SELECT {names} FROM {found} WHERE {where.sql()} ORDER BY {order}, {TIES}
        {"" if limit is None else "LIMIT $limit"}""",
        ids=ids,
        **({} if limit is None else {"limit": limit}),
        **where.params,
    )
    counted = lake.asked(f"{every} SELECT count(*) AS n FROM every WHERE {where.sql()}", ids=ids, **where.params)
    return OffersAnswer(
        asked=answer,
        counted=counted,
        limit=limit,
        as_of=at,
        newest=max((c.observed_at for c in seen), default=None),
        stale=[c.provider for c in seen if c.stale],
        carried_forward=[c.provider for c in seen if c.carried_forward],
        filters=filters.described(),
        gpus=list(dict.fromkeys(models or [])),
        sort=sort,
        origin=lake.origin,
    )


def _files_of(lake: Lake, seen: list[Current]) -> list[DataFile]:
    """The data files that can hold the snapshots. Raises StoreError where a snapshot has rows and no file to hold them.

    So a lost entry of the log is an error, not an answer without these offers.
    """
    files = lake.files("snapshots", scrape_ids=[c.scrape_id for c in seen], providers=[c.provider for c in seen])
    for one in seen:
        if one.offers and not any(file.may_hold("scrape_id", [one.scrape_id]) for file in files):
            raise StoreError(
                f"the {one.offers} offers of scrape {one.scrape_id} are in no file that table snapshots names; "
                f"run `gpufare verify`, and `gpufare refresh {one.provider}` for new ones"
            )
    return files


def _wanted(provider: str, named: Sequence[str], at: datetime) -> bool:
    """Is a provider asked for? One that is no longer collected only by its name, or as of a day when it still was."""
    if named:
        return provider in named
    known = known_providers().get(provider)
    if known is None or known.status == "active":
        return True
    return known.status_since is not None and at.date() < known.status_since


def _spot_price() -> str:
    shape = ", ".join(SHAPE)
    return f"min(usd_per_gpu_hour) FILTER (WHERE purchase = 'spot') OVER (PARTITION BY {shape})"


def _values(seen: list[Current]) -> str:
    """The visible snapshots as a SQL relation; ids are ours (see `lake`), still they are quoted."""
    from storage.reading import literal

    kinds = {"scrape_id": "VARCHAR", "age_s": "DOUBLE", "stale": "BOOLEAN", "carried_forward": "BOOLEAN"}
    kinds |= dict.fromkeys(FACT_COLUMNS, "VARCHAR") | {"disk_price": "DECIMAL(24, 10)"}
    if not seen:
        return f"SELECT {', '.join(f'NULL::{kind} AS {name}' for name, kind in kinds.items())} WHERE false"
    rows = [
        f"({literal(c.scrape_id)}, {c.age_s!r}, {c.stale}, {c.carried_forward}, "
        f"{', '.join(map(literal, _facts(c.provider)))}, {_disk_price(c.provider)})"
        for c in seen
    ]
    typed = ", ".join(f"{name}::{kind} AS {name}" for name, kind in kinds.items())
    return f"SELECT {typed} FROM (VALUES {', '.join(rows)}) AS v({', '.join(kinds)})"


def _facts(provider: str) -> Iterator[str]:
    """The values of FACT_COLUMNS: yes, no or unknown; the words of a fact; where the known ones stand."""
    known = known_providers().get(provider)
    facts = known.facts if known else {}
    for name in FACT_COLUMNS[:-1]:
        value = facts[name].value if name in facts else "unknown"
        yield ("yes" if value else "no") if isinstance(value, bool) else str(value)
    yield "; ".join(f"{name}: {facts[name].source}" for name in FACT_COLUMNS[:-1] if name in facts)


def _disk_price(provider: str) -> str:
    known = known_providers().get(provider)
    price = known.fact("storage_usd_per_gib_month") if known else None
    return "NULL" if price is None else f"{price}"


@dataclass(frozen=True, slots=True)
class Shown:
    """One offer with its provenance.

    offer: the last visible row, by column, with age_s, stale. gone: the provider's current snapshot no longer has it.
    scrape: the attempt that brought it. recording: where its recording lies, None where it is not kept.
    history: its steps, see `storage.series.history`.
    """

    offer: dict[str, Any]
    gone: bool
    scrape: Scrape
    recording: str | None
    history: pa.Table
    origin: str


def show(lake: Lake, offer_key: str, *, now: datetime, known_at: datetime | None = None) -> Shown:
    """One offer with where it comes from and what became of it. Raises NotFound, which names near keys."""
    from storage.recordings import Recordings
    from storage.series import history

    provider = offer_key.partition(":")[0]
    visible = {scrape.scrape_id: scrape for scrape in lake.visible(provider, known_at)}  # newest first
    source = lake.relation("snapshots", providers=[provider])
    rows = lake.query(
        f"""SELECT * FROM {source} WHERE offer_key = $key AND scrape_id IN $ids
            AND NOT coalesce(list_contains(flags, $withheld), false)
        ORDER BY observed_at DESC LIMIT 1""",
        key=offer_key,
        ids=list(visible),
        withheld=WITHHELD,
    )
    if rows.num_rows == 0:
        raise NotFound(f"no offer {offer_key}; `gpufare offers -o json` gives the keys")
    offer = rows.to_pylist()[0]
    scrape = visible[offer["scrape_id"]]
    age = (now - offer["observed_at"]).total_seconds()
    kept = Recordings.of(lake)
    sha256 = offer["recording_sha256"] or scrape.recording_sha256
    wanted = Filters(providers=(provider,), purchase=(), offer_keys=(offer_key,))
    return Shown(
        offer=offer | {"age_s": age, "stale": age > fresh_for_h(provider) * 3600},
        gone=next(iter(visible)) != offer["scrape_id"],
        scrape=scrape,
        recording=kept.where(sha256) if sha256 and kept.has(sha256) else None,
        history=history(lake, wanted, known_at=known_at),
        origin=lake.origin,
    )

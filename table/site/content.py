"""What the site tells, read from the store once; rows of providers that may not be passed on are no part of it."""

# ruff: noqa: S608 - what is put into the SQL stands in this package

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from schemas.providers import providers
from schemas.rate import GRACE, usd_rates
from schemas.scrape import ACCEPTED, Scrape
from storage.filled import MOST_POINTS, filled
from storage.filters import Filters, Gpu
from storage.flags import WITHHELD
from storage.health import Health, status
from storage.lake import Lake
from storage.news import changes
from storage.query import Current, current, offers
from storage.visible import END_OF_TIME, with_visible
from table.exports import passed_on
from table.view import Row, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

CURRENCIES = ("USD", "EUR", "VND")
YEAR, MONTH, QUARTER = timedelta(days=365), timedelta(days=30), timedelta(days=90)
FEWEST_OBSERVATIONS = 7
"""of an offer in 90 days; under that no price is called low or high"""
MOST_CHANGES = 2000
Card = tuple[str, str | None]
"""canonical model and form factor"""


@dataclass(frozen=True, slots=True)
class RateOfDay:
    """Units of a currency for one USD, the day it holds for, and who published it."""

    per_usd: Decimal
    day: date
    source: str


@dataclass(frozen=True, slots=True)
class Point:
    """A card's price on a day, USD per GPU-hour: lowest and median; `state` as `storage.filled` tells it."""

    day: date
    lowest: Decimal | None
    median: Decimal | None
    state: str
    provider: str | None
    offers: int


@dataclass(frozen=True, slots=True)
class Day:
    """What became of a day's attempts at a provider: good, partly (some failed), failed, or none (not asked)."""

    day: date
    word: str
    error: str | None


@dataclass(frozen=True)
class Content:
    """Everything that pages, data files and the manifest are made of."""

    as_of: datetime
    sample: bool
    table: pa.Table
    rows: Sequence[Row]
    kept_back: Counter[str]
    seen: Mapping[str, Current]
    rates: Mapping[str, RateOfDay]
    histories: Mapping[Card, Mapping[str, Sequence[Point]]]
    changes: Sequence[Row]
    health: Sequence[Health]
    days: Mapping[str, Sequence[Day]]
    notices: Sequence[str]
    scrapes: Sequence[Scrape] = field(repr=False)


def read(lake: Lake, now: datetime, *, history: timedelta = YEAR) -> Content:
    """The content as of `now`, the reader's time of the store (`Lake.clock`)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    everything = offers(lake, Filters(purchase=(), serverless=True), now=now)
    names = everything.table["provider"].to_pylist()
    open_to_all = {slug: passed_on(providers().get(slug)) for slug in set(names)}
    kept_back = Counter(slug for slug in names if not open_to_all[slug])
    told = pa.array(sorted(slug for slug, is_open in open_to_all.items() if is_open), pa.string())
    table = everything.table.filter(pc.is_in(everything.table["provider"], told))
    known = past(lake, now, table["offer_key"].to_pylist())
    rows = [{**row, **known.get(row["offer_key"], {})} for row in rows_of(table)]
    scrapes = lake.scrapes()
    readable = sorted({scrape.provider for scrape in scrapes if passed_on(providers().get(scrape.provider))})
    moved = changes(lake, Filters(purchase=(), providers=tuple(readable)), since=now - MONTH, until=now)
    return Content(
        as_of=now,
        sample=lake.origin != "live",
        table=table,
        rows=rows,
        kept_back=kept_back,
        seen={one.provider: one for one in current(lake, now)},
        rates=rates(lake, now.date()),
        histories=histories(lake, readable, now, history) if readable else {},
        changes=rows_of(moved.table.slice(0, MOST_CHANGES)) if readable else [],
        health=status(lake, now),
        days=health_days(scrapes, now),
        notices=sorted({scrape.note for scrape in scrapes if scrape.origin == "import" and scrape.note}),
        scrapes=scrapes,
    )


def rates(lake: Lake, today: date) -> dict[str, RateOfDay]:
    """The latest rate of each of CURRENCIES, not older than GRACE; a currency without one cannot be shown in."""
    told = usd_rates(lake.rates())
    found = {"USD": RateOfDay(Decimal(1), today, "-")}
    for currency in CURRENCIES[1:]:
        days = {day: rate for day, rate in told.get(currency, {}).items() if today - GRACE <= day <= today}
        if days:
            day = max(days)
            found[currency] = RateOfDay(1 / days[day].usd, day, days[day].source)
    return found


def past(lake: Lake, now: datetime, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """For each offer: observations (prices that could be used) in 90 days, median_30d_usd, low_90d_usd per GPU-hour.

    Both figures only where there are FEWEST_OBSERVATIONS.
    """
    source = lake.relation("snapshots", since=now - QUARTER, until=now)
    rows = lake.query(
        f"""WITH {with_visible(lake.relation("scrapes"))}
        SELECT offer_key, count(*) AS observations, min(usd_per_gpu_hour) AS low_90d_usd,
            median(usd_per_gpu_hour) FILTER (WHERE observed_at >= $month) AS median_30d_usd
        FROM {source} WHERE scrape_id IN (SELECT scrape_id FROM visible) AND usd_per_gpu_hour IS NOT NULL
            AND NOT coalesce(list_contains(flags, $withheld), false) AND observed_at BETWEEN $since AND $now
        GROUP BY offer_key HAVING observations >= {FEWEST_OBSERVATIONS}""",
        known_at=END_OF_TIME,
        withheld=WITHHELD,
        month=now - MONTH,
        since=now - QUARTER,
        now=now,
    )
    wanted = set(keys)
    return {row["offer_key"]: row for row in rows.to_pylist() if row["offer_key"] in wanted}


def histories(
    lake: Lake, readable: Sequence[str], now: datetime, span: timedelta
) -> dict[Card, dict[str, list[Point]]]:
    """Each card's days by purchase, `on_demand` and `spot`. Cards are read in batches that one answer can hold."""
    since = now - span
    found: dict[Card, dict[str, list[Point]]] = {}
    for models in _batches(lake, readable, since, now):
        asked = Filters(
            gpus=tuple(Gpu(model) for model in models), purchase=("on_demand", "spot"), providers=tuple(readable)
        )
        for row in filled(lake, asked, every="day", now=now, since=since).to_pylist():
            point = Point(
                row["period_start"].date(),
                row["usd_per_gpu_hour"],
                row["median_usd_per_gpu_hour"],
                row["state"],
                row["provider"],
                row["offers"],
            )
            found.setdefault((row["gpu"], row["form_factor"]), {}).setdefault(row["purchase"], []).append(point)
    return found


def _batches(lake: Lake, readable: Sequence[str], since: datetime, now: datetime) -> list[list[str]]:
    counted = lake.query(
        f"""SELECT gpu, count(DISTINCT offer_key) AS n FROM {lake.relation("snapshots", since=since, until=now)}
        WHERE gpu IS NOT NULL AND list_contains($readable, provider) AND purchase IN ('on_demand', 'spot')
        GROUP BY gpu ORDER BY gpu""",
        readable=list(readable),
    )
    room = MOST_POINTS // (2 * ((now - since).days + 32))
    batches: list[list[str]] = []
    held = room
    for row in counted.to_pylist():
        if held + row["n"] > room:
            batches.append([])
            held = 0
        batches[-1].append(row["gpu"])
        held += row["n"]
    return batches


def health_days(scrapes: Sequence[Scrape], now: datetime, days: int = 90) -> dict[str, list[Day]]:
    """The last days of each provider, oldest first; of an attempt the last verdict counts."""
    last: dict[str, Scrape] = {}
    for scrape in sorted(scrapes, key=lambda one: one.recorded_at):
        last[scrape.scrape_id] = scrape
    by_day: dict[str, dict[date, list[Scrape]]] = {}
    for scrape in last.values():
        if scrape.observed_at <= now:
            by_day.setdefault(scrape.provider, {}).setdefault(scrape.observed_at.date(), []).append(scrape)
    span = [now.date() - timedelta(days=back) for back in range(days - 1, -1, -1)]
    return {slug: [_day(day, found.get(day, [])) for day in span] for slug, found in by_day.items()}


def _day(day: date, attempts: Sequence[Scrape]) -> Day:
    bad = [scrape for scrape in attempts if scrape.verdict not in ACCEPTED]
    if not attempts:
        return Day(day, "none", None)
    word = "good" if not bad else "failed" if len(bad) == len(attempts) else "partly"
    return Day(day, word, (bad[-1].error_class or bad[-1].verdict) if bad else None)

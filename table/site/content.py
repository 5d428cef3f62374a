"""What the site tells, read from the store once; rows of providers that may not be passed on are no part of it."""

# ruff: noqa: S608 - what is put into the SQL stands in this package

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from schemas.providers import providers
from schemas.rate import GRACE, usd_rates
from schemas.scrape import ACCEPTED, Scrape
from storage.daily import daily
from storage.filters import Filters
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

SHOWN = (
    *("provider", "gpu", "form_factor", "gpu_count", "vram_gib", "accelerator_raw", "instance_type", "purchase"),
    *(
        "term_months",
        "usd_per_gpu_hour",
        "availability",
        "region",
        "zone",
        "country",
        "flags",
        "observed_at",
        "offer_key",
    ),
)
"""columns of an offer that pages show, or make theirs of"""
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


class Past(NamedTuple):
    """An offer's last 90 days: usable prices, their median of 30 days and lowest of 90, USD per GPU-hour."""

    observations: int
    median_30d_usd: Decimal | None
    low_90d_usd: Decimal


@dataclass(frozen=True, slots=True)
class Point:
    """A card's price on a day, USD per GPU-hour: lowest and median; `state` as `storage.daily` tells it."""

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
    """Everything that pages, data files and the manifest are made of.

    table: the offers, cheapest GPU-hour first, all columns. rows: the same offers, columns SHOWN. past: by offer key.
    """

    as_of: datetime
    sample: bool
    table: pa.Table
    rows: Sequence[Row]
    past: Mapping[str, Past]
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
    scrapes = lake.scrapes()
    readable = sorted({scrape.provider for scrape in scrapes if passed_on(providers().get(scrape.provider))})
    moved = changes(lake, Filters(purchase=(), providers=tuple(readable)), since=now - MONTH, until=now)
    return Content(
        as_of=now,
        sample=lake.origin != "live",
        table=table,
        rows=rows_of(table.select(SHOWN)),
        past=past(lake, now),
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


def past(lake: Lake, now: datetime) -> dict[str, Past]:
    """The past of each offer that has FEWEST_OBSERVATIONS."""
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
    keys, *figures = (rows[name].to_pylist() for name in ("offer_key", *Past._fields))
    return dict(zip(keys, map(Past, *figures), strict=True))


def histories(
    lake: Lake, readable: Sequence[str], now: datetime, span: timedelta
) -> dict[Card, dict[str, list[Point]]]:
    """Each card's days by purchase, `on_demand` and `spot`; `readable` are the providers that may be told of."""
    asked = Filters(purchase=("on_demand", "spot"), providers=tuple(readable))
    found: dict[Card, dict[str, list[Point]]] = {}
    for row in daily(lake, asked, now=now, since=now - span).to_pylist():
        point = Point(
            row["day"],
            row["lowest_usd_per_gpu_hour"],
            row["median_usd_per_gpu_hour"],
            row["state"],
            row["provider"],
            row["offers"],
        )
        found.setdefault((row["gpu"], row["form_factor"]), {}).setdefault(row["purchase"], []).append(point)
    return found


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

"""The index: what a card costs on a day over all providers; and how much of it interruptible capacity costs.

A day's figure is made of each provider's last accepted rows up to the end of the day: read on the day, or carried from
an earlier one where they were within the provider's window for at least half of the day, as in `storage.filled`.
Model, form factor, segment and purchase are never mixed: each combination has a row of its own.

Method, INDEX_VERSION 1: every offer counts once, at its price of one GPU-hour in USD. An offer whose distance from the
median of its combination is more than 3.5 times 1.4826 MAD (median absolute deviation; 1.2533 times the mean absolute
deviation where more than half of the offers cost the same), and more than half of the median, is an outlier: it is left
out and named. (By deviations alone a bargain was one wherever the others cost about the same.) Of what is left: median,
quartiles (linear between two prices) and lowest. Where fewer than three providers are left there is no figure but the
reason.
"""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from storage import filters as asked
from storage.filters import Filters
from storage.flags import WITHHELD
from storage.lake import Lake
from storage.query import SHAPE, fresh_for_h
from storage.visible import END_OF_TIME, with_visible

if TYPE_CHECKING:
    import pyarrow as pa

INDEX_VERSION = 1
METHOD = (
    "every offer once; outliers by MAD (over 3.5 robust deviations and 50 % from the median) left out; no figure under"
    " 3 providers; a provider's last accepted rows count while within its window for half of the day"
)
FEWEST_PROVIDERS = 3
MOST_DEVIATIONS = 3.5
NEAR = 0.5
"""share of the median within which no price is an outlier: where most offers cost about the same, a bargain is none"""
MAD_TO_SIGMA, MEAN_TO_SIGMA = 1.4826, 1.2533
FINAL_AFTER = timedelta(days=3)
"""a scrape that was held back may still be accepted when the next two confirm it; until then a figure is provisional"""
SILENT_AFTER = timedelta(days=31)
"""a provider that has not been read for so long is no longer counted as stale"""
COMBINATION = ("gpu", "form_factor", "segment", "purchase")
FIGURES = {
    "median_usd_per_gpu_hour": "median(usd_per_gpu_hour)",
    "p25_usd_per_gpu_hour": "quantile_cont(usd_per_gpu_hour, 0.25)",
    "p75_usd_per_gpu_hour": "quantile_cont(usd_per_gpu_hour, 0.75)",
    "lowest_usd_per_gpu_hour": "min(usd_per_gpu_hour)",
}
LEFT_OUT = ("outlier", "stale", "no_price", "withheld", "share_of_gpu", "serverless")


@dataclass(frozen=True, slots=True)
class IndexAnswer:
    """`table`: one row for each day, newest first, and combination. `rows`: every offer behind them.

    table: day, gpu, form_factor, segment, purchase; median_, p25_, p75_, lowest_usd_per_gpu_hour (null under three
    providers, then `reason` says so); providers, offers (that count); carried (of these, not read on the day); outlier,
    stale, no_price, withheld, share_of_gpu, serverless (left out, by reason); vram_gib_low, vram_gib_high
    (memory of one GPU that the figure spans); status (provisional, final); index_version.
    rows: the combination, offer_key, provider, region, gpu_count, vram_gib, usd_per_gpu_hour, availability, left_out
    (null where it counts, else one of LEFT_OUT), deviations (robust, from the median), observed_at, scrape_id,
    recording_sha256, source_url, origin.
    """

    table: pa.Table
    rows: pa.Table
    as_of: datetime
    filters: dict[str, Any]
    origin: str


def index(
    lake: Lake,
    filters: Filters,
    *,
    now: datetime,
    since: datetime | None = None,
    until: datetime | None = None,
    known_at: datetime | None = None,
) -> IndexAnswer:
    """The index of each day (UTC) that the closed span touches; of a day that still runs, as of `now`.

    Of the filters, `in_stock` keeps what was available or limited, `fractional` lets shares of a GPU in,
    `serverless` what is no machine of one's own.
    """
    combination = ", ".join(COMBINATION)
    rows = lake.query(
        f"""WITH {standing(lake, filters, since, until, now)},
        priced AS (SELECT *, CASE
                WHEN coalesce(list_contains(flags, $withheld), false) THEN 'withheld'
                WHEN stale THEN 'stale'
                WHEN usd_per_gpu_hour IS NULL THEN 'no_price'
                WHEN gpu_count < 1 AND NOT $fractional THEN 'share_of_gpu'
                WHEN kind = 'serverless' AND NOT $serverless THEN 'serverless' END AS kept_out,
                CASE WHEN kept_out IS NULL THEN usd_per_gpu_hour END AS x
            FROM standing),
        middle AS (SELECT *, median(x) OVER g AS middle FROM priced WINDOW g AS (PARTITION BY day, {combination})),
        spread AS (SELECT *, abs(x - middle) AS distance, median(abs(x - middle)) OVER g AS mad,
                avg(abs(x - middle)) OVER g AS mean_distance
            FROM middle WINDOW g AS (PARTITION BY day, {combination})),
        scored AS (SELECT *, CASE
                WHEN mad > 0 THEN distance::DOUBLE / ({MAD_TO_SIGMA} * mad::DOUBLE)
                WHEN mean_distance > 0 THEN distance::DOUBLE / ({MEAN_TO_SIGMA} * mean_distance)
                WHEN distance IS NOT NULL THEN 0 END AS deviations FROM spread)
        SELECT day, {combination}, offer_key, provider, region, gpu_count, vram_gib, usd_per_gpu_hour, availability,
            coalesce(kept_out, CASE WHEN deviations > {MOST_DEVIATIONS} AND distance::DOUBLE > {NEAR} * middle::DOUBLE
                THEN 'outlier' END) AS left_out, deviations,
            observed_at, scrape_id, recording_sha256, source_url, origin
        FROM scored ORDER BY day DESC, {_by(COMBINATION)}, usd_per_gpu_hour NULLS LAST, offer_key""",
        fractional=filters.fractional,
        serverless=filters.serverless,
        **params(filters, since, until, now, known_at),
    )
    used = "FILTER (WHERE left_out IS NULL)"
    counts = ", ".join(f"count(*) FILTER (WHERE left_out = '{why}') AS {why}" for why in LEFT_OUT)
    prices = ", ".join(f"{sql} {used} AS {name}" for name, sql in FIGURES.items())
    shown = ", ".join(f"CASE WHEN providers >= {FEWEST_PROVIDERS} THEN {name} END AS {name}" for name in FIGURES)
    table = lake.query(
        f"""WITH counted AS (
            SELECT day, {combination}, {prices},
                count(DISTINCT provider) {used} AS providers, count(*) {used} AS offers,
                count(*) FILTER (WHERE left_out IS NULL AND observed_at < day::TIMESTAMPTZ) AS carried, {counts},
                min(vram_gib) {used} AS vram_gib_low, max(vram_gib) {used} AS vram_gib_high
            FROM behind GROUP BY day, {combination})
        SELECT * REPLACE ({shown}), CASE WHEN providers < {FEWEST_PROVIDERS} THEN concat(
                providers, CASE providers WHEN 1 THEN ' provider' ELSE ' providers' END,
                '; {FEWEST_PROVIDERS} are needed') END AS reason,
            CASE WHEN day::TIMESTAMPTZ + INTERVAL 1 DAY + $final_after <= $now THEN 'final' ELSE 'provisional' END
                AS status,
            {INDEX_VERSION} AS index_version
        FROM counted ORDER BY day DESC, {_by(COMBINATION)}""",
        tables={"behind": rows},
        now=min(now, known_at or now),
        final_after=FINAL_AFTER,
    )
    return IndexAnswer(table, rows, now, filters.described(), lake.origin)


@dataclass(frozen=True, slots=True)
class RatioAnswer:
    """`table`: one row for each shape that was sold both ways. `rows`: its days, newest first.

    table: provider, instance_type, gpu, form_factor, gpu_count, region, tier, os; days (on which both were read); ratio
    (spot over on demand, on the last of them: `day`), median_, lowest_, highest_ratio; volatility: sample standard
    deviation of the change of ln(ratio) from one such day to the next, null under three days; index_version.
    rows: the shape, day, ratio, both prices, and for each side offer_key, scrape_id and recording_sha256.
    """

    table: pa.Table
    rows: pa.Table
    as_of: datetime
    filters: dict[str, Any]
    origin: str


def ratio(
    lake: Lake,
    filters: Filters,
    *,
    now: datetime,
    since: datetime | None = None,
    until: datetime | None = None,
    known_at: datetime | None = None,
) -> RatioAnswer:
    """Spot over on demand, both read on the same day, for each shape (machine, place, tier) of each provider.

    Of several offers of one shape the cheapest counts on either side. `filters.purchase` is not heeded.
    """
    from dataclasses import replace

    wanted = replace(filters, purchase=("on_demand", "spot"))
    shape = {name.split("(")[-1].split(",")[0]: name for name in SHAPE}
    names = ", ".join(shape)
    sides = ", ".join(
        f"arg_min({name}, (usd_per_gpu_hour, offer_key)) FILTER (WHERE purchase = '{side}') AS {side}_{name}"
        for side in ("spot", "on_demand")
        for name in ("usd_per_gpu_hour", "offer_key", "scrape_id", "recording_sha256")
    )
    rows = lake.query(
        f"""WITH {standing(lake, wanted, since, until, now)},
        sides AS (SELECT day, {", ".join(f"{sql} AS {name}" for name, sql in shape.items())}, {sides}
            FROM (SELECT * RENAME (instance_type AS own_type) FROM standing
                WHERE usd_per_gpu_hour IS NOT NULL AND observed_at >= day::TIMESTAMPTZ
                AND NOT coalesce(list_contains(flags, $withheld), false))
            GROUP BY ALL)
        SELECT {names}, day, spot_usd_per_gpu_hour::DOUBLE / on_demand_usd_per_gpu_hour::DOUBLE AS ratio,
            * EXCLUDE ({names}, day)
        FROM sides WHERE ratio IS NOT NULL ORDER BY {_by(shape)}, day DESC""".replace(
            "coalesce(instance_type,", "coalesce(own_type,"
        ),
        **params(wanted, since, until, now, known_at),
    )
    table = lake.query(
        f"""WITH moves AS (SELECT *, ln(ratio) - lag(ln(ratio)) OVER (PARTITION BY {names} ORDER BY day) AS move
            FROM behind)
        SELECT {names}, count(*) AS days, max(day) AS day, arg_max(ratio, day) AS ratio, median(ratio) AS median_ratio,
            min(ratio) AS lowest_ratio, max(ratio) AS highest_ratio, stddev_samp(move) AS volatility,
            {INDEX_VERSION} AS index_version
        FROM moves GROUP BY {names} ORDER BY ratio, {_by(shape)}""",
        tables={"behind": rows},
    )
    return RatioAnswer(table, rows, now, wanted.described(), lake.origin)


def standing(lake: Lake, filters: Filters, since: datetime | None, until: datetime | None, now: datetime) -> str:
    """SQL clause `standing`: for each day every provider's last accepted rows, with `stale`. Parameters: `params`."""
    where = asked.hardware(filters)
    where.add("gpu IS NOT NULL")
    if filters.in_stock:
        where.add("availability IN ('available', 'limited')")
    models = [gpu.model for gpu in filters.gpus] or None
    providers = filters.providers or None
    first = None if since is None else _start(since) - SILENT_AFTER
    last = min(until or now, now)
    source = lake.relation("snapshots", gpus=models, providers=providers, since=first, until=last)
    return f"""{with_visible(lake.relation("scrapes", providers=providers))},
        asked AS (SELECT scrape_id, provider, observed_at FROM visible WHERE observed_at <= $last),
        days AS (SELECT d::DATE AS day, least(d + INTERVAL 1 DAY - INTERVAL 1 MICROSECOND, $last) AS moment,
                d + (moment - d) / 2 AS middle
            FROM (SELECT unnest(generate_series(
                date_trunc('day', coalesce($since, (SELECT min(observed_at) FROM asked))),
                date_trunc('day', $last), INTERVAL 1 DAY)) AS d)),
        windows AS (SELECT unnest($slugs) AS provider, unnest($fresh_s) AS fresh_s),
        latest AS (SELECT d.day, a.provider, a.scrape_id, epoch(d.middle) - epoch(a.observed_at) AS age_s,
                a.observed_at < d.day::TIMESTAMPTZ AS is_earlier
            FROM (SELECT * FROM days, (SELECT DISTINCT provider FROM asked)) d
            ASOF JOIN asked a ON d.provider = a.provider AND d.moment >= a.observed_at),
        read AS (SELECT day, scrape_id, is_earlier AND age_s > coalesce(fresh_s, $usual_fresh_s) AS stale
            FROM latest LEFT JOIN windows USING (provider) WHERE age_s <= $silent_s),
        standing AS (SELECT day, stale, o.* FROM {source} o JOIN read USING (scrape_id) WHERE {where.sql()})"""


def params(
    filters: Filters, since: datetime | None, until: datetime | None, now: datetime, known_at: datetime | None
) -> dict[str, Any]:
    """What `standing` needs beside its filters."""
    from schemas.providers import providers

    where = asked.hardware(filters)
    slugs = list(providers())
    return {
        "known_at": known_at or END_OF_TIME,
        "withheld": WITHHELD,
        "since": since,
        "last": min(until or now, now),
        "slugs": slugs,
        "fresh_s": [fresh_for_h(slug) * 3600 for slug in slugs],
        "usual_fresh_s": fresh_for_h("") * 3600,
        "silent_s": SILENT_AFTER.total_seconds(),
        **where.params,
    }


def _start(moment: datetime) -> datetime:
    return datetime.combine(moment.astimezone(UTC).date(), time.min, UTC)


def _by(names: Any) -> str:
    return ", ".join(f"{name} NULLS LAST" for name in names)

"""The past at even steps: how each offer, or the cheapest of each card, stood at the end of every hour, day or month.

Nothing is interpolated. Each point says how its price is known:

    observed  the last accepted scrape of the step holds the offer and its price
    carried   nothing newer was read, and the last accepted price was within the provider's window for at least half of
              the step
    failed    attempts were made in the step and none was accepted; the last accepted price stands beside it as long as
              it is within the window, as it does in the comparison table
    missing   no price: `reason` says why

`reason` is null where observed, else `not_fetched` (nobody asked), `no_price` (the offer is there, its price cannot be
used), `gone` (the provider's last accepted scrape lacks the offer), or why the attempt failed (an error class,
`quarantined`, `rejected`).
"""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

from storage import filters as asked
from storage.filters import Filters
from storage.flags import WITHHELD
from storage.lake import Lake
from storage.query import fresh_for_h
from storage.visible import END_OF_TIME, with_visible

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Every = Literal["hour", "day", "week", "month"]
STEPS: dict[str, str] = {"hour": "h", "day": "D", "week": "7D", "month": "MS"}
STATES = ("observed", "carried", "missing", "failed")
COUNTED = {
    **{state: f"state = '{state}' AND reason IS DISTINCT FROM 'gone'" for state in STATES},
    "gone": "reason = 'gone'",
}
MOST_POINTS = 5_000_000
LOOK_BACK = timedelta(days=31)
"""how long before `since` an offer may have been seen last to have a place in the series"""
MACHINE = (
    *("provider", "offer_key", "gpu", "form_factor", "gpu_count", "vram_gib", "instance_type"),
    *("region", "country", "tier", "purchase"),
)
VALUE = (
    *("usd_per_gpu_hour", "price", "currency", "price_unit", "availability"),
    *("observed_at", "scrape_id", "recording_sha256", "origin"),
)


class TooManyPoints(ValueError):
    """The question has more points than one answer holds. `str()` is one line."""


def filled(
    lake: Lake,
    filters: Filters,
    *,
    every: Every,
    now: datetime,
    per: Literal["gpu", "offer"] = "gpu",
    since: datetime | None = None,
    until: datetime | None = None,
    known_at: datetime | None = None,
) -> pa.Table:
    """One row for each step (UTC; a week begins on Monday) and card, form factor and purchase, or offer, by these.

    Both have period_start, period_end (of a step that still runs: `until` or `now`), state and reason. Per offer: what
    tells the machine, and usd_per_gpu_hour, price, currency, price_unit, availability, observed_at, scrape_id,
    recording_sha256, origin of the row that the price comes from, all null where there is none. An offer begins with
    the step in which it is first seen and ends with the one that finds it gone. Per card: usd_per_gpu_hour (lowest) and
    median_usd_per_gpu_hour over the offers that have a price, offers and providers (how many these are), how many
    offers are observed, carried, missing, failed, gone; the lowest one's provider, offer_key, observed_at, scrape_id
    and recording_sha256. `state` and `reason` of a card are those of its lowest price. Offers of unknown
    cards are no part of it, nor serverless ones unless `filters.serverless`.

    Raises TooManyPoints.
    """
    end = min(until or now, now)
    rows = _rows(lake, filters, every, since=since, end=end, known_at=known_at, everything=per == "offer")
    attempts = _attempts(lake, filters, every, end=end, known_at=known_at)
    points, steps = _points(rows, attempts, every, since, end)
    return points if per == "offer" else _by_card(lake, points, steps)


def _rows(
    lake: Lake,
    filters: Filters,
    every: str,
    *,
    since: datetime | None,
    end: datetime,
    known_at: datetime | None,
    everything: bool,
) -> pa.Table:
    """One row for each offer and step in which it was seen: the last with a price, else the last.

    `last` says whether the provider's last accepted scrape of the step has the offer, `last_priced` whether with a
    price.
    """
    where = asked.hardware(filters)
    if not everything:  # cards without a name are no one card
        where.add("gpu IS NOT NULL")
    if not everything and not filters.serverless:
        where.add("kind IS DISTINCT FROM 'serverless'")
    first = None if since is None else since - LOOK_BACK
    source = lake.relation(
        "snapshots",
        gpus=[gpu.model for gpu in filters.gpus] or None,
        providers=filters.providers or None,
        since=first,
        until=end,
    )
    usable = "o.price IS NOT NULL AND NOT coalesce(list_contains(o.flags, $withheld), false)"
    return lake.query(
        f"""WITH {with_visible(lake.relation("scrapes"))},
        seen AS (SELECT scrape_id, date_trunc('{every}', observed_at) AS step, row_number() OVER (
                PARTITION BY provider, step ORDER BY observed_at DESC) = 1 AS is_last
            FROM visible WHERE observed_at BETWEEN $first AND $end),
        rows AS (SELECT o.*, s.step, s.is_last, {usable} AS usable FROM {source} o JOIN seen s USING (scrape_id)
            WHERE {where.sql()})
        SELECT {", ".join(MACHINE)}, {", ".join(VALUE)}, step, usable, bool_or(is_last) OVER w AS last,
            bool_or(is_last AND usable) OVER w AS last_priced
        FROM rows WINDOW w AS (PARTITION BY offer_key, step)
        QUALIFY row_number() OVER (PARTITION BY offer_key, step ORDER BY usable DESC, observed_at DESC) = 1
        ORDER BY provider, offer_key, step""",
        known_at=known_at or END_OF_TIME,
        withheld=WITHHELD,
        first=first or datetime(1970, 1, 1, tzinfo=UTC),
        end=end,
        **where.params,
    )


def _attempts(lake: Lake, filters: Filters, every: str, *, end: datetime, known_at: datetime | None) -> pa.Table:
    """For each provider and step with an attempt: was one accepted, how many failed, why did the last of these."""
    return lake.query(
        f"""WITH {with_visible(lake.relation("scrapes", providers=filters.providers or None))}
        SELECT provider, date_trunc('{every}', observed_at) AS step,
            bool_or(scrape_id IN (SELECT scrape_id FROM visible)) AS scraped,
            count(*) FILTER (WHERE verdict NOT IN ('accepted', 'accepted_with_warnings')) AS failures,
            arg_max(CASE WHEN verdict = 'failed' THEN coalesce(error_class, 'failed') ELSE verdict END, observed_at)
                FILTER (WHERE verdict NOT IN ('accepted', 'accepted_with_warnings')) AS why
        FROM judged WHERE observed_at <= $end GROUP BY ALL ORDER BY provider, step""",
        known_at=known_at or END_OF_TIME,
        end=end,
    )


def _points(
    rows: pa.Table, attempts: pa.Table, every: Every, since: datetime | None, end: datetime
) -> tuple[pa.Table, pa.Table]:
    """Every offer at every step, and all steps. pandas says which row stands where; Arrow then takes the rows, money
    untouched.
    """
    import pandas as pd
    import pyarrow as pa

    instants = pa.timestamp("us", "UTC")
    empty = {"step": "datetime64[us, UTC]", "end": "datetime64[us, UTC]", "machine": "float", "value": "float"}
    at = pd.DataFrame({name: pd.Series(dtype=kind) for name, kind in empty.items()})
    at[["state", "reason", "failures"]] = None
    steps = at[["step", "end"]]
    if rows.num_rows:
        told = rows.select(
            ["provider", "offer_key", "step", "observed_at", "usable", "last", "last_priced"]
        ).to_pandas()
        steps = _steps(told, every, end)
        at = _placed(told, attempts.to_pandas(), steps)
        if since is not None:  # what lies before was only read to know how the span begins
            steps, at = (frame[frame["end"] > pd.Timestamp(since)] for frame in (steps, at))

    def taken(name: str, columns: tuple[str, ...]) -> dict[str, Any]:
        wanted = pa.array(at[name].fillna(-1).astype("int64"), mask=at[name].isna().to_numpy())
        found = rows.select(list(columns)).take(wanted)
        return {column: found[column] for column in columns}

    points = pa.table(
        {
            "period_start": pa.array(at["step"], instants),
            "period_end": pa.array(at["end"], instants),
            **taken("machine", MACHINE),
            "state": pa.array(at["state"], pa.string()),
            "reason": pa.array(at["reason"], pa.string(), from_pandas=True),
            **taken("value", VALUE),
            "failures": pa.array(at["failures"], pa.int64()),
        }
    )
    named = {"period_start": pa.array(steps["step"], instants), "period_end": pa.array(steps["end"], instants)}
    return points.sort_by([(n, "ascending") for n in ("provider", "offer_key", "period_start")]), pa.table(named)


def _placed(told: pd.DataFrame, attempts: pd.DataFrame, steps: pd.DataFrame) -> pd.DataFrame:
    """Each offer at each step: state, reason, and the numbers of the rows that its machine and its value come from."""
    import numpy as np
    import pandas as pd

    offers = told.groupby("offer_key", sort=False).agg(provider=("provider", "first"), first=("step", "first"))
    if len(offers) * len(steps) > MOST_POINTS:
        raise TooManyPoints(
            f"{len(offers)} offers at {len(steps)} steps are more than one answer holds; name a provider or a shorter"
            " span, or take longer steps"
        )
    grid = pd.MultiIndex.from_product([offers.index, steps["step"]], names=["offer_key", "step"])
    told["row"] = np.arange(len(told))
    at = told.drop(columns=["provider"]).set_index(["offer_key", "step"]).reindex(grid).reset_index()
    at["provider"] = at["offer_key"].map(offers["provider"])
    at = at[at["step"] >= at["offer_key"].map(offers["first"])]
    at = at.merge(attempts, on=["provider", "step"], how="left").merge(steps, on="step")
    for name in ("usable", "last", "last_priced", "scraped"):
        at[name] = at[name].eq(True)
    at["failures"] = at["failures"].fillna(0).astype(int)
    key = at["offer_key"]

    # At the end of the step: is the offer there or gone, and which was the last row with a price since it came (back)?
    there = at["last"].where(at["scraped"]).astype("boolean")
    there = there.groupby(key, sort=False).ffill().fillna(True).astype(bool)
    spell = (~there).groupby(key, sort=False).cumsum()
    priced = at[["row", "observed_at"]].where(at["usable"] & there)
    at[["value", "seen"]] = priced.groupby([key, spell], sort=False).ffill()
    at["machine"] = at["row"].groupby(key, sort=False).ffill()

    window = at["provider"].map({slug: pd.Timedelta(hours=fresh_for_h(slug)) for slug in offers["provider"].unique()})
    middle = at["step"] + (at["end"] - at["step"]) / 2
    stands = at["value"].notna() & (middle - at["seen"] <= window)
    observed = at["scraped"] & at["last_priced"]
    kept = np.where(stands, "carried", "missing")
    cases = [~there, observed, at["scraped"], at["failures"] > 0]
    at["state"] = np.select(cases, ["missing", "observed", kept, "failed"], kept)
    reasons: list[Any] = ["gone", None, "no_price", at["why"]]
    at["reason"] = np.select(cases, reasons, "not_fetched")
    at["value"] = at["value"].where(there & (observed | stands))

    # A dead listing is told once.
    last = at["step"].where(there).groupby(key, sort=False).transform("max")
    return at[(at["step"] <= last) | there.groupby(key, sort=False).shift(fill_value=True)]


def _steps(told: pd.DataFrame, every: Every, end: datetime) -> pd.DataFrame:
    """`step`, `end` of each from the first that holds a row to the one that holds `end`, which ends there."""
    import pandas as pd

    last = pd.Timestamp(end)
    starts = pd.date_range(told["step"].min(), last, freq=STEPS[every], unit="us")
    after = pd.date_range(starts[-1], periods=2, freq=STEPS[every], unit="us")[1:]
    ends = starts[1:].append(after)
    return pd.DataFrame({"step": starts, "end": ends.where(ends < last, last)})


def _by_card(lake: Lake, points: pa.Table, steps: pa.Table) -> pa.Table:
    """The points of each card, form factor and purchase as one series, from its first step to the last."""
    priced = "FILTER (WHERE usd_per_gpu_hour IS NOT NULL)"
    # Of two offers at the lowest price the one that was really seen tells the state.
    order = "usd_per_gpu_hour, state <> 'observed', provider, offer_key"
    lowest = ", ".join(
        f"first({name} ORDER BY {order}) {priced} AS {name}"
        for name in ("provider", "offer_key", "observed_at", "scrape_id", "recording_sha256")
    )
    why = "state <> 'failed', reason = 'gone', provider, offer_key"
    return lake.query(
        f"""WITH told AS (
            SELECT period_start, gpu, form_factor, purchase,
                coalesce(first(state ORDER BY {order}) {priced},
                    CASE WHEN bool_or(state = 'failed') THEN 'failed' ELSE 'missing' END) AS state,
                CASE WHEN count(usd_per_gpu_hour) = 0 THEN coalesce(first(reason ORDER BY {why}), 'no_price')
                    ELSE first(reason ORDER BY {order}) {priced} END AS reason,
                min(usd_per_gpu_hour) AS usd_per_gpu_hour, median(usd_per_gpu_hour) AS median_usd_per_gpu_hour,
                count(*) {priced} AS offers, count(DISTINCT provider) {priced} AS providers,
                {", ".join(f"count(*) FILTER (WHERE {what}) AS {name}" for name, what in COUNTED.items())}, {lowest}
            FROM points GROUP BY ALL),
        cards AS (SELECT gpu, form_factor, purchase, min(period_start) AS began FROM told GROUP BY ALL)
        SELECT s.period_start, s.period_end, c.gpu, c.form_factor, c.purchase, coalesce(state, 'missing') AS state,
            CASE WHEN state IS NULL THEN 'gone' ELSE reason END AS reason, usd_per_gpu_hour, median_usd_per_gpu_hour,
            coalesce(offers, 0) AS offers, coalesce(providers, 0) AS providers,
            {", ".join(f"coalesce({name}, 0) AS {name}" for name in COUNTED)},
            provider, offer_key, observed_at, scrape_id, recording_sha256
        FROM steps s JOIN cards c ON s.period_start >= c.began LEFT JOIN told t ON t.period_start = s.period_start
            AND t.gpu IS NOT DISTINCT FROM c.gpu AND t.form_factor IS NOT DISTINCT FROM c.form_factor
            AND t.purchase = c.purchase
        ORDER BY c.gpu NULLS LAST, c.form_factor NULLS LAST, c.purchase, s.period_start""",
        tables={"points": points, "steps": steps},
    )

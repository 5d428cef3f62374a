"""`history --every`: the past at even steps, as rows or drawn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, Any, cast

from gpufare import args
from gpufare.cli import UsageFault
from gpufare.commands.options import Output, emit, first_rows
from gpufare.commands.times import Times
from table.cells import UNKNOWN, instant, money, share
from table.offers import STOCK, gpu_name, region_name
from table.view import Shown, View, column

if TYPE_CHECKING:
    import pyarrow as pa

    from storage.filled import Every
    from storage.filters import Filters
    from storage.lake import Lake

EVERY = ("hour", "day", "week", "month")
EVERY_WORDS = {
    word: step
    for step, words in zip(
        EVERY, (("hour", "hourly"), ("day", "daily"), ("week", "weekly"), ("month", "monthly")), strict=True
    )
    for word in words
}
PER = ("gpu", "offer")
USUAL_CELLS = 62
"""of a drawing for which no step was asked"""


def points(lake: Lake, filters: Filters, every: str, per: str, span: Times) -> pa.Table:
    """The series. Raises UsageFault where it is more than one answer holds."""
    from storage.filled import TooManyPoints, filled

    try:
        return filled(
            lake, filters, every=cast("Every", every), now=span.at, per="offer" if per == "offer" else "gpu",
            since=span.since, until=span.until, known_at=span.known_at,
        )  # fmt: skip
    except TooManyPoints as fault:
        raise UsageFault(str(fault)) from None


def usual_step(lake: Lake, span: Times) -> str:
    """The step of a drawing for which none was asked: days, where they have room."""
    start = span.since or lake.asked(f"SELECT min(observed_at) AS at FROM {lake.relation('scrapes')}").rows[0]["at"]  # noqa: S608
    long = min(span.until or span.at, span.at) - (start or span.at)
    return next(
        (every for every, days in (("day", 1), ("week", 7)) if long <= timedelta(days=days * USUAL_CELLS)), "month"
    )


def emit_series(
    table: pa.Table, every: str, per: str, *, head: str, span: Times, query: dict[str, Any], sample: bool,
    limit: int | None, zone: tzinfo | None, out: Output,
) -> None:  # fmt: skip
    """Write the series as rows."""
    total = table.num_rows
    table, cut = first_rows(table, limit, out)
    view = View(
        "series",
        table,
        _offer_columns(zone) if per == "offer" else _card_columns(zone),
        span.at,
        query={**query, "every": every, "per": per, **args.effective(**span.asked())},
        counts={"rows": table.num_rows, "total": total},
        sample=sample,
        header=[head, f"by {every} (UTC) and {'offer' if per == 'offer' else 'card'}: {STATES_TOLD}"],
        notes=[*cut, *(["nothing was seen of it"] if not total else [])],
    )
    emit(view, out)


STATES_TOLD = (
    "observed; carried: the last accepted price, within the provider's window; failed: no attempt was accepted;"
    " missing: no price"
)


def _start(zone: tzinfo | None) -> Shown:
    return Shown("FROM", lambda row: _moment(row["period_start"], zone), name="period_start")


def _moment(at: datetime, zone: tzinfo | None) -> str:
    return f"{at:%Y-%m-%d}" if zone is None and (at.hour, at.minute) == (0, 0) else instant(at, zone)


def _card_columns(zone: tzinfo | None) -> Sequence[Shown]:
    def count(name: str, drop: int) -> Shown:
        return Shown(name.upper(), lambda row: str(row[name]), "right", drop, name=name)

    return [
        _start(zone),
        Shown("GPU", gpu_name, shrink=True, name="gpu"),
        column("purchase", drop=6),
        column("state"),
        Shown("LOWEST", lambda row: money(row["usd_per_gpu_hour"]), "point", name="usd_per_gpu_hour"),
        Shown("MEDIAN", lambda row: money(row["median_usd_per_gpu_hour"]), "point", name="median_usd_per_gpu_hour"),
        count("offers", 2),
        count("providers", 2),
        count("observed", 7),
        count("carried", 7),
        count("failed", 7),
        count("missing", 7),
        count("gone", 8),
        Shown("WHY", lambda row: row["reason"] or "-", drop=3, name="reason"),
        column("provider", heading="CHEAPEST AT", drop=4),
        column("offer_key", heading="OFFER", drop=9),
    ]


def _offer_columns(zone: tzinfo | None) -> Sequence[Shown]:
    return [
        _start(zone),
        column("provider"),
        Shown("GPU", gpu_name, shrink=True, name="gpu"),
        Shown("N", lambda row: share(row["gpu_count"]), "right", name="gpu_count"),
        column("purchase", drop=5),
        Shown("REGION", region_name, drop=3, shrink=True, name="region"),
        column("state"),
        Shown("$/GPU-h", lambda row: money(row["usd_per_gpu_hour"]), "point", name="usd_per_gpu_hour"),
        Shown("STOCK", lambda row: STOCK.get(row["availability"], UNKNOWN), drop=4, name="availability"),
        Shown("WHY", lambda row: row["reason"] or "-", drop=2, name="reason"),
        Shown("SEEN", lambda row: instant(row["observed_at"], zone), drop=6, name="observed_at"),
        column("offer_key", heading="OFFER", drop=7),
    ]

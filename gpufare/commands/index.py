"""`index` and `stock`: figures over all providers, each of which opens to the rows behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

import click

from gpufare import args
from gpufare.cli import UsageFault, settings
from gpufare.commands.filters import HARDWARE, MACHINE, build, described, filter_options
from gpufare.commands.options import (
    Output,
    emit,
    examples,
    first_rows,
    limit_option,
    output_options,
    zone_option,
)
from gpufare.commands.times import Times, as_of_option, known_at_option, since_option, times, until_option
from table.cells import UNKNOWN, instant, money, number, share, text_of
from table.offers import STOCK, gpu_name, region_name
from table.view import Row, Shown, View, column, rows_of

if TYPE_CHECKING:
    from storage.index import IndexAnswer, RatioAnswer
    from storage.stock import StockAnswer

VRAM, TOTAL_VRAM, VENDOR, SEGMENT, IN_STOCK = HARDWARE[0], HARDWARE[1], HARDWARE[3], HARDWARE[4], HARDWARE[5]
SERVERLESS = click.option("--serverless", is_flag=True, help="Count what is no machine of your own, too.")
NAMED = 10
"""outliers that a note names"""


@click.command(
    "index",
    epilog=examples(
        "index --gpu H100-SXM --segment neocloud",
        "index H100 --since 30d -o csv",
        "index H100-SXM --rows",
        "index a100-80gb --purchase any --explain",
        "index H100 --ratio",
        "index H100 --as-of 2026-11-29 --known-at 2026-11-30",
    ),
)
@filter_options(*MACHINE, VRAM, TOTAL_VRAM, VENDOR, SEGMENT, IN_STOCK, SERVERLESS)
@since_option
@until_option
@as_of_option
@known_at_option
@click.option("--ratio", "is_ratio", is_flag=True, help="Spot over on demand of each shape, and its volatility.")
@click.option("--rows", "behind", is_flag=True, help="The rows behind each figure, with what was left out and why.")
@click.option("--explain", is_flag=True, help="Only the rows that were left out.")
@limit_option
@zone_option
@output_options
@click.pass_context
def index_command(
    ctx: click.Context,
    /,
    *,
    since: str | None,
    until: str | None,
    as_of: str | None,
    known_at: str | None,
    is_ratio: bool,
    behind: bool,
    explain: bool,
    limit: int | None,
    zone: str | None,
    out: Output,
    **asked: Any,
) -> None:
    """Median, quartiles and lowest price of a card by day, newest first.

    One row for each day, form factor, segment and purchase, which are never mixed. Outliers are left out and named;
    under three providers there is no figure but the reason. A figure is provisional for three days: a scrape that was
    held back may still be accepted.
    """
    from storage.index import index, ratio
    from storage.lake import Lake

    _named("index", asked)
    if is_ratio and explain:
        raise UsageFault("--explain tells what an index left out; with --ratio use --rows")
    lake = Lake.open(settings(ctx).data)
    span = times(lake.clock(datetime.now(UTC)), since=since, until=until, as_of=as_of, known_at=known_at)
    filters = build(lake, **asked)
    when: dict[str, Any] = {"now": span.at, "since": span.since, "until": span.until, "known_at": span.known_at}
    reader = args.zone(zone) if zone else None
    if is_ratio:
        filters = replace(filters, purchase=("on_demand", "spot"))
    head = "; ".join([described(filters, not asked["purchase"] and not is_ratio), *_said(span, reader)])
    if is_ratio:
        view = _ratio_view(ratio(lake, filters, **when), head, behind)
    else:
        view = _index_view(index(lake, filters, **when), head, behind, explain, reader)
    emit(_cut(view, span, limit, out), out)


@click.command(
    "stock",
    epilog=examples(
        "stock --gpu H100 --days 30",
        "stock rtx4090 --provider runpod,vast",
        "stock H100:8 --country US --since 2026-11-01 -o csv",
        "stock H100 --rows",
    ),
)
@filter_options(*MACHINE, VRAM, TOTAL_VRAM, VENDOR, SEGMENT, SERVERLESS)
@click.option("--days", type=click.IntRange(min=1), metavar="N", help="The last N days, as --since Nd.")
@since_option
@until_option
@as_of_option
@known_at_option
@click.option("--rows", "behind", is_flag=True, help="The scrapes behind each share.")
@limit_option
@zone_option
@output_options
@click.pass_context
def stock_command(
    ctx: click.Context,
    /,
    *,
    days: int | None,
    since: str | None,
    until: str | None,
    as_of: str | None,
    known_at: str | None,
    behind: bool,
    limit: int | None,
    zone: str | None,
    out: Output,
    **asked: Any,
) -> None:
    """How often a card was to be had: the share of scrapes that had it in stock, by provider, form factor and region.

    Available or limited over the scrapes that told; those that did not, and those without such an offer, are counted
    beside it.
    """
    from storage.lake import Lake
    from storage.stock import stock

    _named("stock", asked)
    if days and since:
        raise UsageFault("--days and --since say the same thing; give one of them")
    lake = Lake.open(settings(ctx).data)
    clock = lake.clock(datetime.now(UTC))
    if days:  # of a past moment, the days before it
        clock_at = times(clock, as_of=as_of).at
        since = args.moment(f"{days}d", clock_at).isoformat()
    span = times(clock, since=since, until=until, as_of=as_of, known_at=known_at)
    filters = build(lake, **asked)
    answer = stock(lake, filters, now=span.at, since=span.since, until=span.until, known_at=span.known_at)
    reader = args.zone(zone) if zone else None
    head = "; ".join([described(filters, not asked["purchase"]), *_said(span, reader)])
    emit(_cut(_stock_view(answer, head, behind, reader), span, limit, out), out)


def _named(what: str, asked: dict[str, Any]) -> None:
    if not any(asked[name] for name in ("gpus", "gpu", "vendor", "provider")):
        raise UsageFault(f"{what} of what? Name a GPU, such as `gpufare {what} H100`")


def _said(span: Times, zone: tzinfo | None) -> list[str]:
    return [f"{name.replace('_', ' ')} {instant(at, zone)}" for name, at in span.asked().items() if at]


def _cut(view: View, span: Times, limit: int | None, out: Output) -> View:
    """The view with the rows that are wanted, and with the moments in its query."""
    data: Any = view.data
    total = len(data)
    table, cut = first_rows(data, limit, out)
    counts = {"rows": table.num_rows, "total": total, **view.counts}
    query = {**view.query, **args.effective(**span.asked())}
    return replace(view, data=table, query=query, counts=counts, notes=[*cut, *view.notes])


def _index_view(answer: IndexAnswer, head: str, behind: bool, explain: bool, zone: tzinfo | None) -> View:
    import pyarrow.compute as pc

    from storage.index import INDEX_VERSION, METHOD

    left_out = answer.rows.filter(pc.is_valid(answer.rows["left_out"]))
    outliers = rows_of(left_out.filter(pc.equal(left_out["left_out"], "outlier")))
    names = ("day", "gpu", "form_factor", "segment", "purchase", "provider", "offer_key")
    extra = {
        "index_version": INDEX_VERSION,
        "method": METHOD,
        "outliers": [{name: row[name] for name in (*names, "usd_per_gpu_hour", "deviations")} for row in outliers],
    }
    notes = [_outlier(row) for row in outliers[:NAMED]]
    if len(outliers) > NAMED:
        notes.append(f"{len(outliers) - NAMED} outliers more; --explain names them all")
    if not answer.table.num_rows:
        notes.append("nothing was seen of it")
    name, data, shown = "index", answer.table, _index_columns()
    if behind or explain:
        name, data, shown = "index_rows", left_out if explain else answer.rows, _row_columns(zone)
    return View(
        name,
        data,
        shown,
        answer.as_of,
        query=answer.filters,
        counts={"outliers": len(outliers)},
        extra=extra,
        sample=answer.origin != "live",
        header=[head, f"index version {INDEX_VERSION}: {METHOD}"],
        notes=notes,
    )


def _outlier(row: Row) -> str:
    of = " ".join(text_of(row[name]) for name in ("segment", "purchase"))
    deviations = f"{row['deviations']:.1f} deviations from the median"
    return f"left out {row['day']}: {text_of(row['offer_key'])} at {money(row['usd_per_gpu_hour'])}, {deviations} ({gpu_name(row)} {of})"  # fmt: skip # noqa: E501


def _index_columns() -> list[Shown]:
    from storage.index import LEFT_OUT

    def note(row: Row) -> str:
        out = [f"{row[why]} {why.replace('_', ' ')}" for why in LEFT_OUT if row[why]]
        low, high = row["vram_gib_low"], row["vram_gib_high"]
        mixed = [f"{number(low)} to {number(high)} GiB"] if low is not None and low != high else []
        return "; ".join([*([row["reason"]] if row["reason"] else []), *out, *mixed]) or "-"

    def price(name: str, heading: str, drop: int = 0) -> Shown:
        return Shown(heading, lambda row: money(row[f"{name}_usd_per_gpu_hour"]), "point", drop, name=name)

    return [
        column("day"),
        Shown("GPU", gpu_name, shrink=True, name="gpu"),
        column("segment"),
        column("purchase", drop=4),
        price("median", "MEDIAN"),
        price("p25", "P25", 2),
        price("p75", "P75", 2),
        price("lowest", "LOWEST", 3),
        Shown("PROVIDERS", lambda row: str(row["providers"]), "right", name="providers"),
        Shown("OFFERS", lambda row: str(row["offers"]), "right", name="offers"),
        Shown("CARRIED", lambda row: str(row["carried"]), "right", drop=6,
              when=lambda rows: any(row["carried"] for row in rows)),
        column("status", drop=5),
        Shown("LEFT OUT", note, drop=1, shrink=True, name="reason"),
    ]  # fmt: skip


def _row_columns(zone: tzinfo | None) -> list[Shown]:
    def deviations(row: Row) -> str:
        return "-" if row["deviations"] is None else f"{row['deviations']:.1f}"

    return [
        column("day"),
        Shown("GPU", gpu_name, shrink=True, name="gpu"),
        column("segment", drop=3),
        column("purchase", drop=4),
        Shown("$/GPU-h", lambda row: money(row["usd_per_gpu_hour"]), "point", name="usd_per_gpu_hour"),
        Shown("LEFT OUT", lambda row: text_of(row["left_out"]) if row["left_out"] else "-", name="left_out"),
        Shown("DEVIATIONS", deviations, "right", drop=2, name="deviations"),
        column("provider"),
        Shown("N", lambda row: share(row["gpu_count"]), "right", drop=5, name="gpu_count"),
        column("offer_key", heading="OFFER"),
        Shown("SEEN", lambda row: instant(row["observed_at"], zone), drop=6, name="observed_at"),
        Shown("BYTES", lambda row: text_of(row["recording_sha256"])[:12], drop=7, name="recording_sha256"),
    ]


def _ratio_view(answer: RatioAnswer, head: str, behind: bool) -> View:
    shape = [
        column("provider"),
        Shown("GPU", gpu_name, shrink=True, name="gpu"),
        Shown("N", lambda row: share(row["gpu_count"]), "right", name="gpu_count"),
        column("instance_type", heading="TYPE", drop=6),
        Shown("REGION", region_name, shrink=True, name="region"),
    ]
    if behind:
        shown = [
            column("day"),
            *shape,
            _decimals("RATIO", "ratio"),
            _price("SPOT", "spot_usd_per_gpu_hour"),
            _price("ON DEMAND", "on_demand_usd_per_gpu_hour"),
            column("spot_offer_key", heading="SPOT OFFER", drop=7),
            column("on_demand_offer_key", heading="ON-DEMAND OFFER", drop=8),
        ]
    else:
        shown = [
            *shape,
            _decimals("RATIO", "ratio"),
            _decimals("MEDIAN", "median_ratio"),
            _decimals("LOWEST", "lowest_ratio", 3),
            _decimals("HIGHEST", "highest_ratio", 3),
            _decimals("VOLATILITY", "volatility"),
            Shown("DAYS", lambda row: str(row["days"]), "right", name="days"),
            Shown("LAST", lambda row: text_of(row["day"]), drop=5, name="day"),
        ]
    table = answer.rows if behind else answer.table
    return View(
        "ratio_rows" if behind else "ratio",
        table,
        shown,
        answer.as_of,
        query=answer.filters,
        sample=answer.origin != "live",
        header=[head, "spot over on demand, both read on the same day; volatility: standard deviation of the daily"
                " change of its logarithm, ? under three days"],
        notes=[] if table.num_rows else ["no shape was seen both on demand and as spot on one day"],
    )  # fmt: skip


def _decimals(heading: str, name: str, drop: int = 0) -> Shown:
    def text(row: Row) -> str:
        return UNKNOWN if row[name] is None else f"{row[name]:.3f}"

    return Shown(heading, text, "right", drop, name=name)


def _price(heading: str, name: str) -> Shown:
    return Shown(heading, lambda row: money(row[name]), "point", name=name)


def _stock_view(answer: StockAnswer, head: str, behind: bool, zone: tzinfo | None) -> View:
    place: Sequence[Shown] = [
        column("provider"),
        Shown("GPU", gpu_name, shrink=True, name="gpu"),
        Shown("REGION", region_name, shrink=True, name="region"),
        column("purchase", drop=5),
    ]

    def percent(row: Row) -> str:
        return UNKNOWN if row["in_stock_share"] is None else f"{row['in_stock_share']:.0%}"

    def count(name: str, drop: int = 0) -> Shown:
        return Shown(name.upper().replace("_", " "), lambda row: str(row[name]), "right", drop, name=name)

    words = {"in_stock": STOCK["available"], "sold_out": STOCK["sold_out"]}
    if behind:
        shown = [
            Shown("SEEN", lambda row: instant(row["observed_at"], zone), name="observed_at"),
            *place,
            Shown("STOCK", lambda row: words.get(row["stock"], UNKNOWN), name="stock"),
            count("offers"),
            column("scrape_id", heading="SCRAPE", drop=6),
        ]
    else:
        shown = [
            *place,
            Shown("IN STOCK", percent, "right", name="in_stock_share"),
            Shown("OF", lambda row: str(row["told"]), "right", name="told"),
            count("sold_out", 4),
            count("unknown", 2),
            count("absent", 3),
            count("scrapes", 1),
            Shown("LAST SEEN", lambda row: instant(row["last_seen"], zone), drop=6, name="last_seen"),
        ]
    table = answer.rows if behind else answer.table
    return View(
        "stock_rows" if behind else "stock",
        table,
        shown,
        answer.until,
        query=answer.filters,
        sample=answer.origin != "live",
        header=[
            head,
            "available or limited, of the scrapes that told; unknown: did not tell; absent: no such offer listed",
        ],
        notes=[] if table.num_rows else ["nothing was seen of it"],
    )

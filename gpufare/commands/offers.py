"""`offers`: the comparison table."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

import click

from gpufare import args
from gpufare.cli import settings
from gpufare.commands.filters import HARDWARE, MACHINE, build, described, filter_options
from gpufare.commands.options import (
    Output,
    columns_option,
    completion,
    emit,
    examples,
    limit_option,
    most_rows,
    output_options,
    zone_option,
)
from table import offers as shown_offers
from table.cells import instant
from table.view import View

if TYPE_CHECKING:
    from storage.filters import Filters
    from storage.query import OffersAnswer

# What a filter is about is shown, so that the reader sees that it held.
SHOWN_FOR = {"vendors": "vendor", "segments": "segment", "total_vram": "total_vram_gib", "countries": "country"}


def offer_columns() -> list[str]:
    """What `--columns` of offers takes."""
    from schemas.offer import Offer
    from schemas.record import columns
    from storage.figures import UNIT_PRICES
    from storage.query import FACT_COLUMNS

    return [*columns(Offer), "age_s", "stale", "carried_forward", *FACT_COLUMNS, *UNIT_PRICES]


def _sorts() -> list[str]:
    from storage.query import SORTS

    return list(SORTS)


@click.command(
    "offers",
    epilog=examples(
        "offers H100",
        "offers H100:8 --in-stock --max-price 3",
        "offers --vram 48.. --total-vram 160.. --count 1..4 --continent EU",
        "offers rtx4090 --purchase spot,bid --sort spot",
        "offers H100 --as-of 2026-11-29 -o json",
        "offers H100:8 --network infiniband --network-gbps 400.. --has ssh,persistent-disk",
        "offers rtx4090 --disk 200",
        "offers --vram 80.. --sort usd_per_bf16_tflop_hour --columns +usd_per_gib_hour,usd_per_gbs_hour",
        "offers H100 --explain",
    ),
)
@filter_options(*MACHINE, *HARDWARE)
@click.option(
    "--sort", default="usd_per_gpu_hour", metavar="KEY", shell_complete=completion(_sorts),
    help="usd_per_gpu_hour, price, spot, vram, total_vram, count, provider, gpu, region, age, availability,"
    " usd_per_gib_hour, usd_per_bf16_tflop_hour, usd_per_gbs_hour.",
)  # fmt: skip
@click.option("--disk", type=click.FloatRange(min=0), metavar="GIB", help="Count a disk of this size into the price.")
@limit_option
@columns_option(offer_columns)
@click.option("--as-of", metavar="TIME", help="The table as it stood then: a day, a time, yesterday, 90d.")
@click.option("--known-at", metavar="TIME", help="What was believed then; corrections came later.")
@click.option("--explain", is_flag=True, help="What excluded cheaper rows, and the three runners-up.")
@zone_option
@output_options
@click.pass_context
def offers_command(
    ctx: click.Context,
    /,
    *,
    sort: str,
    limit: int | None,
    columns: tuple[str, ...],
    as_of: str | None,
    known_at: str | None,
    explain: bool,
    zone: str | None,
    out: Output,
    **asked: Any,
) -> None:
    """The comparison table, cheapest GPU-hour first.

    GPUs are named as you like: H100, h100-sxm, "RTX 4090", 4090, a100-80gb; H100:8 asks for eight of them. Form factors
    are told apart. Only on-demand offers are shown unless --purchase says otherwise.
    """
    from storage.lake import Lake
    from storage.query import SORTS, offers

    lake = Lake.open(settings(ctx).data)
    now = lake.clock(datetime.now(UTC))
    filters = build(lake, **asked)
    key = args.one_of("sort key", sort, list(SORTS))
    at = args.moment(as_of, now, end_of_day=True) if as_of else None
    known = args.moment(known_at, now, end_of_day=True) if known_at else None
    reader = args.zone(zone) if zone else None
    wanted = args.columns(columns, offer_columns(), shown_offers.USUAL) if columns else None
    answer = offers(
        lake, filters, now=now, as_of=at, known_at=known, sort=key, limit=most_rows(limit, out),
        unit_prices=wanted or (),
    )  # fmt: skip
    view = offers_view(
        answer,
        filters,
        columns=wanted,
        adds=bool(columns) and columns[0].startswith("+"),
        usual_purchase=not asked["purchase"],
        zone=reader,
        query={"sort": key, "limit": limit, "as_of": at, "known_at": known},
        arrow=out.format == "parquet",
    )
    if explain:
        from gpufare.commands.explain import explained

        view = explained(view, lake, filters, answer, known)
    emit(view, out)


def offers_view(
    answer: OffersAnswer,
    filters: Filters,
    *,
    columns: list[str] | None = None,
    adds: bool = False,
    usual_purchase: bool = True,
    zone: tzinfo | None = None,
    query: dict[str, Any] | None = None,
    arrow: bool = False,
) -> View:
    """The answer, ready to be written. `columns`: those asked for; `adds`: they come on top of the usual ones.

    `arrow`: as an Arrow table, which rows do without.
    """
    from storage.figures import UNIT_PRICES

    data: Any = answer.table if arrow else answer.rows
    names = list(shown_offers.USUAL)
    if columns is None:
        names += [name for field, name in SHOWN_FOR.items() if getattr(filters, field)]
    if answer.sort == "spot":
        names.insert(names.index("usd_per_gpu_hour"), "spot_usd_per_gpu_hour")
    if answer.sort in UNIT_PRICES:
        names.insert(names.index("usd_per_gpu_hour"), answer.sort)
    if columns is not None:
        names = columns
    units = [name for name in UNIT_PRICES if name in names]
    known = [name for name in offer_columns() if name not in UNIT_PRICES or name in units]
    written = None
    if columns is not None:
        written = [name for name in columns if name in known]
        if adds:
            written = None
    rows = len(data)
    notes = []
    if rows < answer.total:
        notes.append(f"{rows} rows of {answer.total}; --limit {answer.total} shows all")
    if answer.total == 0:
        notes.append(_nothing(answer))
    if units:
        notes.append(
            "TFLOPS (dense BF16) and GB/s are those of schemas/gpus.csv; `gpufare gpus` tells each one's source"
        )
    return View(
        "offers",
        data,
        shown_offers.shown(names, zone, asked=columns is not None and not adds),
        answer.as_of,
        query={**answer.filters, **{name: value for name, value in (query or {}).items() if value is not None}},
        counts={"rows": rows, "total": answer.total},
        extra={"newest": answer.newest, "stale": answer.stale, "carried_forward": answer.carried_forward},
        sample=answer.origin != "live",
        header=_header(answer, filters, usual_purchase, zone),
        notes=notes,
        only=written,
        columns=known,
    )


def _header(answer: OffersAnswer, filters: Filters, usual_purchase: bool, zone: tzinfo | None) -> list[str]:
    order = "$/GPU-h" if answer.sort == "usd_per_gpu_hour" else answer.sort.replace("_", " ")
    left_out = "" if filters.serverless else "; no serverless (default)"
    lines = [f"{described(filters, usual_purchase)}{left_out}; sorted by {order}"]
    if filters.disk_gib is not None:
        lines.append(f"prices hold {filters.disk_gib:g} GiB of disk; where its price is unknown, so is the offer's")
    seen = f"data of {instant(answer.newest, zone)}" if answer.newest else "no data yet"
    lines.append(f"{seen}, as of {instant(answer.as_of, zone)}")
    if answer.stale:
        lines.append(f"stale (past their window, marked !): {', '.join(answer.stale)}")
    if answer.carried_forward:
        lines.append(f"last attempt failed, last accepted rows stand: {', '.join(answer.carried_forward)}")
    return lines


def _nothing(answer: OffersAnswer) -> str:
    if answer.newest is None:
        return "no offers: nothing has been collected up to then; run `gpufare refresh`"
    return "no offers match; --explain tells what excluded the others"

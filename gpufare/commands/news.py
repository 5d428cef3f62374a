"""`changes`, `diff` and `history`: what moved."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any

import click

from gpufare import args
from gpufare.cli import UsageFault, settings
from gpufare.commands.filled import EVERY, EVERY_WORDS, PER
from gpufare.commands.filters import MACHINE, build, described, filter_options
from gpufare.commands.options import (
    Output,
    completion,
    emit,
    examples,
    first_rows,
    limit_option,
    output_options,
    zone_option,
)
from gpufare.commands.times import as_of_option, known_at_option, moment, since_option, times, until_option
from table.cells import UNKNOWN, instant, money, percent, safe, share, text_of
from table.offers import STOCK, gpu_name, region_name
from table.view import Row, Shown, View, column

if TYPE_CHECKING:
    import pyarrow as pa


def _kinds() -> list[str]:
    from schemas.change import CHANGE_KINDS

    return list(CHANGE_KINDS)


@click.command(
    "changes",
    epilog=examples(
        "changes",
        "changes H100 --since 7d",
        "changes --kind price_down --provider lambda",
        "changes --after CHANGE_ID -o jsonl",
    ),
)
@filter_options(*MACHINE)
@since_option
@until_option
@click.option("--after", metavar="CHANGE_ID", help="Only what follows this change, oldest first.")
@click.option(
    "--kind", multiple=True, metavar="KINDS", shell_complete=completion(_kinds), help="price_down, added, ..."
)
@click.option(
    "--all", "everything", is_flag=True, help="Also moves under 1 % and those that came back within 48 hours."
)
@as_of_option
@known_at_option
@limit_option
@zone_option
@output_options
@click.pass_context
def changes_command(
    ctx: click.Context,
    /,
    *,
    since: str | None,
    until: str | None,
    after: str | None,
    kind: tuple[str, ...],
    everything: bool,
    as_of: str | None,
    known_at: str | None,
    limit: int | None,
    zone: str | None,
    out: Output,
    **asked: Any,
) -> None:
    """What moved, newest first: prices, offers added and removed, stock, other columns; each with its cause.

    Gone, sold out and not fetched are three different things: a provider that failed removes nothing.
    """
    from storage.lake import Lake
    from storage.news import changes

    lake = Lake.open(settings(ctx).data)
    now = lake.clock(datetime.now(UTC))
    filters = build(lake, **asked, usual_purchase=())
    kinds = [args.one_of("kind", word, _kinds()) for word in args.listed(kind)]
    when = times(now, since=since, until=until, as_of=as_of, known_at=known_at)
    span = when.asked()
    last_moment = min((at for at in (when.until, when.as_of) if at), default=None)
    answer = changes(
        lake, filters, since=when.since, until=last_moment, known_at=when.known_at, after=after, all=everything
    )
    if after is not None and _unknown(lake, after):
        raise UsageFault(f"no change {after!r}; `gpufare changes -o jsonl` gives their ids")
    table = _of_kinds(answer.table, kinds)
    total = table.num_rows
    table, cut = first_rows(table, limit, out)
    reader = args.zone(zone) if zone else None
    last = table["change_id"][-1 if after is not None else 0].as_py() if table.num_rows else answer.last
    notes = list(cut)
    if answer.hidden:
        notes.append(f"{answer.hidden} small or returning moves hidden; --all shows them")
    if not total:
        notes.append("nothing moved")
    view = View(
        "changes",
        table,
        change_columns(reader),
        when.at,
        query={**answer.filters, **args.effective(kind=kinds, all=everything, after=after, **span)},
        counts={"rows": table.num_rows, "total": total, "hidden": answer.hidden},
        extra={"last": last},
        sample=answer.origin != "live",
        header=[_header(described(filters, False), span, reader)],
        notes=notes,
    )
    emit(view, out)


def _unknown(lake: Any, change_id: str) -> bool:
    found = lake.query(
        f"SELECT count(*) AS n FROM {lake.relation('changes')} WHERE change_id = $id",  # noqa: S608 - a parameter
        id=change_id,
    )
    return not found["n"][0].as_py()


def _of_kinds(table: pa.Table, kinds: Sequence[str]) -> pa.Table:
    if not kinds:
        return table
    import pyarrow as pa
    import pyarrow.compute as pc

    return table.filter(pc.is_in(table["kind"], value_set=pa.array(kinds)))


def _header(said: str, span: dict[str, datetime | None], zone: tzinfo | None) -> str:
    times = [f"{name.replace('_', ' ')} {instant(at, zone)}" for name, at in span.items() if at]
    return "; ".join([said, *times])


def _old(row: Row) -> str:
    return money(row["old_price"]) if row["old_price"] is not None else _value(row, "old")


def _new(row: Row) -> str:
    return money(row["new_price"]) if row["new_price"] is not None else _value(row, "new")


def _value(row: Row, which: str) -> str:
    value = row[which]
    return safe(value) if value is not None else "-" if row["column"] is None else UNKNOWN


def change_columns(zone: tzinfo | None, what: str = "kind") -> list[Shown]:
    """Columns of changes and of `diff`."""
    return [
        Shown("SEEN", lambda row: instant(row["observed_at"], zone), drop=5, name="observed_at"),
        column(what),
        column("provider"),
        Shown("GPU", gpu_name, shrink=True, name="gpu"),
        Shown("N", lambda row: share(row["gpu_count"]), "right", name="gpu_count"),
        column("purchase", drop=6),
        Shown("TIER", lambda row: text_of(row["tier"]) if row["tier"] else "-", drop=8, shrink=True,
              when=lambda rows: any(row["tier"] for row in rows)),
        Shown("REGION", region_name, drop=7, shrink=True, name="region"),
        Shown("COLUMN", lambda row: text_of(row["column"]) if row["column"] else "-", drop=4, name="column"),
        Shown("OLD", _old, "right", name="old"),
        Shown("NEW", _new, "right", name="new"),
        Shown("MOVE", lambda row: percent(row["relative"]) or "-", "right", drop=3),
        Shown("UNIT", lambda row: f"{row['currency']} {row['price_unit']}" if row["currency"] else "-", drop=9),
        column("cause", drop=2),
    ]  # fmt: skip


@click.command("diff", epilog=examples("diff 2026-11-29 2026-11-30", "diff yesterday now H100", "diff 30d 1d -o csv"))
@click.argument("earlier", metavar="DAY")
@click.argument("later", metavar="DAY")
@filter_options(*MACHINE)
@known_at_option
@limit_option
@zone_option
@output_options
@click.pass_context
def diff_command(
    ctx: click.Context,
    /,
    *,
    earlier: str,
    later: str,
    known_at: str | None,
    limit: int | None,
    zone: str | None,
    out: Output,
    **asked: Any,
) -> None:
    """What differs between two days, each as its end stood: new, gone, price up, price down, stock, attribute."""
    from storage.lake import Lake
    from storage.series import diff

    lake = Lake.open(settings(ctx).data)
    now = lake.clock(datetime.now(UTC))
    filters = build(lake, **asked, usual_purchase=())
    first, second = (args.moment(text, now, end_of_day=True) for text in (earlier, later))
    if first > second:
        raise UsageFault(f"{earlier} lies after {later}; did you mean `gpufare diff {later} {earlier}`?")
    known = moment(known_at, now)
    answer = diff(lake, first, second, filters, known_at=known)
    total = answer.table.num_rows
    table, cut = first_rows(answer.table, limit, out)
    reader = args.zone(zone) if zone else None
    unsaid = {
        "not_fetched": answer.not_fetched,
        "first_seen": answer.first_seen,
        "no_longer": answer.no_longer,
    }
    words = ("not fetched in between", "first seen", "no snapshot any more")
    notes = [
        *cut,
        *(f"{word}: {', '.join(names)}" for word, names in zip(words, unsaid.values(), strict=True) if names),
    ]
    view = View(
        "diff",
        table,
        change_columns(reader, "what"),
        answer.later,
        query={**answer.filters, "earlier": answer.earlier, "later": answer.later, **args.effective(known_at=known)},
        counts={"rows": table.num_rows, "total": total},
        extra=unsaid,
        sample=answer.origin != "live",
        header=[
            f"{instant(answer.earlier, reader)} to {instant(answer.later, reader)}; "
            + _header(described(filters, False), {"known_at": known}, reader)
        ],
        notes=[*notes, *(["nothing differs"] if not total else [])],
    )
    emit(view, out)


@click.command(
    "history",
    epilog=examples(
        "history H100-SXM --provider lambda --since 90d",
        "history --gpu H100:8 -o csv",
        "history H100-SXM --every day --since 30d",
        "history H100:8 --provider lambda --every hour --per offer --since 2d",
        "history rtx4090 --plot",
        "history H100 --every week --plot",
    ),
)
@filter_options(*MACHINE)
@click.option("--offer", "offer_keys", multiple=True, metavar="KEYS", help="Only these offers, by their keys.")
@click.option(
    "--every",
    metavar="STEP",
    shell_complete=completion(lambda: list(EVERY)),
    help="One row for each hour, day, week or month instead, observed, carried, missing or failed.",
)
@click.option(
    "--per",
    metavar="WHAT",
    shell_complete=completion(lambda: list(PER)),
    help="With --every: gpu (its lowest and median price; the default) or offer.",
)
@since_option
@until_option
@as_of_option
@known_at_option
@click.option("--plot", is_flag=True, help="One line of bars for each offer, or as --per says, instead of the rows.")
@limit_option
@zone_option
@output_options
@click.pass_context
def history_command(
    ctx: click.Context,
    /,
    *,
    offer_keys: tuple[str, ...],
    every: str | None,
    per: str | None,
    since: str | None,
    until: str | None,
    as_of: str | None,
    known_at: str | None,
    plot: bool,
    limit: int | None,
    zone: str | None,
    out: Output,
    **asked: Any,
) -> None:
    """Prices and stock over time, one row for each change: first, price, availability, not_observed, gone, back.

    With --every one row for each hour, day, week or month (UTC), as its end stood. Nothing is interpolated: a point is
    observed, carried (the last accepted price, within the provider's window), failed or missing.
    """
    from storage.lake import Lake
    from storage.series import history

    keys = args.listed(offer_keys)
    if not asked["gpus"] and not asked["gpu"] and not asked["provider"] and not keys:
        raise UsageFault("history of what? Name a GPU, a --provider or an --offer, such as `gpufare history H100`")
    if per and not every and not plot:
        raise UsageFault("--per goes with --every or --plot, such as `gpufare history H100 --every day --per offer`")
    lake = Lake.open(settings(ctx).data)
    when = times(lake.clock(datetime.now(UTC)), since=since, until=until, as_of=as_of, known_at=known_at)
    span = when.asked()
    filters = build(lake, **asked, offer_keys=keys)
    reader = args.zone(zone) if zone else None
    head = _header(described(filters, not asked["purchase"]), span, reader)
    if every or plot:
        from gpufare.commands.filled import emit_series, points, usual_step

        step = args.one_of("step", every, EVERY_WORDS) if every else usual_step(lake, when)
        # A drawing of no step is that of the offers, and so is the series of offers that were named.
        what = args.one_of("series", per, PER) if per else "offer" if keys or not every else "gpu"
        series = points(lake, filters, step, what, when)
        if plot:
            from gpufare.commands.plot import emit_plot

            emit_plot(series, step, what, when.at, [head], sample=lake.origin != "live")
            return
        emit_series(
            series, step, what, head=head, span=when, query=filters.described(), sample=lake.origin != "live",
            limit=limit, zone=reader, out=out,
        )  # fmt: skip
        return
    last_moment = min((at for at in (when.until, when.as_of) if at), default=None)
    table = history(lake, filters, since=when.since, until=last_moment, known_at=when.known_at)
    total = table.num_rows
    table, cut = first_rows(table, limit, out)
    view = View(
        "history",
        table,
        _history_columns(reader),
        when.at,
        query={**filters.described(), **args.effective(**span)},
        counts={"rows": table.num_rows, "total": total},
        sample=lake.origin != "live",
        header=[head],
        notes=[*cut, *(["nothing was seen of it"] if not total else [])],
    )
    emit(view, out)


def _history_columns(zone: tzinfo | None) -> list[Shown]:
    return [
        Shown("SINCE", lambda row: instant(row["observed_at"], zone), name="observed_at"),
        Shown("UNTIL", lambda row: instant(row["until"], zone) if row["until"] else "now", drop=4, name="until"),
        column("event"),
        column("provider"),
        Shown("GPU", gpu_name, shrink=True, name="gpu"),
        Shown("N", lambda row: share(row["gpu_count"]), "right", name="gpu_count"),
        column("purchase", drop=5),
        Shown("REGION", region_name, drop=3, shrink=True, name="region"),
        Shown("$/GPU-h", lambda row: money(row["usd_per_gpu_hour"]), "point", name="usd_per_gpu_hour"),
        Shown("STOCK", lambda row: STOCK.get(row["availability"], UNKNOWN), name="availability"),
        column("offer_key", heading="OFFER", drop=6),
    ]

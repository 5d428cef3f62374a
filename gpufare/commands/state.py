"""`show`, `status`, `unmapped` and `sql`: one offer, the providers' health, words to map, and free questions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from gpufare import args
from gpufare.cli import NotThere, UsageFault, settings
from gpufare.commands.options import Output, emit, examples, first_rows, limit_option, output_options, zone_option
from gpufare.commands.times import Times, as_of_option, known_at_option, times
from table.cells import UNKNOWN, age, duration, instant, plain, safe, text_of
from table.view import Row, Shown, View, column, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

    from storage.lake import Lake

STALE, FAILING = 3, 5
# What the scrape tells of a row's provenance, beside what the row itself tells.
PROVENANCE = (
    "recorded_at",
    "verdict",
    "note",
    "access",
    "parser_version",
    "normaliser_version",
    "facts_version",
    "code_version",
)


@click.command(
    "show",
    epilog=examples(
        "show hyperbolic:a3aa712c4c8f",
        "show a3aa71 -o json",
        "show a3aa71 --as-of 2026-11-29 --known-at 2026-11-30",
    ),
)
@click.argument("offer_key", metavar="OFFER_KEY")
@as_of_option
@known_at_option
@zone_option
@output_options
@click.pass_context
def show_command(
    ctx: click.Context,
    /,
    *,
    offer_key: str,
    as_of: str | None,
    known_at: str | None,
    zone: str | None,
    out: Output,
) -> None:
    """One offer with its provenance: where it was read, when, by which version, from which bytes.

    The key is the one that `offers -o json` gives; its beginning, with or without the provider, is enough where only
    one offer has it.
    """
    from storage.lake import Lake

    lake = Lake.open(settings(ctx).data)
    now = lake.clock(datetime.now(UTC))
    when = times(now, as_of=as_of, known_at=known_at)
    row = _last_seen(lake, _key(lake, offer_key), when)
    row["age_s"] = (when.at - row["observed_at"]).total_seconds()
    reader = args.zone(zone) if zone else None
    data: list[Row] = [row]
    shown: Sequence[Shown] = [column(name, reader) for name in row]
    if out.format in {"table", "markdown"}:
        data = [{"column": name, "value": _told(name, value, reader)} for name, value in row.items()]
        shown = [Shown("COLUMN", lambda r: str(r["column"])), Shown("VALUE", lambda r: str(r["value"]), shrink=True)]
    query = {"offer_key": row["offer_key"], **args.effective(**when.asked())}
    emit(View("offer", data, shown, when.at, query, {"rows": 1}, sample=_sample(lake)), out)


def _told(name: str, value: Any, zone: tzinfo | None) -> str:
    if isinstance(value, Decimal):
        return plain(value)  # here every digit counts
    return age(value) if name == "age_s" else text_of(value, zone)


def _sample(lake: Lake) -> bool:
    return lake.origin != "live"


def _key(lake: Lake, text: str) -> str:
    """The one key that is meant. Raises UsageFault with the nearest ones."""
    found = lake.query(
        f"SELECT DISTINCT offer_key FROM {lake.relation('snapshots')}"  # noqa: S608 - the text is a parameter
        " WHERE starts_with(offer_key, $key) OR starts_with(split_part(offer_key, ':', 2), $key) ORDER BY offer_key",
        key=text.strip(),
    )["offer_key"].to_pylist()
    if text.strip() in found:
        return text.strip()
    if len(found) == 1:
        return str(found[0])
    if found:
        raise UsageFault(
            f"{len(found)} offers begin with {text!r}: {', '.join(found[:5])}{' ...' if found[5:] else ''}"
        )
    from gpufare.commands.filters import distinct

    raise NotThere(args.unknown("offer", text, distinct(lake, "offer_key"), "gpufare offers -o json").message)


def _last_seen(lake: Lake, key: str, when: Times) -> dict[str, Any]:
    """The offer as last accepted, what its scrape says, and whether the provider's current snapshot still has it."""
    from schemas.offer import Offer
    from schemas.record import columns
    from storage.visible import END_OF_TIME, with_visible

    names = ", ".join(f'o."{name}"' for name in columns(Offer))
    rows = lake.query(
        f"""WITH {with_visible(lake.relation("scrapes"))}
        SELECT {names}, {", ".join(f"v.{name}" for name in PROVENANCE)},
            v.observed_at = (SELECT max(observed_at) FROM visible l
                WHERE l.provider = v.provider AND l.observed_at <= $as_of) AS is_current
        FROM {lake.relation("snapshots")} o JOIN visible v USING (scrape_id)
        WHERE offer_key = $key AND o.observed_at <= $as_of
        ORDER BY o.observed_at DESC LIMIT 1""",  # noqa: S608 - the key is a parameter
        key=key,
        known_at=when.known_at or END_OF_TIME,
        as_of=when.as_of or END_OF_TIME,
    )
    if not rows.num_rows and (when.as_of or when.known_at):
        raise NotThere(f"offer {key!r} stood in no accepted snapshot then; `gpufare history --offer {key}` tells when")
    if not rows.num_rows:
        raise NotThere(f"offer {key!r} stands in no accepted snapshot; see `gpufare review`")
    return dict(rows_of(rows)[0])


@click.command(
    "status", epilog=examples("status", "status --exit-code -o json", "status hyperbolic", "status --as-of 2026-11-29")
)
@click.argument("names", nargs=-1, metavar="[PROVIDER]...")
@click.option("--exit-code", is_flag=True, help="Exit with 0 where all are fresh, 3 where some are stale, 5 failing.")
@as_of_option
@known_at_option
@zone_option
@output_options
@click.pass_context
def status_command(
    ctx: click.Context,
    /,
    *,
    names: tuple[str, ...],
    exit_code: bool,
    as_of: str | None,
    known_at: str | None,
    zone: str | None,
    out: Output,
) -> None:
    """Health of every provider: last success, last attempt, failures in a row, rows against the median, time taken."""
    from storage.health import status
    from storage.lake import Lake

    lake = Lake.open(settings(ctx).data)
    now = lake.clock(datetime.now(UTC))
    when = times(now, as_of=as_of, known_at=known_at)
    found = status(lake, now, as_of=when.as_of, known_at=when.known_at)
    wanted = args.provider_names(names, [health.provider for health in found])
    rows = [asdict(health) for health in found if wanted is None or health.provider in wanted]
    states = [row["state"] for row in rows]
    counts = {"rows": len(rows)} | {state: states.count(state) for state in dict.fromkeys(states)}
    reader = args.zone(zone) if zone else None
    view = View(
        "status",
        rows,
        _status_columns(reader),
        when.at,
        args.effective(provider=wanted, **when.asked()),
        counts,
        sample=_sample(lake),
        header=[
            f"as of {instant(when.at, reader)}: " + ", ".join(f"{n} {state}" for state, n in list(counts.items())[1:])
        ],
    )
    emit(view, out)
    if exit_code:
        ctx.exit(FAILING if "failing" in states else STALE if "stale" in states or "fresh" not in states else 0)


def _status_columns(zone: tzinfo | None) -> list[Shown]:
    def vs_median(row: Row) -> str:
        return UNKNOWN if row["rows_vs_median"] is None else f"{row['rows_vs_median']:.0%}"

    def error(row: Row) -> str:
        told = row["error_class"] or ("quarantined" if row["last_verdict"] == "quarantined" else None)
        return safe(": ".join(part for part in (told, row["error"]) if part)) or "-"

    return [
        column("provider"),
        column("state"),
        Shown("LAST SUCCESS", lambda row: instant(row["last_success"], zone), drop=4),
        Shown("AGE", lambda row: age(row["age_s"], row["state"] == "stale"), "right"),
        Shown("LAST ATTEMPT", lambda row: instant(row["last_attempt"], zone), drop=5),
        Shown("FAILURES", lambda row: str(row["consecutive_failures"]), "right", drop=3),
        Shown("ROWS", lambda row: text_of(row["rows"]), "right", drop=6),
        Shown("VS MEDIAN", vs_median, "right", drop=7),
        Shown("P50", lambda row: duration(row["p50_duration_s"]), "right", drop=8),
        Shown("ERROR", error, shrink=True, drop=1),
    ]


@click.command("unmapped", epilog=examples("unmapped", "unmapped -o csv", "unmapped --as-of 2026-11-29"))
@as_of_option
@known_at_option
@zone_option
@output_options
@click.pass_context
def unmapped_command(
    ctx: click.Context, /, *, as_of: str | None, known_at: str | None, zone: str | None, out: Output
) -> None:
    """Accelerator words that the tables do not know, from every provider's last attempt, most frequent first.

    Such offers are kept, with their words and without a model. Teach a word in schemas/gpu_aliases.csv.
    """
    from storage.health import unmapped
    from storage.lake import Lake

    lake = Lake.open(settings(ctx).data)
    now = lake.clock(datetime.now(UTC))
    reader = args.zone(zone) if zone else None
    when = times(now, as_of=as_of, known_at=known_at)
    words = unmapped(lake, as_of=when.as_of, known_at=when.known_at)
    rows = [{**asdict(found), "providers": list(found.providers)} for found in words]
    shown = [
        column("words"),
        Shown("OFFERS", lambda row: str(row["offers"]), "right"),
        column("providers"),
        Shown("LAST SEEN", lambda row: instant(row["last_seen"], reader), drop=1),
    ]
    notes = [] if rows else ["every accelerator has a name"]
    query = args.effective(**when.asked())
    emit(
        View("unmapped", rows, shown, when.at, query, counts={"rows": len(rows)}, sample=_sample(lake), notes=notes),
        out,
    )


@click.command(
    "sql",
    epilog=examples(
        'sql "SELECT gpu, min(usd_per_gpu_hour) FROM offers_now GROUP BY gpu ORDER BY 2"',
        "sql \"SELECT count(*) FROM offers_asof('2026-11-29')\" -o json",
        "sql \"SELECT * FROM offers_asof('2026-11-29', known_at := '2026-11-29')\"",
        'sql "SELECT count(*) FROM snapshots" --known-at 2026-11-30',
        "sql < question.sql",
        "sql --views",
    ),
)
@click.argument("statement", required=False)
@click.option("--views", is_flag=True, help="What can be asked.")
@click.option("--as-of", metavar="TIME", help="The moment that offers_now stands for.")
@click.option("--known-at", metavar="TIME", help="Every view as it was believed then.")
@limit_option
@zone_option
@output_options
@click.pass_context
def sql_command(
    ctx: click.Context,
    /,
    *,
    statement: str | None,
    views: bool,
    as_of: str | None,
    known_at: str | None,
    limit: int | None,
    zone: str | None,
    out: Output,
) -> None:
    """Read-only SQL (DuckDB's) over documented views; from standard input where no statement is given."""
    from storage.lake import Lake
    from storage.views import VIEWS, SqlError, sql

    now = datetime.now(UTC)
    if views or (statement is None and sys.stdin.isatty()):
        rows = [{"view": name, "holds": meaning} for name, meaning in VIEWS.items()]
        emit(View("views", rows, [column("view"), column("holds")], now, counts={"rows": len(rows)}), out)
        return
    lake = Lake.open(settings(ctx).data)
    text = statement if statement is not None else sys.stdin.read()
    if not text.strip():
        raise UsageFault("no statement; try `gpufare sql --views`")
    try:
        when = times(lake.clock(now), as_of=as_of, known_at=known_at)
        table = _named_once(sql(lake, text, when.at, when.known_at))
    except SqlError as error:
        raise UsageFault(str(error)) from None
    total = table.num_rows
    table, notes = first_rows(table, limit, out)
    reader = args.zone(zone) if zone else None
    counts = {"rows": table.num_rows, "total": total}
    query = {"sql": text.strip(), **args.effective(**when.asked())}
    emit(
        View("sql", table, _sql_columns(table, reader), when.at, query, counts, sample=_sample(lake), notes=notes), out
    )


def _named_once(table: pa.Table) -> pa.Table:
    """Two columns of one name (`SELECT 1, 1`) would be one column of a JSON object."""
    names: list[str] = []
    for name in table.column_names:
        fresh, n = name, 1
        while fresh in names:
            n += 1
            fresh = f"{name}_{n}"
        names.append(fresh)
    return table.rename_columns(names)


def _sql_columns(table: pa.Table, zone: tzinfo | None) -> list[Shown]:
    import pyarrow as pa

    columns = []
    for field in table.schema:
        plain = column(field.name, zone, heading=safe(field.name))
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            columns.append(Shown(plain.heading, plain.text, "right", name=field.name))
        elif pa.types.is_decimal(field.type):
            columns.append(Shown(plain.heading, plain.text, "point", name=field.name))
        else:
            columns.append(plain)
    return columns

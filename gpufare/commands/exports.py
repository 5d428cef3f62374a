"""`export`: catalogues that peers read as they are, and the rows by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpufare import args
from gpufare.cli import UsageFault, settings
from gpufare.commands.options import completion, examples, provider_names

if TYPE_CHECKING:
    from table.exports import Exported

EXPORT_FORMATS = ("gpuhunt", "skypilot", "csv", "parquet")


@click.command(
    "export",
    epilog=examples(
        "export gpuhunt ./catalogue      # then GPUHUNT_CATALOG_DIR=./catalogue",
        "export skypilot ./sky           # then cp -r ./sky/.sky ~, or SKY_RUNTIME_DIR=./sky",
        "export gpuhunt ./catalogue --as-of 2026-11-29",
        "export parquet ./days --since 30d",
        "export csv ./days --provider aws,gcp",
    ),
)
@click.argument("format", type=click.Choice(EXPORT_FORMATS))
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--as-of", metavar="T", help="The table of then; for the catalogues.")
@click.option("--since", metavar="T", help="From this day on; for csv and parquet.")
@click.option("--until", metavar="T", help="Up to this day, included; for csv and parquet.")
@click.option("--known-at", metavar="T", help="As it was known then.")
@click.option(
    "--provider", multiple=True, metavar="NAMES", help="Only these.", shell_complete=completion(provider_names)
)
@click.pass_context
def export_command(
    ctx: click.Context,
    /,
    *,
    format: str,
    folder: Path,
    as_of: str | None,
    since: str | None,
    until: str | None,
    known_at: str | None,
    provider: tuple[str, ...],
) -> int:
    """Catalogues that gpuhunt and SkyPilot read as they are, or every row by day as CSV or Parquet.

    gpuhunt: one CSV for each provider that it reads offline. skypilot: .sky/catalogs/v8/CLOUD/vms.csv. parquet:
    day=YYYY-MM-DD/offers.parquet; csv: offers-YYYY-MM-DD.csv, both with all columns. What a catalogue has no way to say
    is left out and counted on standard error, so are rows of providers that may not be passed on. DIR is written beside
    an earlier export and takes its place at once; any other folder that is not empty is left alone.
    """
    from storage.lake import Lake
    from table.exports import BY_DAY, NotOurs, export_catalogue, export_days

    by_day = format in BY_DAY
    for name, value in (("--as-of", as_of if by_day else None), ("--since", None if by_day else since)):
        if value is not None:
            instead = "--since and --until" if by_day else "--as-of"
            raise UsageFault(f"{name} does not go with {format}; there it is {instead}")
    if until is not None and not by_day:
        raise UsageFault(f"--until does not go with {format}; there it is --as-of")
    lake = Lake.open(settings(ctx).data)
    now = lake.clock(datetime.now(UTC))
    known = None if known_at is None else args.moment(known_at, now, end_of_day=True)
    only = args.provider_names(provider) or ()
    try:
        if by_day:
            result = export_days(
                lake,
                format,
                folder,
                now=now,
                since=None if since is None else args.moment(since, now),
                until=None if until is None else args.moment(until, now, end_of_day=True),
                known_at=known,
                only=only,
            )
        else:
            at = None if as_of is None else args.moment(as_of, now, end_of_day=True)
            result = export_catalogue(lake, format, folder, now=now, as_of=at, known_at=known, only=only)
    except NotOurs as error:
        raise UsageFault(str(error)) from None
    for line in told(result, format, folder):
        click.echo(line, err=True)
    return 0


def told(result: Exported, format: str, folder: Path) -> Iterator[str]:
    """What was written and what was not, line by line."""
    if result.sample:
        from table.view import SAMPLE

        yield SAMPLE
    rows = sum(result.rows.values())
    yield f"{rows} rows in {len(result.rows)} files written to {folder}, as of {result.as_of:%Y-%m-%d %H:%MZ}"
    empty = [Path(name).stem for name, written in result.rows.items() if not written]
    if empty:
        yield f"empty, for there is nothing to say of them: {', '.join(empty)}"
    for reason, number in result.left_out.most_common():
        yield f"left out: {number} rows, {reason}"
    if result.kept_back:
        yield f"left out, may not be passed on: {_named(result.kept_back)}"
    if result.unknown:
        yield f"left out, {format} does not read them from a file: {_named(result.unknown)}"
    if result.sold_out:
        yield f"note: {result.sold_out} rows are of machines that are sold out now, which {format} has no way to say"
    if result.stale:
        yield f"note: past their freshness window: {', '.join(result.stale)}"


def _named(rows: Counter[str]) -> str:
    return ", ".join(f"{name} ({number})" for name, number in sorted(rows.items()))

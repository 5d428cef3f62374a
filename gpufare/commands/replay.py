"""`replay`: today's spiders over the answers that were kept."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from gpufare import args
from gpufare.cli import settings
from gpufare.commands.options import completion, examples, provider_names

if TYPE_CHECKING:
    from flows.replay import Replayed


@click.command(
    "replay",
    epilog=examples("replay", "replay nebius --since 2026-11-01", "replay --dry-run", "offers --known-at 2026-11-30"),
)
@click.argument("names", nargs=-1, metavar="[PROVIDER]...", shell_complete=completion(provider_names))
@click.option("--since", metavar="TIME", help="Observed from then on: a day, a time, yesterday, 90d.")
@click.option("--until", metavar="TIME", help="Observed up to then; a day counts to its end.")
@click.option("--dry-run", is_flag=True, help="Say what would be restated, store nothing.")
@click.pass_context
def replay_command(
    ctx: click.Context, names: tuple[str, ...], since: str | None, until: str | None, dry_run: bool
) -> int:
    """Read kept answers again with today's spiders and tables.

    Rows that come out otherwise are restated under the same time of observation; nothing is overwritten, and --known-at
    still tells what was believed before. A second replay with the same code adds nothing. Exit code 1 where an answer
    can no longer be read: that snapshot stays as it is.
    """
    from flows.replay import replay
    from storage.lake import Lake

    store = settings(ctx).data
    now = Lake.open(store).clock(datetime.now(UTC))
    done = replay(
        store,
        args.provider_names(args.listed(names), []),
        since=args.moment(since, now) if since else None,
        until=args.moment(until, now, end_of_day=True) if until else None,
        dry_run=dry_run,
        on_done=lambda one: click.echo(line_of(one, dry_run), err=True),
    )
    restated, failed = sum(len(one.restated) for one in done), sum(len(one.failed) for one in done)
    same = sum(one.same for one in done)
    click.echo(f"{same} the same, {restated} {'to restate' if dry_run else 'restated'}, {failed} unreadable", err=True)
    return 1 if failed else 0


def line_of(one: Replayed, dry_run: bool) -> str:
    """`nebius: 3 the same, 1 restated`, and a line for each that cannot be read."""
    word = "to restate" if dry_run else "restated"
    retold = f", {len(one.retold)} told anew after it" if one.retold else ""
    lines = [f"{one.provider}: {one.same} the same, {len(one.restated)} {word}{retold}"]
    lines += [
        f"{one.provider}: {scrape.scrape_id} is {scrape.verdict}" for scrape in one.restated if not scrape.supersedes
    ]
    return "\n".join(lines + [f"{one.provider}: {scrape_id} cannot be read: {why}" for scrape_id, why in one.failed])

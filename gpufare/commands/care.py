"""`review`, `verify`, `compact` and `doctor`: looking after a store and the machine it lives on."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from gpufare.args import provider_names
from gpufare.cli import UsageFault, settings
from gpufare.shelltools import complete_providers


@click.command(
    "review",
    epilog="Examples: gpufare review; gpufare review nebius; gpufare review nebius --accept --note 'new price list'",
)
@click.argument("name", metavar="[PROVIDER]", required=False, shell_complete=complete_providers)
@click.option("--accept", "decision", flag_value="accept", help="Release the quarantined scrape into the table.")
@click.option("--reject", "decision", flag_value="reject", help="Keep it out for good.")
@click.option("--scrape", metavar="SCRAPE_ID", help="Which one, where several wait; the newest by default.")
@click.option("--note", default="", metavar="TEXT", help="Why; stands beside the verdict.")
@click.pass_context
def review_command(ctx: click.Context, name: str | None, decision: str | None, scrape: str | None, note: str) -> int:
    """Why scrapes were quarantined, and what becomes of them.

    Without a decision it lists what waits, each check with its number and bound. A decision is a new row: nothing is
    overwritten, and what was believed before stays answerable with --known-at.
    """
    from storage import review
    from storage.lake import Lake

    names = provider_names((name,)) if name else None
    if decision and not names:
        raise UsageFault(f"say which provider to {decision}: gpufare review PROVIDER --{decision}")
    lake = Lake.open(settings(ctx).data)
    waiting = [s for s in review.pending(lake) if not names or s.provider in names]
    if not waiting:
        click.echo("nothing waits for review" + (f" of {names[0]}" if names else ""), err=True)
        return 1 if decision else 0
    if decision is None or names is None:
        for pending in waiting:
            seen = f"{pending.observed_at:%Y-%m-%d %H:%M}Z"
            click.echo(f"{pending.provider}  {pending.scrape_id}  {pending.offers} offers  {seen}")
            for check in json.loads(pending.checks or "[]"):
                if check["outcome"] != "ok":
                    click.echo(f"  {check['outcome']:<10} {check['name']}: {check['detail']}")
            click.echo(f"  decide: gpufare review {pending.provider} --accept | --reject")
        return 0
    decide = review.accept if decision == "accept" else review.reject
    decided = decide(lake, names[0], scrape_id=scrape, note=note, now=datetime.now(UTC))
    click.echo(f"{names[0]}: {decided.scrape_id} is {decided.verdict}", err=True)
    return 0


@click.command("verify", epilog="Example: gpufare verify")
@click.pass_context
def verify_command(ctx: click.Context) -> int:
    """Integrity of the whole store: every table opens, every file is whole, every visible scrape has its rows."""
    from storage.lake import Lake
    from storage.verify import verify

    report = verify(Lake.open(settings(ctx).data))
    for line in report.lines():
        click.echo(line)
    return 0 if report.whole else 1


@click.command("compact", epilog="Examples: gpufare compact; gpufare compact --everything; gpufare compact --sweep")
@click.option("--everything", is_flag=True, help="The open month too.")
@click.option("--sweep", "sweeping", is_flag=True, help="Then delete what nobody needs (see below).")
@click.pass_context
def compact_command(ctx: click.Context, everything: bool, sweeping: bool) -> int:
    """Rewrite closed months sorted, one commit each: a tenth the size, and a question about one card reads a part.

    Readers and writers go on meanwhile. The old files stay on disk until they are swept. --sweep deletes data files
    that no table has named for seven days, and recordings older than their provider's recordings_days in
    providers.toml; its last accepted one and those that wait for review stay. A full refresh does all of this.
    """
    from storage.compaction import Compacted, compact, sweep
    from storage.lake import Lake
    from storage.retention import sweep_recordings

    def told(month: Compacted) -> None:
        what = f"{month.files_before} files, {month.bytes_before / 1e6:.1f} MB -> "
        what += f"{month.files_after}, {month.bytes_after / 1e6:.1f} MB" if month.done else "left: a writer was quicker"
        click.echo(f"{month.table} {month.month}: {what}", err=True)

    lake = Lake.open(settings(ctx).data)
    now = lake.clock(datetime.now(UTC))
    done = compact(lake, now, everything=everything, on_month=told)
    if not done:
        click.echo("nothing to do: every closed month is one file", err=True)
    if sweeping:
        files, recordings = len(sweep(lake)), len(sweep_recordings(lake, now))
        click.echo(f"{files} old files and {recordings} recordings deleted", err=True)
    return 0 if all(month.done for month in done) else 1


@click.command("doctor", epilog="Example: gpufare doctor")
@click.pass_context
def doctor_command(ctx: click.Context) -> int:
    """What is missing on this machine, and the command that brings it. Exits 1 where something needed is missing."""
    missing = 0
    for name, state, hint in findings(settings(ctx).data):
        missing += state == "missing"
        click.echo(f"{state:<8} {name:<22} {hint}")
    return 1 if missing else 0


def findings(store: str) -> list[tuple[str, str, str]]:
    """What was looked at: name, `ok`, `absent` (works without it) or `missing`, and what to type."""
    from importlib.util import find_spec

    from flows.access import consent_file, enabled
    from schemas.facts import facts_version
    from schemas.providers import providers
    from spiders.shared.browser import chromium

    found = [("python", "ok" if sys.version_info >= (3, 11) else "missing", sys.version.split()[0])]
    for package in ("scrapy", "deltalake", "duckdb", "pyarrow", "pandas", "prefect", "playwright", "scrapy_playwright"):
        found.append(
            (package, "ok" if find_spec(package) else "missing", "" if find_spec(package) else "make demo installs it")
        )
    browser = chromium()
    pages = ", ".join(p.slug for p in providers().values() if p.browser)
    found.append(
        (
            "chromium",
            "ok" if browser else "absent",
            str(browser) if browser else f"make chromium; without it: no {pages}",
        )
    )
    found.append(("facts", "ok", f"version {facts_version()}"))
    for provider in providers().values():
        for variable in (*provider.keys, *provider.optional_keys):
            found.append((variable, "ok" if os.environ.get(variable) else "absent", f"key of {provider.slug}"))
    found.append(("consent", "ok", f"{consent_file()}: {', '.join(enabled()) or 'nobody'}"))
    if "://" not in store:
        writable = os.access(store if Path(store).exists() else Path(store).absolute().parent, os.W_OK)
        found.append(
            ("store", "ok" if writable else "missing", f"{store} " + ("" if writable else "cannot be written"))
        )
    api = os.environ.get("PREFECT_API_URL")
    found.append(("PREFECT_API_URL", "ok" if api else "absent", api or "refresh runs without a server"))
    return found

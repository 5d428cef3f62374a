"""`refresh`, `demo` and `record`: the commands that ask providers."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import click

from flows.refresh import Summary, plan, refresh
from gpufare.args import provider_names
from gpufare.cli import UsageFault, settings
from gpufare.progress import closing, watching
from gpufare.shelltools import complete_providers
from schemas.providers import providers

NIGHTS = ("2026-11-29-night", "2026-11-30-night")
DEMO = "./demo"


@click.command(
    "refresh",
    epilog="Examples: gpufare refresh; gpufare refresh lambda nebius; "
    "gpufare --data ./demo refresh hyperbolic --recorded 2026-11-30-night",
)
@click.argument("names", metavar="[PROVIDER ...]", nargs=-1, shell_complete=complete_providers)
@click.option(
    "--recorded",
    metavar="CASE_OR_DIR",
    help="Answer from recordings (a case, or DIR/<provider>.har), at their own time.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Providers asked at once.")
@click.option("--deadline", type=click.FloatRange(min=1), metavar="SECONDS", help="Instead of each provider's own.")
@click.pass_context
def refresh_command(
    ctx: click.Context, names: tuple[str, ...], recorded: str | None, jobs: int, deadline: float | None
) -> int:
    """Scrape all providers, or those named.

    With PREFECT_API_URL set, the same as a Prefect flow with a task for each provider, asked again where that can help.
    Whatever fails is named and leaves the others alone; the last accepted snapshot of such a provider stays and shows
    its age. Exits 1 where some provider failed or was quarantined.
    """
    by_prefect = bool(os.environ.get("PREFECT_API_URL"))
    summary = run(settings(ctx).data, provider_names(names), recorded, jobs, deadline, by_prefect=by_prefect)
    return 0 if summary.ok else 1


def run(
    store: str,
    names: list[str] | None,
    recorded: str | None,
    jobs: int = 2,
    deadline: float | None = None,
    *,
    by_prefect: bool = False,
) -> Summary:
    """Refresh with progress on standard error; as a flow that the server at PREFECT_API_URL sees, where asked to."""
    how: Callable[..., Summary] = refresh
    if by_prefect:
        from flows.nightly import refresh_by_prefect as how  # 2.5 s of import
    with watching(len(names or providers())) as watcher:
        summary = how(
            store,
            names,
            recorded=recorded,
            jobs=jobs,
            deadline_s=deadline,
            on_start=watcher.start,
            on_done=watcher.done,
        )
    click.echo(closing(summary), err=True)
    return summary


@click.command(
    "demo", epilog="Examples: gpufare demo; gpufare demo lambda vast; gpufare --data ./demo offers H100 --in-stock"
)
@click.argument("names", nargs=-1, metavar="[PROVIDER]...", shell_complete=complete_providers)
@click.option("--into", default=DEMO, show_default=True, metavar="DIR", help="The sample store; it is made anew.")
@click.pass_context
def demo_command(ctx: click.Context, names: tuple[str, ...], into: str) -> int:
    """The nightly job on two recorded nights, offline: what was done, the cheapest offers, what changed, the site.

    All providers, or those named.

    The second night holds real kinds of trouble: a provider that fails, one that returns half its rows, one whose
    prices all moved by one factor. So the refresh itself would exit 1; the demo exits 0 when both nights ran as
    recorded.
    """
    from storage.lake import Lake

    wanted = provider_names(names, []) if names else None
    if Path(into).exists():
        Lake.open(into, origin="recording")  # never delete what is no sample store
        shutil.rmtree(into)
    for night in NIGHTS:
        click.echo(f"\n{night} (SAMPLE, recorded answers)", err=True)
        run(into, wanted, night)
    click.echo("", err=True)
    for arguments in (
        ["offers", "--limit", "15"],
        ["changes", "--since", "2026-11-30", "--all"],
        ["publish", str(Path(into) / "site")],
    ):
        click.echo(f"$ gpufare --data {into} {' '.join(arguments)}")
        ctx.invoke(ask, store=into, arguments=arguments)
        click.echo("")
    return 0


def ask(store: str, arguments: list[str]) -> None:
    """Run one of our own commands as a reader would, on another store."""
    from gpufare.cli import cli

    cli.main(args=["--data", store, *arguments], prog_name="gpufare", standalone_mode=False)


@click.command("record", epilog="Example: gpufare record lambda --into ./recordings")
@click.argument("name", metavar="PROVIDER", shell_complete=complete_providers)
@click.option("--into", default=".", show_default=True, metavar="DIR", help="Where <provider>.har is written.")
@click.pass_context
def record_command(ctx: click.Context, name: str, into: str) -> int:
    """A live scrape saved as a recording, secrets removed; nothing is stored.

    The file can be read with `gpufare parse PROVIDER FILE`, refreshed from with `--recorded DIR`, and attached to a
    report.
    """
    import tempfile
    from datetime import UTC, datetime

    from spiders.shared import har
    from spiders.shared.crawl import crawl

    (slug,) = provider_names((name,)) or [name]
    now = datetime.now(UTC)
    _, skipped = plan([slug], recorded=None, now=now, run_id="record")
    if skipped:
        raise UsageFault(f"{slug} is not asked: {skipped[0].detail}")
    with tempfile.TemporaryDirectory(prefix="gpufare-") as folder:
        report = crawl(slug, Path(folder))
        if report.har_path is None or not report.har_path.exists():
            click.echo(f"gpufare: {slug}: {report.error_class}: {report.error}; nothing was recorded", err=True)
            return 1
        target = Path(into) / f"{slug}.har"
        target.parent.mkdir(parents=True, exist_ok=True)
        har.write(target, har.read(report.har_path).entries)
    click.echo(str(target))
    verdict = f"{report.offers} offers" if report.ok else f"{report.error_class}: {report.error}"
    click.echo(f"{slug}: {report.requests} requests, {verdict}", err=True)
    return 0 if report.ok else 1

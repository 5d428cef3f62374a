"""`publish`: the ledger as a static site."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from gpufare.cli import UsageFault, settings
from gpufare.commands.options import examples


@click.command(
    "publish", epilog=examples("publish ./site --base-url https://gpus.example.org", "--data ./demo publish ./site")
)
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--base-url", metavar="URL", help="Public address of DIR: feeds then tell their own.")
@click.pass_context
def publish_command(ctx: click.Context, folder: Path, base_url: str | None) -> int:
    """The ledger as a static site for any file host: table, GPUs, providers, changes, status, data, in each language.

    All of a version is written into DIR/v/ before DIR/index.html and DIR/latest.json point to it, so an interrupted
    publish leaves the former version live; three versions are kept. Open DIR/index.html, or serve DIR with any server.
    Feeds of what moved (Atom, JSON Feed; all, by GPU, by provider) lie in DIR/feeds, whatever the version.
    Rows of providers whose terms do not let them be passed on are left out and named.
    """
    from planner.page import COLUMNS, page
    from storage.lake import Lake
    from table import feeds
    from table.exports import NotOurs
    from table.site.build import publish
    from table.view import SAMPLE

    lake = Lake.open(settings(ctx).data)
    made_at = datetime.now(UTC)
    try:
        result = publish(
            lake,
            folder,
            now=lake.clock(made_at),
            made_at=made_at,
            on_step=lambda step: click.echo(step, err=True),
            plan=lambda offers: page(offers.select(COLUMNS).to_pylist()),
        )
    except NotOurs as error:
        raise UsageFault(str(error)) from None
    click.echo("feeds", err=True)
    # Beside the versions: a subscription must outlive them.
    written = feeds.write(lake, folder, now=lake.clock(made_at), base_url=base_url)
    if result.sample:
        click.echo(SAMPLE, err=True)
    if result.kept_back:
        named = ", ".join(f"{slug} ({rows})" for slug, rows in sorted(result.kept_back.items()))
        click.echo(f"left out, may not be passed on: {named}", err=True)
    if not result.offers:
        click.echo("no offers yet: the site says to run `gpufare refresh`", err=True)
    click.echo(
        f"{result.offers} offers in {result.files} files ({result.size / 1e6:.1f} MB) and {len(written)} feeds, as of"
        f" {result.as_of:%Y-%m-%d %H:%MZ}",
        err=True,
    )
    click.echo(str(folder / "index.html"))
    return 0

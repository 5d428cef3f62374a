"""`import`: history that others kept, into the same tables."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpufare import args
from gpufare.cli import UsageFault, settings
from gpufare.commands.options import examples
from gpufare.shelltools import complete_providers

if TYPE_CHECKING:
    from storage.imports import Imported, Source, Step, Told

IMPORT_FORMATS = ("gpuhunt", "skypilot", "csv")
MAPPING = """
\b
A mapping says whose history a CSV is, and what its columns mean:
  [source]
  name = "acme"                     # snapshots of one name follow one another
  title = "prices that Acme kept"
  url = "https://example.org/prices"
  licence = "CC-BY-4.0"
  credit = "Acme"
  [file]
  observed_at = "seen"              # column with the instant; no zone means UTC
  provider_column = "cloud"         # or: provider = "aws"
  [columns]                         # what gpufare knows = the column of the file
  instance_type = "type"
  region = "region"
  purchase = "kind"
  price = "usd"
  ram = "memory"
  [constants]
  currency = "USD"
  price_unit = "instance-hour"
  [words.purchase]                  # their words = ours
  ondemand = "on_demand"
  [units]
  ram = "GiB"                       # what follows a bare number of theirs
  [skip]
  region = ["test"]                 # rows that are none of ours
"""


@click.command(
    "import",
    epilog=MAPPING
    + "\n"
    + examples(
        "import gpuhunt v3/aws/20260810-4711/catalog.zip",
        "import gpuhunt ./catalogues --provider lambda",
        "import skypilot 2026-08-10/catalogs/v8",
        "import skypilot lambda/vms.csv --observed-at 2026-08-10T02:00Z",
        "import csv prices.csv.gz --mapping acme.toml",
        "import csv aws_karpenter_ondemand_full.csv.gz --mapping karpenter-aws",
    ),
)
@click.argument("format", type=click.Choice(IMPORT_FORMATS))
@click.argument("paths", metavar="FILE_OR_DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--provider", metavar="NAME", help="Whose prices these are.", shell_complete=complete_providers)
@click.option("--mapping", metavar="FILE", help="What the columns of a CSV mean, or the name of one that comes along.")
@click.option("--observed-at", metavar="T", help="When a catalogue was made, where nothing in its path tells.")
@click.pass_context
def import_command(
    ctx: click.Context,
    /,
    *,
    format: str,
    paths: tuple[Path, ...],
    provider: str | None,
    mapping: str | None,
    observed_at: str | None,
) -> int:
    """History that others kept: catalogues of gpuhunt and SkyPilot, and any CSV with a mapping.

    Rows go through the same reading of names, sizes and prices as scraped ones and say `import` for their origin;
    source, licence and credit stay with every scrape. One scrape is stored per provider and instant, with the changes
    since the one before it of the same source. What is there already is not stored again. Snapshots from after the
    provider's first scrape of your own are left out: where gpufare looks itself, nobody else's table takes its place.
    """
    from storage.errors import StoreOriginError
    from storage.imports import MappingError, take_in
    from storage.lake import Lake

    for path in paths:
        if not path.exists():
            raise UsageFault(f"no file or folder {path}")
    slug = None if provider is None else args.provider(provider)
    try:
        read, source = _read(format, list(paths), slug, mapping, observed_at)
    except MappingError as error:
        raise UsageFault(str(error)) from None
    try:
        lake = Lake.open(settings(ctx).data, origin="import", create=True)
    except StoreOriginError as error:
        raise UsageFault(str(error)) from None
    with _progress() as on_step:
        result = take_in(lake, read, source, now=datetime.now(UTC), code_version=_version(), on_step=on_step)
    lake.tidy()
    for line in told(result, source):
        click.echo(line, err=True)
    return 0


def _read(
    format: str, paths: list[Path], slug: str | None, mapping: str | None, observed_at: str | None
) -> tuple[Told, Source]:
    from storage import imports

    if format == "csv":
        if mapping is None:
            known = ", ".join(imports.shipped())
            raise UsageFault(f"say what the columns mean: --mapping FILE (see --help), or one of {known}")
        if observed_at is not None:
            raise UsageFault("--observed-at is for catalogues; a mapping names the column that holds the instant")
        read_as = imports.load_mapping(mapping)
        return imports.read_plain(paths, read_as, slug), read_as.source
    if mapping is not None:
        raise UsageFault(f"--mapping is for csv; the columns of {format} are known")
    at = None if observed_at is None else args.moment(observed_at, datetime.now(UTC))
    reader = imports.read_gpuhunt if format == "gpuhunt" else imports.read_skypilot
    return reader(paths, slug, at), imports.source_of(format)


def _version() -> str:
    import flows

    return flows.code_version()


@contextmanager
def _progress() -> Iterator[Callable[[Step], None]]:
    """A live bar on a terminal; elsewhere a line for each provider that is through."""
    if not sys.stderr.isatty():
        yield (
            lambda step: (
                click.echo(f"{step.provider}: {step.total} snapshots read", err=True)
                if step.done == step.total
                else None
            )
        )
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, int] = {}

        def advance(step: Step) -> None:
            if step.provider not in tasks:
                tasks[step.provider] = bars.add_task(step.provider, total=step.total)
            bars.update(tasks[step.provider], completed=step.done)  # type: ignore[arg-type]

        yield advance


def told(result: Imported, source: Source) -> Iterator[str]:
    """What became of the import, line by line."""
    span = f" from {result.first:%Y-%m-%d} to {result.last:%Y-%m-%d}" if result.first and result.last else ""
    yield (
        f"{', '.join(result.providers) or 'nothing'}: {result.snapshots} snapshots stored{span} with {result.offers} "
        f"offers and {result.changes} changes; {result.known} were there already"
    )
    if result.restated:
        yield f"{result.restated} of them restate a snapshot of the same instant, whose rows read otherwise before"
    for slug, number in result.overtaken.items():
        yield f"left out: {number} snapshots of {slug} from after its first scrape in this store"
    yield from _counted("left out", result.skipped)
    yield from _counted("not read", result.rejected)
    if result.withheld:
        yield f"withheld: {result.withheld} rows with impossible values, or that share a key but differ"
    if result.quarantined:
        yield f"quarantined: {result.quarantined} snapshots; `gpufare review` shows why and decides"
    if result.unmapped:
        words = ", ".join(word for word, _ in result.unmapped.most_common(5))
        yield f"unknown accelerators: {len(result.unmapped)} ({words}); see `gpufare unmapped`"
    for slug, names in result.others.items():
        yield f"note: snapshots of {slug} from {', '.join(sorted(names))} lie between these; a day shows one of both"
    yield f"source: {source.title}, {source.url}; licence: {source.licence}; credit: {source.credit}"


def _counted(what: str, reasons: Counter[str]) -> Iterator[str]:
    for reason, number in reasons.most_common(10):
        yield f"{what}: {number} rows, {reason}"

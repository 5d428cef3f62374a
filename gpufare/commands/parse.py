"""`parse`: a saved answer through the real spider and the real normaliser; nothing is stored."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpufare import args
from gpufare.cli import UsageFault, complain
from gpufare.commands.options import completion, examples, provider_names, write_lines
from table.cells import safe
from table.jsontext import dumps

if TYPE_CHECKING:
    from schemas.offer import Offer
    from schemas.raw_offer import RawOffer
    from spiders.shared.har import Entry

_HAR = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"log"\s*:')
REJECTS_TOLD = 20


@click.command(
    "parse",
    epilog=examples(
        "parse hyperbolic answers.har",
        "parse azure page1.json page2.json --url https://prices.azure.com/api/retail/prices",
        "parse lambda pricing.html --at 2026-11-30T02:00Z",
    ),
)
@click.argument("provider", metavar="PROVIDER", shell_complete=completion(provider_names))
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--url", "urls", multiple=True, metavar="URL", help="Where a bare body came from; once, or once a file.")
@click.option("--at", metavar="TIME", help="When it was answered; else the recording's own time, else now.")
@click.pass_context
def parse_command(
    ctx: click.Context, /, *, provider: str, files: tuple[Path, ...], urls: tuple[str, ...], at: str | None
) -> None:
    """Read saved answers (HAR, or bodies as they are) and print one Offer a line.

    Prices in a currency other than USD keep it; without an exchange rate at hand their dollar columns are null. Notes
    and errors go to standard error, one a line; the exit code is 1 where a reader failed.
    """
    from spiders.shared.har import HarError
    from spiders.shared.offline import read_answers
    from spiders.shared.secrets import REMOVED

    slug = args.provider(provider)
    try:
        entries, recorded, keys = _entries(files, urls)
    except HarError as error:
        raise click.ClickException(str(error)) from None
    now = datetime.now(UTC)
    instant = args.moment(at, now) if at else recorded or now
    try:
        found = read_answers(slug, entries, dict.fromkeys(keys, REMOVED))
    except LookupError as error:
        raise click.ClickException(str(error.args[0])) from None
    for note in found.notes:
        complain(safe(f"note: {note}"))
    write_lines(_lines(slug, files, instant, found.offers))
    for problem in found.errors:
        complain(safe(problem))
    if found.errors:
        ctx.exit(1)


def _entries(files: Sequence[Path], urls: Sequence[str]) -> tuple[list[Entry], datetime | None, tuple[str, ...]]:
    """The answers in all files, when the first recording was made, the key variables that were set then."""
    from urllib.parse import urlsplit

    from spiders.shared import har

    if len(urls) not in {0, 1, len(files)}:
        raise UsageFault(f"{len(urls)} --url for {len(files)} files; give one for all, or one for each")
    for url in urls:
        if urlsplit(url).scheme not in {"http", "https"}:
            raise UsageFault(f"--url {url!r} is no http or https address")
    each = list(urls) * len(files) if len(urls) == 1 else list(urls) or [""] * len(files)
    entries: list[Entry] = []
    recorded: datetime | None = None
    keys: tuple[str, ...] = ()
    for path, url in zip(files, each, strict=True):
        if path.is_dir() or _is_har(path):
            read = har.read(path)
            entries += [entry for entry in read.entries if urlsplit(entry.url).path != "/robots.txt"]
            recorded, keys = recorded or read.recorded_at, keys + read.keys
        else:
            entries.append(har.Entry(har.ANY, url, content=path.read_bytes(), mime=_mime(path)))
    return entries, recorded, keys


def _is_har(path: Path) -> bool:
    with path.open("rb") as file:
        return bool(_HAR.match(file.read(4096)))


def _mime(path: Path) -> str:
    """What the name says of the body; else Scrapy looks at the body itself."""
    known = {".json": "application/json", ".html": "text/html", ".htm": "text/html", ".xml": "text/xml"}
    name = path.name.removesuffix(".gz")
    return known.get(Path(name).suffix.lower(), "")


def _lines(slug: str, files: Sequence[Path], instant: datetime, raws: Sequence[RawOffer]) -> Iterator[str]:
    from schemas.normalise import Context, normalise
    from schemas.offer import Offer
    from schemas.providers import provider
    from schemas.record import columns

    context = Context(provider(slug), f"parse-{slug}", instant, "recording", _sha256(files))
    read = normalise(raws, context)
    names = list(columns(Offer))
    for offer in read.offers:
        yield dumps(_row(offer, names)) + "\n"
    for reject in read.rejects[:REJECTS_TOLD]:
        complain(safe(f"not read: {reject.reason}: {dumps(reject.raw.as_json())[:300]}"))
    if len(read.rejects) > REJECTS_TOLD:
        complain(f"not read: {len(read.rejects) - REJECTS_TOLD} records more")
    for words, count in read.unmapped.most_common():
        complain(safe(f"note: unknown accelerator {words!r}, {count} times"))


def _row(offer: Offer, names: Sequence[str]) -> dict[str, object]:
    return {name: getattr(offer, name) for name in names}


def _sha256(files: Sequence[Path]) -> str | None:
    """The hash of the one file that was read; of several there is none to name."""
    import hashlib

    if len(files) != 1 or files[0].is_dir():
        return None
    return hashlib.sha256(files[0].read_bytes()).hexdigest()

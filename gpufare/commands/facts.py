"""Commands about facts: providers, hardware, how a name or a price is read, and what a saved answer holds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any

import click

from gpufare import args
from gpufare.commands.options import (
    Output,
    completion,
    emit,
    examples,
    gpu_models,
    output_options,
    provider_names,
    write_lines,
)
from gpufare.commands.parse import parse_command
from table.cells import UNKNOWN, text_of
from table.jsontext import dumps
from table.view import Row, Shown, View, column

OLD = timedelta(days=180)
"""a fact that nobody looked at for so long is marked"""

__all__ = ["gpus_command", "parse_command", "providers_command", "resolve_command"]


@click.command(
    "providers",
    epilog=examples("providers", "providers lambda vast --facts", "providers -o json"),
)
@click.argument("names", nargs=-1, metavar="[PROVIDER]...", shell_complete=completion(provider_names))
@click.option(
    "--facts",
    is_flag=True,
    help="Billing, storage, access, network, terms: each with source and day; ! marks one older than 180 days.",
)
@output_options
def providers_command(*, names: tuple[str, ...], facts: bool, out: Output) -> None:
    """Providers: how each is reached, how often, what its terms say, how well its reading is proved."""
    from schemas.providers import providers

    every = sorted(providers(), key=lambda slug: providers()[slug].status != "active")
    wanted = [args.provider(name) for name in args.listed(names)] or every
    rows = list(_facts(wanted) if facts else _providers(wanted))
    if facts:
        shown = [column(name) for name in ("provider", "fact", "value")]
        shown += [Shown("CHECKED ON", _checked, name="checked_on"), column("source", drop=1)]
    else:
        shown = [
            column("provider"),
            column("title", drop=6),
            column("segment", drop=3),
            Shown("ACCESS", _of_collected("access"), name="access"),
            Shown("CADENCE", _of_collected("cadence"), drop=4, name="cadence"),
            Shown("FRESH", lambda row: f"{row['fresh_for_h']}h" if row["status"] == "active" else "-", "right", drop=5),
            Shown("PROOF", _of_collected("proof"), drop=2, name="proof"),
            column("asked"),
        ]
    view = View("facts" if facts else "providers", rows, shown, datetime.now(UTC), counts={"rows": len(rows)})
    emit(view, out)


def _of_collected(name: str) -> Callable[[Row], str]:
    """What holds of a provider only while it is collected."""
    return lambda row: text_of(row[name]) if row["status"] == "active" else "-"


def _providers(slugs: Iterable[str]) -> Iterator[Row]:
    import os
    from dataclasses import asdict

    from flows.access import enabled, refusal
    from schemas.providers import provider
    from spiders.shared.source import proof

    opted_in = enabled()
    for slug in slugs:
        known = provider(slug)
        refused = refusal(known, opted_in, os.environ)
        row = {"provider": slug, **asdict(known)}
        del row["slug"], row["facts"], row["coverage"]
        yield {**row, "proof": proof(slug), "asked": "yes" if refused is None else f"no: {refused}"}


def _facts(slugs: Iterable[str]) -> Iterator[Row]:
    from schemas.providers import FACT_NAMES, provider

    for slug in slugs:
        known = provider(slug)
        if known.terms_note or known.terms_reviewed_on:
            yield {
                "provider": slug,
                "fact": "terms",
                "value": known.terms_note,
                "source": known.homepage,
                "checked_on": known.terms_reviewed_on,
                "old": _old(known.terms_reviewed_on),
            }
        for name in FACT_NAMES:
            fact = known.facts.get(name)
            checked_on = fact.checked_on if fact else None
            yield {
                "provider": slug,
                "fact": name,
                # One column, values of many kinds: text, so that every format can hold them.
                "value": None if fact is None else _words(fact.value),
                "source": fact.source if fact else None,
                "checked_on": checked_on,
                "old": _old(checked_on),
            }


def _words(value: object) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _old(checked_on: date | None) -> bool | None:
    """Was a fact last checked more than OLD ago? None for one that is not known."""
    return None if checked_on is None else datetime.now(UTC).date() - checked_on > OLD


def _checked(row: Row) -> str:
    return f"{row['checked_on'] or UNKNOWN}{' !' if row['old'] else ''}"


@click.command(
    "gpus", epilog=examples("gpus", "gpus h100 mi300x", "gpus --vendor amd --vram 128..", "gpus -o csv --to gpus.csv")
)
@click.argument("names", nargs=-1, metavar="[GPU]...", shell_complete=completion(gpu_models))
@click.option("--vendor", multiple=True, metavar="NAMES", help="nvidia, amd, google ...")
@click.option("--vram", metavar="RANGE", help="GiB of one GPU: 24.., ..80, 40..48 or 48.")
@output_options
def gpus_command(*, names: tuple[str, ...], vendor: tuple[str, ...], vram: str | None, out: Output) -> None:
    """Hardware that is rented out: memory, bandwidth, number formats; each row with its source and day."""
    from dataclasses import asdict

    from schemas.gpu_table import gpu_models as rows_of

    models = {wanted.gpu for wanted in args.gpus(names)}
    known = list(dict.fromkeys(row.vendor for row in rows_of()))
    makers = [args.one_of("vendor", word, known) for word in args.listed(vendor)]
    size = args.span("--vram", vram) if vram else None
    rows = [
        asdict(row)
        for row in rows_of()
        if (not models or row.gpu in models)
        and (not makers or row.vendor in makers)
        and (size is None or size.holds(row.vram_gib))
    ]
    shown = [
        column("gpu"),
        column("variant", drop=3),
        column("vendor", drop=4),
        _right("VRAM", "vram_gib"),
        _right("GB/s", "mem_bandwidth_gbs", drop=2),
        _right("FP16 TFLOPS", "fp16_tflops_dense", drop=1),
        column("bf16", drop=5),
        column("fp8", drop=6),
        column("architecture", drop=7),
        column("year", drop=8),
    ]
    query = args.effective(gpu=sorted(models), vendor=makers, vram_gib=str(size) if size else None)
    view = View(
        "gpus", rows, shown, datetime.now(UTC), query, {"rows": len(rows), "models": len({r["gpu"] for r in rows})}
    )
    emit(view, out)


def _right(heading: str, name: str, drop: int = 0) -> Shown:
    plain = column(name)
    return Shown(heading, plain.text, "right", drop, name=name)


@click.group("resolve", epilog=examples('resolve gpu "8x H100 SXM5 80GB"', "resolve price < prices.txt"))
def resolve_command() -> None:
    """How a GPU name or a price string is read: one JSON object for each text, or for each line of standard input."""


@resolve_command.command(
    "gpu",
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        'resolve gpu "NVIDIA-A100-SXM4-40GB-MIG-3g.20gb"', "resolve gpu --provider azure Standard_NC24ads_A100_v4"
    ),
)
@click.argument("texts", nargs=-1, metavar="[TEXT]...", type=click.UNPROCESSED)
@click.option("--provider", metavar="NAME", help="Whose words they are.", shell_complete=completion(provider_names))
def resolve_gpu_command(texts: tuple[str, ...], provider: str | None) -> None:
    """Vendor, model, form factor, GiB of one GPU, count; null where the text does not say."""
    from schemas.gpu_names import as_json, read_gpu

    slug = args.provider(provider) if provider else None
    _answer(texts, lambda text: as_json(read_gpu(text, slug)))


@resolve_command.command(
    "price",
    context_settings={"ignore_unknown_options": True},
    epilog=examples('resolve price "from $2.15/GPU/hr"', 'resolve price "1.234,56 €/Monat"'),
)
@click.argument("texts", nargs=-1, metavar="[TEXT]...", type=click.UNPROCESSED)
@click.option("--provider", metavar="NAME", help="Whose words they are.", shell_complete=completion(provider_names))
def resolve_price_command(texts: tuple[str, ...], provider: str | None) -> None:
    """Amount, currency, per instance or GPU, unit of time; null where the text does not say."""
    from schemas.money import as_json, read_price

    if provider:
        args.provider(provider)
    _answer(texts, lambda text: as_json(read_price(text)))


def _answer(texts: tuple[str, ...], read: Callable[[str], Any]) -> None:
    """One line of answer for each text; an empty line is a text too, so that answers and lines stay together."""
    write_lines(f"{dumps(read(text))}\n" for text in (texts or _input_lines()))


def _input_lines() -> Iterator[str]:
    if sys.stdin.isatty():
        click.echo("gpufare: reading lines from standard input; Ctrl-D ends", err=True)
    # Bytes, parted at line feeds only: what Python takes for a line break besides may stand inside a name.
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", "surrogateescape").rstrip("\n").removesuffix("\r")

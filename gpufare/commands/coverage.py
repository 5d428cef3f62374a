"""`coverage`: which provider offers which card, and since when we read it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import click

from gpufare import args
from gpufare.cli import settings
from gpufare.commands.filters import HARDWARE, MACHINE, build, filter_options
from gpufare.commands.options import Output, emit, examples, output_options, zone_option
from gpufare.commands.times import as_of_option, known_at_option, times
from table.cells import UNKNOWN, instant, safe
from table.view import Row, Shown, View, column, rows_of

WIDEST = 10
"""columns of a terminal's matrix, the most widely offered cards"""


@click.command(
    "coverage",
    epilog=examples(
        "coverage", "coverage H100 H200 B200", "coverage --as-of 2026-11-29 -o csv", "coverage --vendor amd"
    ),
)
@filter_options(*MACHINE, *HARDWARE[:2], HARDWARE[3], HARDWARE[4])
@as_of_option
@known_at_option
@zone_option
@output_options
@click.pass_context
def coverage_command(
    ctx: click.Context,
    /,
    *,
    as_of: str | None,
    known_at: str | None,
    zone: str | None,
    out: Output,
    **wanted: Any,
) -> None:
    """Providers by card: how many offers each has, and since when.

    `+` marks a card that a provider began to offer after we began to read it; the others came with its spider. Files
    and JSON hold one row for each card and provider.
    """
    from storage.coverage import coverage
    from storage.lake import Lake

    lake = Lake.open(settings(ctx).data)
    now = lake.clock(datetime.now(UTC))
    when = times(now, as_of=as_of, known_at=known_at)
    at = when.as_of or now
    reader = args.zone(zone) if zone else None
    filters = build(lake, **wanted, usual_purchase=())
    table = coverage(lake, filters, as_of=at, known_at=when.known_at)
    cells = rows_of(table)
    as_matrix = out.format == "table"
    rows, columns = matrix(cells, reader) if as_matrix else (cells, [column(name) for name in table.column_names])
    counts = {
        "rows": len(rows),
        "providers": len({cell["provider"] for cell in cells}),
        "gpus": len({cell["gpu"] for cell in cells} - {None}),
    }
    view = View(
        "coverage",
        rows,
        columns,
        at,
        query={**filters.described(), **args.effective(**when.asked())},
        counts=counts,
        sample=lake.origin != "live",
        header=[f"offers by provider and card, as of {instant(at, reader)}; + came after the provider did"],
        notes=[f"{counts['providers']} providers, {counts['gpus']} cards; `-o csv` has them all"],
    )
    emit(view, out)


def matrix(cells: Sequence[Row], zone: Any) -> tuple[list[Row], list[Shown]]:
    """One row a provider, one column for each of the most widely offered cards."""
    spread = Counter(cell["gpu"] for cell in cells if cell["gpu"])
    cards = [card for card, _ in sorted(spread.items(), key=lambda item: (-item[1], item[0]))[:WIDEST]]
    rows: dict[str, dict[str, Any]] = {}
    for cell in cells:
        row = rows.setdefault(
            cell["provider"], {"provider": cell["provider"], "since": cell["provider_since"], "offers_of": {}}
        )
        row["offers_of"][cell["gpu"]] = cell
    columns = [column("provider"), Shown("SINCE", lambda row: instant(row["since"], zone), drop=1)]
    columns += [Shown(safe(card), _cell(card), "right", drop=2 + place) for place, card in enumerate(cards)]
    columns.append(Shown("OTHER", lambda row: _others(row, cards), "right"))
    return list(rows.values()), columns


def _cell(card: str) -> Any:
    def text(row: Row) -> str:
        cell = row["offers_of"].get(card)
        if cell is None:
            return "-"
        return f"{cell['offers']}{'+' if cell['first_seen'] > cell['provider_since'] else ''}"

    return text


def _others(row: Row, cards: Sequence[str]) -> str:
    rest = sum(cell["offers"] for card, cell in row["offers_of"].items() if card not in cards)
    unknown = row["offers_of"].get(None)
    return f"{rest} ({UNKNOWN} {unknown['offers']})" if unknown else str(rest) if rest else "-"

"""`history --plot`: one line of bars for each offer, all on one scale of time and price."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from gpufare.commands.options import write_lines
from table.cells import money, share, text_of
from table.offers import gpu_name, region_name
from table.terminal import Terminal, render
from table.view import Row, Shown, View, rows_of

if TYPE_CHECKING:
    import pyarrow as pa

BARS = "▁▂▃▄▅▆▇█"
CELLS = 48
MOST = 30


def emit_plot(table: pa.Table, since: datetime | None, until: datetime, header: Sequence[str], *, sample: bool) -> None:
    """Bars from the lowest to the highest price of the span; `·` where the offer was not to be seen."""
    offers: dict[str, list[Row]] = {}
    for row in rows_of(table):
        offers.setdefault(row["offer_key"], []).append(row)
    prices = [
        row["usd_per_gpu_hour"] for rows in offers.values() for row in rows if row["usd_per_gpu_hour"] is not None
    ]
    start = since or min((rows[0]["observed_at"] for rows in offers.values()), default=until)
    low, high = (min(prices), max(prices)) if prices else (Decimal(0), Decimal(0))
    lines = [{**rows[-1], "bars": bars(rows, start, until, low, high), "steps": rows} for rows in offers.values()]
    shown = [
        Shown("PROVIDER", lambda row: text_of(row["provider"])),
        Shown("GPU", gpu_name),
        Shown("N", lambda row: share(row["gpu_count"]), "right"),
        Shown("REGION", region_name, drop=1, shrink=True),
        Shown(f"{start:%Y-%m-%d} to {until:%Y-%m-%d}", lambda row: str(row["bars"])),
        Shown("FROM", lambda row: money(_first(row["steps"])), "point"),
        Shown("TO", lambda row: money(_first(reversed(row["steps"]))), "point"),
    ]
    scale = f"{BARS[0]} is {money(low)}, {BARS[-1]} is {money(high)} $/GPU-h" if prices else "no price was seen"
    notes = [scale] + ([f"{MOST} offers of {len(lines)}; narrow the question"] if len(lines) > MOST else [])
    view = View("plot", lines, shown, until, sample=sample, header=header, notes=notes, most=MOST)
    write_lines(render(view, Terminal.of(sys.stdout)))


def _first(rows: Iterable[Row]) -> Decimal | None:
    return next((row["usd_per_gpu_hour"] for row in rows if row["usd_per_gpu_hour"] is not None), None)


def bars(rows: Sequence[Row], start: datetime, until: datetime, low: Decimal, high: Decimal) -> str:
    """What the offer cost at the end of each of CELLS equal parts of the span."""
    cells = []
    for cell in range(1, CELLS + 1):
        at = start + (until - start) * cell / CELLS
        price = None
        for row in rows:
            if row["observed_at"] <= at:
                # A step that tells only of stock keeps its price beside it; `gone` and `not_observed` have none.
                price = row["usd_per_gpu_hour"]
        cells.append("·" if price is None else BARS[int((price - low) / (high - low) * 7) if high > low else 3])
    return "".join(cells)

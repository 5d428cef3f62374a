"""`history --plot`: one line of bars for each offer or card, all on one scale of time and price."""

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
CARRIED, MISSING, FAILED = "╌", "·", "x"
LEGEND = f"{CARRIED} carried (the bar before it still stands), {MISSING} missing, {FAILED} failed"
CELLS = 96
MOST = 30


def emit_plot(points: pa.Table, every: str, per: str, at: datetime, header: Sequence[str], *, sample: bool) -> None:
    """A bar for each step in which a price was read, from the lowest to the highest price of the span.

    What was carried is dashed; a step without a price is a gap, and one whose attempts failed says so.
    """
    rows = rows_of(points)
    steps = sorted({row["period_start"] for row in rows})[-CELLS:]
    lines: dict[object, list[Row]] = {}
    for row in rows:
        if row["period_start"] >= steps[0]:
            key = row["offer_key"] if per == "offer" else (row["gpu"], row["form_factor"], row["purchase"])
            lines.setdefault(key, []).append(row)
    prices = [price for line in lines.values() for row in line if (price := row["usd_per_gpu_hour"]) is not None]
    low, high = (min(prices), max(prices)) if prices else (Decimal(0), Decimal(0))
    drawn = [{**line[-1], "bars": bars(line, steps, low, high), "points": line} for line in lines.values()]
    machine = [
        Shown("PROVIDER", lambda row: text_of(row["provider"])),
        Shown("GPU", gpu_name),
        Shown("N", lambda row: share(row["gpu_count"]), "right"),
        Shown("REGION", region_name, drop=1, shrink=True),
    ]
    card = [Shown("GPU", gpu_name), Shown("PURCHASE", lambda row: text_of(row["purchase"]), drop=1)]
    when = f"{steps[0]:%Y-%m-%d} to {steps[-1]:%Y-%m-%d} by {every}" if steps else "nothing was seen"
    shown = [
        *(machine if per == "offer" else card),
        Shown(when, lambda row: str(row["bars"])),
        Shown("FIRST", lambda row: money(_first(row["points"])), "point"),
        Shown("LAST", lambda row: money(_first(reversed(row["points"]))), "point"),
    ]
    scale = f"{BARS[0]} is {money(low)}, {BARS[-1]} is {money(high)} $/GPU-h" if prices else "no price was seen"
    notes = [f"{scale}; {LEGEND}"]
    if len(lines) > MOST:
        notes.append(f"{MOST} of {len(lines)} lines; narrow the question")
    view = View("plot", drawn, shown, at, sample=sample, header=header, notes=notes, most=MOST)
    write_lines(render(view, Terminal.of(sys.stdout)))


def _first(rows: Iterable[Row]) -> Decimal | None:
    return next((row["usd_per_gpu_hour"] for row in rows if row["usd_per_gpu_hour"] is not None), None)


def bars(line: Sequence[Row], steps: Sequence[datetime], low: Decimal, high: Decimal) -> str:
    """One sign for each step."""
    at = {row["period_start"]: row for row in line}
    return "".join(_sign(at.get(step), low, high) for step in steps)


def _sign(row: Row | None, low: Decimal, high: Decimal) -> str:
    if row is None:
        return MISSING
    if row["state"] == "observed" and (price := row["usd_per_gpu_hour"]) is not None:
        return BARS[int((price - low) / (high - low) * 7) if high > low else 3]
    return {"carried": CARRIED, "failed": FAILED}.get(row["state"], MISSING)

"""SVG of a card's price by day: a step chart. Carried days are dashed, missing days are open, nothing is interpolated.

Colours are classes of the page's style sheet, so a chart follows light and dark. Texts come from the caller in the
reader's language. The numbers stand in a table beside each chart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from markupsafe import Markup, escape

WIDTH, HEIGHT = 720, 260
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 12, 28
SOLID = "observed"


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its class in the style sheet, and for each day the price (None is open) and whether it was seen."""

    style: str
    points: Sequence[tuple[date, Decimal | None, str]]


def step_chart(
    lines: Sequence[Line],
    first: date,
    last: date,
    *,
    title: str,
    number: Callable[[float], str],
    day: Callable[[date], str],
) -> Markup | None:
    """The chart from the day `first` up to the end of `last`, or None where no line has a price in it."""
    told = [(at, price) for line in lines for at, price, _ in line.points if price is not None]
    prices = [float(price) for at, price in told if first <= at <= last]
    if not prices:
        return None
    ticks = nice_ticks(min(prices), max(prices))
    low, high = ticks[0], ticks[-1]
    days = (last - first).days + 1

    def x(at: float) -> str:
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * at / days:.1f}"

    def y(price: float) -> str:
        return f"{TOP + (HEIGHT - TOP - BOTTOM) * (high - price) / (high - low):.1f}"

    parts = [Markup('<svg class="chart" viewBox="0 0 {} {}" role="img"><title>{}</title>').format(WIDTH, HEIGHT, title)]
    for tick in ticks:
        parts.append(
            Markup('<line class="grid" x1="{}" x2="{}" y1="{}" y2="{}"/><text class="tick" x="{}" y="{}" '
                   'text-anchor="end" dy="4">{}</text>').format(
                LEFT, WIDTH - RIGHT, y(tick), y(tick), LEFT - 6, y(tick), number(tick))
        )  # fmt: skip
    for place, anchor in ((0.0, "start"), (days / 2, "middle"), (float(days), "end")):
        at = date.fromordinal(first.toordinal() + min(int(place), days - 1))
        parts.append(
            Markup('<text class="tick" x="{}" y="{}" text-anchor="{}">{}</text>').format(
                x(place), HEIGHT - 8, anchor, day(at)
            )
        )
    for line in lines:
        for solid, path in _paths(line, first, last, x, y):
            parts.append(Markup('<path class="{}" d="{}"/>').format(line.style + ("" if solid else " carried"), path))
    return Markup("").join([*parts, Markup("</svg>")])


def _paths(
    line: Line, first: date, last: date, x: Callable[[float], str], y: Callable[[float], str]
) -> list[tuple[bool, str]]:
    """Runs of days that were seen, and of days that were not: each a path of its own, joined where they touch."""
    found: list[tuple[bool, str]] = []
    before: tuple[date, bool] | None = None
    for at, price, state in line.points:
        if price is None or not first <= at <= last:
            before = None
            continue
        start = (at - first).days
        solid = state == SOLID
        step = f"V{y(float(price))}H{x(start + 1)}"
        if before is not None and (at - before[0]).days == 1:
            if solid == before[1]:
                found[-1] = (solid, found[-1][1] + step)
            else:
                found.append((solid, f"M{x(start)} {found[-1][1].rpartition('V')[2].partition('H')[0]}{step}"))
        else:
            found.append((solid, f"M{x(start)} {y(float(price))}{step}"))
        before = (at, solid)
    return found


def nice_ticks(low: float, high: float, wanted: int = 4) -> list[float]:
    """Round numbers that hold the span from low to high, about so many; zero is one of them only where it is near."""
    if low == high:
        low, high = low * 0.9, high * 1.1
    rough = (high - low) / wanted
    power = 10 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 2.5, 5, 10) if times * power >= rough * 0.999)
    start = math.floor(low / step + 1e-9)
    end = math.ceil(high / step - 1e-9)
    return [round(index * step, 10) for index in range(start, end + 1)]


def health_bar(days: Sequence[tuple[str, str]], *, title: str) -> Markup:
    """Ninety days as a bar: for each its word (good, partly, failed, none) and what a pointer over it is told."""
    cells = "".join(
        f'<rect class="day-{word}" x="{index * 4}" y="{0 if word == "good" else 6}" width="3"'
        f' height="{20 if word == "good" else 14}"><title>{escape(told)}</title></rect>'
        for index, (word, told) in enumerate(days)
        if word != "none"
    )
    width = len(days) * 4
    back = f'<rect class="day-back" x="0" y="0" width="{width}" height="20"/>'
    head = f'<svg class="health" viewBox="0 0 {width} 20" role="img"><title>{escape(title)}</title>'
    return Markup(f"{head}{back}{cells}</svg>")  # noqa: S704 - numbers of ours, texts escaped

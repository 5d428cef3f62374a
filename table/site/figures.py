"""Numbers of the pages: a card's prices over 30, 90 and 365 days, the steps of its series, what a provider sells."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from table.site.content import Card, Content, Point
from table.view import Row

SPANS = (30, 90, 365)
MOST_STEPS = 60


@dataclass(frozen=True, slots=True)
class Span:
    """Prices of a span of days, USD per GPU-hour: lowest, median of each day's lowest, days that have one."""

    days: int
    lowest: Decimal | None
    median: Decimal | None
    priced: int


def spans(points: Sequence[Point], today: date) -> list[Span]:
    """The card's lowest price over each of SPANS, today included."""
    found = []
    for days in SPANS:
        first = today - timedelta(days=days - 1)
        prices = [point.lowest for point in points if point.lowest is not None and point.day >= first]
        median = statistics.median(prices) if prices else None
        found.append(Span(days, min(prices, default=None), median, len(prices)))
    return found


def steps(points: Sequence[Point]) -> list[Point]:
    """The days on which the lowest price, the median or the state moved, newest first, at most MOST_STEPS."""
    moved = [
        point
        for before, point in zip([None, *points], points, strict=False)
        if before is None or (before.lowest, before.median, before.state) != (point.lowest, point.median, point.state)
    ]
    return moved[: -MOST_STEPS - 1 : -1]


def now_of(points: Sequence[Point], today: date) -> Point | None:
    """The point of today; None where the series ends before."""
    return points[-1] if points and points[-1].day == today else None


def cards_of(content: Content) -> dict[str, list[Card]]:
    """Every model that is sold or was in the span of history, with its cards, by name."""
    found: dict[str, set[Card]] = {}
    for gpu, form in content.histories:
        found.setdefault(gpu, set()).add((gpu, form))
    for row in content.rows:
        if row["gpu"] is not None:
            found.setdefault(row["gpu"], set()).add((row["gpu"], row["form_factor"]))
    return {gpu: sorted(found[gpu], key=lambda card: card[1] or "") for gpu in sorted(found)}


def cheapest(rows: Iterable[Row], by: Sequence[str]) -> list[Row]:
    """The first row for each combination of values; rows come cheapest first. `number` says how many there are."""
    first: dict[tuple[object, ...], Row] = {}
    counts: dict[tuple[object, ...], int] = {}
    for row in rows:
        key = tuple(row[name] for name in by)
        first.setdefault(key, row)
        counts[key] = counts.get(key, 0) + 1
    return [{**row, "number": counts[key]} for key, row in first.items()]


def providers_of(rows: Iterable[Row]) -> Mapping[str, list[Row]]:
    """Rows by provider, in their order."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["provider"], []).append(row)
    return found

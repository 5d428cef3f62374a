"""Cells of `fit` in the reader's language: numbers, money with its span, and notes that many rows share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from table import cells
from table.view import Row, Shown

if TYPE_CHECKING:
    from planner.job_cost import Span
    from schemas.messages import Messages, Said

NO_BOUND = "∞"
CENT = Decimal("0.01")


def price(words: Messages, amount: Decimal | None) -> str:
    """A price with as many digits as `offers` shows."""
    if amount is None:
        return cells.UNKNOWN
    decimals = len(cells.money(amount).partition(".")[2])
    return words.number(amount, f"#,##0.{'0' * decimals}")


def usd(words: Messages, amount: Decimal | None) -> str:
    """A sum in dollars and cents; None has no bound."""
    if amount is None:
        return NO_BOUND
    if amount == 0:
        return "0"
    return f"<{words.number(CENT, '0.00')}" if amount < CENT else words.number(amount, "#,##0.00")


def spread(words: Messages, span: Span) -> str:
    """The expected sum, and from what to what it may be where it is not sure."""
    middle, low, high = (usd(words, amount) for amount in (span.expected, span.low, span.high))
    return middle if low == high else f"{middle} ({low}..{high})"


def gib(words: Messages, value: float | None, pattern: str = "#,##0.0") -> str:
    """Memory in GiB."""
    return cells.UNKNOWN if value is None else words.number(value, pattern)


def shown(
    words: Messages,
    column: str,
    text: Any,
    align: Literal["left", "right", "point"] = "left",
    **more: Any,
) -> Shown:
    """A column with its heading in the reader's language; `more` as in Shown."""
    return Shown(words.say(f"fit.column.{column}"), text, align, **{"name": column, **more})


class Footnotes:
    """Notes, each told once below a table and named in its rows by a number."""

    def __init__(self, words: Messages, rows: Iterable[Sequence[Said]]) -> None:
        self._words = words
        self._numbers: dict[Said, int] = {}
        for notes in rows:
            for note in notes:
                self._numbers.setdefault(note, len(self._numbers) + 1)

    def marks(self, notes: Sequence[Said]) -> str:
        """The numbers of these notes."""
        return ",".join(str(number) for number in sorted(self._numbers[note] for note in notes)) or "-"

    def lines(self) -> list[str]:
        """All notes with their numbers."""
        return [f"{number}: {self._words.tell(note)}" for note, number in self._numbers.items()]


def any_of(name: str) -> Any:
    """Does any row have something under this name?"""

    def has(rows: Sequence[Row]) -> bool:
        return any(row.get(name) for row in rows)

    return has

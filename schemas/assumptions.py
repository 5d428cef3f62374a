"""What is assumed where nobody tells: assumptions.csv. A figure of it is shown as assumed, never as a fact."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from schemas.facts import load_csv


@dataclass(frozen=True, slots=True)
class Assumption:
    """One row: a span, low <= expected <= high, in `unit`."""

    name: str
    unit: str
    low: float
    expected: float
    high: float
    source: str
    checked_on: date
    note: str | None


def assumption(name: str) -> Assumption:
    """The assumption of this name. Raises KeyError for a name that the file does not hold."""
    for row in load_csv("assumptions.csv", Assumption):
        if row.name == name:
            return row
    raise KeyError(name)

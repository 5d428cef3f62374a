"""Rate: what a source of exchange rates published for one currency on one day."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from schemas.record import column


@dataclass(slots=True, kw_only=True)
class Rate:
    """`rate` units of `currency` cost one unit of `base`, as published (the ECB writes 1 EUR = 1.16 USD)."""

    source: str = column("string", "Slug of the source.", required=True)
    day: date = column("day", "Day that the rate holds for.", required=True)
    base: str = column("string", "ISO 4217 code of the base currency.", required=True)
    currency: str = column("string", "ISO 4217 code of the quoted currency.", required=True)
    rate: Decimal = column("money", "Units of `currency` for one `base`.", required=True, above=0)
    kind: str = column(
        "string", "mid, buy, sell or transfer.", required=True, choices=("mid", "buy", "sell", "transfer")
    )
    observed_at: datetime = column("instant", "When the source was read.", unit="UTC", required=True)
    origin: str = column("string", "live, recording or import.", required=True)

    def as_json(self) -> dict[str, Any]:
        """Ready for JSON; the rate stays text so that no digit is lost."""
        return {"source": self.source, "day": self.day.isoformat(), "base": self.base, "currency": self.currency} | {
            "rate": str(self.rate),
            "kind": self.kind,
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any], *, observed_at: datetime, origin: str) -> Rate:
        """The reverse of `as_json`, with when and from where it came. Raises KeyError, ValueError."""
        return cls(
            source=fields["source"],
            day=date.fromisoformat(fields["day"]),
            base=fields["base"],
            currency=fields["currency"],
            rate=Decimal(fields["rate"]),
            kind=fields["kind"],
            observed_at=observed_at,
            origin=origin,
        )


def usd_rates(rates: Iterable[Rate]) -> dict[str, dict[date, Decimal]]:
    """Price of one unit of each currency in USD, by day, crossed through the source's base on the same day only."""
    by_day: dict[tuple[str, date, str], dict[str, Decimal]] = {}
    for rate in rates:
        by_day.setdefault((rate.source, rate.day, rate.base), {})[rate.currency] = rate.rate
    usd: dict[str, dict[date, Decimal]] = {}
    for (_, day, base), quoted in sorted(by_day.items()):
        if (dollars := quoted.get("USD")) is None:
            continue
        usd.setdefault(base, {})[day] = dollars
        for currency, units in quoted.items():
            if currency != "USD":
                usd.setdefault(currency, {})[day] = dollars / units
    return usd

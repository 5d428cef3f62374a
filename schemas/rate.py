"""Rate: what a source of exchange rates published for one currency on one day."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from schemas.facts import FactsError, load_toml
from schemas.record import column

FILE = "rate_sources.toml"
GRACE = timedelta(days=7)
"""banks close: a rate holds for a week at most"""
DISPUTED = Decimal("0.1")
"""two public sources never lie so far apart; a slip of the decimal point does"""


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


@dataclass(frozen=True, slots=True)
class RateSource:
    """A table of rate_sources.toml: who publishes, and which currencies it is asked for."""

    slug: str
    title: str
    homepage: str
    gives: frozenset[str]
    note: str
    checked_on: date


@lru_cache(maxsize=1)
def rate_sources() -> dict[str, RateSource]:
    """Every source by slug, the most trusted first. Raises FactsError on an unknown or missing key."""
    return {slug: _source(slug, table) for slug, table in load_toml(FILE).items()}


def _source(slug: str, table: dict[str, Any]) -> RateSource:
    wanted = {field.name for field in fields(RateSource)} - {"slug"}
    if set(table) != wanted:
        raise FactsError(FILE, 0, slug, f"the keys {', '.join(sorted(wanted))}", ", ".join(sorted(table)))
    return RateSource(slug=slug, **{**table, "gives": frozenset(table["gives"])})


def sources_of(currencies: Iterable[str]) -> list[str]:
    """The sources to ask for the USD price of these currencies, the most trusted first; USD itself needs none."""
    wanted = set(currencies) - {"USD"}
    return [slug for slug, source in rate_sources().items() if wanted & source.gives]


class UsdRate(NamedTuple):
    """Price of one unit of a currency in USD, and the slug of the source that told it."""

    usd: Decimal
    source: str


def usd_rates(rates: Iterable[Rate]) -> dict[str, dict[date, UsdRate]]:
    """Price of one unit of each currency in USD, by day, crossed within one source's table of one day only.

    A source speaks of the currencies that it `gives`. The less trusted one speaks only where the other is silent for
    GRACE; where two that speak of the same days differ by more than DISPUTED, neither is believed.
    """
    tables: dict[tuple[str, date], list[Rate]] = {}
    for rate in rates:
        tables.setdefault((rate.source, rate.day), []).append(rate)
    told: dict[str, dict[str, dict[date, Decimal]]] = {}
    for (source, day), table in sorted(tables.items()):
        for currency, usd in _in_usd(table).items():
            told.setdefault(currency, {}).setdefault(source, {})[day] = usd
    known = rate_sources()
    usable: dict[str, dict[date, UsdRate]] = {}
    for currency, by_source in told.items():
        for source in (slug for slug in known if slug in by_source and currency in known[slug].gives):
            mine = usable.setdefault(currency, {})
            for day, usd in by_source[source].items():
                others = [value for near, value in mine.items() if abs(near - day) <= GRACE and value.source != source]
                if not others:
                    mine[day] = UsdRate(usd, source)
                elif any(abs(value.usd / usd - 1) > DISPUTED for value in others):
                    for near in [near for near in mine if abs(near - day) <= GRACE]:
                        del mine[near]
    return usable


def _in_usd(table: list[Rate]) -> dict[str, Decimal]:
    """USD for one unit, of one table of one day: all quotes of one base (ECB), or all in one currency (a central bank's
    own); a table without the dollar tells nothing."""
    bases, quoted = {rate.base for rate in table}, {rate.currency for rate in table}
    if len(bases) == 1:
        (pivot,) = bases
        worth = {pivot: Decimal(1), **{rate.currency: 1 / rate.rate for rate in table}}
    elif len(quoted) == 1:
        (pivot,) = quoted
        worth = {pivot: Decimal(1), **{rate.base: rate.rate for rate in table}}
    else:
        return {}
    dollar = worth.pop("USD", None)
    return {currency: value / dollar for currency, value in worth.items()} if dollar else {}

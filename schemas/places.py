"""Facts about places: what a provider's region name means, and which continent a country lies in."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from schemas.facts import load_csv


@dataclass(frozen=True, slots=True)
class Region:
    """A region of a provider; `name` is what people call it, `alias` another name that the same provider uses."""

    provider: str
    region: str
    name: str | None
    alias: str | None
    country: str
    source: str
    checked_on: date


@dataclass(frozen=True, slots=True)
class Country:
    """ISO 3166 alpha-2 code, English short name, continent (AF AN AS EU NA OC SA)."""

    country: str
    name: str
    continent: str


@lru_cache(maxsize=None)
def regions(provider: str) -> tuple[Region, ...]:
    """The known regions of a provider; empty where none are listed."""
    return tuple(row for row in load_csv("regions.csv", Region) if row.provider == provider)


@lru_cache(maxsize=None)
def _country_by_region() -> dict[tuple[str, str], str]:
    return {
        (row.provider, known.casefold()): row.country
        for row in load_csv("regions.csv", Region)
        for known in (row.region, row.alias)
        if known
    }


@lru_cache(maxsize=65536)
def country_of(provider: str, region: str) -> str | None:
    """Country of a provider's region, None where it is not known; nothing is guessed from a neighbour."""
    return _country_by_region().get((provider, region.casefold()))


@lru_cache(maxsize=None)
def countries() -> dict[str, Country]:
    """Every country by its alpha-2 code."""
    return {row.country: row for row in load_csv("countries.csv", Country)}


def continent_of(country: str | None) -> str | None:
    """Continent of a country, None where the country is unknown."""
    known = countries().get(country or "")
    return known.continent if known else None

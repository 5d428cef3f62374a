"""Known errors of providers, mended where a record still shows them; a guard tells when a provider mended one."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from schemas.facts import FactsError, load_toml
from schemas.raw_offer import FIELD_NAMES, RawOffer


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A table of corrections.toml: which records (`match`), what they still say (`expect`), what holds (`set`)."""

    name: str
    provider: str
    reason: str
    source: str
    checked_on: date
    match: dict[str, Any]
    expect: dict[str, Any]
    set: dict[str, Any]


@lru_cache(maxsize=None)
def corrections(provider: str) -> tuple[Correction, ...]:
    """The corrections of one provider. Raises FactsError where a table names no field of RawOffer."""
    found = [Correction(name=name, **table) for name, table in load_toml("corrections.toml").items()]
    for correction in found:
        odd = ({*correction.match, *correction.expect, *correction.set}) - set(FIELD_NAMES)
        if odd:
            raise FactsError("corrections.toml", 0, correction.name, "fields of RawOffer", ", ".join(sorted(odd)))
    return tuple(c for c in found if c.provider == provider)


def apply_corrections(provider: str, raw: RawOffer) -> RawOffer:
    """The record with its known errors mended; the record itself where none matches or a guard fails."""
    for correction in corrections(provider):
        if _holds(raw, correction.match) and _holds(raw, correction.expect):
            raw = dataclasses.replace(raw, **correction.set)
    return raw


def outlived(provider: str, raws: list[RawOffer]) -> list[str]:
    """Names of corrections whose records no longer show the error: the provider mended it, drop the correction."""
    return [
        c.name for c in corrections(provider) if any(_holds(raw, c.match) and not _holds(raw, c.expect) for raw in raws)
    ]


def _holds(raw: RawOffer, fields: dict[str, Any]) -> bool:
    return all(str(getattr(raw, name)) == str(value) for name, value in fields.items())

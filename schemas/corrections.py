"""Known errors of providers, mended where a record still shows them; a guard tells when a provider mended one."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
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


def mended(raw: RawOffer, known: Sequence[Correction]) -> tuple[RawOffer, list[str], list[str]]:
    """The record with its known errors mended, the corrections that did it, and those that are outlived.

    Outlived is a correction whose record came without the expected error: the provider mended it, drop the correction.
    """
    did, outlived = [], []
    for correction in known:
        if not _holds(raw, correction.match):
            continue
        if _holds(raw, correction.expect):
            raw = dataclasses.replace(raw, **correction.set)
            did.append(correction.name)
        else:
            outlived.append(correction.name)
    return raw, did, outlived


def _holds(raw: RawOffer, fields: dict[str, Any]) -> bool:
    return all(str(getattr(raw, name)) == str(value) for name, value in fields.items())

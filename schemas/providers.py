"""Facts about providers: access, cadence, limits and billing, from providers.toml, loaded strictly."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal

from schemas.facts import FactsError, load_toml

Status = Literal["active", "frozen", "retired", "quote_only", "off"]
Access = Literal["open", "key", "opt_in"]


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact with where it stands and when it was read there."""

    value: str | int | float | bool
    source: str
    checked_on: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """One table of providers.toml.

    status: `active`, or why it is not collected (`frozen`, `retired`, `quote_only`, `off`), then with `status_reason`.
    status_since: first day on which it was not collected any more; from then on its rows are history.
    access: `open`; `key` (needs every variable of `keys`); `opt_in` (terms restrict collection: own key or `enable`).
    optional_keys: variables that open a richer answer of the same provider.
    currencies: ISO 4217 codes that it publishes prices in; what is not USD needs the exchange rates of the day.
    options: variables that change what is asked for, no secrets: a recording keeps their values, a replay sets them.
    withhold: fields of its JSON answers whose values are nobody's business and are not even recorded.
    fresh_for_h: how long an observation counts as current. recordings_days: how long its recordings are kept; for ever
    where none is named. delay_s, concurrency: politeness per host.
    redistribute: may rows be passed on? None is unknown and counts as no for what restricts, yes for open data.
    listings: single listings of many owners come and go all day, so changes are told by group, not by listing.
    offers_min, offers_max, coverage: limits for the gate.
    answers: public answers of the provider that others saved and that its spider reads, each with where it lies.
    shape_from: where the fields of a recording that we wrote ourselves are documented.
    """

    slug: str
    title: str
    homepage: str
    segment: Literal["hyperscaler", "neocloud", "marketplace", "reseller"]
    status: Status = "active"
    status_reason: str | None = None
    status_since: date | None = None
    access: Access = "open"
    keys: tuple[str, ...] = ()
    optional_keys: tuple[str, ...] = ()
    terms_reviewed_on: date | None = None
    terms_note: str | None = None
    currencies: tuple[str, ...] = ("USD",)
    options: tuple[str, ...] = ()
    withhold: tuple[str, ...] = ()
    cadence: Literal["hourly", "daily", "weekly"] = "daily"
    fresh_for_h: int = 36
    recordings_days: int | None = None
    redistribute: bool | None = None
    delay_s: float = 1.0
    concurrency: int = 1
    deadline_s: int = 180
    browser: bool = False
    allow_empty: bool = False
    listings: bool = False
    offers_min: int = 1
    offers_max: int = 100_000
    coverage: dict[str, float] = dataclasses.field(default_factory=dict)
    answers: tuple[str, ...] = ()
    shape_from: tuple[str, ...] = ()
    facts: dict[str, Fact] = dataclasses.field(default_factory=dict)

    def fact(self, name: str) -> Any:
        """The value of a fact, None where it is not known."""
        known = self.facts.get(name)
        return None if known is None else known.value


FACT_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "billing_increment_s": "use is rounded up to this many seconds",
        "minimum_billing_s": "seconds charged at least for a run",
        "charged_while_stopped": "is a stopped instance charged for",
        "hours_per_month": "hours that the provider's own month stands for",
        "storage_kinds": "what storage is sold, in words",
        "storage_usd_per_gib_month": "USD for one GiB of the plainest persistent storage and month",
        "storage_outlives_instance": "does the storage stay when the instance is deleted",
        "egress_usd_per_gib": "USD for one GiB to the internet, beyond what is included",
        "ssh": "can one log in by SSH",
        "docker": "can one bring an own container image, or run Docker",
        "jupyter": "is Jupyter one click away",
        "network_kind": "network between nodes: InfiniBand, RoCE, EFA, Ethernet",
        "network_gbps": "Gbit/s of one node on that network",
        "interruption_notice_s": "seconds between the notice and the end of interruptible capacity",
        "interruption_disk": "what becomes of the disk when capacity is taken back, in words",
        "preemptible_discount": "share of the on-demand price that preemptible capacity is cheaper by",
        "commitment": "terms of commitment sold, in words",
        "sign_up": "what signing up needs, in words",
    }
)
"""what may stand under `facts`, with its meaning"""
_FIELDS = {field.name for field in dataclasses.fields(Provider)} - {"slug"}


@lru_cache(maxsize=None)
def providers() -> dict[str, Provider]:
    """Every provider by slug, in the order of the file. Raises FactsError on an unknown key or a wrong value."""
    return {slug: _provider(slug, table) for slug, table in load_toml("providers.toml").items()}


def provider(slug: str) -> Provider:
    """The facts of one provider. Raises KeyError for a slug that the file does not hold."""
    return providers()[slug]


def _provider(slug: str, table: dict[str, Any]) -> Provider:
    unknown = set(table) - _FIELDS
    if unknown:
        raise FactsError(
            "providers.toml", 0, slug, f"keys out of {', '.join(sorted(_FIELDS))}", ", ".join(sorted(unknown))
        )
    fields = dict(table)
    for name in ("keys", "optional_keys", "options", "currencies", "withhold", "answers", "shape_from"):
        if name in fields:
            fields[name] = tuple(fields[name])
    if "delay_s" in fields:  # seconds are no money
        fields["delay_s"] = float(fields["delay_s"])
    facts = fields.pop("facts", {})
    odd = set(facts) - set(FACT_NAMES)
    if odd:
        raise FactsError("providers.toml", 0, f"{slug}.facts", ", ".join(FACT_NAMES), ", ".join(sorted(odd)))
    read = Provider(slug=slug, facts={name: Fact(**fact) for name, fact in facts.items()}, **fields)
    if read.status != "active" and not read.status_reason:
        raise FactsError("providers.toml", 0, f"{slug}.status_reason", f"a reason for status {read.status}", "nothing")
    if read.status == "frozen" and read.status_since is None:
        raise FactsError("providers.toml", 0, f"{slug}.status_since", "the day since which it is frozen", "nothing")
    if read.access == "key" and not read.keys:
        raise FactsError("providers.toml", 0, f"{slug}.keys", "the variables that hold its key", "nothing")
    return read

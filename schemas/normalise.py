"""RawOffer to Offer: the one place where a provider's words become canonical. Pure; takes values, returns values.

What cannot be read becomes null and a flag, or, where the record would state something wrong (a price that is no price,
an unknown unit), a Reject with the reason. Nothing is filled from a neighbour.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import operator
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from schemas import gpu_names
from schemas.corrections import Correction, corrections, mended
from schemas.facts import facts_version
from schemas.gpu_names import SAME_SIZE, GpuName, known_vram, read_gpu, read_instance_type
from schemas.offer import FORM_FACTORS, PRICE_UNITS, Offer
from schemas.places import continent_of, country_of
from schemas.providers import Provider
from schemas.rate import GRACE, UsdRate
from schemas.raw_offer import PURCHASES, RawOffer
from schemas.units import gbps, gib, per_hour
from schemas.values import (
    KIND_WORDS,
    STOCK_WORDS,
    Unreadable,
    amount_of,
    count_of,
    instant_of,
    number_of,
    positive,
    word_of,
)

VERSION = 1
LONGEST_TEXT = 1000
TEXT_FIELDS = tuple(f.name for f in dataclasses.fields(RawOffer) if f.type in {"str", "str | None"})
_texts = operator.attrgetter(*TEXT_FIELDS)
INT_BOUNDS: Mapping[str, int] = {
    "term_months": 120,
    "min_gpu_count": 100_000,
    "billing_increment_s": 31_536_000,
    "minimum_billing_s": 31_536_000,
    "available_count": 2_000_000_000,
}

_encode = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Rates:
    """Exchange rates: `usd[currency][day]` is the price of one unit of the currency in USD, with its source."""

    usd: Mapping[str, Mapping[date, UsdRate]] = field(default_factory=dict)

    def on(self, currency: str, day: date) -> tuple[UsdRate, date] | None:
        """The rate of the day or the last one before it, at most a week old (banks close); None where there is none."""
        known = [d for d in self.usd.get(currency, ()) if d <= day and day - d <= GRACE]
        return (self.usd[currency][max(known)], max(known)) if known else None


@dataclass(frozen=True, slots=True)
class Context:
    """What holds for all records of one scrape."""

    provider: Provider
    scrape_id: str
    observed_at: datetime
    origin: str
    recording_sha256: str | None = None
    rates: Rates = field(default_factory=Rates)
    corrections: tuple[Correction, ...] | None = None
    """known errors of the provider; those of corrections.toml where None"""


@dataclass(frozen=True, slots=True)
class Reject:
    """A record that could not be read: why, and the record as it came."""

    reason: str
    raw: RawOffer


@dataclass(slots=True)
class Normalised:
    """Offers in the order of the records, rejects with reasons, unknown accelerator words with their counts.

    outlived: corrections that the provider has made itself meanwhile.
    """

    offers: list[Offer] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    unmapped: Counter[str] = field(default_factory=Counter)
    outlived: set[str] = field(default_factory=set)


def normalise(records: Iterable[RawOffer], context: Context) -> Normalised:
    """Every record becomes an Offer or a Reject; none is lost."""
    result = Normalised()
    slug = context.provider.slug
    errata = corrections(slug) if context.corrections is None else context.corrections
    for record in records:
        raw, did, outlived = mended(record, errata) if errata else (record, [], [])
        result.outlived.update(outlived)
        try:
            offer = offer_from(raw, context)
        except Unreadable as reason:
            result.rejects.append(Reject(str(reason), record))
            continue
        if did:
            offer.offer_key = offer_key(slug, record)  # identity is what the provider wrote, not what we mended
            offer.flags = [*(offer.flags or []), *(f"corrected_{name}" for name in did)]
        if offer.gpu is None and (words := offer.accelerator_raw or offer.instance_type):
            result.unmapped[words] += 1
        result.offers.append(offer)
    return result


def offer_from(raw: RawOffer, context: Context) -> Offer:
    """One record to one Offer. Raises Unreadable."""
    slug, facts = context.provider.slug, context.provider
    _check_types(raw)
    if raw.purchase not in PURCHASES:
        raise Unreadable(f"purchase {raw.purchase!r} is none of {', '.join(PURCHASES)}")
    if raw.price_unit not in PRICE_UNITS:
        raise Unreadable(f"price unit {raw.price_unit!r} is unknown")
    flags: list[str] = []
    name = _accelerator(raw, slug, flags)
    count = _count(raw, name)
    vram = _vram(raw, name, count, flags)
    amount = amount_of(raw.price, raw.currency)
    instance, gpu_hour, rate_date, rate_source = _usd(amount, raw, count, context, flags)
    return Offer(
        provider=slug,
        offer_key=offer_key(slug, raw),
        observed_at=context.observed_at,
        scrape_id=context.scrape_id,
        source_url=raw.source_url,
        recording_sha256=context.recording_sha256,
        origin=context.origin,
        instance_type=raw.instance_type,
        tier=raw.tier,
        kind=word_of(raw.kind, KIND_WORDS, "kind", flags),
        os=raw.os,
        accelerator_raw=raw.accelerator,
        vendor=name.vendor if name else None,
        gpu=name.gpu if name else None,
        form_factor=_form_factor(raw, name),
        gpu_count=float(count) if count is not None else None,
        vram_gib=vram,
        vcpus=number_of(raw.vcpus, "vcpus", flags),
        ram_gib=positive(gib(raw.ram)),
        disk_gib=gib(raw.disk),
        interconnect=raw.interconnect,
        network_gbps=positive(gbps(raw.network)),
        region=raw.region,
        zone=raw.zone,
        country=_country(raw, slug),
        purchase=raw.purchase,
        term_months=raw.term_months or None,
        upfront=amount_of(raw.upfront, raw.currency, zero=True),
        block_start=instant_of(raw.block_start),
        min_gpu_count=raw.min_gpu_count or None,
        billing_increment_s=raw.billing_increment_s or facts.fact("billing_increment_s"),
        minimum_billing_s=raw.minimum_billing_s or facts.fact("minimum_billing_s"),
        storage_usd_per_gib_month=amount_of(raw.storage_usd_per_gib_month, "USD", zero=True),
        price=amount,
        currency=raw.currency.upper(),
        price_unit=raw.price_unit,
        tax_included=raw.tax_included,
        usd_per_hour=instance,
        usd_per_gpu_hour=gpu_hour,
        rate_date=rate_date,
        rate_source=rate_source,
        availability=_availability(raw, flags),
        available_count=raw.available_count,
        interruption_rate=raw.interruption_rate,
        reseller_of=raw.reseller_of,
        segment=facts.segment,
        flags=flags or None,
    )


def offer_key(slug: str, raw: RawOffer) -> str:
    """Identity across snapshots, from the provider's own words only, so that no table of ours can move it.

    `<provider>:<12 hex>`. A marketplace's listing is its own identity together with how it is bought.
    """
    if raw.listing_id is not None:
        words: list[object] = ["listing", raw.listing_id, raw.purchase]
    else:
        thing = (
            (raw.sku, raw.instance_type)
            if raw.sku or raw.instance_type
            else (raw.accelerator, raw.form_factor, raw.vram)
        )
        words = [
            *thing,
            raw.gpu_count,
            raw.region,
            raw.zone,
            raw.purchase,
            raw.term_months,
            raw.upfront,
            raw.block_start,
        ]
        words += [raw.tier, raw.os]
    text = _encode([slug, *[None if w is None else str(w) for w in words]])
    return f"{slug}:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


@lru_cache(maxsize=None)
def normaliser_version() -> str:
    """Changes with this module, the grammar of names and every table that names stand in."""
    return hashlib.sha256(f"{VERSION} {gpu_names.normaliser_version()} {facts_version()}".encode()).hexdigest()[:12]


def _check_types(raw: RawOffer) -> None:
    """An answer may put a list where a name stood: such a record is told, never stored as text of a list."""
    for index, value in enumerate(_texts(raw)):
        if value is None or (value.__class__ is str and len(value) <= LONGEST_TEXT):
            continue
        if not isinstance(value, str):
            raise Unreadable(f"{TEXT_FIELDS[index]} is {type(value).__name__}, not text")
        if len(value) > LONGEST_TEXT:
            raise Unreadable(f"{TEXT_FIELDS[index]} is {len(value)} characters long")
    for name, high in INT_BOUNDS.items():
        value = getattr(raw, name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= high):
            raise Unreadable(f"{name} is {str(value)[:40]!r}, not a whole number from 0 to {high}")
    if raw.tax_included is not None and not isinstance(raw.tax_included, bool):
        raise Unreadable(f"tax_included is {type(raw.tax_included).__name__}, not yes or no")


def _accelerator(raw: RawOffer, slug: str, flags: list[str]) -> GpuName | None:
    """The answer's own words first; the type's name speaks where they say nothing, and contradictions are flagged."""
    named = read_gpu(raw.accelerator, slug) if raw.accelerator else None
    typed = read_instance_type(raw.instance_type, slug) if raw.instance_type else None
    if named is None or named.gpu is None:
        return typed if typed is not None and typed.gpu is not None else named
    if typed is None or typed.gpu is None:
        return named
    if typed.gpu != named.gpu:
        flags.append("gpu_words_disagree")
        return named
    return replace(named, vram_gib=named.vram_gib or typed.vram_gib, gpu_count=named.gpu_count or typed.gpu_count)


def _count(raw: RawOffer, name: GpuName | None) -> Fraction | None:
    if raw.gpu_count is None:
        return (name.gpu_count or _count_by_memory(raw, name)) if name else None
    count = count_of(str(raw.gpu_count).strip())
    if name and name.gpu_count is not None and name.gpu_count < 1 <= count:
        return name.gpu_count * count
    return count


def _count_by_memory(raw: RawOffer, name: GpuName) -> Fraction | None:
    """How many cards of the one size that this name means hold `vram_total`: a share, or 1, 2, 4, 8 ...; else None."""
    total, size = gib(raw.vram_total), name.vram_gib
    if not total or not size or name.gpu is None:
        return None
    count = Fraction(total) / Fraction(size)
    even = count.denominator == 1 and count.numerator.bit_count() == 1
    return count if count < 1 or even else None


def _vram(raw: RawOffer, name: GpuName | None, count: Fraction | None, flags: list[str]) -> float | None:
    """Memory that the answer states wins over the table; a size no such card has is kept and flagged."""
    said = gib(raw.vram)
    if said is None and raw.vram_total is not None and count:
        total = gib(raw.vram_total)
        said = float(total / count) if total is not None else None
    if name is None or name.gpu is None:
        return positive(said)
    if said is None or said <= 0:
        return name.vram_gib
    near = [size for size in known_vram(name.gpu) if abs(size - said) <= SAME_SIZE * size]
    if not near:
        flags.append("vram_unknown_for_card")
        return said
    return min(near, key=lambda size: abs(size - said))


def _form_factor(raw: RawOffer, name: GpuName | None) -> str | None:
    if raw.form_factor:
        said = read_gpu(f"{raw.accelerator or ''} {raw.form_factor}").form_factor
        return said if said in FORM_FACTORS else None
    return name.form_factor if name else None


def _usd(
    amount: Decimal | None, raw: RawOffer, count: Fraction | None, context: Context, flags: list[str]
) -> tuple[Decimal | None, Decimal | None, date | None, str | None]:
    if amount is None:
        return None, None, None, None
    currency, rate_date, source = raw.currency.upper(), None, None
    if currency != "USD":
        found = context.rates.on(currency, context.observed_at.date())
        if found is None:
            flags.append("rate_missing")
            return None, None, None, None
        (rate, source), rate_date = found
        amount *= rate
    hours_per_month = context.provider.fact("hours_per_month")
    if raw.price_unit.endswith("-month") and hours_per_month is None:
        flags.append("month_of_average_length")
    instance, gpu_hour = per_hour(amount, raw.price_unit, count, hours_per_month)
    return instance or None, gpu_hour or None, rate_date, source


def _availability(raw: RawOffer, flags: list[str]) -> str:
    if raw.available_count == 0:
        return "sold_out"
    if raw.availability is None:
        return "available" if raw.available_count else "unknown"
    return word_of(raw.availability, STOCK_WORDS, "availability", flags) or "unknown"


def _country(raw: RawOffer, slug: str) -> str | None:
    if raw.country and continent_of(raw.country.upper()):
        return raw.country.upper()
    for place in (raw.zone, raw.region):
        if place and (known := country_of(slug, place)):
            return known
    return None

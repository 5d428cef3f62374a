"""Offer: one way to rent one instance shape in one place, at one moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from schemas.raw_offer import PURCHASES
from schemas.record import column

SCHEMA_VERSION = 1
AVAILABILITIES = ("available", "limited", "sold_out", "unknown")
ORIGINS = ("live", "recording", "import")
KINDS = ("vm", "bare_metal", "container", "serverless")
SEGMENTS = ("hyperscaler", "neocloud", "marketplace", "reseller")
FORM_FACTORS = ("SXM", "PCIe", "NVL", "OAM")
PRICE_UNITS = tuple(
    f"{cent}{of}-{unit}"
    for cent in ("", "cent/")
    for of in ("gpu", "instance")
    for unit in ("second", "minute", "hour", "day", "month", "year")
)


@dataclass(slots=True, kw_only=True)
class Offer:
    """The normalised record. Unknown is None, never 0, "" or a neighbour's value."""

    provider: str = column("string", "Slug of the provider; key of providers.toml.", required=True)
    offer_key: str = column(
        "string", "Identity across snapshots, made from the provider's own words only.", required=True
    )
    observed_at: datetime = column("instant", "When the provider said so.", unit="UTC", required=True)
    scrape_id: str = column("string", "Which scrape brought the row.", required=True)
    source_url: str | None = column("string", "Address of the answer.")
    recording_sha256: str | None = column("string", "SHA-256 of the recording that holds the answer.")
    origin: str = column(
        "string", "Where the row comes from; what is not `live` is no market truth.", required=True, choices=ORIGINS
    )
    instance_type: str | None = column("string", "The provider's name of the instance type.")
    tier: str | None = column("string", "Class of service in the provider's words (secure, community ...).")
    kind: str | None = column("string", "What is rented.", choices=KINDS)
    os: str | None = column("string", "Operating system the price holds for.")
    accelerator_raw: str | None = column("string", "The provider's words for the accelerator, untouched.")
    vendor: str | None = column("string", "Maker of the accelerator, lower case.")
    gpu: str | None = column("string", "Canonical model; null where the words are not known.")
    form_factor: str | None = column("string", "Form factor, null where not said.", choices=FORM_FACTORS)
    gpu_count: float | None = column(
        "float64", "Number of accelerators; below 1 for a share of one.", above=0.0, high=100_000.0
    )
    vram_gib: float | None = column("float64", "Memory of each whole GPU.", unit="GiB", above=0.0, high=4096.0)
    vcpus: float | None = column("float64", "Virtual CPUs of the instance.", above=0.0, high=100_000.0)
    ram_gib: float | None = column("float64", "Memory of the instance.", unit="GiB", above=0.0, high=1_000_000.0)
    disk_gib: float | None = column(
        "float64", "Local disk that comes with the instance.", unit="GiB", low=0.0, high=10_000_000.0
    )
    interconnect: str | None = column("string", "Link between the GPUs or nodes in the provider's words.")
    network_gbps: float | None = column("float64", "Network of the instance.", unit="Gbit/s", above=0.0)
    region: str | None = column("string", "The provider's name of the region.")
    zone: str | None = column("string", "The provider's name of the zone.")
    country: str | None = column("string", "ISO 3166 alpha-2 code where known.")
    purchase: str = column("string", "How it is bought.", required=True, choices=PURCHASES)
    term_months: int | None = column("int32", "Length of the commitment.", unit="month", low=1, high=120)
    upfront: Decimal | None = column("money", "Paid in advance, in `currency`.", low=0)
    block_start: datetime | None = column("instant", "Start of a capacity block.", unit="UTC")
    min_gpu_count: int | None = column("int32", "Smallest number of GPUs that can be bought.", low=1)
    billing_increment_s: int | None = column("int32", "Billing step.", unit="s", low=1)
    minimum_billing_s: int | None = column("int32", "Shortest time that is billed.", unit="s", low=0)
    storage_usd_per_gib_month: Decimal | None = column(
        "money", "Price of storage beside the instance.", unit="USD/GiB-month", low=0
    )
    price: Decimal | None = column("money", "Price as published.", above=0)
    currency: str = column("string", "ISO 4217 code of the published price.", required=True)
    price_unit: str = column("string", "Unit of the published price.", required=True, choices=PRICE_UNITS)
    tax_included: bool | None = column("bool", "Does the price include tax?")
    usd_per_hour: Decimal | None = column("money", "Price of the whole instance.", unit="USD/h", above=0)
    usd_per_gpu_hour: Decimal | None = column("money", "Price of one whole GPU.", unit="USD/GPU-h", above=0)
    rate_date: date | None = column("day", "Day of the exchange rate; null for USD.")
    rate_source: str | None = column("string", "Who published the exchange rate; null for USD.")
    availability: str = column("string", "Is it to be had?", required=True, choices=AVAILABILITIES)
    available_count: int | None = column("int32", "How many, where the provider says.", low=0)
    interruption_rate: str | None = column(
        "string", "The provider's published band of interruption; null otherwise, never 0."
    )
    reseller_of: str | None = column("string", "Who owns the hardware, where the answer names it.")
    segment: str | None = column("string", "Kind of provider.", choices=SEGMENTS)
    flags: list[str] | None = column("strings", "What normaliser and gate found odd.")

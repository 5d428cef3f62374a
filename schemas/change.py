"""Change: one thing that moved between two consecutive accepted snapshots of a provider."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from schemas import record

CHANGE_KINDS = ("added", "removed", "price_up", "price_down", "available", "sold_out", "changed")
CAUSES = ("market", "coverage", "normaliser", "parser", "correction")


@dataclass(slots=True, kw_only=True)
class Change:
    """It names the column that moved, both values, and why. Marketplaces are compared by group, not by listing."""

    change_id: str = record.column("string", "Stable id: the same two snapshots give the same ids.", required=True)
    provider: str = record.column("string", "Slug of the provider.", required=True)
    offer_key: str = record.column("string", "The offer, or for a marketplace the group of listings.", required=True)
    observed_at: datetime = record.column("instant", "When the new state was seen.", unit="UTC", required=True)
    previous_observed_at: datetime = record.column("instant", "When the old state was seen.", unit="UTC", required=True)
    recorded_at: datetime = record.column("instant", "When we came to believe it.", unit="UTC", required=True)
    scrape_id: str = record.column("string", "Scrape that brought the new state.", required=True)
    previous_scrape_id: str = record.column("string", "Scrape that brought the old state.", required=True)
    kind: str = record.column("string", "What happened.", required=True, choices=CHANGE_KINDS)
    cause: str = record.column("string", "Why it differs.", required=True, choices=CAUSES)
    column: str | None = record.column("string", "Column that moved; null for added and removed.")
    old: str | None = record.column("string", "Old value as text.")
    new: str | None = record.column("string", "New value as text.")
    old_price: Decimal | None = record.column("money", "Old published price.")
    new_price: Decimal | None = record.column("money", "New published price.")
    currency: str | None = record.column("string", "Currency of both prices.")
    price_unit: str | None = record.column("string", "Unit of both prices.")
    relative: float | None = record.column("float64", "New price over old price, less 1.")
    gpu: str | None = record.column("string", "Canonical model.")
    accelerator_raw: str | None = record.column("string", "The provider's words for the accelerator.")
    form_factor: str | None = record.column("string", "Form factor.")
    gpu_count: float | None = record.column("float64", "Number of accelerators.")
    instance_type: str | None = record.column("string", "The provider's instance type.")
    region: str | None = record.column("string", "The provider's region.")
    country: str | None = record.column("string", "ISO 3166 alpha-2 code where known.")
    tier: str | None = record.column("string", "Class of service.")
    purchase: str | None = record.column("string", "How it is bought.")
    usd_per_gpu_hour: Decimal | None = record.column("money", "Price of one GPU after the change.", unit="USD/GPU-h")
    origin: str = record.column("string", "live, recording or import.", required=True)

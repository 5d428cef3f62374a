"""RawOffer: one thing a provider says it rents out, in the provider's own words.

A spider fills in what the answer says and nothing else. Amounts stay as published (`price_unit` says of what), sizes
stay text with their unit (`"81559 MiB"`), names stay untouched. What the words mean is the normaliser's business.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

Purchase = Literal["on_demand", "spot", "bid", "reserved", "capacity_block", "queued"]
PURCHASES: tuple[Purchase, ...] = ("on_demand", "spot", "bid", "reserved", "capacity_block", "queued")


@dataclass(slots=True, kw_only=True)
class RawOffer:
    """What an answer says of one way to rent. None means that the answer does not say.

    price: a string or Decimal as published, never a float; None where no price is told ("contact us", sold out).
    price_unit: `[cent/]<gpu|instance>-<second|minute|hour|day|month|year>`.
    currency: ISO 4217 code as the answer or the document's contract says.
    accelerator: the provider's words for the GPU; where the answer has none, `instance_type` is looked up instead.
    gpu_count: as published; a share of a GPU as text ("1/8") or number.
    vram: text with unit, for one GPU; vram_total the same for all GPUs of the offer together.
    ram, disk, network: text with unit ("1152 GiB", "2 x 3840 GB SSD", "3200 Gigabit").
    sku: whatever else of the provider's words tells this offer from its siblings; listing_id: a marketplace's listing.
    availability: the provider's own word or flag; available_count only where a number is told.
    """

    purchase: Purchase
    price: str | Decimal | int | None
    currency: str
    price_unit: str
    accelerator: str | None = None
    instance_type: str | None = None
    sku: str | None = None
    listing_id: str | None = None
    gpu_count: str | int | Decimal | None = None
    vram: str | None = None
    vram_total: str | None = None
    form_factor: str | None = None
    vcpus: str | int | Decimal | None = None
    ram: str | None = None
    disk: str | None = None
    interconnect: str | None = None
    network: str | None = None
    region: str | None = None
    zone: str | None = None
    country: str | None = None
    tier: str | None = None
    kind: str | None = None
    os: str | None = "linux"
    term_months: int | None = None
    upfront: str | Decimal | None = None
    block_start: str | None = None
    min_gpu_count: int | None = None
    billing_increment_s: int | None = None
    minimum_billing_s: int | None = None
    storage_usd_per_gib_month: str | Decimal | None = None
    tax_included: bool | None = None
    availability: str | bool | None = None
    available_count: int | None = None
    interruption_rate: str | None = None
    reseller_of: str | None = None
    source_url: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Only what is said, ready for JSON; Decimal becomes text so that no digit is lost."""
        return {
            name: str(value) if isinstance(value, Decimal) else value
            for name in FIELD_NAMES
            if (value := getattr(self, name)) is not None
        }

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> RawOffer:
        """The reverse of `as_json`. Raises TypeError for an unknown field; half characters become `?`."""
        whole: dict[str, Any] = {
            name: value if not isinstance(value, str) or value.isascii() else value.encode("utf-8", "replace").decode()
            for name, value in fields.items()
        }
        return cls(**{"price": None, "os": None, **whole})


FIELD_NAMES: tuple[str, ...] = tuple(field.name for field in dataclasses.fields(RawOffer))

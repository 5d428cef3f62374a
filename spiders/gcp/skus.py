"""Billing SKUs: the price of a core, a GiB of memory, a GPU, a GiB of local SSD; each in some regions, bought one way.

What a SKU prices and how it is bought stand in its description; the usage type alone calls some spot SKUs OnDemand. A
price is whole units (text) and nanos (1e-9), either of which may be missing. Of several tiers the first that costs
anything counts: a free allowance is no price. Of several prices in time the last is today's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from schemas.machine_types import MachineType, machine_types
from spiders.gcp.ways import Way, way_of
from spiders.shared.errors import SchemaDrift

Rates: TypeAlias = Mapping[tuple[Way, str, str], tuple[str, Decimal]]
"""by way, part and region: the day that a price holds from, and USD for one core, GPU, GiB-hour or GiB-month"""
BESIDE_THE_PART = re.compile(
    r"^commitment v\d+: |^spot preemptible |^dws (defined duration|flex.start|calendar mode) |^reserved (?=.*calendar)"
    r"| attached to (spot|dws|preemptible)[\w -]* vms\b|( running)? in .*$| for \d years?$| instance(?= )"
)
SAME = ((re.compile(r"\bcpu$"), "core"), (re.compile(r"^local ssd$"), "ssd backed local storage"))
SSD = "ssd backed local storage"


def newest(rates: Rates, records: Iterable[dict[str, Any]]) -> Rates:
    """The rates with those of these SKUs. A part that stands twice has the later price.

    Raises SchemaDrift on a unit that a part is not priced in.
    """
    found = dict(rates)
    units = {part: unit for machine in machine_types("gcp") for part, unit in parts(machine).items()}
    for sku in records:
        way, part = read(sku["description"], sku["category"]["usageType"])
        price = _price(sku["pricingInfo"][-1], units[part]) if part in units and sku["pricingInfo"] else None
        if price:
            for key in ((way, part, region) for region in sku["serviceRegions"]):
                found[key] = max(found.get(key, price), price)
    return found


def read(description: str, usage: str) -> tuple[Way, str]:
    """How a SKU is bought, and the part that it prices, in lower case without the words around it."""
    part = BESIDE_THE_PART.sub("", description.casefold()).strip().removesuffix(" gpu")
    for old, new in SAME:
        part = old.sub(new, part)
    return way_of(f"{usage} {description}"), part


def parts(machine: MachineType) -> dict[str, str]:
    """The parts that a machine may be billed by, each with the unit of its price."""
    host = machine.host_sku.casefold() if machine.host_sku else None
    gpus = {word.casefold(): "h" for word in machine.gpu_sku}
    return gpus | {SSD: "GiBy.mo"} | ({f"{host} core": "h", f"{host} ram": "GiBy.h"} if host else {})


def _price(pricing: dict[str, Any], unit: str) -> tuple[str, Decimal] | None:
    """The day that a price holds from, and the price; None where it costs nothing or is not in USD."""
    expression = pricing["pricingExpression"]
    if expression["usageUnit"] != unit:
        raise SchemaDrift(f"expected a price per {unit}, got one per {expression['usageUnit']}")
    for tier in (tier["unitPrice"] for tier in expression["tieredRates"]):
        price = Decimal(tier.get("units", 0)) + Decimal(tier.get("nanos", 0)).scaleb(-9)
        if price and tier["currencyCode"] == "USD":
            return pricing["effectiveTime"], price
    return None

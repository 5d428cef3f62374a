"""Atlantic.Net: virtual machines with one GPU, on demand and for one or three years.

Docs:  https://www.atlantic.net/cloud-hosting/gpu-cloud-hosting/
Gives: price of the machine an hour for every term and system, vCPUs, RAM, disk
Lacks: GPU, count and memory (all stand in the plan's name only), stock, regions, interruptible capacity (there is none)
Quirk: the plans are the page's JSON-LD, with those without a GPU, which have another category; what a price is of
       stands in its name ("Linux - 3-Year Term", with a long dash); only `HUR` is a price by the hour
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.embedded_json import EmbeddedJsonSpider

PRICED = re.compile(r"(?P<os>\w+)\W+(?:On-Demand|(?P<years>\d+)-Year Term)")


class AtlanticnetSpider(EmbeddedJsonSpider):
    """Reads the plans of the category for GPUs."""

    name = "atlanticnet"
    start_urls = ["https://www.atlantic.net/cloud-hosting/gpu-cloud-hosting/"]
    documents = (Document(r"atlantic\.net/cloud-hosting/gpu", "parse"),)
    anchors = ("application/ld+json", "Accelerated Compute", "priceSpecification")
    json_key = "itemListElement"

    def read_value(self, value: Any) -> Iterator[RawOffer]:
        """Every price by the hour of every plan in a list."""
        for entry in value:
            plan = entry.get("item", entry)
            if isinstance(plan, dict) and plan.get("category") == "Accelerated Compute":
                for price in plan["priceSpecification"]:
                    if price["unitCode"] == "HUR":
                        yield self.read_price(plan, price)

    def read_price(self, plan: dict[str, Any], price: dict[str, Any]) -> RawOffer:
        """One price of a plan."""
        priced = PRICED.fullmatch(price["name"])
        if priced is None:
            raise LayoutChanged(f"expected a system and 'On-Demand' or a term in years, got {price['name']!r}")
        sizes = {size["name"]: size["value"] for size in plan.get("additionalProperty", [])}
        return RawOffer(
            purchase="reserved" if priced["years"] else "on_demand",
            price=price["price"],
            currency=plan["priceCurrency"],
            price_unit="instance-hour",
            instance_type=plan["name"],
            vcpus=sizes.get("vCPU"),
            ram=sizes.get("RAM"),
            disk=sizes.get("SSD Storage"),
            kind="vm",
            os=priced["os"].lower(),
            term_months=int(priced["years"]) * 12 if priced["years"] else None,
        )

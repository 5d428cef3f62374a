"""Targon: GPU containers and virtual machines on Bittensor subnet 4, on demand.

Docs:  https://docs.targon.com (GET /tha/v2/inventory)
Gives: price of the whole resource, GPU, count, vCPUs, RAM, disk, how many can be had
Lacks: GPU memory, form factor, region, interruptible capacity
Quirk: rentals and virtual machines are asked for apart; the type is the tier. Memory and storage are megabytes. A row
       of the list may be without GPUs. The list comes bare, or under `items`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, having, json_of


class TargonSpider(ProviderSpider):
    """Reads the keyless inventory of either type."""

    name = "targon"
    start_urls = [
        "https://api.targon.com/tha/v2/inventory?type=rental&gpu=true",
        "https://api.targon.com/tha/v2/inventory?type=vm&gpu=true",
    ]
    documents = (Document(r"/tha/v2/inventory", "parse"),)

    def parse(self, response: Response) -> Iterator[Batch]:
        """One batch of the resources with GPUs."""
        document = json_of(response)
        records = document["items"] if isinstance(document, dict) else document
        known = having(records, ("name", "type", "spec", "cost_per_hour", "available"), response.url)
        yield self.batch(response, (read_resource(record) for record in known if record["spec"].get("gpu_count")))


def read_resource(record: dict[str, Any]) -> RawOffer:
    """One resource."""
    spec = record["spec"]
    return RawOffer(
        purchase="on_demand",
        price=record["cost_per_hour"],
        currency="USD",
        price_unit="instance-hour",
        accelerator=spec["gpu_type"],
        sku=record["name"],
        gpu_count=spec["gpu_count"],
        vcpus=spec.get("vcpu"),
        ram=f"{spec['memory']} MB" if spec.get("memory") else None,
        disk=f"{spec['storage']} MB" if spec.get("storage") else None,
        tier=record["type"],
        kind="vm" if record["type"] == "vm" else None,
        available_count=record["available"],
    )

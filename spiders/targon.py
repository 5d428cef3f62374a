"""Targon: GPU containers and virtual machines on Bittensor subnet 4, on demand.

Docs:  https://docs.targon.com (GET /tha/v3/inventory), https://docs.targon.com/guides/rentals
Gives: price of the whole resource, GPU, count, vCPUs, RAM, disk, how many can be had
Lacks: GPU memory, form factor, region, interruptible capacity
Quirk: one list for all types of resource, with and without GPUs; the type is the tier, and a rental is a container.
       vCPUs come in thousandths. Clients name the GPU `gpu_model` or `gpu_type`. The list comes bare, or under `items`.
       The list before it, /tha/v2, is gone (410)
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, having, json_of


class TargonSpider(ProviderSpider):
    """Reads the keyless inventory."""

    name = "targon"
    start_urls = ["https://api.targon.com/tha/v3/inventory"]
    documents = (Document(r"/tha/v[23]/inventory", "parse"),)

    def parse(self, response: Response) -> Iterator[Batch]:
        """One batch of the resources with GPUs."""
        document = json_of(response)
        records = document["items"] if isinstance(document, dict) else document
        known = having(records, ("name", "type", "gpu", "cost_per_hour", "available"), response.url)
        yield self.batch(response, (read_resource(record) for record in known if record["gpu"]))


def read_resource(record: dict[str, Any]) -> RawOffer:
    """One resource."""
    spec = record["spec"]
    cores, ram, disk = map(spec.get, ("cpu_millicores", "memory_mib", "disk_size_mib"))
    return RawOffer(
        purchase="on_demand",
        price=record["cost_per_hour"],
        currency="USD",
        price_unit="instance-hour",
        accelerator=spec.get("gpu_model") or spec["gpu_type"],
        sku=record["name"],
        gpu_count=spec["gpu_count"],
        vcpus=Decimal(cores).scaleb(-3) if cores else None,
        ram=f"{ram} MiB" if ram else None,
        disk=f"{disk} MiB" if disk else None,
        tier=record["type"],
        kind="container" if record["type"] == "rental" else record["type"],
        available_count=record["available"],
    )

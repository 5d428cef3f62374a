"""CloudRift: virtual machines with GPUs in data centres of partners, on demand.

Docs:  https://docs.cloudrift.ai/extras/rest-api, https://api.cloudrift.ai/api-docs/openapi.json (instance-types/list)
Gives: price, GPU, count, memory of one GPU, CPUs, RAM, disk, data centre, free nodes, whose data centre it is
Lacks: interruptible capacity, the lower rates of reservations, what is sold "upon request"
Quirk: `cost_per_hour` is US cents for the machine and may have decimals; sizes are bytes. A type that is free nowhere
       may name no data centre at all: it is sold out, without a region. Free nodes say nothing of free public addresses
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import JsonRequest, Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class CloudriftSpider(JsonListSpider):
    """Asks, without a key, for all types that are rented as virtual machines."""

    name = "cloudrift"
    url = "https://api.cloudrift.ai/api/v1/instance-types/list"
    documents = (Document(r"/instance-types/list", "parse"),)
    records_path = ("data", "instance_types")

    async def start(self) -> AsyncIterator[Request]:
        """One request; `version` is that of the interface."""
        selector = {"ByServiceAndLocation": {"services": ["vm"]}}
        asked = {"version": "2025-03-21", "data": {"selector": selector}}
        yield JsonRequest(self.url, data=asked, callback=self.reader(self.url), dont_filter=True)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """Every variant of a type with a GPU, in each of its data centres."""
        owners = {place["name"]: place.get("provider_name") for place in record.get("datacenters") or []}
        for variant in record["variants"]:
            free = dict.fromkeys(variant.get("nodes_per_dc") or {}, 0) | (variant.get("available_nodes_per_dc") or {})
            for place, nodes in (free or {None: variant.get("available_nodes")}).items():
                if variant["gpu_count"] != 0:
                    yield read_variant(record["brand_short"], variant, place, nodes, owners.get(place))


def read_variant(gpu: str, variant: dict[str, Any], place: str | None, nodes: Any, owner: str | None) -> RawOffer:
    """One size of machine in one data centre."""
    return RawOffer(
        purchase="on_demand",
        price=variant["cost_per_hour"],
        currency="USD",
        price_unit="cent/instance-hour",
        accelerator=gpu,
        instance_type=variant["name"],
        gpu_count=variant["gpu_count"],
        vram=sized(variant, "vram"),
        vcpus=variant.get("cpu_count"),
        ram=sized(variant, "dram"),
        disk=sized(variant, "disk"),
        region=place,
        kind="vm",
        available_count=nodes,
        reseller_of=owner,
    )


def sized(variant: dict[str, Any], field: str) -> str | None:
    """A size in bytes, None where it is not told."""
    return f"{variant[field]} B" if variant.get(field) else None

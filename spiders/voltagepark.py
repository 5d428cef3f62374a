"""Voltage Park: bare metal by location and machines in presets, on demand.

Docs:  https://docs.voltagepark.com/on-demand/api
Gives: price, GPU with form factor and memory, count, RAM, disk, network, free GPUs by location; vCPUs of presets
Lacks: names of locations (they are ids), interruptible capacity; vCPUs of bare metal, whose `cpu_count` counts cores
Quirk: bare metal is priced for one GPU, a preset as a whole. Beside each price stands the count of free GPUs, mostly 0
       while the price holds: sold out. A preset's disk is charged on top (`storage_rate_hourly`), so none is told
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, dig, json_of
from spiders.shared.errors import Truncated
from spiders.shared.shapes.json_list import JsonListSpider


class VoltageparkSpider(JsonListSpider):
    """Reads the keyless lists of locations and of presets."""

    name = "voltagepark"
    start_urls = [
        "https://cloud-api.voltagepark.com/api/v1/bare-metal/locations",
        "https://cloud-api.voltagepark.com/api/v1/instant-deploy-presets/",
    ]
    documents = (Document(r"/bare-metal/locations", "parse_locations"), Document(r"/instant-deploy-presets", "parse"))

    def parse_locations(self, response: Response) -> Iterator[Batch]:
        """One batch of all locations. Raises Truncated where there are more than this answer holds."""
        found, more, total = (
            dig(json_of(response), (key,), response.url) for key in ("results", "has_next", "total_result_count")
        )
        if more or len(found) != total:
            raise Truncated(f"expected {total} locations from {response.url}, got {len(found)}")
        yield self.batch(response, (offer for record in found for offer in self.read_location(record)))

    def read_location(self, record: dict[str, Any]) -> Iterator[RawOffer]:
        """A node of one location with each of the two networks that has a price."""
        node = record["specs_per_node"]
        for network in ("ethernet", "infiniband"):
            if record[f"gpu_price_{network}"] is not None:
                yield RawOffer(
                    purchase="on_demand",
                    price=record[f"gpu_price_{network}"],
                    currency="USD",
                    price_unit="gpu-hour",
                    accelerator=node["gpu_model"],
                    sku=f"{node['gpu_model']} {network} {record['id']}",
                    gpu_count=node["gpu_count"],
                    ram=f"{node['ram_gb']} GB",
                    disk=f"{node['storage_gb']} GB",
                    interconnect=network,
                    kind="bare metal",
                    available_count=record[f"gpu_count_{network}"],
                )

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One preset, a virtual machine; one without GPUs is no offer."""
        size = record["resources"]
        for gpu, number in size["gpus"].items():
            yield RawOffer(
                purchase="on_demand",
                price=record["compute_rate_hourly"],
                currency="USD",
                price_unit="instance-hour",
                accelerator=gpu,
                sku=f"preset {gpu} {size['vcpu_count']} vCPUs {size['ram_gb']} GB",
                gpu_count=number["count"],
                vcpus=size["vcpu_count"],
                ram=f"{size['ram_gb']} GB",
                kind="vm",
                availability=bool(record["location_ids_with_availability"]),
            )

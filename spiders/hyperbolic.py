"""Hyperbolic: rental options of its suppliers, on demand only.

Docs:  https://docs.hyperbolic.xyz/docs/on-demand-gpus
Gives: price, GPU, form factor, count, region, network, stock where `totalAvailable` is told
Lacks: GPU memory, interruptible capacity
Quirk: `costPerHourCents` is US cents for the whole option, not for one GPU
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class HyperbolicSpider(JsonListSpider):
    """Reads the keyless list of rental options."""

    name = "hyperbolic"
    start_urls = ["https://api.hyperbolic.ai/v2/alpha/on-demand/rental-options"]
    documents = (Document(r"/on-demand/rental-options", "parse"),)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        node = record["nodes"][0]
        network = " ".join(filter(None, (record["connectionType"], record.get("ethernetVariant"))))
        yield RawOffer(
            purchase="on_demand",
            price=record["costPerHourCents"],
            currency="USD",
            price_unit="cent/instance-hour",
            accelerator=record["gpuType"],
            form_factor=record["gpuFormFactor"],
            sku=f"{record['gpuType']} {record['gpuFormFactor']} {record['machineType']} {network}",
            gpu_count=record["gpuCount"],
            vcpus=node.get("vcpuCount") or node.get("cpuCount"),
            ram=f"{node['ramGb']} GB",
            disk=f"{node['storageGb']} GB",
            interconnect=network,
            region=record["region"],
            kind=record["machineType"],
            availability=record["enabled"],
            available_count=record.get("totalAvailable"),
        )

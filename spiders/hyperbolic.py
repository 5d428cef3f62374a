"""Hyperbolic: rental options of its suppliers, on demand only.

Docs:  https://docs.hyperbolic.xyz/docs/on-demand-gpus
Gives: price, GPU, form factor, count, region, network, stock where `totalAvailable` is told
Lacks: GPU memory, interruptible capacity
Quirk: `costPerHourCents` is US cents for the whole option, not for one GPU; `providerCostPerHourCents` beside it
       is what the supplier takes and nobody's price
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
        nodes = record["nodes"]
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
            vcpus=sum(node.get("vcpuCount") or node.get("cpuCount") or 0 for node in nodes) or None,
            ram=f"{sum(node.get('ramGb') or 0 for node in nodes)} GB",
            disk=f"{sum(node['storageGb'] for node in nodes)} GB"
            if all(node.get("storageGb") for node in nodes)
            else None,
            interconnect=network,
            region=record["region"],
            kind=record["machineType"],
            availability=record["enabled"],
            available_count=record.get("totalAvailable"),
        )

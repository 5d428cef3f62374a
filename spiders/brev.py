"""NVIDIA Brev: GPU instances of many clouds, resold at prices of its own.

Docs:  https://github.com/brevdev/brev-cli (`brev search`)
Gives: price of the whole instance, GPU, count, memory, vCPUs, RAM, place, and which cloud or broker it is taken from
Lacks: stock (what is listed may be gone), interruptible capacity; disks are priced apart
Quirk: the price is text with its currency. Sizes run together ("22GiB360MiB"), so GPU memory is read from its number
       and unit where both are there. A type has a place, or else a list of places that share its price
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class BrevSpider(JsonListSpider):
    """Reads the keyless list of instance types, which holds those with GPUs unless asked for more."""

    name = "brev"
    start_urls = ["https://api.brev.dev/v1/instance/types"]
    documents = (Document(r"/v1/instance/types", "parse"),)
    records_path = ("items",)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One type with each GPU that it comes with, in every place."""
        own = record.get("location")
        places = [own] if own else record.get("available_locations") or [None]
        for gpu, place in ((gpu, place) for gpu in record["supported_gpus"] or [] for place in places):
            size = gpu.get("memory_bytes") or {}
            yield RawOffer(
                purchase="on_demand",
                price=record["base_price"]["amount"],
                currency=record["base_price"]["currency"],
                price_unit="instance-hour",
                accelerator=gpu["name"],
                instance_type=record["type"],
                sku=record.get("provider"),
                gpu_count=gpu["count"],
                vram=f"{size['value']} {size['unit']}" if size.get("value") else gpu.get("memory"),
                vcpus=record.get("vcpu"),
                ram=record.get("memory"),
                region=place,
                zone=record.get("sub_location") or None,
                reseller_of=record.get("provider"),
            )

"""Hivenet: containers with one or more consumer cards, on demand.

Docs:  https://compute.hivenet.com/pricing (the list it reads, GET /presets/pricing)
Gives: price of the preset, GPUs, vCPUs, RAM, disk, network, location
Lacks: stock, GPU memory, interruptible capacity; who gets `hourly_price_discounted` is not told, so it is not read
Quirk: a preset lists its GPUs one by one and the price is for all of them; presets without GPUs and demonstrations for
       nothing stand among them; the currency stands on the page alone, as a euro sign before every price
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class HivenetSpider(JsonListSpider):
    """Reads the keyless list of presets."""

    name = "hivenet"
    start_urls = ["https://api.hivecompute.ai/presets/pricing"]
    documents = (Document(r"/presets/pricing", "parse"),)
    expect = "json"

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One preset at one location, none where it has no GPU or costs nothing."""
        gpus, price = record["gpu"], record["hourly_price"]
        if gpus and price != 0:
            yield RawOffer(
                purchase="on_demand",
                price=price,
                currency="EUR",
                price_unit="instance-hour",
                accelerator=" + ".join(sorted({gpu["model"] for gpu in gpus})),
                instance_type=record["name"],
                gpu_count=len(gpus),
                vcpus=record["cpu"],
                ram=f"{record['memory']} GB",
                disk=f"{record['disk']} GB",
                network=f"{record['bandwidth']} Mbps",
                region=record["location"],
            )

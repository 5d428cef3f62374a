"""Akash: a network of many providers that bid for containers; statistics of their bids for one GPU.

Docs:  https://akash.network/docs/api-documentation/console-api; fields as in https://github.com/akash-network/console
       (apps/api/src/gpu)
Gives: for each GPU with form factor and memory the middle of the providers' best bids, and how many GPUs are free
Lacks: who bids, regions, bids for more than one GPU, vCPUs, RAM and disk, interruptible capacity
Quirk: `med` is no single provider's price: half of those that offer the GPU bid less for one. `min` is a floor, `avg`
       follows outliers. The bids are of the last 14 to 31 days. Where nobody has bid, `price` is null; `priceUakt`
       beside it is the same in a token
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class AkashSpider(JsonListSpider):
    """Reads the keyless statistics, all in one answer."""

    name = "akash"
    start_urls = ["https://console-api.akash.network/v1/gpu-prices"]
    documents = (Document(r"/v1/gpu-prices", "parse"),)
    records_path = ("models",)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One model of GPU with its memory and interface."""
        price = record["price"]
        yield RawOffer(
            purchase="on_demand",
            price=price["med"] if price else None,
            currency=price["currency"] if price else "USD",
            price_unit="gpu-hour",
            accelerator=f"{record['vendor']} {record['model']}",
            sku=f"{record['vendor']}/{record['model']}/{record['ram']}/{record['interface']}",
            gpu_count=1,
            vram=record["ram"] or None,
            form_factor=record["interface"] or None,
            kind="container",
            available_count=record["availability"]["available"],
        )

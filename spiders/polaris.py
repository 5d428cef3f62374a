"""Polaris: GPUs of several clouds at one address, on demand and spot.

Docs:  https://polaris.computer/compute (its price list, GET /api/pricing)
Gives: price of one GPU, with the memory in its name
Lacks: whose capacity it is, stock, regions, sizes of machines
Quirk: `display_name` is what is rented, `billing_key` names the price class; CPUs stand in a list of their own, and a
       GPU of one way to rent alone lacks the other's field
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import Purchase, RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, having, json_of
from spiders.shared.errors import SchemaDrift


class PolarisSpider(ProviderSpider):
    """Reads the keyless price list."""

    name = "polaris"
    start_urls = ["https://api.polaris.computer/api/pricing"]
    documents = (Document(r"/api/pricing", "parse"),)
    expect = "json"

    def parse(self, response: Response) -> Iterator[Batch]:
        """One batch of every price of every GPU."""
        document = json_of(response)
        gpus = list(having(dig(document, ("gpus",), response.url), ("display_name",), response.url))
        if gpus and not any("on_demand_per_hour" in gpu or "spot_per_hour" in gpu for gpu in gpus):
            raise SchemaDrift(f"expected on_demand_per_hour or spot_per_hour in {response.url}, got neither")
        yield self.batch(response, (offer for gpu in gpus for offer in read(gpu, document["currency"])))


def read(gpu: dict[str, Any], currency: str) -> Iterator[RawOffer]:
    """The ways to rent one GPU that have a price."""
    ways: list[tuple[Purchase, Any]] = [
        ("on_demand", gpu.get("on_demand_per_hour")),
        ("spot", gpu.get("spot_per_hour")),
    ]
    for purchase, price in ways:
        if price is not None:
            yield RawOffer(
                purchase=purchase,
                price=price,
                currency=currency,
                price_unit="gpu-hour",
                accelerator=gpu["display_name"],
                sku=" ".join(filter(None, (gpu["display_name"], gpu.get("billing_key")))),
                gpu_count=1,
            )

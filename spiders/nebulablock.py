"""Nebula Block: GPU instances by country, on demand and spot.

Docs:  https://docs.nebulablock.com
Gives: price of the whole instance, GPU, count, form factor, vCPUs, RAM, disk, part of the world, country, stock
Lacks: GPU memory as a field (it stands in the GPU's name)
Quirk: products lie under country and GPU, not in one list; the country is told as the zone of its part of the world. A
       spot product is a row of its own (`is_spot`); a stock of 99 is probably a cap, it is given as told
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, json_of


class NebulablockSpider(ProviderSpider):
    """Reads the keyless list of products."""

    name = "nebulablock"
    start_urls = ["https://api.nebulablock.com/api/v1/computing/products"]
    documents = (Document(r"/computing/products", "parse"),)

    def parse(self, response: Response) -> Iterator[Batch]:
        """One batch of the products of every country and GPU."""
        countries = dig(json_of(response), ("data",), response.url)
        products = (p for by_gpu in countries.values() for found in by_gpu.values() for p in found)
        yield self.batch(response, (read_product(product) for product in products if product["gpu_count"]))


def read_product(product: dict[str, Any]) -> RawOffer:
    """One product."""
    ram, disk = product.get("ram"), product.get("disk_size")
    return RawOffer(
        purchase="spot" if product["is_spot"] else "on_demand",
        price=product["price_per_hour"],
        currency="USD",
        price_unit="instance-hour",
        accelerator=product["gpu"],
        sku=str(product["id"]),
        gpu_count=product["gpu_count"],
        vcpus=product.get("cpu"),
        ram=f"{ram} GB" if ram else None,
        disk=f"{disk} GB" if disk else None,
        region=product.get("region"),
        zone=product.get("country"),
        kind=product.get("product_type"),
        availability=product["is_available"],
        available_count=product.get("stock"),
    )

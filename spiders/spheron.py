"""Spheron: machines of data centres and other clouds at one address, dedicated, in clusters and spot.

Docs:  https://docs.spheron.ai/api-reference (GET /api/gpu-offers)
Gives: price, GPU with form factor and memory, count, vCPUs, RAM, disk, region, whose capacity it is, stock
Lacks: how many machines there are where the supplier does not tell its units; a team's discounts, which its key shows
Quirk: `price` is for the machine with all its GPUs; a spot machine says the same again in `spot_price`, a dedicated one
       with a `spot_price` is sold both ways. The list of groups stands under `data`, once under `gpuOffers`. One offer
       stands for every cluster that it can be started in. What is under maintenance cannot be rented
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response
from w3lib.url import add_or_replace_parameter, url_query_parameter

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document, json_of
from spiders.shared.shapes.paged_json import PagedJsonSpider


class SpheronSpider(PagedJsonSpider):
    """Reads the keyless list of GPU types with their offers, page by page."""

    name = "spheron"
    start_urls = ["https://app.spheron.ai/api/gpu-offers?page=1&limit=100"]
    documents = (Document(r"/api/gpu-offers", "parse_page"),)
    expect = "json"

    def records(self, response: Response) -> Iterator[dict[str, Any]]:
        """The groups of one page, one for each type of GPU."""
        document = json_of(response)
        yield from document["gpuOffers"] if "gpuOffers" in document else document["data"]

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """Every offer of a group, in each of its clusters."""
        for offer in record["offers"]:
            spot = offer.get("spot_price")
            if offer["instanceType"] == "SPOT":
                ways = {"spot": spot or offer["price"]}
            else:
                ways = {"on_demand": offer["price"]} | ({"spot": spot} if spot else {})
            for region in offer.get("clusters") or [offer.get("region")]:
                for purchase, price in ways.items():
                    yield read_offer(record["gpuType"], offer, purchase, price, region)

    def next_page(self, response: Response) -> str | None:
        """The page of the next number, as long as the answer says that there are more."""
        document = json_of(response)
        page = document.get("page") or int(url_query_parameter(response.url, "page") or 1)
        more = page < (document.get("totalPages") or 1)
        return add_or_replace_parameter(response.url, "page", str(page + 1)) if more else None

    def total(self, response: Response) -> int | None:
        """How many groups there are."""
        total: int | None = json_of(response).get("total")
        return total


def read_offer(gpu: str, offer: dict[str, Any], purchase: Any, price: Any, region: str | None) -> RawOffer:
    """One way to rent one machine in one cluster."""
    memory, technical = offer.get("gpu_memory"), (offer.get("extras") or {}).get("technical") or {}
    return RawOffer(
        purchase=purchase,
        price=price,
        currency="USD",
        price_unit="instance-hour",
        accelerator=gpu,
        sku=f"{gpu} {offer['provider']} {offer['offerId']}",
        gpu_count=offer["gpuCount"],
        vram=f"{memory} GB" if memory else None,
        vcpus=offer.get("vcpus"),
        ram=f"{offer['memory']} GB" if offer.get("memory") else None,
        disk=f"{offer['storage']} GB" if offer.get("storage") else None,
        interconnect=offer.get("interconnectType"),
        region=region,
        tier=offer["instanceType"],
        availability=offer["available"] and not offer.get("maintenance"),
        available_count=technical.get("units_available") or None,
        reseller_of=offer["provider"],
    )

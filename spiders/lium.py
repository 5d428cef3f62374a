"""Lium: a marketplace of single hosts on Bittensor subnet 51, secure and spot.

Docs:  https://docs.lium.io; fields as in https://github.com/getcomputable/gpu-index (observatory/sources/lium)
Gives: price of one GPU, GPU, count, memory, vCPUs, RAM, disk, country, free GPUs, the smallest number that one may rent
Lacks: currency (the site writes dollars), form factor where the card's name does not say it
Quirk: `tier` is how it is bought: `secure` is on demand. RAM and disk are the host's, in KiB, memory of a card in MiB.
       `pending_price_per_hour` is a price to come, not today's. Fewer free GPUs than the smallest number that one may
       rent is sold out. The answer names addresses and keys of the hosts, which are withheld
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class LiumSpider(JsonListSpider):
    """Reads the keyless list of hosts, all in one answer."""

    name = "lium"
    start_urls = ["https://lium.io/api/executors"]
    documents = (Document(r"/api/executors", "parse"),)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One host, offered as a whole; a part of it has the same price for one GPU."""
        place, specs = record.get("location") or {}, record.get("specs") or {}
        cards = (specs.get("gpu") or {}).get("details") or [{}]
        free, least = record.get("available_gpu_count"), record.get("min_gpu_count_for_rental")
        yield RawOffer(
            purchase="on_demand" if record["tier"] == "secure" else record["tier"],
            price=record["price_per_gpu"],
            currency="USD",
            price_unit="gpu-hour",
            listing_id=record["id"],
            accelerator=record["machine_name"],
            gpu_count=record["gpu_count"],
            vram=sized(cards[0], "capacity", "MiB"),
            vcpus=(specs.get("cpu") or {}).get("count"),
            ram=sized(specs.get("ram"), "total", "KiB"),
            disk=sized(specs.get("hard_disk"), "total", "KiB"),
            region=place.get("region") or None,
            country=place.get("country_code") or None,
            tier=record["tier"],
            kind="container",
            min_gpu_count=least,
            availability=None if free is None or least is None else free >= least,
            available_count=free,
        )


def sized(part: dict[str, Any] | None, field: str, unit: str) -> str | None:
    """A size with the unit that the field is in, None where the host does not tell it."""
    return f"{part[field]} {unit}" if part and part.get(field) else None

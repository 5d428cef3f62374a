"""HOSTKEY: servers with GPUs by the month, in several countries.

Docs:  https://hostkey.com/gpu-dedicated-servers/ (its presets, GET /presets.php?action=list)
Gives: price of the server at each location, GPU, cores, RAM, disks, how many are in stock there
Lacks: GPU memory, prices by the hour; a count where `gpu` names none
Quirk: the price is for a month. One list without a location tells which locations there are; `available` is the stock
       of a location only in the list that is asked with it and with `filter=yes`. A price of 0 is a server that is not
       sold there, `active` 0 or an empty list of prices one that is sold nowhere; many have no GPU
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Request, Response
from w3lib.url import add_or_replace_parameters, url_query_parameter

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, having, json_of

KEYS = ("name", "active", "virtual", "gpu", "price", "available", "cpu", "ram", "hdd")


class HostkeySpider(ProviderSpider):
    """Reads where presets with GPUs are priced, then the list of each location."""

    name = "hostkey"
    start_urls = ["https://invapi.hostkey.com/presets.php?action=list"]
    documents = (Document(r"presets\.php.*location=", "parse_location"), Document(r"presets\.php", "parse_everywhere"))
    expect = "json"

    def parse_everywhere(self, response: Response) -> Iterator[Request]:
        """A request for every location at which a preset with a GPU has a price."""
        for place in sorted({place for preset in presets(response) for place in preset["price"]}):
            asked = {"location": place, "currency": "eur", "filter": "yes"}
            yield Request(add_or_replace_parameters(response.url, asked), self.parse_location, dont_filter=True)

    def parse_location(self, response: Response) -> Iterator[Batch]:
        """One batch of what is sold at one location."""
        place = url_query_parameter(response.url, "location")
        sold = (preset for preset in presets(response) if preset["price"].get(place, {}).get("EUR", 0) != 0)
        yield self.batch(response, (read(preset, str(place)) for preset in sold))


def presets(response: Response) -> Iterator[dict[str, Any]]:
    """The presets of one answer that are sold and have a GPU."""
    for preset in having(dig(json_of(response), ("presets",), response.url), KEYS, response.url):
        if preset["active"] and preset["gpu"] and preset["price"]:
            yield preset


def read(preset: dict[str, Any], place: str) -> RawOffer:
    """One server at one location."""
    return RawOffer(
        purchase="reserved",
        price=preset["price"][place]["EUR"],
        currency="EUR",
        price_unit="instance-month",
        accelerator=preset["gpu"],
        instance_type=preset["name"],
        vcpus=preset["cpu"] if preset["virtual"] else None,
        ram=f"{preset['ram']} GB",
        disk=f"{preset['hdd'].replace('x', ' x ')} GB",
        region=place,
        kind="vm" if preset["virtual"] else "bare metal",
        term_months=1,
        available_count=preset["available"],
    )

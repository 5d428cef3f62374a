"""Open Telekom Cloud (T Cloud Public): virtual machines with GPUs by region, on demand.

Docs:  https://docs.otc.t-systems.com/price-calculator/api-ref/
Gives: price of the whole machine an hour by flavour, system and region, vCPUs, RAM
Lacks: GPU, count and memory (all stand in the flavour's name only), stock, disk; the reserved prices `R12` to `RU36`,
       for whether they are for a month or paid at once is not told in the answer
Quirk: an amount is text with its currency ("0.051175 EUR"), that of Swiss rows in euro too. `result` is a mapping from
       service to rows, or one list where it was filtered. Nothing marks a flavour with GPUs but its family's letter.
       One system's row costs more than another's. More rows than were asked for are `stats.count`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document, dig, json_of
from spiders.shared.errors import SchemaDrift
from spiders.shared.shapes.paged_json import PagedJsonSpider

GPU_FLAVOUR = re.compile(r"(p|pi|g)\d+[a-z]*\.\S+")


class OpenTelekomSpider(PagedJsonSpider):
    """Reads the prices of virtual machines that the provider's own calculator asks for."""

    name = "opentelekom"
    start_urls = [
        "https://calculator.otc-service.com/en/open-telekom-price-api/?productType=OTC&serviceName=ecs&limitMax=5000"
    ]
    documents = (Document(r"/open-telekom-price-api/", "parse_page"),)
    expect = "json"

    def records(self, response: Response) -> Iterator[dict[str, Any]]:
        """The rows of all virtual machines, out of either form of `result`."""
        found = dig(json_of(response), ("response", "result"), response.url)
        rows = dig(found, ("ecs",), response.url) if isinstance(found, dict) else found
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise SchemaDrift(f"expected a list of objects from {response.url}, got {type(rows).__name__}")
        yield from rows

    def next_page(self, response: Response) -> str | None:
        """None: one request asks for all there is."""
        return None

    def total(self, response: Response) -> int | None:
        """How many rows there are, whatever came of them."""
        return int(dig(json_of(response), ("response", "stats", "count"), response.url))

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One flavour under one system in one region; a flavour without GPUs gives nothing."""
        if not GPU_FLAVOUR.fullmatch(record["opiFlavour"].strip()):
            return
        system = record.get("osUnit")
        yield RawOffer(
            purchase="on_demand",
            price=record["priceAmount"],
            currency=record["currency"],
            price_unit="instance-hour" if record["unit"] == "h" else f"instance-{record['unit']}",
            sku=record.get("id"),
            instance_type=record["opiFlavour"].strip(),
            vcpus=record.get("vCpu"),
            ram=record.get("ram"),
            region=record.get("region"),
            kind="vm",
            os=system.casefold() if system else None,
        )

"""E2E Networks (India): GPU instances by the hour, the month and the year.

Docs:  https://www.e2enetworks.com/pricing
Gives: price of one GPU in USD for all three terms, with memory, vCPUs and RAM; the list in INR by the hour
Lacks: stock ("InStock" stands at every offer of the catalogue), regions, interruptible capacity, other counts
Quirk: two lists on one page: the table is in USD, the catalogue in JSON-LD in INR. Neither is converted into the other;
       their rows are kept apart by name. Two GPUs are both called A100: memory tells them apart. The footnote says that
       a price is for one GPU: without it the page may show a multiple of 2 to 8. CPU instances stand in the catalogue
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from parsel import Selector

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.html_table import HtmlTableSpider, dollars, labelled, words

TERMS = (("Hourly/On-Demand", "gpu-hour", None), ("Monthly", "gpu-month", 1), ("Annually", "gpu-year", 12))
MEMORY = re.compile(r"(\d+)\s*GB\s+VRAM", re.IGNORECASE)


class E2eSpider(HtmlTableSpider):
    """Reads the table in USD and the catalogue in INR."""

    name = "e2e"
    start_urls = ["https://www.e2enetworks.com/pricing?region=us"]
    documents = (Document(r"e2enetworks\.com/pricing", "parse"),)
    labels = ("Item", "vRAM", "vCPUs", "RAM, GB", "Hourly/On-Demand", "Monthly", "Annually")
    anchors = ("Hourly/On-Demand", "RAM, GB", "Prices are per GPU-hour", "application/ld+json")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """Every priced cell of the one table with these columns, then every GPU of the catalogue."""
        tables = [
            table for table in page.xpath("//table") if (*map(words, table.xpath("(.//tr)[1]/*")),) == self.labels
        ]
        if len(tables) != 1:
            raise LayoutChanged(f"expected one table with {', '.join(self.labels)}, got {len(tables)}")
        for row in tables[0].xpath("(.//tr)[position() > 1]"):
            yield from self.read_row(labelled([*self.labels], row.xpath("*")))
        for script in page.xpath("//script[@type='application/ld+json']/text()").getall():
            for offer in offers_of(json.loads(script, parse_float=Decimal)):
                yield from read_offer(offer)

    def read_row(self, cells: dict[str, str]) -> Iterator[RawOffer]:
        """The priced terms of one row."""
        for label, unit, months in TERMS:
            if price := dollars(cells[label]):
                yield RawOffer(
                    purchase="reserved" if months else "on_demand",
                    price=price,
                    currency="USD",
                    price_unit=unit,
                    accelerator=cells["Item"],
                    gpu_count=1,
                    vram=sized(cells["vRAM"]),
                    vcpus=cells["vCPUs"] or None,
                    ram=sized(cells["RAM, GB"]),
                    term_months=months,
                )


def sized(cell: str) -> str | None:
    """A number under a label in gigabytes, with its unit; None for a blank."""
    return f"{cell.removesuffix('GB').strip()} GB" if cell else None


def read_offer(offer: dict[str, Any]) -> Iterator[RawOffer]:
    """One offer of the catalogue, none where it is no GPU or not priced by the hour."""
    item, price = offer.get("itemOffered") or {}, offer.get("priceSpecification") or {}
    name = offer.get("name") or item.get("name") or ""
    unit = price.get("unitText") or offer.get("unitText")
    if "GPU" in (offer.get("category") or item.get("category") or name) and unit == "per hour":
        memory = MEMORY.search(item.get("description") or offer.get("description") or "")
        yield RawOffer(
            purchase="on_demand",
            price=offer["price"] if "price" in offer else price["price"],
            currency=offer.get("priceCurrency") or price["priceCurrency"],
            price_unit="gpu-hour",
            accelerator=name.removesuffix(" GPU Cloud Instance"),
            sku=f"{name} {memory[0]}" if memory else name,
            gpu_count=1,
            vram=f"{memory[1]} GB" if memory else None,
        )


def offers_of(node: Any) -> Iterator[dict[str, Any]]:
    """Everything of the type Offer, however deep a catalogue holds it."""
    if isinstance(node, dict) and node.get("@type") == "Offer":
        yield node
    elif isinstance(node, dict | list):
        for value in node.values() if isinstance(node, dict) else node:
            yield from offers_of(value)

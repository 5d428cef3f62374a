"""Ola Krutrim: virtual machines with GPUs in rupees, on demand and by the month.

Docs:  https://www.olakrutrim.com/pricing, https://docs.cloud.olakrutrim.com/basics/usage-and-transactions
Gives: price of the instance, GPU, count, memory of all GPUs, vCPUs, RAM
Lacks: stock, regions; which share of a card a slice (Tiny, Nano, Mini) is, so slices are not read
Quirk: both columns are rupees an hour, that by the month likewise; a cell may be empty. Tables without GPU memory are
       of other things. Tax comes on top when credits are bought
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsel import Selector

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.html_table import HtmlTableSpider, column, labelled, with_unit, words

INSTANCE = re.compile(r"(?P<gpu>.+?) [×x] ?(?P<count>\d+)")
AN_HOUR = re.compile(r"(?P<price>₹ ?[\d,.]+) ?/ ?hr")


class KrutrimSpider(HtmlTableSpider):
    """Reads the tables of GPU instances."""

    name = "krutrim"
    start_urls = ["https://www.olakrutrim.com/pricing"]
    documents = (Document(r"olakrutrim\.com/pricing", "parse"),)
    anchors = ("GPU memory", "vCPUs", "/hr")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """On demand and by the month of every instance of whole GPUs."""
        for table in page.xpath("//table[.//th[contains(., 'GPU memory')]]"):
            labels = [words(label) for label in table.css("th")]
            for row in table.xpath(".//tr[td]"):
                yield from self.read_row(labels, labelled(labels, row.css("td")))

    def read_row(self, labels: list[str], cells: dict[str, str]) -> Iterator[RawOffer]:
        """The prices of one instance."""
        instance = INSTANCE.fullmatch(cells[column(labels, "instance")])
        vram, ram = (column(labels, *parts) for parts in (("gpu", "memory"), ("ram",)))
        for label in [column(labels, "on", "demand"), *(label for label in labels if label.casefold() == "monthly")]:
            price = AN_HOUR.fullmatch(cells.get(label, ""))
            if instance and price:
                term = None if "demand" in label.casefold() else 1
                yield RawOffer(
                    purchase="reserved" if term else "on_demand",
                    price=price["price"],
                    currency="INR",
                    price_unit="instance-hour",
                    accelerator=instance["gpu"],
                    gpu_count=instance["count"],
                    vram_total=with_unit(vram, cells[vram]),
                    vcpus=cells[column(labels, "vcpu")],
                    ram=with_unit(ram, cells[ram]),
                    kind="vm",
                    term_months=term,
                    tax_included=False,
                )

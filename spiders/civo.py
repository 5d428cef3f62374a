"""Civo: GPU instances, on demand and by commitment of 6 to 36 months.

Docs:  https://www.civo.com/pricing
Gives: price of the instance, GPU, count, memory, vCPUs, RAM, disk
Lacks: stock, regions, interruptible capacity; the keyed API tells no price
Quirk: tables without GPUs come first, with the same classes; every price stands twice in its cell, by the hour and by
       the month; the ids of elements repeat; all terms but one are hidden until they are chosen
"""

from __future__ import annotations

from collections.abc import Iterator

from parsel import Selector, SelectorList

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.html_table import HtmlTableSpider, dollars, words

Cell = Selector | SelectorList[Selector]


class CivoSpider(HtmlTableSpider):
    """Reads the GPU section of the price page."""

    name = "civo"
    start_urls = ["https://www.civo.com/pricing"]
    documents = (Document(r"civo\.com/", "parse"),)
    anchors = ("nvidia-gpus", "product-detail", "on-demand-pricing", "commitment-pricing", "price-value-hourly")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """On demand and every term of each size."""
        for row in page.xpath("//*[@id='nvidia-gpus']//tr[td]"):
            yield from self.read_price(row, row.css(".on-demand-pricing"), None)
            for term in row.css(".commitment-pricing > [id]"):
                yield from self.read_price(row, term, int(term.attrib["id"].removesuffix("_months")))

    def read_price(self, row: Selector, cell: Cell, term: int | None) -> Iterator[RawOffer]:
        """The price by the hour of one cell, none where it names none."""
        cells = {str(td.attrib["data-title"]): words(td) for td in row.css("td")}
        count, _, gpu = words(row.css(".product-detail")[0]).partition(" x ")
        for price in cell.css("[data-option=hourly]"):
            amount, _, unit = words(price).partition(" per ")
            if dollars(amount) and unit != "hour":
                raise LayoutChanged(f"expected a price per hour, got {words(price)!r}")
            if dollars(amount):
                yield RawOffer(
                    purchase="reserved" if term else "on_demand",
                    price=amount,
                    currency="USD",
                    price_unit="instance-hour",
                    accelerator=gpu.partition(" - ")[0],
                    gpu_count=count,
                    vram=gpu.partition(" - ")[2] or None,
                    vcpus=cells["vCPU"],
                    ram=cells["RAM"],
                    disk=cells["Storage"],
                    kind="vm",
                    term_months=term,
                )

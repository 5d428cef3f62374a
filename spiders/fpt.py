"""FPT AI Factory (Vietnam): GPU virtual machines, on a page that exists only after its scripts ran.

Docs:  https://ai-docs.fptcloud.com
Gives: price per instance-hour of 1, 2, 4 and 8 GPUs, tax included; memory, RAM, cores
Lacks: stock, spot, disk; a price for what is sold on request; the Japanese site, which has accounts of its own
Quirk: the page is an empty shell until a script fills it. "From $2.0" names a floor, not the price of an offer: no row.
       8 GPUs are a cent dearer or cheaper than eight times one
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsel import Selector
from scrapy.http import TextResponse

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, expect_anchors
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.browser import BrowserSpider
from spiders.shared.shapes.html_table import column, dollars, labelled, words

PER_HOUR = re.compile(r"\s*/\s*hour$", re.IGNORECASE)
NO_PRICE = re.compile(r"from|contact|sold out|^$", re.IGNORECASE)


class FptSpider(BrowserSpider):
    """Reads the tables of the price page of the Vietnamese site, one row for each size of a machine."""

    name = "fpt"
    start_urls = ["https://ai.fptcloud.com/pricing/gpu-virtual-machine"]
    documents = (Document(r"ai\.fptcloud\.com/pricing", "read_page"),)
    wait_for = "table tbody tr, input[type=password]"
    anchors = ("GPU Virtual Machine", "<table", "Price")

    def read_page(self, response: TextResponse) -> Iterator[Batch]:
        """One batch of the whole page. Raises LayoutChanged without the anchors, and where no row is left to read."""
        expect_anchors(response, self.anchors)
        taxed = bool(response.xpath("//*[contains(text(), 'tax included') or contains(text(), 'include tax')]"))
        yield self.batch(response, (offer for table in response.xpath("//table") for offer in self.read(table, taxed)))

    def read(self, table: Selector, taxed: bool) -> Iterator[RawOffer]:
        """The rows of one table that name a price, not a floor."""
        labels = [words(cell) for cell in table.xpath(".//thead//th")]
        for row in table.xpath(".//tbody/tr"):
            cells = labelled(labels, row.xpath("./td"))
            price = cells[column(labels, "price")]
            if not NO_PRICE.search(price):
                yield RawOffer(
                    purchase="on_demand",
                    price=per_hour(price),
                    currency="USD",
                    price_unit="instance-hour",
                    accelerator=cells[column(labels, "instance")],
                    vram_total=cells[column(labels, "GPU memory")],
                    vcpus=cells[column(labels, "CPU")].partition(" ")[0],
                    ram=cells[column(labels, "RAM")],
                    country="VN",
                    kind="vm",
                    tax_included=taxed or None,
                )


def per_hour(price: str) -> str:
    """The dollars of `$6.99/Hour`. Raises LayoutChanged for another unit or currency."""
    amount = dollars(PER_HOUR.sub("", price))
    if amount is None or not PER_HOUR.search(price):
        raise LayoutChanged(f"expected dollars per hour, got {price!r}")
    return amount

"""GreenNode (VNG Cloud, Vietnam): virtual machines with H100s or a share of one, on demand and for a year.

Docs:  https://greennode.ai/pricing, https://docs.vngcloud.vn/vng-cloud-document/ai-stack/ai-platform/pricing
Gives: price of the machine, GPU, count or share, memory of all its GPUs, vCPUs, RAM, disk
Lacks: stock, regions, form factor, interruptible capacity (there is none)
Quirk: the table is HTML in a string of the page's state, its columns told by their order; a price struck through is the
       one before; decimals come with a comma or a point; the year may be "Contact us". RAM is read from the flavour's
       name (vCPUs x GB), for the cell of a share repeats that of a whole card
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsel import Selector
from scrapy.http import TextResponse

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, expect_anchors
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.embedded_json import embedded
from spiders.shared.shapes.html_table import dollars, words

FLAVOUR = re.compile(r"g\d+-[a-z]+-\d+x(?P<ram>\d+)-\d*(?P<gpu>[a-z]+\d+)-[\w.-]+")


class GreennodeSpider(ProviderSpider):
    """Reads the tables whose rows begin with the name of a GPU flavour."""

    name = "greennode"
    start_urls = ["https://greennode.ai/pricing"]
    documents = (Document(r"greennode\.ai/pricing", "read_page"),)

    def read_page(self, response: TextResponse) -> Iterator[Batch]:
        """One batch of the whole page. Raises LayoutChanged without the anchors, and where there is no row."""
        expect_anchors(response, ("greennode-state", "-standard-", "h100"))
        tables = [Selector(text=text) for text in embedded(response.text, "content") if isinstance(text, str) and text]
        rows = [row for table in tables for row in table.xpath("//tr[td]")]
        rows = [row for row in rows if FLAVOUR.fullmatch(words(row.css("td")[0]))]
        if not rows:
            raise LayoutChanged(f"expected rows of flavours in {response.url}, got none")
        offers = [offer for row in rows for offer in self.read_row(row)]
        yield self.batch(response, {str(offer): offer for offer in offers}.values())

    def read_row(self, row: Selector) -> Iterator[RawOffer]:
        """On demand and for a year, each where a price is told."""
        flavour, vcpus, _, vram, count, disk, on_demand, year, *_ = row.css("td")
        name = FLAVOUR.fullmatch(words(flavour))
        for cell, term in ((on_demand, None), (year, 12)):
            price = dollars("".join(cell.xpath(".//text()[not(ancestor::s)]").getall()).strip())
            if name and price:
                yield RawOffer(
                    purchase="reserved" if term else "on_demand",
                    price=price,
                    currency="USD",
                    price_unit="instance-hour",
                    accelerator=name["gpu"],
                    instance_type=words(flavour),
                    gpu_count=words(count),
                    vram_total=f"{words(vram)} GB",
                    vcpus=words(vcpus),
                    ram=f"{name['ram']} GB",
                    disk=f"{words(disk).replace(',', '.')} TB",
                    kind="vm",
                    term_months=term,
                )

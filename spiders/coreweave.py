"""CoreWeave: whole GPU nodes, on demand and spot, by continent.

Docs:  https://www.coreweave.com/pricing
Gives: price of the node, GPU, count, memory, vCPUs, RAM, local disk
Lacks: stock, form factor, exact regions; a blank price ("Contact sales") is no offer
Quirk: the count of an NVL72 row carries a footnote ("4^1" is 4); every row holds a copy for small screens between two
       of its cells; a row may end before the last column, which prices single GPUs for inference and is no offer
"""

from __future__ import annotations

from collections.abc import Iterator

from parsel import Selector

from schemas.raw_offer import Purchase, RawOffer
from spiders.shared.base import Document
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.html_table import HtmlTableSpider, column, dollars, labelled, with_unit, words


class CoreweaveSpider(HtmlTableSpider):
    """Reads the GPU tables of the price page, one for each continent."""

    name = "coreweave"
    start_urls = ["https://www.coreweave.com/pricing"]
    documents = (Document(r"coreweave\.com/", "parse"),)
    anchors = ("table-v2-header", "table-model-name", "GPU Count", "On-Demand Price", "Spot Price")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """Every priced cell of the tables that count GPUs."""
        for table in page.css(".table-v2"):
            labels = [words(cell) for cell in table.css(".table-v2-header .table-v2-cell")]
            if any("GPU Count" in label for label in labels):
                heading = table.xpath("preceding::*[starts-with(normalize-space(), 'REGION')][1]")
                region = "".join(map(words, heading)).partition(":")[2].strip() or None
                for row in table.css("[role=listitem]"):
                    yield from self.read_row(labels, row, region)

    def read_row(self, labels: list[str], row: Selector, region: str | None) -> Iterator[RawOffer]:
        """On demand and spot of one row; the copy for small screens must not say otherwise."""
        cells = labelled(labels, row.css(".table-grid > .table-v2-cell"))
        vram, ram, disk = (column(labels, word) for word in ("VRAM", "System RAM", "Local Storage"))
        purchases: tuple[tuple[str, Purchase, str], ...] = (
            ("On-Demand", "on_demand", ".instance-price"),
            ("Spot", "spot", ".spot-price"),
        )
        for word, purchase, copied in purchases:
            price = dollars(cells.get(column(labels, word), ""))
            for copy in filter(None, (dollars(words(item)) for item in row.css(f"{copied} .item-value"))):
                if copy != price:
                    raise LayoutChanged(f"expected {copy} as {word} price of {cells}")
            if price:
                yield RawOffer(
                    purchase=purchase,
                    price=price,
                    currency="USD",
                    price_unit="instance-hour",
                    accelerator=cells[column(labels, "GPU Model")],
                    gpu_count=cells[column(labels, "GPU Count")],
                    vram=with_unit(vram, cells[vram]),
                    vcpus=cells[column(labels, "vCPU")],
                    ram=with_unit(ram, cells[ram]),
                    disk=with_unit(disk, cells[disk]),
                    region=region,
                )

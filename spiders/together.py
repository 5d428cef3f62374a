"""Together AI: GPUs of its clusters by the hour, on demand.

Docs:  https://www.together.ai/pricing
Gives: price of one GPU
Lacks: stock, regions, counts, memory; prices of reserved capacity and of interruptible (there is none)
Quirk: the table on demand may be hidden and stand there twice: markup says nothing of what is offered. "Dedicated
       Inference" looks alike and is another product; what is read stands under the anchor of the clusters. Models that
       are not sold by the hour hold a dash
"""

from __future__ import annotations

from collections.abc import Iterator

from parsel import Selector

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.html_table import HtmlTableSpider, column, dollars, labelled, words


class TogetherSpider(HtmlTableSpider):
    """Reads the tables of the block "GPU Clusters" that have a column by the hour."""

    name = "together"
    start_urls = ["https://www.together.ai/pricing"]
    documents = (Document(r"together\.(ai|xyz)/", "parse"),)
    anchors = ('id="gpu-clusters"', "Hardware", "Hourly", "All prices are per GPU per hour")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """Every priced row, once."""
        block = "preceding::*[contains(@class, 'section-anchor')][1][@id='gpu-clusters']"
        for table in page.xpath(f"//table[{block}]"):
            labels = [words(label) for label in table.xpath("thead//th")]
            for row in table.xpath(".//tr[td]") if "Hourly" in labels else ():
                cells = labelled(labels, row.xpath("td"))
                if price := dollars(cells.get("Hourly", "")):
                    yield RawOffer(
                        purchase="on_demand",
                        price=price,
                        currency="USD",
                        price_unit="gpu-hour",
                        accelerator=cells[column(labels, "Hardware")],
                        gpu_count=1,
                    )

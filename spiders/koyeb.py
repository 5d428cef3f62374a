"""Koyeb: GPU instances for services that scale to none, on demand.

Docs:  https://www.koyeb.com/pricing, https://www.koyeb.com/docs/reference/instances
Gives: price of the instance an hour, GPU, count where the name tells it, memory of all its GPUs
Lacks: stock, regions, interruptible capacity (there is none); the API lists regions by type with an account's key
Quirk: a row says the memory once or, for small screens, twice; dollar sign and amount stand apart ("$ 0.75 /hour").
       Instances without a GPU have no `vRAM`; plans are priced by the month
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsel import Selector

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.html_table import HtmlTableSpider, words

ROW = re.compile(
    r"(?:\b(?P<count>\d+)x[ -]?)?\b(?P<gpu>[A-Z][\w-]*)\s+(?:vRAM\s+(?P<vram>\d+ ?GB)\s+)(?:vRAM\s+\d+ ?GB\s+)?"
    r"(?P<price>\$\s*[\d.,]+)\s*/ ?hour\b"
)


class KoyebSpider(HtmlTableSpider):
    """Reads the GPU instances on the price page, wherever their rows stand."""

    name = "koyeb"
    start_urls = ["https://www.koyeb.com/pricing"]
    documents = (Document(r"koyeb\.com/pricing", "parse"),)
    anchors = ("GPU", "vRAM", "/hour")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """The price of every row that names a GPU and its memory."""
        for row in ROW.finditer(words(page.xpath("//body")[0])):
            yield RawOffer(
                purchase="on_demand",
                price=row["price"],
                currency="USD",
                price_unit="instance-hour",
                accelerator=row["gpu"].replace("-", " "),
                gpu_count=row["count"] or 1,
                vram_total=row["vram"],
                kind="serverless",
            )

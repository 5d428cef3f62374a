"""Beam: GPUs for functions that scale to none, on demand, billed by the second.

Docs:  https://www.beam.cloud/pricing, https://docs.beam.cloud/v2/resources/pricing-and-billing
Gives: price of one GPU a second, memory, form factor where the name says it
Lacks: stock, regions; CPU cores and RAM are billed beside the GPU; what is priced by the hour on the same page
Quirk: a row says the memory twice. The list in the documentation is older and differs, so the page is read. Starting a
       machine and pulling an image cost nothing, keeping a container warm does
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsel import Selector

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.html_table import HtmlTableSpider, words

ROW = re.compile(
    r"\b(?P<gpu>(?:RTX )?(?:PRO )?[A-Z]*\d+\w*(?: (?:Ada|PCIE|PCIe|SXM\d?|NVL))?)\s+(?P<vram>\d+ GB) VRAM\s+"
    r"(?:\d+ GB\s+)?(?P<price>\$ ?[\d.]+) ?/ ?sec\b"
)


class BeamSpider(HtmlTableSpider):
    """Reads the GPUs on the price page, wherever their rows stand."""

    name = "beam"
    start_urls = ["https://www.beam.cloud/pricing"]
    documents = (Document(r"beam\.cloud/pricing", "parse"),)
    anchors = ("GPU", "GB VRAM", "/sec")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """The price of every row that names a GPU, its memory and dollars a second."""
        for row in ROW.finditer(words(page.xpath("//body")[0])):
            yield RawOffer(
                purchase="on_demand",
                price=row["price"],
                currency="USD",
                price_unit="gpu-second",
                accelerator=row["gpu"],
                gpu_count=1,
                vram=row["vram"],
                kind="serverless",
            )

"""Crusoe Cloud: GPUs by the hour, on demand and, where the page prices it, spot.

Docs:  https://www.crusoe.ai/cloud/pricing
Gives: price of one GPU, memory, form factor where a tag names it
Lacks: stock, regions, sizes of machines. The keyed API (HMAC-signed) tells capacity by type and region, but no price
Quirk: inference and CPU blocks repeat the same markup and GPU names: a row counts under a heading "GPU model" and per
       GPU-hr alone. "Contact sales" is no offer, be it on demand or spot. What the page's editor hides is not offered
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsel import Selector

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.html_table import HtmlTableSpider, dollars, words

SHOWN = "not(ancestor-or-self::*[has-class('w-condition-invisible')])"
IN_ROW = "ancestor::*[has-class('pricing_gpu-item') or has-class('prixing-item')]"
MEMORY = re.compile(r"\d+ ?GB")
HEADING = f"preceding::*[has-class('pricing-heading')][not({IN_ROW})][1]"


class CrusoeSpider(HtmlTableSpider):
    """Reads the GPU rows of the price page."""

    name = "crusoe"
    start_urls = ["https://www.crusoe.ai/cloud/pricing"]
    documents = (Document(r"crusoe\.(ai|com)/", "parse"),)
    anchors = ("GPU model", "On-demand", "pricing_gpu-item", "pricing-rich", "/GPU-hr")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """Every shown row whose nearest headings begin with "GPU model"."""
        for row in page.xpath(f"//*[has-class('pricing_gpu-item')][{SHOWN}][.//h4]"):
            headings = [words(label) for label in row.xpath(f"{HEADING}/../*[has-class('pricing-heading')]")]
            if headings[:1] == ["GPU model"]:
                yield from self.read_row(row, headings[1:])

    def read_row(self, row: Selector, columns: list[str]) -> Iterator[RawOffer]:
        """The priced columns of one row. Raises LayoutChanged where cells and columns do not agree."""
        cells = [words(cell) for cell in row.xpath(f".//*[has-class('pricing-rich')][{SHOWN}]")]
        if len(cells) != len(columns):
            raise LayoutChanged(f"expected {', '.join(columns)} in {words(row)!r}, got {len(cells)} prices")
        tags = [words(tag) for tag in row.xpath(f".//*[has-class('pricing-tag')][{SHOWN}]")]
        memory = [tag for tag in tags if MEMORY.fullmatch(tag)]
        for label, cell in zip(columns, cells, strict=True):
            amount, _, unit = map(str.strip, cell.partition("/"))
            spot = "spot" in label.casefold()
            if unit.casefold() == "gpu-hr" and (spot or label.casefold() == "on-demand") and (price := dollars(amount)):
                yield RawOffer(
                    purchase="spot" if spot else "on_demand",
                    price=price,
                    currency="USD",
                    price_unit="gpu-hour",
                    accelerator=words(row.xpath(".//h4")[0]),
                    gpu_count=1,
                    vram=next(iter(memory), None),
                    form_factor=next((tag for tag in tags if tag and tag not in memory), None),
                )

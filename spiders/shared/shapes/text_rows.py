"""Prices in a page's own text, one after the other, whatever elements they stand in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from parsel import Selector

from schemas.raw_offer import Purchase, RawOffer
from spiders.shared.shapes.html_table import HtmlTableSpider, words


class TextRowsSpider(HtmlTableSpider):
    """Set `start_urls`, `documents` (reader `parse`), `anchors`, `row`, `price_unit` and `kind`; and `purchase` where
    nothing is bought on demand.

    `row` is a pattern that finds one price of one GPU in the page's text, made one line: its groups are `gpu`, `price`
    in dollars, and `vram` where the page tells it. It must hold what no other price on the page has, such as the unit.
    """

    row: ClassVar[re.Pattern[str]]
    price_unit: ClassVar[str]
    kind: ClassVar[str]
    purchase: ClassVar[Purchase] = "on_demand"

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """The price of every row that the pattern finds."""
        for found in self.row.finditer(words(page.xpath("//body")[0])):
            said = found.groupdict()
            yield RawOffer(
                purchase=self.purchase,
                price=said["price"],
                currency="USD",
                price_unit=self.price_unit,
                accelerator=said["gpu"],
                gpu_count=1,
                vram=said.get("vram"),
                kind=self.kind,
            )

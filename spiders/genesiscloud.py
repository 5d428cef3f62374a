"""Genesis Cloud: GPU nodes on demand.

Docs:  https://www.genesiscloud.com/pricing
Gives: price of one GPU, how many a node has, memory where the description tells it
Lacks: stock, which of its locations has what, interruptible capacity, sizes of machines
Quirk: a card's price ("$ 2.19h") is for one GPU though a node has eight of them. "RFQ" is no offer. What the node holds
       stands only in the running text of the card
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsel import Selector

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.html_table import HtmlTableSpider, dollars, words

PER_HOUR = re.compile(r"\s*/?\s*h(ou)?r?$")
NODE = re.compile(r"(?P<count>\d+)x\s+\w+\s+\w+ GPU\s+(?P<memory>\d+ GB)")


class GenesiscloudSpider(HtmlTableSpider):
    """Reads the cards of the price page."""

    name = "genesiscloud"
    start_urls = ["https://www.genesiscloud.com/pricing"]
    documents = (Document(r"genesiscloud\.com/", "parse"),)
    anchors = ("pricing-two-price-item", "pricing-two-price-title", "pricing-two-price-text")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """Every card that names dollars. Raises LayoutChanged where they are not by the hour."""
        for card in page.css(".pricing-two-price-item"):
            said = words(card.css(".pricing-two-price-text")[0])
            price = dollars(PER_HOUR.sub("", said))
            if said.startswith("$") and not (price and PER_HOUR.search(said)):
                raise LayoutChanged(f"expected a price by the hour, got {said!r}")
            node = NODE.search(" ".join(map(words, card.css(".pricing-two-price-content"))))
            if price:
                yield RawOffer(
                    purchase="on_demand",
                    price=price,
                    currency="USD",
                    price_unit="gpu-hour",
                    accelerator=words(card.css(".pricing-two-price-title")[0]),
                    gpu_count=node["count"] if node else None,
                    vram=node["memory"] if node else None,
                )

"""Seeweb: virtual machines with GPUs, priced in euros, on demand and for 3, 6 or 12 months.

Docs:  https://www.seeweb.it/en/products/cloud-server-gpu
Gives: price of one GPU an hour in euros, form factor
Lacks: stock, regions, GPU memory that can be trusted; what a spot instance costs ("up to 40%" less is no price)
Quirk: the price is of one GPU whatever the selector says, while memory, cores, RAM and disk are those of the whole
       machine of some size, so they are not read; `compare` repeats the price
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsel import Selector

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.html_table import HtmlTableSpider, words

PRICE = re.compile(r"(?:(?P<term>\d+) mths: )?(?P<price>[\d.,]+) ?€(?: ?/hr)?")
FORM = re.compile(r"\bGPU (?P<form>SXM\d?|PCIe|PCIE|NVL)\b")


class SeewebSpider(HtmlTableSpider):
    """Reads the cards of the configurator."""

    name = "seeweb"
    start_urls = ["https://www.seeweb.it/en/products/cloud-server-gpu"]
    documents = (Document(r"seeweb\.it/en/products/cloud-server-gpu", "parse"),)
    anchors = ("cardType", "cardname", 'class="hourly"', "Hourly Cost")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """On demand and every term of each card."""
        for card in page.css("[id^=gpu].cardType"):
            form = FORM.search(words(card))
            for cell in card.css("p.hourly, .reservation-prices > [class^=hourly_]"):
                price = PRICE.fullmatch(words(cell))
                if price is None:
                    raise LayoutChanged(f"expected euros an hour, got {words(cell)!r}")
                yield RawOffer(
                    purchase="reserved" if price["term"] else "on_demand",
                    price=price["price"].replace(",", "."),
                    currency="EUR",
                    price_unit="gpu-hour",
                    accelerator=words(card.css(".cardname")[0]),
                    gpu_count=1,
                    form_factor=form["form"] if form else None,
                    kind="vm",
                    term_months=int(price["term"]) if price["term"] else None,
                )

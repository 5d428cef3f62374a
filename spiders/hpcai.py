"""HPC-AI: nodes of one card each, on demand and as spot.

Docs:  https://www.hpc-ai.com/gpus/h200
Gives: both prices of one GPU an hour
Lacks: stock, regions, sizes; how many GPUs a node has stands in prose only; GPU memory
Quirk: one page a card, which is named by the address alone. A page may repeat its numbers; all must be the same
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from scrapy.http import TextResponse

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, expect_anchors
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.embedded_json import embedded


class HpcaiSpider(ProviderSpider):
    """Reads the page of every card that is rented out."""

    name = "hpcai"
    start_urls = ["https://www.hpc-ai.com/gpus/h200", "https://www.hpc-ai.com/gpus/b200"]
    documents = (Document(r"hpc-ai\.com/gpus/", "read_page"),)
    anchors = ("self.__next_f.push", "pricePerGpu", "spotPricePerGpu")

    def read_page(self, response: TextResponse) -> Iterator[Batch]:
        """The offers of one card."""
        expect_anchors(response, self.anchors)
        yield self.batch(response, [*self.read(response, "on_demand"), *self.read(response, "spot")])

    def read(self, response: TextResponse, purchase: str) -> Iterator[RawOffer]:
        """The offer of one kind. Raises LayoutChanged where the page names no price, or two."""
        key = "spotPricePerGpu" if purchase == "spot" else "pricePerGpu"
        prices = {str(price) for price in embedded(response.text, key)}
        if len(prices) != 1:
            raise LayoutChanged(f"expected one {key} in {response.url}, got {len(prices)}")
        if (price := prices.pop()) != "None":
            yield RawOffer(
                purchase="spot" if purchase == "spot" else "on_demand",
                price=price,
                currency="USD",
                price_unit="gpu-hour",
                accelerator=urlsplit(response.url).path.rpartition("/")[2],
            )

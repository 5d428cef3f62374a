"""NodeAI: single GPUs of many owners, on demand.

Docs:  https://www.nodes.ai/pricing
Gives: price of one GPU an hour
Lacks: regions, sizes, GPU memory where the name says none; `supply` counts what the network holds, not what is free
Quirk: the page's own data stand under an address that holds the number of the build, which every release changes, so
       the page is asked first. One row may price two cards ("A6000 / A40"): it is neither of them
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapy.http import Request, Response, TextResponse

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, having, json_of
from spiders.shared.errors import LayoutChanged

BUILD = re.compile(r'"buildId"\s*:\s*"([^"]+)"')


class NodeaiSpider(ProviderSpider):
    """Reads the number of the build, then the prices of that build."""

    name = "nodeai"
    start_urls = ["https://www.nodes.ai/pricing"]
    documents = (Document(r"/pricing\.json", "parse_prices"), Document(r"/pricing", "parse_page"))

    def parse_page(self, response: Response) -> Iterator[Request]:
        """The request for the data of the page."""
        build = BUILD.search(response.text) if isinstance(response, TextResponse) else None
        if not build:
            raise LayoutChanged(f"expected a buildId in {response.url}, got none")
        yield response.follow(f"/_next/data/{build[1]}/pricing.json", self.parse_prices, dont_filter=True)

    def parse_prices(self, response: Response) -> Iterator[Batch]:
        """One batch of every GPU on the page."""
        options = dig(json_of(response), ("pageProps", "content", "options"), response.url)
        yield self.batch(
            response,
            (
                RawOffer(
                    purchase="on_demand",
                    price=option["pricePerHour"],
                    currency="USD",
                    price_unit="gpu-hour",
                    accelerator=option["model"],
                    gpu_count=1,
                )
                for option in having(options, ("model", "pricePerHour"), response.url)
            ),
        )

"""SF Compute: an order book for nodes of eight GPUs, bought by the hour.

Docs:  https://docs.sfcompute.com
Gives: what one node costs for the next full hour, for every type of node, and whether somebody sells one
Lacks: sizes, regions, how many nodes there are; longer orders and later starts, which have prices of their own
Quirk: a quote is US cents for the whole order, all nodes and hours of it; it is divided by both. No quote is nobody
       who sells: sold out, without a price. Which GPU a node has, and how many, stands in its type alone. The hour
       asked for moves on with the clock, so it is no part of the offer's identity
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from scrapy.http import Request, Response
from w3lib.url import add_or_replace_parameters, url_query_parameter

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, json_of

HOUR = timedelta(hours=1)


class SfcomputeSpider(ProviderSpider):
    """Asks for one quote a type of node."""

    name = "sfcompute"
    quote = "https://api.sfcompute.com/v0/quote?side=buy&quantity=1&min_duration=3600&max_duration=3600&instance_type="
    types = ("h100i", "h100v", "h200ki")
    documents = (Document(r"/v0/quote", "read_quote"),)
    expect = "json"

    async def start(self) -> AsyncIterator[Request]:
        """One request a type, for one node from the next full hour on."""
        self.use("SFCOMPUTE_TOKEN")
        headers = {"Authorization": f"Bearer {self.key('SFCOMPUTE_TOKEN')}"}
        hour = f"{self.instant.replace(minute=0, second=0, microsecond=0) + HOUR:%Y-%m-%dT%H:%M:%SZ}"
        for kind in self.types:
            url = add_or_replace_parameters(self.quote + kind, {"min_start_date": hour, "max_start_date": hour})
            yield Request(url, self.read_quote, headers=headers, dont_filter=True)

    def read_quote(self, response: Response) -> Iterator[Batch]:
        """A batch of the one offer."""
        quote = dig(json_of(response), ("quote",), response.url)
        yield self.batch(
            response,
            [
                RawOffer(
                    purchase="capacity_block",
                    price=None if quote is None else an_hour(quote),
                    currency="USD",
                    price_unit="cent/instance-hour",
                    instance_type=url_query_parameter(response.url, "instance_type"),
                    availability=quote is not None,
                )
            ],
        )


def an_hour(quote: dict[str, Any]) -> Any:
    """What one node costs in one hour of the order; a price that is no number goes on as it is and is refused there."""
    price, nodes = quote["price"], quote["quantity"]
    hours = (datetime.fromisoformat(quote["end_at"]) - datetime.fromisoformat(quote["start_at"])) / HOUR
    return Decimal(price) / (Decimal(hours) * nodes) if isinstance(price, int | Decimal) else price

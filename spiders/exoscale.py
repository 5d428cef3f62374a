"""Exoscale: GPU instances, on demand.

Docs:  https://www.exoscale.com/pricing/
Gives: price of the whole instance by type
Lacks: stock, zones, sizes, interruptible capacity; which GPU a type has, and how many, stands in no answer
Quirk: the same number stands under `chf`, `eur` and `usd`: a list for each currency, none converted, of which the
       dollars are read. Without VAT. Dots and dashes of a type are underscores in its key; the disk is priced apart
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, json_of

GPU_TYPE = re.compile(r"running_(?P<family>gpu[a-z0-9]*)_(?P<size>[a-z0-9_]+)")


class ExoscaleSpider(ProviderSpider):
    """Reads the GPU types of the price list that the portal's own calculator asks for."""

    name = "exoscale"
    start_urls = ["https://portal.exoscale.com/api/pricing/opencompute"]
    documents = (Document(r"/api/pricing/opencompute", "read_prices"),)
    expect = "json"

    def read_prices(self, response: Response) -> Iterator[Batch]:
        """One batch of every running instance that is named after a GPU."""
        prices = dig(json_of(response), ("usd",), response.url)
        types = {found: price for key, price in prices.items() if (found := GPU_TYPE.fullmatch(key))}
        yield self.batch(response, (self.read_type(found, price) for found, price in types.items()))

    def read_type(self, found: re.Match[str], price: str) -> RawOffer:
        """One type, by the name that it has everywhere else: `running_gpu3_extra_large` is `gpu3.extra-large`."""
        return RawOffer(
            purchase="on_demand",
            price=price,
            currency="USD",
            price_unit="instance-hour",
            instance_type=f"{found['family']}.{found['size'].replace('_', '-')}",
            kind="vm",
            tax_included=False,
        )

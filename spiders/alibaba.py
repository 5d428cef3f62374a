"""Alibaba Cloud: GPU instances of ECS, from the price document behind its international price page.

Docs:  https://www.alibabacloud.com/en/product/ecs/pricing
Gives: on-demand price by the hour, prepaid price of a month and of one to five years, of every region
Lacks: GPU model, count and memory, vCPUs (all stand in the type's name only), stock, spot prices (they need a key)
Quirk: the document's address holds a version, which the price page names; old versions stay in place and never change.
       A key is `region::type::network::system::optimized`; the system image is Linux in a VPC here. A prepaid price
       of years is for the whole term, so it is divided by its years. Amounts are text in the currency that the
       document states: the site for China has another one. Families are told by "gn" in the name, shares (`vgn`, `sgn`)
       and bare metal (`ebmgn`) among them; g5, g6 and g7 are plain CPU machines
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from scrapy.http import Request, Response, TextResponse

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, json_of
from spiders.shared.errors import LayoutChanged

VERSION = re.compile(r"/aliyun/ecs-price-info-intl/(\d+(?:\.\d+)+)/")
PRICES = "https://g.alicdn.com/aliyun/ecs-price-info-intl/{version}/price/download/instancePrice.json"
GPU_FAMILY = re.compile(r"ecs\.(ebm|scc)?[vs]?gn\d")


class AlibabaSpider(ProviderSpider):
    """Asks the price page for the version of the document, then reads that."""

    name = "alibaba"
    start_urls = ["https://www.alibabacloud.com/en/product/ecs/pricing"]
    allowed_domains = ("g.alicdn.com",)
    documents = (Document(r"/product/ecs/pricing", "read_page"), Document(r"/instancePrice\.json", "read_prices"))

    def read_page(self, response: Response) -> Iterator[Request]:
        """The document of the newest version that the page names. Raises LayoutChanged where it names none."""
        named = VERSION.findall(response.text) if isinstance(response, TextResponse) else []
        if not named:
            raise LayoutChanged(f"expected an address with /ecs-price-info-intl/ in {response.url}, got none")
        newest = max(named, key=lambda version: [int(part) for part in version.split(".")])
        yield Request(PRICES.format(version=newest), self.read_prices, meta={"expect": "json"})

    def read_prices(self, response: Response) -> Iterator[Batch]:
        """One batch of everything on Linux in a VPC that is of a family with GPUs."""
        document = json_of(response)
        currency, prices = (dig(document, (key,), response.url) for key in ("currency", "pricingInfo"))
        yield self.batch(response, (offer for key, said in prices.items() for offer in read(key, said, currency)))


def read(key: str, said: dict[str, Any], currency: str) -> Iterator[RawOffer]:
    """The offers of one type in one region: by the hour, and for every term that it is sold for."""
    region, type_name, network, system, _ = key.split("::")
    if not GPU_FAMILY.match(type_name) or (network, system) != ("vpc", "linux"):
        return
    kind = "bare_metal" if ".ebm" in type_name else "vm"
    what: dict[str, Any] = {"instance_type": type_name, "region": region, "currency": currency, "kind": kind}
    for hour in said["hours"]:
        yield RawOffer(purchase="on_demand", price=hour["price"], price_unit="instance-hour", **what)
    for term in said.get("months", ()):
        months, price = int(term["period"]), one_of(term)
        yield RawOffer(purchase="reserved", price=price, price_unit="instance-month", term_months=months, **what)
    for term in said.get("years", ()):
        months, price = 12 * int(term["period"]), one_of(term)
        yield RawOffer(purchase="reserved", price=price, price_unit="instance-year", term_months=months, **what)


def one_of(term: dict[str, str]) -> str | Decimal:
    """What one month or year of a term costs; the amount is of all of them."""
    return term["price"] if term["period"] == "1" else Decimal(term["price"]) / int(term["period"])

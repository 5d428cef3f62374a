"""Microsoft Azure: the Retail Prices API, every machine of the N series in every region.

Docs:  https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices
Gives: price per instance-hour on demand and as spot, by region, with the time that it is valid for
Lacks: GPU, count, memory, cores (all stand in the type's name only), stock, eviction rate
Quirk: one type has many meters under one `armSkuName`: Windows, Cloud Services, Low Priority (retired, priced like
       spot), prices that ended or are yet to come. A product's name may or may not say Linux. `contains` works in the
       filter language, `or` and `not` do not. Spot may equal the list price: no discount there
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlsplit

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document, json_of
from spiders.shared.errors import Truncated
from spiders.shared.shapes.paged_json import PagedJsonSpider

HOST = "prices.azure.com"
MACHINES = "serviceName eq 'Virtual Machines' and priceType eq 'Consumption' and contains(armSkuName, 'Standard_N')"
GPU_SERIES = re.compile(r"(Standard_)?N(?!P\d)[A-Z]")  # the N series without NP, which holds FPGAs
GOVERNMENT = re.compile(r"usgov|usdod", re.IGNORECASE)


class AzureSpider(PagedJsonSpider):
    """Walks the pages of the primary meters; the rules of `is_offer` are in the order that they must be asked in."""

    name = "azure"
    expect = "json"
    start_urls = [
        f"https://{HOST}/api/retail/prices?api-version=2023-01-01-preview&currencyCode=USD"
        f"&meterRegion=%27primary%27&$filter={quote(MACHINES)}"
    ]
    documents = (Document(r"prices\.azure\.com/api/retail/prices", "parse_page"),)
    records_path = ("Items",)

    def records(self, response: Response) -> Iterator[dict[str, Any]]:
        """The rows of a page. Raises Truncated where the page holds other than it counts."""
        rows = list(super().records(response))
        if len(rows) != json_of(response)["Count"]:
            raise Truncated(f"expected {json_of(response)['Count']} rows in {response.url}, got {len(rows)}")
        yield from rows

    def next_page(self, response: Response) -> str | None:
        """The next page's address. Raises Truncated where it leads away from the host that was asked."""
        link: str | None = json_of(response)["NextPageLink"]
        if link and (urlsplit(link).scheme, urlsplit(link).hostname) != ("https", HOST):
            raise Truncated(f"expected the next page on https://{HOST}, got {link}")
        return link or None

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        if self.is_offer(record):
            yield RawOffer(
                purchase="spot" if ends(record, " Spot") else "on_demand",
                price=record["retailPrice"],
                currency=record["currencyCode"],
                price_unit="instance-hour" if record["unitOfMeasure"] == "1 Hour" else record["unitOfMeasure"],
                instance_type=record["armSkuName"],
                region=record["armRegionName"],
                kind="vm",
            )

    def is_offer(self, record: dict[str, Any]) -> bool:
        """Is this row the price of a Linux machine with GPUs that anybody can rent now?"""
        product = record["productName"].replace(" ", "")
        if "Windows" in product or "CloudServices" in product or ends(record, " Low Priority"):
            return False
        if record["retailPrice"] == 0 or not GPU_SERIES.match(record["armSkuName"]):
            return False
        start, end = record["effectiveStartDate"], record.get("effectiveEndDate")
        if self.instant < datetime.fromisoformat(start) or (end and self.instant >= datetime.fromisoformat(end)):
            return False
        if "Dedicated" in product or record["type"] != "Consumption":
            return False
        return not GOVERNMENT.match(record["armRegionName"])


def ends(record: dict[str, Any], word: str) -> bool:
    """Does one of the names end in the word? Either name may carry it."""
    return any(record[name].endswith(word) for name in ("skuName", "meterName"))

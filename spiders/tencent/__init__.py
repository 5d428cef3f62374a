"""Tencent Cloud: GPU instances of CVM by the hour and as spot, zone by zone, from its signed API.

Docs:  https://tencentcloud.com/document/product/213/33254, https://tencentcloud.com/document/api/266/34114 (signature)
Gives: on-demand and spot price, stock in grades, vCPUs, memory, network, number of GPUs (shares too), of every zone
Lacks: GPU memory; the GPU's name stands in a remark at best, else only in the family; interruption rates
Quirk: errors come with status 200, under `Response.Error`. An answer tells no region: the zone's name begins with it. A
       spot row repeats the hourly price as UnitPrice and has its own as UnitPriceDiscount; on demand that is one's own
       discount, so the list price is read. It may hold for the first 96 hours only, a longer run is cheaper. The
       international site (`intl`) bills in USD, which the answer does not say. What is sold out may have no price
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response

from spiders.shared.base import Batch, Document, ProviderSpider, dig, json_of
from spiders.shared.errors import AuthMissing, SchemaDrift
from spiders.tencent import signature, types


class TencentSpider(ProviderSpider):
    """Asks for the regions, then for the instances of one region after the other."""

    name = "tencent"
    allowed_domains = ("cvm.intl.tencentcloudapi.com",)
    documents = (
        Document(r"//region\.intl\.tencentcloudapi\.com", "read_regions"),
        Document(r"//cvm\.intl\.tencentcloudapi\.com", "read_types"),
    )
    charged = {"Filters": [{"Name": "instance-charge-type", "Values": ["POSTPAID_BY_HOUR", "SPOTPAID"]}]}

    async def start(self) -> AsyncIterator[Request]:
        """The regions that sell instances."""
        self.use("TENCENTCLOUD_SECRET_ID")
        call = signature.Call("region", "DescribeRegions", "2022-06-27", '{"Product": "cvm", "Scene": 1}')
        yield self.signed(call, callback=self.read_regions)

    def read_regions(self, response: Response) -> Iterator[Request]:
        """The instances of the first region; the others follow."""
        found = dig(answered(response), ("RegionSet",), response.url)
        yield from self.next_region([place["Region"] for place in found if place["RegionState"] == "AVAILABLE"])

    def next_region(self, left: list[str]) -> Iterator[Request]:
        """One request at a time, for the address and the body are the same for all regions."""
        for region in left[:1]:
            action, asked = "DescribeZoneInstanceConfigInfos", json.dumps(self.charged)
            call = signature.Call("cvm", action, "2017-03-12", asked, region)
            yield self.signed(call, callback=self.read_types, cb_kwargs={"left": left[1:]})

    def read_types(self, response: Response, left: list[str] | None = None) -> Iterator[Batch | Request]:
        """One batch of everything with a GPU in one region; `left`: the regions to come."""
        records = dig(answered(response), ("InstanceTypeQuotaSet",), response.url)
        yield self.batch(response, (types.read(record) for record in records if types.gpus(record)))
        yield from self.next_region(left or [])

    def signed(self, call: signature.Call, **said: Any) -> Request:
        """The request for a call."""
        key = self.key("TENCENTCLOUD_SECRET_ID") or "", self.key("TENCENTCLOUD_SECRET_KEY") or ""
        headers = signature.headers(call, key, self.instant)
        return Request(
            f"https://{call.host}/", method="POST", body=call.body, headers=headers, dont_filter=True, **said
        )


def answered(response: Response) -> dict[str, Any]:
    """What stands under `Response`. Raises AuthMissing for a key that is refused, SchemaDrift for another error."""
    said: dict[str, Any] = dig(json_of(response), ("Response",), response.url)
    if error := said.get("Error"):
        kind = AuthMissing if error["Code"].startswith(("AuthFailure", "UnauthorizedOperation")) else SchemaDrift
        raise kind(f"expected an answer from {response.url}, got {error['Code']}: {error['Message']}")
    return said

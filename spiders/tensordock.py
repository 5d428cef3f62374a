"""TensorDock: virtual machines of many hosts, put together from GPUs, vCPUs, RAM and disk.

Docs:  https://dashboard.tensordock.com/api/docs/getting-started
Gives: price of each part by location, GPU with mount and memory, the largest machine that can be deployed now, country
Lacks: a price of a whole machine; interruptible capacity; how many machines there are
Quirk: `price_per_hr` is one GPU alone: vCPUs, RAM and disk come on top. The offer is the largest machine of a location,
       the only one whose sizes the answer says: its price is the sum of its parts. Countries are names. Since 2026-08
       the list has been empty for everybody who asked, with a key or without
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class TensordockSpider(JsonListSpider):
    """Reads the list of locations with their GPUs."""

    name = "tensordock"
    start_urls = ["https://dashboard.tensordock.com/api/v2/locations"]
    documents = (Document(r"/api/v2/locations", "parse"),)
    records_path = ("data", "locations")
    expect = "json"

    async def start(self) -> AsyncIterator[Request]:
        """One request with the user's key."""
        self.use("TENSORDOCK_API_KEY")
        headers = {"Authorization": f"Bearer {self.key('TENSORDOCK_API_KEY')}"}
        yield Request(self.start_urls[0], self.parse, headers=headers, dont_filter=True)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """The largest machine with each GPU of one location; none where no GPU is free."""
        place = ", ".join(record[part] for part in ("city", "stateprovince", "country") if record.get(part))
        for gpu in record["gpus"]:
            if gpu["max_count"] == 0:
                continue
            most, prices = gpu["resources"], gpu["pricing"]
            parts = [
                (gpu["price_per_hr"], gpu["max_count"]),
                (prices["per_vcpu_hr"], most["max_vcpus"]),
                (prices["per_gb_ram_hr"], most["max_ram_gb"]),
                (prices["per_gb_storage_hr"], most["max_storage_gb"]),
            ]
            yield RawOffer(
                purchase="on_demand",
                price=total(parts),
                currency="USD",
                price_unit="instance-hour",
                accelerator=gpu["v0Name"],
                sku=f"{record['id']} {gpu['v0Name']}",
                gpu_count=gpu["max_count"],
                vcpus=most["max_vcpus"],
                ram=f"{most['max_ram_gb']} GB",
                disk=f"{most['max_storage_gb']} GB",
                region=place or None,
                kind="vm",
                availability=True,
            )


def total(parts: list[tuple[Any, Any]]) -> Any:
    """The sum of the parts, to the last digit; where one is no number, that one, which then is refused as a price."""
    odd = [price for price, _ in parts if not isinstance(price, Decimal | int) or price < 0]
    return odd[0] if odd else sum(price * amount for price, amount in parts)

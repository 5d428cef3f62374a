"""Novita: GPU containers on demand and spot.

Docs:  https://novita.ai/docs/api-reference/gpu-instance-list-products
Gives: price of one GPU, GPU with memory, vCPUs, RAM and disk that come with it, regions, stock
Lacks: how many GPUs there are, and how many fit one machine; in which of several regions the stock is; stock of spot
Quirk: a price is text in hundred-thousandths of a US dollar ("35000" is 0.35) for one GPU. `memoryPerGpu` is RAM, the
       GPU's own memory stands in its name. What cannot be deployed is sold out, whatever `inventoryState` says.
       Both differ by the way of buying that is asked for (`billingMethod`), so they say nothing of spot
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class NovitaSpider(JsonListSpider):
    """Reads the list of GPU products."""

    name = "novita"
    start_urls = ["https://api.novita.ai/gpu-instance/openapi/v1/products"]
    documents = (Document(r"/v1/products", "parse"),)
    records_path = ("data",)
    expect = "json"

    async def start(self) -> AsyncIterator[Request]:
        """One request with the user's key."""
        self.use("NOVITA_API_KEY")
        headers = {"Authorization": f"Bearer {self.key('NOVITA_API_KEY')}"}
        yield Request(self.start_urls[0], self.parse, headers=headers, dont_filter=True)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One product in each of its regions, on demand, and spot where that has a price."""
        spot, regions = record.get("spotPrice"), record.get("regions") or [None]
        bought = record.get("billingMethods")
        stock = record.get("inventoryState") if record["availableDeploy"] else False
        told = stock if len(regions) == 1 or stock in (False, "none") else None
        for region in regions:
            yield priced(record, "on_demand", record["price"], region, told)
            if spot and spot != "0" and (bought is None or "spot" in bought):
                yield priced(record, "spot", spot, region, None)


def priced(record: dict[str, Any], purchase: Any, price: Any, region: str | None, stock: Any) -> RawOffer:
    """One GPU of a product, bought in one way. The price is scaled in its exponent, so no digit is lost."""
    return RawOffer(
        purchase=purchase,
        price=f"{price}E-5",
        currency="USD",
        price_unit="gpu-hour",
        accelerator=record["name"],
        sku=record["id"],
        gpu_count=1,
        vcpus=record.get("cpuPerGpu"),
        ram=f"{record['memoryPerGpu']} GB" if record.get("memoryPerGpu") else None,
        disk=f"{record['diskPerGpu']} GB" if record.get("diskPerGpu") else None,
        region=region,
        kind="container",
        availability=stock,
    )

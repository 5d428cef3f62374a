"""Oblivus: GPU virtual machines on demand, by location.

Docs:  https://docs.oblivus.com
Gives: price of one GPU, GPU with mount and memory, count, vCPUs, RAM, disk, network, locations with stock
Lacks: interruptible capacity; what a month or a year costs less is not read; how many machines of one size there are
Quirk: `hourlyCost` is for one GPU of the machine, numbers are text. Stock counts machines by GPU and location, not by
       size, so that only none or some can be told of it. A GPU that no location names is an offer without location
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, dig, json_of
from spiders.shared.shapes.json_list import JsonListSpider


class OblivusSpider(JsonListSpider):
    """Reads the stock, then the list of GPUs with their sizes of machines."""

    name = "oblivus"
    start_urls = ["https://api.oblivus.com/v2/cloud/stock/list/"]
    prices = "https://api.oblivus.com/v2/cloud/metadata/"
    documents = (Document(r"/cloud/stock/list", "read_stock"), Document(r"/cloud/metadata", "read_prices"))
    records_path = ("data", "gpu")
    expect = "json"

    async def start(self) -> AsyncIterator[Request]:
        """The stock."""
        self.use("OBLIVUS_API_KEY")
        yield self.ask(self.start_urls[0], self.read_stock)

    def ask(self, url: str, reader: Any, **known: Any) -> Request:
        """A request with the user's key; `known` goes to the reader."""
        headers = {"apiKey": self.key("OBLIVUS_API_KEY")}
        return Request(url, reader, headers=headers, dont_filter=True, cb_kwargs=known)

    def read_stock(self, response: Response) -> Iterator[Request]:
        """The prices, with the machines of every location by GPU."""
        stock = dig(json_of(response), self.records_path, response.url)
        yield self.ask(self.prices, self.read_prices, stock=stock)

    def read_prices(self, response: Response, stock: Any = None) -> Iterator[Batch]:
        """One batch of every size of machine in every location."""
        offers = (
            offer(gpu, size, location, there.get("virtualservers"))
            for gpu in self.records(response)
            for size in gpu["configurations"]
            for location, there in ((stock or {}).get(gpu["_key"]) or {None: {}}).items()
        )
        yield self.batch(response, offers)


def offer(gpu: dict[str, Any], size: dict[str, Any], location: str | None, machines: Any) -> RawOffer:
    """One size of machine in one location."""
    return RawOffer(
        purchase="on_demand",
        price=gpu["hourlyCost"],
        currency="USD",
        price_unit="gpu-hour",
        accelerator=gpu.get("metaName") or gpu["_key"],
        instance_type=size.get("flavorID"),
        gpu_count=size["GPUAmount"],
        vcpus=size.get("vCPU"),
        ram=f"{size['RAM']} GB" if size.get("RAM") else None,
        disk=f"{size['rootStorage']} GB" if size.get("rootStorage") else None,
        network=gpu.get("network"),
        region=location,
        kind="vm",
        availability=None if machines is None else int(machines) > 0,
    )

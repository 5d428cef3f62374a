"""Prime Intellect: capacity of many clouds at one address, on demand and spot.

Docs:  https://docs.primeintellect.ai/api-reference/check-gpu-availability
Gives: price, GPU with mount, count, memory, vCPUs, RAM, disk, region, country, stock, whose cloud it is, its tier
Lacks: how many machines there are; what a bigger disk or more vCPUs than the usual ones cost is not read
Quirk: the price is for the machine, `gpuMemory` for all its GPUs together. Clouds of private hosts are priced in
       `communityPrice`, which goes before `onDemand`. The vCPUs, RAM and disk are those of the machine as it is offered
       first. One of the servers now and then answers with no items at all: that is Empty, not a market sold out
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response
from w3lib.url import add_or_replace_parameter, url_query_parameter

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document, dig, json_of
from spiders.shared.shapes.paged_json import PagedJsonSpider


class PrimeintellectSpider(PagedJsonSpider):
    """Reads the list of available machines, page by page."""

    name = "primeintellect"
    start_urls = ["https://api.primeintellect.ai/api/v1/availability/gpus?page=1&page_size=100"]
    documents = (Document(r"/availability/gpus", "parse_page"),)
    records_path = ("items",)
    expect = "json"

    async def start(self) -> AsyncIterator[Request]:
        """The first page; the key goes with every page."""
        self.use("PRIME_API_KEY")
        yield self.page(self.start_urls[0], 0)

    def page(self, url: str, seen: int | None) -> Request:
        """A page with the user's key. `seen`: records on the pages before it."""
        headers = {"Authorization": f"Bearer {self.key('PRIME_API_KEY')}"}
        return Request(url, self.parse_page, headers=headers, dont_filter=True, cb_kwargs={"seen": seen})

    def turn(self, response: Response, reader: Any, found: int, seen: int | None, **known: Any) -> Iterator[Request]:
        """The request for the next page, with the key as well."""
        for request in super().turn(response, reader, found, seen, **known):
            yield self.page(request.url, request.cb_kwargs["seen"])

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One machine of one cloud."""
        prices, memory, speed = record["prices"], record.get("gpuMemory"), record.get("interconnect")
        community = prices.get("communityPrice")
        yield RawOffer(
            purchase="spot" if record.get("isSpot") else "on_demand",
            price=prices["onDemand"] if community is None else community,
            currency=prices["currency"],
            price_unit="instance-hour",
            accelerator=record["gpuType"],
            instance_type=record["cloudId"],
            sku=f"{record['provider']} {record['cloudId']} {record.get('socket')}",
            gpu_count=record["gpuCount"],
            vram_total=f"{memory} GB" if memory else None,
            form_factor=record.get("socket"),
            vcpus=usual(record.get("vcpu")),
            ram=gigabytes(usual(record.get("memory"))),
            disk=gigabytes(usual(record.get("disk"))),
            interconnect=record.get("interconnectType"),
            network=f"{speed} Gbps" if speed else None,
            region=record.get("region"),
            zone=record.get("dataCenter"),
            country=record.get("country"),
            tier=record.get("security"),
            availability=record["stockStatus"],
            reseller_of=record["provider"],
        )

    def next_page(self, response: Response) -> str | None:
        """The page of the next number, as long as the pages so far cannot hold the total; none after an empty one."""
        page = int(url_query_parameter(response.url, "page") or 1)
        more = json_of(response)["items"] and page * 100 < (self.total(response) or 0)
        return add_or_replace_parameter(response.url, "page", str(page + 1)) if more else None

    def total(self, response: Response) -> int | None:
        """How many machines all pages hold together."""
        total: int | None = dig(json_of(response), ("totalCount",), response.url)
        return total


def usual(resource: dict[str, Any] | None) -> Any:
    """How much of a resource comes with the machine, None where it is not said."""
    return (resource or {}).get("defaultCount")


def gigabytes(amount: Any) -> str | None:
    """A size with its unit."""
    return f"{amount} GB" if amount else None

"""Akamai / Linode: GPU types, on demand, by region where the stock list names them.

Docs:  https://techdocs.akamai.com/linode-api/reference/get-linode-types
Gives: price of the whole instance, count, vCPUs, RAM, disk, network, stock by region
Lacks: GPU memory, form factor, interruptible capacity (there is none); the GPU stands only in the label
Quirk: `monthly` is a cap, no month of hours. `region_prices` override the price in a region. The stock list may call a
       plan otherwise than the types do: such a type has one row without region. Class "accelerated" is no GPU
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Request, Response
from w3lib.url import add_or_replace_parameter

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, json_of
from spiders.shared.shapes.paged_json import PagedJsonSpider


class LinodeSpider(PagedJsonSpider):
    """Reads which regions have GPUs, then the stock of every plan there, then the types."""

    name = "linode"
    lists = "https://api.linode.com/v4/{}?page=1&page_size=500"
    start_urls = [lists.format("regions")]
    documents = (
        Document(r"/v4/regions/availability", "parse_stock"),
        Document(r"/v4/regions(\?|$)", "parse_regions"),
        Document(r"/v4/linode/types", "parse_page"),
    )
    records_path = ("data",)

    def parse_regions(self, response: Response, seen: int | None = None) -> Iterator[Request]:
        """Where GPUs are; then the first page of stock. One page holds ten times the regions that there are."""
        gpus: dict[str, Any] = {r["id"]: {} for r in self.records(response) if "GPU Linodes" in r["capabilities"]}
        yield Request(self.lists.format("regions/availability"), self.parse_stock, cb_kwargs={"seen": 0, "known": gpus})

    def parse_stock(self, response: Response, seen: int | None = None, known: Any = None) -> Iterator[Request]:
        """One page of stock; after the last the first page of types. `known`: by region with GPUs the stock by plan."""
        known, records = known or {}, list(self.records(response))
        for record in records:
            known.get(record["region"], {})[record["plan"]] = record["available"]
        types = Request(self.lists.format("linode/types"), self.parse_page, cb_kwargs={"seen": 0, "known": known})
        yield from list(self.turn(response, self.parse_stock, len(records), seen, known=known)) or [types]

    def parse_page(self, response: Response, seen: int | None = None, known: Any = None) -> Iterator[Batch | Request]:
        """One page of types: those with GPUs."""
        records = list(self.records(response))
        yield self.batch(response, (o for r in records if r["gpus"] for o in self.read_type(r, known or {})))
        yield from self.turn(response, self.parse_page, len(records), seen, known=known)

    def read_type(self, record: dict[str, Any], known: dict[str, Any]) -> Iterator[RawOffer]:
        """One type in every region that the stock or its own prices name, or once without."""
        own: dict[str | None, Any] = {price["id"]: price["hourly"] for price in record["region_prices"]}
        stock: dict[str | None, Any] = {
            place: plans[record["id"]] for place, plans in known.items() if record["id"] in plans
        }
        for region, available in (dict.fromkeys(own) | (stock or {None: None})).items():
            yield RawOffer(
                purchase="on_demand",
                price=own.get(region, record["price"]["hourly"]),
                currency="USD",
                price_unit="instance-hour",
                accelerator=record["label"],
                instance_type=record["id"],
                gpu_count=record["gpus"],
                vcpus=record["vcpus"],
                ram=f"{record['memory']} MB",
                disk=f"{record['disk']} MB",
                network=f"{record['network_out']} Mbps",
                region=region,
                kind="vm",
                availability=available,
            )

    def next_page(self, response: Response) -> str | None:
        """The number after this one, while there are more."""
        page = json_of(response)
        following = page["page"] + 1
        return add_or_replace_parameter(response.url, "page", str(following)) if following <= page["pages"] else None

    def total(self, response: Response) -> int | None:
        """How many records all pages hold."""
        return int(json_of(response)["results"])

"""Scaleway: GPU instances by zone, on demand.

Docs:  https://www.scaleway.com/en/developers/api/instance/instance-types
Gives: price, GPU, count, memory, vCPUs, RAM, scratch disk, network, stock by zone
Lacks: interruptible capacity (there is none)
Quirk: euro without VAT; sizes in bytes, GPU memory for one GPU; shares of a GPU (`mig_profile`) are left out. The
       `Link` of a page is no address that could be followed, only its "next" counts. The zones are those of regions.csv
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response

from schemas.places import regions
from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document
from spiders.shared.shapes.paged_json import PagedJsonSpider


class ScalewaySpider(PagedJsonSpider):
    """Reads for each zone first the stock of all types, then the types."""

    name = "scaleway"
    servers = "https://api.scaleway.com/instance/v1/zones/{zone}/products/servers{stock}?page=1&per_page=100"
    documents = (
        Document(r"/zones/[^/]+/products/servers/availability", "parse_stock"),
        Document(r"/zones/[^/]+/products/servers(\?|$)", "parse_page"),
    )
    records_path = ("servers",)

    async def start(self) -> AsyncIterator[Request]:
        """The stock of every zone."""
        for zone in regions(self.name):
            url = self.servers.format(zone=zone.region, stock="/availability")
            yield Request(url, self.parse_stock, dont_filter=True, cb_kwargs={"seen": 0})

    def parse_stock(
        self, response: Response, seen: int | None = None, stock: dict[str, str] | None = None
    ) -> Iterator[Request]:
        """One page of stock; after the last the first page of types."""
        page = {record["_key"]: record["availability"] for record in self.records(response)}
        known = {**(stock or {}), **page}
        url = self.servers.format(zone=self.zone(response), stock="")
        types = Request(url, self.parse_page, dont_filter=True, cb_kwargs={"seen": 0, "stock": known})
        yield from list(self.turn(response, self.parse_stock, len(page), seen, stock=known)) or [types]

    def parse_page(
        self, response: Response, seen: int | None = None, stock: dict[str, str] | None = None
    ) -> Iterator[Batch | Request]:
        """One page of types: those that rent whole GPUs and can still be ordered."""
        records = list(self.records(response))
        whole = (r for r in records if r["gpu"] and not r.get("mig_profile") and not r.get("end_of_service"))
        yield self.batch(response, (self.read_type(record, response, stock or {}) for record in whole))
        yield from self.turn(response, self.parse_page, len(records), seen, stock=stock)

    def read_type(self, record: dict[str, Any], response: Response, stock: dict[str, str]) -> RawOffer:
        """One type in one zone."""
        gpu, zone = record.get("gpu_info") or {}, self.zone(response)
        return RawOffer(
            purchase="on_demand",
            price=record["hourly_price"],
            currency="EUR",
            price_unit="instance-hour",
            accelerator=gpu.get("gpu_name"),
            instance_type=record["_key"],
            gpu_count=record["gpu"],
            vram=f"{gpu['gpu_memory']} B" if gpu else None,
            vcpus=record["ncpus"],
            ram=f"{record['ram']} B",
            disk=f"{record['scratch_storage_max_size']} B" if "scratch_storage_max_size" in record else None,
            network=f"{record['network']['sum_internal_bandwidth'] // 10**6} Mbps" if record.get("network") else None,
            region=zone.rpartition("-")[0],
            zone=zone,
            kind="vm",
            tax_included=False,
            availability=stock.get(record["_key"]),
        )

    def zone(self, response: Response) -> str:
        """The zone that an address asks about."""
        return response.url.partition("/zones/")[2].partition("/")[0]

"""Gcore: GPU machines and bare metal on demand, by region.

Docs:  https://gcore.com/docs/api-reference/cloud/gpu-virtual/list-virtual-gpu-flavors
Gives: price of the whole machine, GPU, count, vCPUs, RAM, disk, network, region, how many can be had
Lacks: GPU memory, but for what the flavour is called; interruptible capacity and commitments
Quirk: prices are those of the account, in its currency, and may be hidden: a flavour without one is no offer. Of
       virtual machines RAM is a number in MiB and disk one in GiB, of bare metal both are words. Flavours are asked
       for in a project: the default one, else the first
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, json_of

API = "https://api.gcore.com/cloud"
ASKED = "flavors?hide_disabled=true&include_prices=true&include_capacity=true"


class GcoreSpider(ProviderSpider):
    """Reads the project, the regions with GPUs, and the flavours of each."""

    name = "gcore"
    documents = (
        Document(r"/v1/projects", "read_projects"),
        Document(r"/v1/regions", "read_regions"),
        Document(r"/v3/gpu/\w+/", "read_flavors"),
    )
    expect = "json"

    async def start(self) -> AsyncIterator[Request]:
        """The projects of the key."""
        self.use("GCORE_API_KEY")
        yield self.ask("v1/projects?limit=1000", self.read_projects)

    def ask(self, path: str, reader: Any, **known: Any) -> Request:
        """A request with the user's key; `known` goes to the reader."""
        headers = {"Authorization": f"APIKey {self.key('GCORE_API_KEY')}"}
        return Request(f"{API}/{path}", reader, headers=headers, dont_filter=True, cb_kwargs=known)

    def read_projects(self, response: Response) -> Iterator[Request]:
        """The regions, with the project to ask for."""
        projects = dig(json_of(response), ("results",), response.url)
        project = next((p for p in projects if p.get("is_default")), projects[0])
        yield self.ask("v1/regions?limit=1000", self.read_regions, project=project["id"])

    def read_regions(self, response: Response, project: int = 0) -> Iterator[Request]:
        """Virtual and bare metal flavours of every region that has GPUs."""
        for region in dig(json_of(response), ("results",), response.url):
            if region.get("has_ai_gpu") or region.get("has_ai") or region.get("has_baremetal"):
                place = {"region": region["display_name"], "country": region.get("country")}
                for path, kind in (("virtual", "vm"), ("baremetal", "bare metal")):
                    asked = f"v3/gpu/{path}/{project}/{region['id']}/{ASKED}"
                    yield self.ask(asked, self.read_flavors, kind=kind, **place)

    def read_flavors(self, response: Response, **place: str | None) -> Iterator[Batch]:
        """One batch of the flavours of one kind in one region."""
        flavors = dig(json_of(response), ("results",), response.url)
        yield self.batch(response, (offer for flavor in flavors for offer in read(flavor, place)))


def read(flavor: dict[str, Any], place: dict[str, Any]) -> Iterator[RawOffer]:
    """One flavour, where it can be had and says its price."""
    price, gpus, parts = flavor["price"], flavor["hardware_properties"], flavor.get("hardware_description") or {}
    if flavor.get("disabled") or not price or price["price_per_hour"] is None:
        return
    yield RawOffer(
        purchase="on_demand",
        price=price["price_per_hour"],
        currency=price["currency_code"],
        price_unit="instance-hour",
        accelerator=gpus["gpu_model"],
        instance_type=flavor["name"],
        gpu_count=gpus["gpu_count"],
        vcpus=parts.get("vcpus"),
        ram=words(parts.get("ram"), "MiB"),
        disk=words(parts.get("disk") or parts.get("local_storage"), "GiB"),
        network=parts.get("network"),
        available_count=flavor.get("capacity"),
        **place,
    )


def words(size: Any, unit: str) -> str | None:
    """A size with its unit: words have theirs, a number gets this one; 0 is one that is not told."""
    return size if isinstance(size, str) else f"{size} {unit}" if size else None

"""Shadeform: machines of many clouds at one address, on demand.

Docs:  https://docs.shadeform.ai/api-reference/instances/instances-types
Gives: price, GPU, count, memory, vCPUs, RAM, disk, regions with stock, whose cloud it is, machine or bare metal
Lacks: how many there are, interruptible capacity and commitments
Quirk: `hourly_price` is US cents for the whole machine. Some fields stand in `configuration`, some beside it, some at
       both places. `interconnect` is how the GPUs are mounted, unless the GPU's name says it, as in "H100_nvl", which
       goes first. CPU machines are listed with 0 GPUs. One price holds for all regions; stock is told by region. A
       saved homepage, whose script holds the same list, is read as well
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, json_of
from spiders.shared.errors import LayoutChanged, SchemaDrift
from spiders.shared.shapes.embedded_json import levels
from spiders.shared.shapes.json_list import JsonListSpider

TYPE = re.compile(r'\{"cloud":"')
MOUNT = re.compile(r"sxm|pcie|nvl(?!ink)", re.IGNORECASE)


class ShadeformSpider(JsonListSpider):
    """Reads the list of instance types with their regions."""

    name = "shadeform"
    start_urls = ["https://api.shadeform.ai/v1/instances/types"]
    documents = (Document(r"/instances/types", "parse"), Document(r"shadeform\.(ai|com)/?$", "parse_page"))

    async def start(self) -> AsyncIterator[Request]:
        """One request with the user's key."""
        self.use("SHADEFORM_API_KEY")
        headers = {"X-API-KEY": self.key("SHADEFORM_API_KEY")}
        for url in self.start_urls:
            yield Request(url, self.parse, headers=headers, dont_filter=True, meta={"expect": "json"})

    def records(self, response: Response) -> Iterator[dict[str, Any]]:
        """The types, each with its configuration laid over it; a bare list is read like the wrapped one."""
        document = json_of(response)
        types = document if isinstance(document, list) else document["instance_types"]
        if not isinstance(types, list):
            raise SchemaDrift(f"expected a list under instance_types in {response.url}, got {type(types).__name__}")
        yield from map(laid_over, types)

    def parse_page(self, response: Response) -> Iterator[Batch]:
        """One batch of the types in the homepage's script, each once. Raises LayoutChanged where it holds none."""
        text = next((text for text in levels(response.text) if TYPE.search(text)), None)
        if text is None:
            raise LayoutChanged(f"expected instance types in {response.url}, got none")
        decoder = json.JSONDecoder(parse_float=Decimal)
        types = [laid_over(decoder.raw_decode(text, found.start())[0]) for found in TYPE.finditer(text)]
        offers = (offer for record in types for offer in self.read(record, response))
        yield self.batch(response, {str(offer): offer for offer in offers}.values())

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One type in each of its regions; a type whose regions are not told is one offer without."""
        if record["num_gpus"] == 0:
            return
        for place in record.get("availability") or [{}]:
            yield RawOffer(
                purchase="on_demand",
                price=record["hourly_price"],
                currency="USD",
                price_unit="cent/instance-hour",
                accelerator=record["gpu_type"],
                instance_type=record["shade_instance_type"],
                sku=f"{record['cloud']} {record.get('cloud_instance_type') or record['shade_instance_type']}",
                gpu_count=record["num_gpus"],
                vram=size(record.get("vram_per_gpu_in_gb")),
                form_factor=None if MOUNT.search(record["gpu_type"]) else record.get("interconnect") or None,
                vcpus=record.get("vcpus"),
                ram=size(record.get("memory_in_gb")),
                disk=size(record.get("storage_in_gb")),
                interconnect="NVLink" if record.get("nvlink") else None,
                region=place.get("region"),
                kind=record.get("deployment_type"),
                availability=place.get("available"),
                reseller_of=record["cloud"],
            )


def laid_over(record: dict[str, Any]) -> dict[str, Any]:
    """A type with its configuration laid over it."""
    return {**record, **(record.get("configuration") or {})}


def size(gigabytes: Any) -> str | None:
    """A size with its unit; 0 is one that is not told."""
    return f"{gigabytes} GB" if gigabytes else None

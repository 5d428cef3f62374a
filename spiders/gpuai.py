"""GPU.ai: capacity of other clouds and of private suppliers, on demand and spot, resold at one address.

Docs:  https://github.com/gpuai-dev/openapi (GET /v1/pricing)
Gives: price, GPU, count, vCPUs, RAM, disk, region, stock, secure or community capacity, container or VM
Lacks: whose capacity it is, GPU memory; what is sold out is left out of the answer
Quirk: `price_per_hour` is for the whole offer; `tier` is how it is bought, `capacity_class` the tier; `storage_gb` is
       the host's, `instance_disk_gb` what is rented; 0 is a size that is not told; a page says nothing of its number
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response
from w3lib.url import add_or_replace_parameter

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document, dig, json_of
from spiders.shared.errors import Truncated
from spiders.shared.shapes.paged_json import PagedJsonSpider


class GpuaiSpider(PagedJsonSpider):
    """Reads the keyless list of offerings, page by page."""

    name = "gpuai"
    start_urls = ["https://api.gpu.ai/v1/pricing?limit=200"]
    documents = (Document(r"/v1/pricing", "parse_page"),)
    records_path = ("data",)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One offering."""
        disk = record["instance_disk_gb"]
        yield RawOffer(
            purchase=record["tier"],
            price=record["price_per_hour"],
            currency="USD",
            price_unit="instance-hour",
            accelerator=record["gpu_type"],
            listing_id=record["offering_id"],
            gpu_count=record["gpu_count"],
            vcpus=record["cpu_cores"],
            ram=f"{record['ram_gb']} GB",
            disk=f"{disk} GB" if disk else None,
            region=record["region"],
            tier=record["capacity_class"] or None,
            kind=record["deployment_type"],
            available_count=record["available"],
        )

    def next_page(self, response: Response) -> str | None:
        """The same address with the cursor that the answer names; a page that a cursor promised is never empty."""
        document = json_of(response)
        if "cursor=" in response.url and not document["data"]:
            raise Truncated(f"expected records at {response.url}, got none")
        cursor = dig(document, ("next_cursor",), response.url)
        return add_or_replace_parameter(response.url, "cursor", cursor) if cursor else None

"""Vultr: cloud GPUs and bare metal by region, on demand and preemptible.

Docs:  https://www.vultr.com/api/#tag/plans
Gives: price by region, GPU and count (a share as "1/4"), memory of all GPUs together, vCPUs, RAM, disk, regions
Lacks: form factor; some plans (`vdm`, bare metal) tell of their GPUs only in the id
Quirk: `location_cost` overrides both prices in a region; a plan that cannot be bought on demand still carries that
       price, as 0 or as a number; no locations: sold out everywhere
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scrapy.http import Response
from w3lib.url import add_or_replace_parameter

from schemas.raw_offer import Purchase, RawOffer
from spiders.shared.base import Document, dig, json_of
from spiders.shared.shapes.paged_json import PagedJsonSpider

VRAM = re.compile(r"vcg-\S+-(?P<vram>\d+)vram")
METAL = re.compile(r"vbm-\d+c-\d+gb-(?:(?P<count>\d+)-)?\S+-gpu")


class VultrSpider(PagedJsonSpider):
    """Reads the cloud plans and the bare-metal plans that have GPUs."""

    name = "vultr"
    start_urls = [
        "https://api.vultr.com/v2/plans?type=all&per_page=500",
        "https://api.vultr.com/v2/plans-metal?per_page=500",
    ]
    documents = (Document(r"/v2/plans(-metal)?(\?|$)", "parse_page"),)

    def records(self, response: Response) -> Iterator[dict[str, Any]]:
        """The plans; the list is named after its address."""
        key = "plans_metal" if "/plans-metal" in response.url else "plans"
        yield from dig(json_of(response), (key,), response.url)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """On demand and preemptible in every region with stock; a plan without a GPU gives nothing."""
        metal, cloud = METAL.fullmatch(record["id"]), VRAM.fullmatch(record["id"])
        if not (metal or cloud or record.get("gpu_type")):
            return
        count = record.get("gpu_count") or (metal and metal["count"])
        vram = record.get("gpu_vram_gb") or (cloud and cloud["vram"])
        for region in record["locations"] or [None]:
            cost = (record.get("location_cost") or {}).get(region) or record
            prices: tuple[tuple[Purchase, Any, bool], ...] = (
                ("on_demand", cost["hourly_cost"], record.get("deploy_ondemand", True)),
                ("spot", cost.get("hourly_cost_preemptible"), record.get("deploy_preemptible", True)),
            )
            for purchase, price, offered in prices:
                if offered and price is not None:
                    yield RawOffer(
                        purchase=purchase,
                        price=price,
                        currency="USD",
                        price_unit="instance-hour",
                        accelerator=record.get("gpu_type"),
                        instance_type=record["id"],
                        gpu_count=count,
                        vram_total=f"{vram} GB" if vram else None,
                        vcpus=record.get("vcpu_count") or record.get("cpu_threads"),
                        ram=f"{record['ram']} MB",
                        disk=f"{record['disk_count']} x {record['disk']} GB",
                        region=region,
                        kind="bare_metal" if "vbm-" in record["id"] else "vm" if record.get("type") == "vcg" else None,
                        availability=region is not None,
                    )

    def next_page(self, response: Response) -> str | None:
        """The same address with the cursor that the answer names."""
        cursor = self.meta(response).get("links", {}).get("next")
        return add_or_replace_parameter(response.url, "cursor", cursor) if cursor else None

    def total(self, response: Response) -> int | None:
        """How many plans there are in all, GPU or not."""
        return self.meta(response).get("total")

    def meta(self, response: Response) -> dict[str, Any]:
        """The part of the answer that tells of its pages."""
        return json_of(response).get("meta") or {}

"""Hugging Face: hardware for Jobs and for Spaces, and dedicated Inference Endpoints on other clouds.

Docs:  https://huggingface.co/docs/hub/jobs-pricing, https://huggingface.co/docs/hub/spaces-gpus,
       https://api.endpoints.huggingface.cloud (GET /v2/provider)
Gives: price, GPU, count, memory, vCPUs, RAM, disk; for endpoints the cloud, its region and whether it can be had
Lacks: for Jobs and Spaces stock and region; form factor, interruptible capacity
Quirk: Jobs and Spaces name the unit beside the price ("minute"), endpoints cost USD an hour of one replica; GPU memory
       is that of all GPUs together. The same name costs what it costs in each product, so the tier tells them apart.
       Endpoints are managed inference, without a shell. TPUs and Inferentia stand among the GPUs; what is free is left
       out. An endpoint can be had only where vendor, region and size are all "available"
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, dig, json_of
from spiders.shared.shapes.json_list import JsonListSpider


class HuggingfaceSpider(JsonListSpider):
    """Reads the two lists of hardware and the list of vendors; none needs a key."""

    name = "huggingface"
    start_urls = [
        "https://huggingface.co/api/jobs/hardware",
        "https://huggingface.co/api/spaces/hardware",
        "https://api.endpoints.huggingface.cloud/v2/provider",
    ]
    documents = (Document(r"/api/(jobs|spaces)/hardware", "parse"), Document(r"/v2/provider", "parse_vendors"))

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One flavour of Jobs or Spaces, as its address says."""
        accelerator, price = record.get("accelerator"), record["unitCostUSD"]
        if accelerator and price != 0:
            yield RawOffer(
                purchase="on_demand",
                price=price,
                currency="USD",
                price_unit=f"instance-{record['unitLabel']}",
                accelerator=accelerator["model"],
                instance_type=record["name"],
                gpu_count=accelerator["quantity"],
                vram_total=accelerator.get("vram"),
                vcpus=(record.get("cpu") or "").removesuffix(" vCPU") or None,
                ram=record.get("ram"),
                disk=record.get("ephemeralStorage"),
                tier="jobs" if "/jobs/" in response.url else "spaces",
                kind="container",
            )

    def parse_vendors(self, response: Response) -> Iterator[Batch]:
        """One batch of every accelerated size in every region of every vendor."""
        vendors = dig(json_of(response), ("vendors",), response.url)
        places = [(vendor, region) for vendor in vendors for region in vendor["regions"]]
        sizes = ((*place, size) for place in places for size in place[1]["computes"] if size["accelerator"] != "cpu")
        yield self.batch(response, (read_size(*found) for found in sizes))


def read_size(vendor: dict[str, Any], region: dict[str, Any], size: dict[str, Any]) -> RawOffer:
    """One size of endpoint in one region of a vendor."""
    return RawOffer(
        purchase="on_demand",
        price=size["pricePerHour"],
        currency="USD",
        price_unit="instance-hour",
        accelerator=size["instanceType"],
        instance_type=f"{size['instanceType']}-{size['instanceSize']}",
        sku=vendor["name"],
        gpu_count=size["numAccelerators"],
        vram_total=f"{size['gpuMemoryGb']} GB" if size.get("gpuMemoryGb") else None,
        vcpus=size.get("numCpus"),
        ram=f"{size['memoryGb']} GB" if size.get("memoryGb") else None,
        region=region["name"],
        tier="endpoints",
        kind="serverless",
        availability=all(level["status"] == "available" for level in (vendor, region, size)),
        reseller_of=vendor["name"],
    )

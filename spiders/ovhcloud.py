"""OVHcloud: instances with GPUs, by the hour and by the month, out of the catalogues for Europe and the USA.

Docs:  https://api.ovh.com/console/?section=%2Forder&branch=v1#get-/order/catalog/public/cloud
Gives: price of the whole instance, GPU, count, memory of one GPU, vCPUs, RAM, system
Lacks: stock and regions (they need a key), interruptible capacity (there is none)
Quirk: `price` counts hundred-millionths of the currency of `locale`, before tax: 280000000 for an H100 is what is shown
       as 2.80 euro an hour, 180000000 for an L40S as 1.80 dollars. What it is for stands in the end of the plan's code,
       never in `intervalUnit`, which is "none" in the American one. `ai-*` plans have GPUs too, by the minute, and are
       not of the brick "gpu". Plans tagged "coming_soon" have a price and cannot be had
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, dig, json_of
from spiders.shared.shapes.json_list import JsonListSpider

HOURLY = re.compile(r"[^.]+\.consumption")
MONTHLY = re.compile(r"[^.]+\.monthly\.postpaid")


class OvhcloudSpider(JsonListSpider):
    """Reads the public catalogue of each of two companies, which have machines and prices of their own."""

    name = "ovhcloud"
    start_urls = [
        "https://api.ovh.com/1.0/order/catalog/public/cloud?ovhSubsidiary=FR",
        "https://api.us.ovhcloud.com/1.0/order/catalog/public/cloud?ovhSubsidiary=US",
    ]
    documents = (Document(r"/order/catalog/public/cloud", "parse_catalogue"),)
    records_path = ("addons",)
    expect = "json"

    def parse_catalogue(self, response: Response) -> Iterator[Batch]:
        """One batch of everything with a GPU that one company sells."""
        company = dig(json_of(response), ("locale",), response.url)
        plans = (plan for plan in self.records(response) if is_gpu_instance(plan))
        yield self.batch(response, (read(plan, company["currencyCode"], company["subsidiary"]) for plan in plans))


def is_gpu_instance(plan: dict[str, Any]) -> bool:
    """Is this an instance of the GPU brick that can be had?"""
    blobs = plan.get("blobs") or {}
    brick = (blobs.get("commercial") or {}).get("brick")
    return brick == "gpu" and "coming_soon" not in (blobs.get("tags") or [])


def read(plan: dict[str, Any], currency: str, subsidiary: str) -> RawOffer:
    """One plan; the end of its code, where it is neither of the two that are known, is no unit and is told so."""
    code = plan["planCode"]
    machine = plan["blobs"]["technical"]
    unit = "hour" if HOURLY.fullmatch(code) else "month" if MONTHLY.fullmatch(code) else code.partition(".")[2]
    return RawOffer(
        purchase="reserved" if unit == "month" else "on_demand",
        price=Decimal(plan["pricings"][0]["price"]).scaleb(-8),
        currency=currency,
        price_unit=f"instance-{unit}",
        accelerator=machine["gpu"]["model"],
        instance_type=code.partition(".")[0],
        sku=f"{subsidiary} {code}",
        gpu_count=machine["gpu"]["number"],
        vram=f"{machine['gpu']['memory']['size']} GB",
        vcpus=machine["cpu"]["cores"],
        ram=f"{machine['memory']['size']} GB",
        kind="vm",
        os=machine["os"]["family"],
        term_months=1 if unit == "month" else None,
        tax_included=False,
    )

"""Latitude.sh: GPU servers by the hour, the month and the year.

Docs:  https://www.latitude.sh/pricing (page), https://docs.latitude.sh/reference/get-plans (keyed list)
Gives: price of the whole server by region for all three terms, GPU, count, memory, RAM, disk, stock
Lacks: virtual machines (their list does not say how many GPUs they have); interruptible capacity (there is none)
Quirk: prices in BRL stand beside those in USD: a list of its own, of which the dollars are read. Null or 0 is a term
       that is not sold in that region. `gpu` is empty for CPU plans. A month and a year are prices of the whole term
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, dig, json_of
from spiders.shared.shapes.embedded_json import EmbeddedJsonSpider

TERMS = (("hour", None), ("month", 1), ("year", 12))


class LatitudeSpider(EmbeddedJsonSpider):
    """Reads the keyed list of plans with GPUs where there is a key, else the plans in the page's script."""

    name = "latitude"
    start_urls = ["https://www.latitude.sh/pricing"]
    plans_url = "https://api.latitude.sh/plans?filter[gpu]=true"
    documents = (Document(r"api\.latitude\.sh/plans", "parse_plans"), Document(r"latitude\.sh/", "parse"))
    anchors = ("attributes", "specs", "stock_level", "pricing")
    json_key = "attributes"

    async def start(self) -> AsyncIterator[Request]:
        """One request: the list for who has a key, the page for who has none."""
        key = self.key("LATITUDESH_API_KEY")
        self.use("LATITUDESH_API_KEY" if key else "open")
        url, headers = (self.plans_url, {"Authorization": key}) if key else (self.start_urls[0], {})
        yield Request(url, self.reader(url), headers=headers, dont_filter=True)

    def parse_plans(self, response: Response) -> Iterator[Batch]:
        """One batch of the keyed list."""
        plans = dig(json_of(response), ("data",), response.url)
        yield self.batch(response, (offer for plan in plans for offer in self.read_value(plan["attributes"])))

    def read_value(self, value: Any) -> Iterator[RawOffer]:
        """A plan with GPUs, in every region and for every term that has a price."""
        if isinstance(value, dict) and "specs" in value and value["specs"].get("gpu"):
            for region in value["regions"]:
                for unit, months in TERMS:
                    if price := ((region["pricing"] or {}).get("USD") or {}).get(unit):
                        yield read_offer(value, region, price, unit, months)


def read_offer(plan: dict[str, Any], region: dict[str, Any], price: Any, unit: str, months: int | None) -> RawOffer:
    """One plan in one region for one term."""
    specs, gpu = plan["specs"], plan["specs"]["gpu"]
    drives, nics = specs.get("drives") or [], specs.get("nics") or []
    return RawOffer(
        purchase="reserved" if months else "on_demand",
        price=price,
        currency="USD",
        price_unit=f"instance-{unit}",
        accelerator=gpu["type"],
        instance_type=plan["name"],
        gpu_count=gpu["count"],
        vram=f"{gpu['vram_per_gpu']} GB" if gpu.get("vram_per_gpu") else None,
        ram=f"{specs['memory']['total']} GB",
        disk=f"{drives[0]['count']} x {drives[0]['size']}" if len(drives) == 1 else None,
        interconnect=gpu.get("interconnect"),
        network=nics[0]["type"] if len(nics) == 1 else None,
        region=region["name"],
        kind="bare metal",
        term_months=months,
        availability=region.get("stock_level"),
    )

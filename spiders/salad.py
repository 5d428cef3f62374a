"""SaladCloud: containers on the idle cards of many owners, at four priorities.

Docs:  https://docs.salad.com/reference/api-usage; fields as in https://github.com/SaladTechnologies/salad-cloud-sdk-java
Gives: price of one GPU by priority, GPU, memory, community or secure nodes
Lacks: stock (`is_high_demand` says only that a class is much asked for), regions, currency (the docs write dollars)
Quirk: prices are text, per hour, with vCPUs and RAM in them. No other workload takes a node from `high`; every lower
       priority yields to a higher one, so it is spot. Any node may vanish with its owner. A class that names no memory
       ("Stable Diffusion Compatible") is no GPU; one without a price for a priority is not sold at it
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class SaladSpider(JsonListSpider):
    """Reads the classes of GPUs with the key of a member of an organization."""

    name = "salad"
    url = "https://api.salad.com/api/public/organizations/{organization}/gpu-classes"
    documents = (Document(r"/gpu-classes", "parse"),)
    records_path = ("items",)

    async def start(self) -> AsyncIterator[Request]:
        """One request with the key."""
        self.use("SALAD_API_KEY")
        url = self.url.format(organization=self.key("SALAD_ORGANIZATION"))
        headers = {"Salad-Api-Key": self.key("SALAD_API_KEY") or ""}
        yield Request(url, self.reader(url), headers=headers, dont_filter=True)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One class at each of its priorities."""
        for sold in record["prices"]:
            if sold["price"] is not None and " GB)" in record["name"]:
                yield RawOffer(
                    purchase="on_demand" if sold["priority"] == "high" else "spot",
                    price=sold["price"],
                    currency="USD",
                    price_unit="gpu-hour",
                    accelerator=record["name"],
                    sku=record["id"],
                    gpu_count=1,
                    vram=record["name"].partition("(")[2],
                    tier=" ".join(filter(None, (record.get("gpu_class_type"), sold["priority"]))),
                    kind="container",
                )

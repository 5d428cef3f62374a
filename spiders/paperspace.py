"""Paperspace (DigitalOcean): GPU machines by the hour.

Docs:  https://docs.digitalocean.com/products/paperspace/pricing/
Gives: price of the whole machine, GPU, vCPUs, RAM, stock by region
Lacks: interruptible capacity (there is none); storage, which is priced apart. Its monthly rates are not read: what a
       month there includes is not said
Quirk: the list is the one that the console asks for when a machine is made, and takes the token of its session. How
       many GPUs a machine has stands at the end of its name ("A100-80Gx8"). A rate of 0 is no machine by the hour
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document, json_of
from spiders.shared.shapes.json_list import JsonListSpider


class PaperspaceSpider(JsonListSpider):
    """Reads the machine types that the console offers."""

    name = "paperspace"
    start_urls = ["https://api.paperspace.com/trpc/machines.createFormDataV2"]
    documents = (Document(r"/trpc/machines\.createFormDataV2", "parse"),)
    expect = "json"

    async def start(self) -> AsyncIterator[Request]:
        """One request with the session's token."""
        self.use("PAPERSPACE_TOKEN")
        headers = {"Authorization": f"Bearer {self.key('PAPERSPACE_TOKEN')}"}
        yield Request(self.start_urls[0], self.parse, headers=headers, dont_filter=True)

    def records(self, response: Response) -> Iterator[dict[str, Any]]:
        """The machine types of the answer, be it one of a batch or alone."""
        document = json_of(response)
        answer = document[0] if isinstance(document, list) else document
        yield from answer["result"]["data"]["json"]["machineTypes"]

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One machine type in every region that tells its stock, or once without; none without GPU or hourly rate."""
        hourly = [rate["rate"] for rate in record["defaultUsageRates"] if rate["type"] == "hourly"]
        if (record["gpu"] or "None") == "None" or not hourly or not Decimal(hourly[0]):
            return
        name, _, count = record["label"].rpartition("x")
        for place in record["availability"] or [{}]:
            yield RawOffer(
                purchase="on_demand",
                price=hourly[0],
                currency="USD",
                price_unit="instance-hour",
                accelerator=record["gpu"],
                instance_type=record["label"],
                gpu_count=count if name and count.isdigit() else 1,
                vcpus=record["cpus"],
                ram=f"{record['ram']} B",
                region=place.get("region"),
                kind="vm",
                availability=place.get("isAvailable"),
            )

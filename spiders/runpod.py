"""RunPod: pods on its own machines (secure) and on others' (community), and nodes of clusters.

Docs:  https://docs.runpod.io/accounts-billing/billing, https://graphql-spec.runpod.io
Gives: price, GPU, form factor, memory, stock and least vCPUs and RAM for a pod of one GPU by tier
Lacks: regions, stock of more GPUs at once, savings plans; bids: `*SpotPrice` repeats the price on demand (2026-08)
Quirk: every price is for one GPU, 0 or null is not offered; `clusterPrice` too, of a node with `maxGpuCount`. What has
       no stock has null for its sizes as well, and keeps its price; where no secure GPU is free, no node of them is.
       `memoryInGb` is the GPU's, `minMemory` the host's
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import JsonRequest, Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, json_of
from spiders.shared.errors import SchemaDrift
from spiders.shared.shapes.json_list import JsonListSpider

STOCK = "{ minVcpu minMemory stockStatus }"
QUERY = f"""query {{ gpuTypes {{
  id displayName memoryInGb maxGpuCount securePrice communityPrice clusterPrice
  lowestPrice(input: {{gpuCount: 1, secureCloud: true}}) {STOCK}
  communityLowest: lowestPrice(input: {{gpuCount: 1, secureCloud: false}}) {STOCK}
}} }}"""


class RunpodSpider(JsonListSpider):
    """Asks once for all types of GPU, with a key where there is one."""

    name = "runpod"
    expect = "json"
    documents = (Document(r"/graphql", "parse"),)
    records_path = ("data", "gpuTypes")

    async def start(self) -> AsyncIterator[Request]:
        """One question; the key stands in a header and never in the address."""
        key = self.key("RUNPOD_API_KEY")
        self.use("RUNPOD_API_KEY" if key else "open")
        headers = {"Authorization": f"Bearer {key}"} if key else None
        yield JsonRequest("https://api.runpod.io/graphql", self.parse, data={"query": QUERY}, headers=headers)

    def parse(self, response: Response) -> Iterator[Batch]:
        """One batch. Raises SchemaDrift where the answer tells of errors: beside them data may be half."""
        if errors := json_of(response).get("errors"):
            raise SchemaDrift(f"expected an answer from {response.url}, got {str(errors)[:200]}")
        yield from super().parse(response)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One type: a row for each tier that has a price, sold out or not."""
        secure, community = record.get("lowestPrice"), record.get("communityLowest")
        nothing = secure if secure and not secure["stockStatus"] else None
        for tier, price, stock in (
            ("secure", record["securePrice"], secure),
            ("community", record["communityPrice"], community),
            ("cluster", record.get("clusterPrice"), nothing),
        ):
            if price:
                yield RawOffer(
                    purchase="on_demand",
                    price=price,
                    currency="USD",
                    price_unit="gpu-hour",
                    accelerator=record["id"],
                    form_factor=record["displayName"],
                    sku=record["id"],
                    gpu_count=record["maxGpuCount"] if tier == "cluster" else 1,
                    vram=f"{record['memoryInGb']} GB",
                    vcpus=stock and stock["minVcpu"],
                    ram=f"{stock['minMemory']} GB" if stock and stock["minMemory"] else None,
                    tier=tier,
                    kind="pod",
                    availability=(stock["stockStatus"] or False) if stock else None,
                )

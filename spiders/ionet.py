"""io.net: GPU machines and containers of its own network and of partners, on demand.

Docs:  https://io.net/docs/reference/vmaas/get-hardware-list (the list that its keyed API gives)
Gives: price, GPU, count, memory, form factor, vCPUs, RAM, disk, country, whether sold out; for containers how many
       replicas can be had
Lacks: whose capacity it is ("external" is some partner's), interruptible capacity
Quirk: the lists behind the console need no key and are not documented; the same configuration stands in both, as a
       virtual machine (vmaas) and as a container (caas), so the tier tells them apart. The price is for all cards
       together; many decimals come of a month's price over 730 hours. Rows without cards or without a price are no
       offers; `nvlink` is false where it is not known, so only true is told
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class IonetSpider(JsonListSpider):
    """Reads the hardware of virtual machines and that of containers."""

    name = "ionet"
    start_urls = [
        "https://api.io.solutions/v1/io-cloud/vmaas/hardware",
        "https://api.io.solutions/v1/io-cloud/caas/hardware",
    ]
    documents = (Document(r"/io-cloud/(vmaas|caas)/hardware", "parse"),)
    records_path = ("data", "hardware")

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One configuration in one country."""
        vram, ram, disk = map(record.get, ("vram_per_card", "memory", "storage"))
        machine, place, sold_out = "/vmaas/" in response.url, record.get("location"), record.get("sold_out")
        if record["num_cards"] and record["price"] != 0:
            yield RawOffer(
                purchase="on_demand",
                price=record["price"],
                currency="USD",
                price_unit="instance-hour",
                accelerator=record["name"],
                sku=record["id"],
                gpu_count=record["num_cards"],
                vram=f"{vram} GB" if vram else None,
                form_factor=record.get("interconnect"),
                interconnect="NVLink" if record.get("nvlink") else None,
                vcpus=record.get("vcpu"),
                ram=f"{ram} GB" if ram else None,
                disk=f"{disk} GB" if disk else None,
                region=place,
                country=place,
                tier="vmaas" if machine else "caas",
                kind="vm" if machine else "container",
                availability=None if sold_out is None else not sold_out,
                available_count=record.get("available_replicas"),
            )

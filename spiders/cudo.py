"""Cudo Compute: virtual machines on demand, put together from GPUs, vCPUs and memory.

Docs:  https://www.cudocompute.com/docs/api
Gives: price of each part by data centre, GPU with memory, how few GPUs and vCPUs a machine may have, GPUs free
Lacks: a price of a whole machine; commitments; what disk and public address cost is told apart, and not in the price
Quirk: prices are text under `value`, in US dollars for one hour of one GPU, vCPU or GiB. The offer is the smallest
       machine that may be ordered: its price is the sum of its parts. Machine types without a GPU are left out
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider

AMOUNT = re.compile(r"\d+(\.\d+)?")


class CudoSpider(JsonListSpider):
    """Reads the keyless list of machine types."""

    name = "cudo"
    start_urls = ["https://rest.compute.cudo.org/v1/vms/machine-types"]
    documents = (Document(r"/v1/vms/machine-types", "parse"),)
    records_path = ("machineTypes",)
    expect = "json"

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """The smallest machine of one type in one data centre."""
        if not record["gpuModel"]:
            return
        gpus = max(1, record.get("minGpuPerVm") or 0)
        vcpus = max(1, math.ceil(record.get("minVcpu") or 0), math.ceil(gpus * (record.get("minVcpuPerGpu") or 0)))
        memory = max(math.ceil(record.get("minMemoryGib") or 0), math.ceil(vcpus / record["maxVcpuPerMemoryGib"]))
        parts = [(record["gpuPriceHr"], gpus), (record["vcpuPriceHr"], vcpus), (record["memoryGibPriceHr"], memory)]
        vram, free = record.get("gpuMemoryGib"), record.get("totalGpuFree")
        yield RawOffer(
            purchase="on_demand",
            price=total([(part["value"], amount) for part, amount in parts]),
            currency="USD",
            price_unit="instance-hour",
            accelerator=record["gpuModel"],
            instance_type=record["machineType"],
            sku=f"{record['machineType']} {record['gpuModel']}",
            gpu_count=gpus,
            vram=f"{vram} GiB" if vram else None,
            vcpus=vcpus,
            ram=f"{memory} GiB",
            region=record["dataCenterId"],
            kind="vm",
            available_count=None if free is None else free // gpus,
        )


def total(parts: list[tuple[str, int]]) -> str | Decimal:
    """The sum of the parts, to the last digit; where one is no amount, that one, which then is refused as a price."""
    odd = [price for price, _ in parts if not AMOUNT.fullmatch(price)]
    return odd[0] if odd else sum((Decimal(price) * amount for price, amount in parts), Decimal(0))

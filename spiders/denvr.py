"""Denvr: GPU machines on demand.

Docs:  https://www.denvr.com/pricing
Gives: price of one GPU, count, memory, vCPUs, RAM, disk of each machine
Lacks: stock, regions, interruptible capacity; a price for what is sold by reservation alone
Quirk: the rows stand in the page's script as records of the collection "GPUInstances". "$1.25 / GPU" is by the hour.
       "Reserved only" or no price is no offer. Sizes without a unit stay unknown
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.embedded_json import EmbeddedJsonSpider
from spiders.shared.shapes.html_table import dollars


class DenvrSpider(EmbeddedJsonSpider):
    """Reads the collection of machines that the price page is filled from."""

    name = "denvr"
    start_urls = ["https://www.denvr.com/pricing"]
    documents = (Document(r"denvr\.com/", "parse"),)
    anchors = ("wix-warmup-data", "recordsByCollectionId", "GPUInstances", "gpuCount")
    json_key = "GPUInstances"

    def read_value(self, value: Any) -> Iterator[RawOffer]:
        """Every record with a price for one GPU. Raises LayoutChanged for a price of something else."""
        for record in value.values() if isinstance(value, dict) else ():
            amount, _, unit = map(str.strip, (record.get("price") or "").partition("/"))
            price = dollars(amount)
            if price and unit not in {"GPU", "GPU-hr", "GPU/hr"}:
                raise LayoutChanged(f"expected a price for one GPU, got {record['price']!r}")
            if price:
                yield RawOffer(
                    purchase="on_demand",
                    price=price,
                    currency="USD",
                    price_unit="gpu-hour",
                    accelerator=record["title"],
                    gpu_count=record["gpuCount"],
                    vram=record.get("gpuVram"),
                    vcpus=record.get("vCpUs"),
                    ram=with_unit(record.get("memory")),
                    disk=with_unit(record.get("localStorage")),
                )


def with_unit(size: str | None) -> str | None:
    """A size that names its unit, else None: a bare number may be anything."""
    return size if size and "B" in size else None

"""Nebius: GPU-hours, on demand and preemptible.

Docs:  https://nebius.com/prices
Gives: price of one GPU-hour, GPU, vCPUs and RAM that come with one GPU
Lacks: GPU memory, regions, stock, sizes of instances: every row is one GPU
Quirk: the tables are JSON escaped inside the page's script. A price "from $1.55" is a floor (the real one depends on
       the vCPUs), so it is no offer; neither is "Contact us" nor a dash. Preemptible is spot
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from schemas.raw_offer import Purchase, RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.embedded_json import EmbeddedJsonSpider
from spiders.shared.shapes.html_table import column, dollars


class NebiusSpider(EmbeddedJsonSpider):
    """Reads the tables that are priced by the GPU-hour."""

    name = "nebius"
    start_urls = ["https://nebius.com/prices"]
    documents = (Document(r"nebius\.com/", "parse"),)
    anchors = ("NVIDIA GPU Instances", "Preemptible, GPU-hour", "On-demand, GPU-hour")
    json_key = "content"

    def read_value(self, value: Any) -> Iterator[RawOffer]:
        """The rows of one table: a list of lists of texts, the first of them the labels."""
        labels, *rows = value if isinstance(value, list) else [value]
        if not isinstance(labels, list) or not any("GPU-hour" in str(label) for label in labels):
            return
        purchases: tuple[tuple[str, Purchase], ...] = (("on-demand", "on_demand"), ("preemptible", "spot"))
        for row in rows:
            cells = dict(zip(labels, row, strict=False))
            ram = cells[column(labels, "ram")]
            for word, purchase in purchases:
                if price := dollars(cells.get(column(labels, word, "GPU-hour"), "")):
                    yield RawOffer(
                        purchase=purchase,
                        price=price,
                        currency="USD",
                        price_unit="gpu-hour",
                        accelerator=cells["Item"],
                        gpu_count=1,
                        vcpus=cells[column(labels, "vcpu")],
                        ram=f"{ram} GB",
                    )

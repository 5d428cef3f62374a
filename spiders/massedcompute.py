"""Massed Compute: virtual machines with whole GPUs, on demand.

Docs:  https://massedcompute.com/pricing
Gives: price of the whole machine, GPU, form factor, count, vCPUs, RAM
Lacks: stock, regions, interruptible capacity; GPU memory where the name does not tell it; the unit of the storage
Quirk: the rows stand in the page's script, named "<GPU>-x <count>-<number>"; "-mobile-" in the name is a copy for small
       screens; "$$52.80" is one dollar sign, escaped, before the price of all GPUs together
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from scrapy.http import TextResponse

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, expect_anchors
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.embedded_json import levels
from spiders.shared.shapes.html_table import dollars

ROW = re.compile(r'(?<!\\)"(?P<gpu>[^"\\]+)-x (?P<count>\d+)-\d+",(?=\{)')


class MassedcomputeSpider(ProviderSpider):
    """Reads the rows of the price table for wide screens."""

    name = "massedcompute"
    start_urls = ["https://massedcompute.com/pricing"]
    documents = (Document(r"massedcompute\.com/", "read_page"),)
    anchors = ("-mobile-x ", "vCPU", "RAM", "Storage", "/hr")

    def read_page(self, response: TextResponse) -> Iterator[Batch]:
        """One batch of the whole page. Raises LayoutChanged without the anchors, and where there is no row."""
        expect_anchors(response, self.anchors)
        for text in levels(response.text):
            if rows := list(ROW.finditer(text)):
                wide = [row for row in rows if not row["gpu"].endswith("-mobile")]
                yield self.batch(response, (offer for row in wide for offer in self.read_row(row)))
                return
        raise LayoutChanged(f"expected rows named '<GPU>-x <count>-<number>' in {response.url}, got none")

    def read_row(self, row: re.Match[str]) -> Iterator[RawOffer]:
        """One row: count, vCPUs, RAM, storage, price; nothing where the price is no price."""
        element, _ = json.JSONDecoder(parse_float=str).raw_decode(row.string, row.end())
        cells = [said(cell) for cell in element["children"]]
        count, vcpus, ram, storage, price = cells
        if count != f"×{row['count']}" or not ram.endswith("B"):
            raise LayoutChanged(f"expected count, vCPU, RAM, storage and price in {row[0]!r}, got {', '.join(cells)}")
        if amount := dollars(price.removesuffix("/hr")):
            yield RawOffer(
                purchase="on_demand",
                price=amount,
                currency="USD",
                price_unit="instance-hour",
                accelerator=row["gpu"],
                sku=f"{row['gpu']} {count} {vcpus} vCPU {ram} {storage}",
                gpu_count=row["count"],
                vcpus=vcpus,
                ram=ram,
                kind="vm",
            )


def said(node: Any) -> str:
    """What an element of the page says: its texts one after the other, `$$` being an escaped dollar sign."""
    if isinstance(node, list):
        return said(node[3].get("children")) if node[:1] == ["$"] else "".join(map(said, node))
    return "" if node is None else str(node).replace("$$", "$")

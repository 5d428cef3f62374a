"""Sakura internet: Koukaryoku VRT, virtual machines with a GPU, on demand.

Docs:  https://manual.sakura.ad.jp/cloud/server/gpu-plan.html, https://github.com/sacloud/iaas-api-go (public/price)
Gives: price of the whole machine an hour, GPU and count, vCPUs, RAM, zone
Lacks: stock, form factor, disk (a boot disk is priced apart), interruptible capacity; whether tax is included
Quirk: answers only who sends the header `X-Requested-With`. The classes are a map with numbers for keys; the GPU, its
       memory and count stand in the class's path. The price by the hour falls to a daily and a monthly cap
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider

PLAN = re.compile(
    r"plan/(?P<vcpus>\d+)core-(?P<ram>\d+gb)-(?P<count>\d+)gpu-(?P<gpu>[a-z0-9_]+?)(?:_(?P<vram>\d+gb)vram)?(?:-g\d+)?"
)


class SakuraSpider(JsonListSpider):
    """Reads the price list of each zone."""

    name = "sakura"
    zone = "https://secure.sakura.ad.jp/cloud/zone/{}/api/cloud/1.1/public/price.json"
    start_urls = [zone.format("is1a"), zone.format("is1b")]
    documents = (Document(r"/public/price\.json", "parse"),)
    records_path = ("ServiceClasses",)

    async def start(self) -> AsyncIterator[Request]:
        """One request a zone."""
        headers = {"X-Requested-With": "XMLHttpRequest"}
        for url in self.start_urls:
            yield Request(url, self.reader(url), headers=headers, dont_filter=True)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """The machine of one class, none for whatever has no GPU."""
        plan = PLAN.fullmatch(record["ServiceClassName"])
        if plan:
            yield RawOffer(
                purchase="on_demand",
                price=record["Price"]["Hourly"],
                currency="JPY",
                price_unit="instance-hour",
                accelerator=plan["gpu"].replace("_", " "),
                instance_type=record["ServiceClassName"],
                gpu_count=plan["count"],
                vram=plan["vram"],
                vcpus=plan["vcpus"],
                ram=plan["ram"],
                zone=record["Price"]["Zone"],
                kind="vm",
            )

"""DigitalOcean: GPU Droplets, on demand and spot.

Docs:  https://docs.digitalocean.com/products/droplets/details/pricing/ (page), /reference/api/digitalocean/ (keyed)
Gives: price of the droplet, GPU, count; with DIGITALOCEAN_TOKEN also slug, GPU memory, vCPUs, RAM, disk, regions
Lacks: on the page sizes, stock and regions; contract sizes have no price anywhere
Quirk: "(8x)" prices the whole droplet; `price_monthly` is what a month costs at most and no offer of its own; `vram` is
       of all GPUs together; no regions: sold out, whatever `available` says; a slug that ends in "-spot" is spot
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from parsel import Selector
from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document, json_of
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.html_table import HtmlTableSpider, dollars, labelled, words
from spiders.shared.shapes.paged_json import PagedJsonSpider


class DigitaloceanSpider(HtmlTableSpider, PagedJsonSpider):
    """Reads the keyed list of sizes where there is a token, else the page."""

    name = "digitalocean"
    start_urls = ["https://docs.digitalocean.com/products/droplets/details/pricing/"]
    sizes_url = "https://api.digitalocean.com/v2/sizes?per_page=200"
    documents = (Document(r"/v2/sizes", "parse_page"), Document(r"digitalocean\.com/", "parse"))
    anchors = ("on-demand-gpu-droplet-pricing", "spot-gpu-droplet-pricing", "GPU Droplet Pricing", " per hour")
    records_path = ("sizes",)

    async def start(self) -> AsyncIterator[Request]:
        """The first page of the list for who has a token, the page for who has none."""
        key = self.key("DIGITALOCEAN_TOKEN")
        self.use("DIGITALOCEAN_TOKEN" if key else "open")
        url, headers = (self.sizes_url, {"Authorization": f"Bearer {key}"}) if key else (self.start_urls[0], {})
        yield Request(url, self.reader(url), headers=headers, dont_filter=True, cb_kwargs={"seen": 0} if key else {})

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """Every priced row of the tables below the two headings."""
        for word in ("on-demand", "spot"):
            table = page.xpath("//table[preceding::h2[1]/@id=$id]", id=f"{word}-gpu-droplet-pricing")
            for row in table.css("tbody tr"):
                cells = labelled([words(cell) for cell in table.css("th")], row.css("td"))
                (gpu, _, count), (amount, _, unit) = cells["GPU"].partition(" ("), cells["Price"].partition(" per ")
                if price := dollars(amount):
                    if unit != "hour":
                        raise LayoutChanged(f"expected a price per hour, got {cells}")
                    named = {"accelerator": gpu, "gpu_count": count.removesuffix("x)") or 1}
                    yield self.droplet(purchase=word.replace("-", "_"), price=price, **named)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """A size with GPUs in every region that has it; where none has, one that is sold out."""
        gpu = record.get("gpu_info") or {}
        for region in (record["regions"] or [None]) if gpu else []:
            yield self.droplet(
                purchase="spot" if record["slug"].endswith("-spot") else "on_demand",
                price=record["price_hourly"],
                accelerator=gpu["model"],
                instance_type=record["slug"],
                gpu_count=gpu["count"],
                vram_total=f"{gpu['vram']['amount']} {gpu['vram']['unit']}",
                vcpus=record["vcpus"],
                ram=f"{record['memory']} MB",
                disk=f"{record['disk']} GB",
                region=region,
                availability=record["available"] and region is not None,
            )

    def droplet(self, **said: Any) -> RawOffer:
        """A droplet, priced as a whole by the hour."""
        return RawOffer(currency="USD", price_unit="instance-hour", kind="vm", **said)

    def turn(self, *page: Any, **known: Any) -> Iterator[Request]:
        """The next page of the list is asked for with the same token."""
        for request in super().turn(*page, **known):
            yield request.replace(headers={"Authorization": f"Bearer {self.key('DIGITALOCEAN_TOKEN')}"})

    def next_page(self, response: Response) -> str | None:
        """The address that the answer names."""
        following: str | None = json_of(response)["links"].get("pages", {}).get("next")
        return following

    def total(self, response: Response) -> int:
        """How many sizes there are in all, GPU or not."""
        return int(json_of(response)["meta"]["total"])

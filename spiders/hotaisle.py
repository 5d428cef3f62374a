"""Hot Aisle: AMD virtual machines on demand, whole nodes by the month.

Docs:  https://hotaisle.xyz/pricing; the keyed list as gpuhunt's client asks for it
Gives: price, GPU, count, memory, RAM, disk; with HOTAISLE_API_KEY and HOTAISLE_TEAM_HANDLE what is free, with vCPUs
Lacks: on the page stock and vCPUs ("8 or 13"); interruptible capacity (there is none), regions
Quirk: the page prices one GPU, the keyed list is US cents for the machine, as text. Only machines with a card are read:
       the headline says their price again. The rate of earlier customers is nobody's offer. Bare metal has a minimum
       of one month, so it is reserved for one; its block names no GPU, the one GPU of all cards is meant
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from parsel import Selector
from scrapy.http import Request, Response

from schemas.raw_offer import Purchase, RawOffer
from spiders.shared.base import Batch, Document, json_of
from spiders.shared.shapes.html_table import HtmlTableSpider, dollars, words


class HotaisleSpider(HtmlTableSpider):
    """Reads the keyed list of free machines where there are key and team, else the page."""

    name = "hotaisle"
    start_urls = ["https://hotaisle.xyz/pricing"]
    free = "https://admin.hotaisle.app/api/teams/{team}/virtual_machines/available/"
    documents = (Document(r"/virtual_machines/available", "parse_free"), Document(r"hotaisle\.xyz/", "parse"))
    anchors = ("Virtual machines", "8x bare metal", "One-month minimum", "/GPU/hr")

    async def start(self) -> AsyncIterator[Request]:
        """One request: the list for who has a key, the page for who has none."""
        key, team = self.key("HOTAISLE_API_KEY"), self.key("HOTAISLE_TEAM_HANDLE")
        self.use("HOTAISLE_API_KEY" if key and team else "open")
        url = self.free.format(team=team) if key and team else self.start_urls[0]
        headers = {"Authorization": f"Token {key}"} if key and team else {}
        yield Request(url, self.reader(url), headers=headers, dont_filter=True)

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """The cards of virtual machines, then the block of bare metal."""
        gpus = set()
        for card in page.xpath("//h2[preceding-sibling::p[1]='VM']/following-sibling::div[1][span[2]]"):
            sizes = [words(line) for line in card.xpath("following-sibling::ul[1]/li")]
            vram, ram, disk = (next((s for s in sizes if word in s), None) for word in ("HBM", "RAM", "Storage"))
            count, gpu = map(words, card.xpath("span"))
            gpus.add(gpu)
            yield from priced(card, count, accelerator=gpu, vram=vram, ram=ram, disk=disk, kind="vm")
        named = next(iter(gpus)) if len(gpus) == 1 else None
        for block in page.xpath("//p[contains(., 'bare metal')][following-sibling::p[contains(., 'One-month')]]"):
            yield from priced(block, words(block), "reserved", accelerator=named, term_months=1, kind="bare metal")

    def parse_free(self, response: Response) -> Iterator[Batch]:
        """One batch of the sizes of machines that are free: what is not free is not listed."""
        yield self.batch(response, map(read_free, json_of(response)))


def read_free(record: dict[str, Any]) -> RawOffer:
    """One size of machine; its cores tell it from its siblings."""
    specs, (gpu,) = record["Specs"], record["Specs"]["gpus"]
    return RawOffer(
        purchase="on_demand",
        price=record["OnDemandPrice"],
        currency="USD",
        price_unit="cent/instance-hour",
        accelerator=gpu["model"],
        sku=f"{gpu['model']} {specs['cpu_cores']} cores",
        gpu_count=gpu["count"],
        vcpus=specs["cpu_cores"],
        ram=f"{specs['ram_capacity']} B",
        disk=f"{specs['disk_capacity']} B",
        kind="vm",
        availability=True,
    )


def priced(node: Selector, count: str, purchase: Purchase = "on_demand", **said: Any) -> Iterator[RawOffer]:
    """The offer whose price for one GPU follows an element; `count` begins like "8x"."""
    price, _, unit = words(node.xpath("following-sibling::p[1]")[0]).partition("/")
    if unit == "GPU/hr" and (amount := dollars(price)):
        gpus = count.partition("x")[0]
        yield RawOffer(purchase=purchase, price=amount, currency="USD", price_unit="gpu-hour", gpu_count=gpus, **said)

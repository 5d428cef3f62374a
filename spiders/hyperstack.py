"""Hyperstack (NexGen Cloud): GPU virtual machines, on demand and spot.

Docs:  https://www.hyperstack.cloud/gpu-pricing (page), https://docs.hyperstack.cloud/docs/api-reference (keyed lists)
Gives: price of one GPU, memory; with HYPERSTACK_API_KEY also flavours by region with count, vCPUs, RAM, disk and stock
Lacks: on the page stock, regions and sizes (its cores and RAM are what one GPU can have at most)
Quirk: tables are `div`s under a heading. The reservation table looks alike but names floors ("starting from"); CPU rows
       have GPU labels. In the price book `value` is the account's own price, `original_value` the list's, by the name
       of the GPU; "-spot" in that name is spot, zero is not sold
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

from parsel import Selector
from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, json_of
from spiders.shared.shapes.html_table import HtmlTableSpider, dollars, words

COLUMN = "contains(@class, 'page-price_card_row_item_col')"


class HyperstackSpider(HtmlTableSpider):
    """Reads price book and flavours where there is a key, else the page."""

    name = "hyperstack"
    start_urls = ["https://www.hyperstack.cloud/gpu-pricing"]
    lists = "https://infrahub-api.nexgencloud.com/v1"
    documents = (
        Document(r"/v1/pricebook", "parse_prices"),
        Document(r"/v1/core/flavors", "parse_flavors"),
        Document(r"hyperstack\.cloud/", "parse"),
    )
    anchors = ("On-Demand", "page-price_card_main", "page-price_card_row_item_col")

    async def start(self) -> AsyncIterator[Request]:
        """The price book for who has a key, the page for who has none."""
        key = self.key("HYPERSTACK_API_KEY")
        self.use("HYPERSTACK_API_KEY" if key else "open")
        url, headers = (f"{self.lists}/pricebook", {"api_key": key}) if key else (self.start_urls[0], {})
        yield Request(url, self.reader(url), headers=headers, dont_filter=True)

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """The priced rows of the tables on demand and spot: model, memory, up to two sizes, price."""
        for table in page.xpath("//*[has-class('page-price_card_main')]"):
            heading = "".join(map(words, table.xpath("preceding::*[self::h2 or self::h3 or self::h4][1]"))).casefold()
            if "on-demand gpu" in heading or "spot vm" in heading:
                for row in table.xpath(".//*[has-class('page-price_card_row_item')]"):
                    cells = row.xpath(f".//*[{COLUMN}][not(ancestor::*[{COLUMN}])]")
                    yield from self.read_row([words(cell) for cell in cells], "spot" in heading)

    def read_row(self, cells: list[str], spot: bool) -> Iterator[RawOffer]:
        """One row, none where its last cell is no price (labels)."""
        if cells and (price := dollars(cells[-1])):
            memory = cells[1].partition(" ")[0].removesuffix("GB")
            yield RawOffer(
                purchase="spot" if spot else "on_demand",
                price=price,
                currency="USD",
                price_unit="gpu-hour",
                accelerator=cells[0],
                gpu_count=1,
                vram=f"{memory} GB" if memory.isdigit() else None,
                kind="vm",
            )

    def parse_prices(self, response: Response) -> Iterator[Request]:
        """The list prices by name, then the flavours."""
        prices = {entry["name"]: entry["original_value"] for entry in unwrapped(json_of(response))}
        key = {"api_key": self.key("HYPERSTACK_API_KEY") or ""}
        yield Request(f"{self.lists}/core/flavors", self.parse_flavors, headers=key, cb_kwargs={"prices": prices})

    def parse_flavors(self, response: Response, prices: dict[str, Any] | None = None) -> Iterator[Batch]:
        """One batch of all flavours that have GPUs; without `prices` what they cost stays unknown."""
        flavors = [{**group, **flavor} for group in unwrapped(json_of(response)) for flavor in group["flavors"]]
        yield self.batch(response, (read_flavor(f, (prices or {}).get(f["gpu"])) for f in flavors if f["gpu"]))


def read_flavor(flavor: dict[str, Any], price: str | Decimal | None) -> RawOffer:
    """One flavour in its region, priced for one of its GPUs."""
    return RawOffer(
        purchase="spot" if flavor["gpu"].endswith("-spot") else "on_demand",
        price=price if price is not None and Decimal(price) else None,
        currency="USD",
        price_unit="gpu-hour",
        accelerator=flavor["gpu"].removesuffix("-spot"),
        instance_type=flavor["name"],
        gpu_count=flavor["gpu_count"],
        vcpus=flavor["cpu"],
        ram=f"{flavor['ram']} GB",
        disk=f"{flavor['disk']} GB",
        region=flavor["region_name"],
        kind="vm",
        availability=flavor["stock_available"],
    )


def unwrapped(document: Any) -> Any:
    """The list itself, or what an answer with a status holds under `data`."""
    return document if isinstance(document, list) else document["data"]

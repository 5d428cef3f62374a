"""JarvisLabs: GPU containers and virtual machines, on demand and, with a key, spot.

Docs:  https://jarvislabs.ai/pricing (page), https://github.com/jarvislabsai (the client that asks for the keyed list)
Gives: price of one GPU, memory, RAM and vCPUs; with JL_API_KEY also regions, spot prices, and how many GPUs are free
Lacks: on the page stock, regions and spot prices ("up to" a discount is none); disk
Quirk: the keyed list is in the currency of the account and says which. Its `num_gpus` is the most of one instance, no
       size: every price is for one GPU. Pools may be alike in all but what is free: they are one offer. Spot is for
       containers alone
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from parsel import Selector
from scrapy.http import Request, Response

from schemas.raw_offer import Purchase, RawOffer
from spiders.shared.base import Batch, Document, json_of
from spiders.shared.errors import SchemaDrift
from spiders.shared.shapes.html_table import HtmlTableSpider, column, dollars, labelled, words


class JarvislabsSpider(HtmlTableSpider):
    """Reads the keyed list of pools where there is a key, else the page's table of GPUs."""

    name = "jarvislabs"
    start_urls = ["https://jarvislabs.ai/pricing"]
    pools_url = "https://backendprod.jarvislabs.net/misc/server_meta"
    documents = (Document(r"/misc/server_meta", "parse_pools"), Document(r"jarvislabs\.ai/", "parse"))
    anchors = ("<table", "VRAM", "vCPU", "/hour")

    async def start(self) -> AsyncIterator[Request]:
        """One request: the list for who has a key, the page for who has none."""
        key = self.key("JL_API_KEY")
        self.use("JL_API_KEY" if key else "open")
        url, headers = (self.pools_url, {"Authorization": f"Bearer {key}"}) if key else (self.start_urls[0], {})
        yield Request(url, self.reader(url), headers=headers, dont_filter=True)

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """The priced rows of the tables that have a column for the memory of a GPU."""
        for table in page.xpath("//table"):
            labels = [words(label) for label in table.xpath("(.//tr)[1]/*")]
            for row in table.xpath("(.//tr)[position() > 1]") if "VRAM" in labels else ():
                cells = labelled(labels, row.xpath("*"))
                if price := dollars(cells[column(labels, "$/hour")]):
                    yield RawOffer(
                        purchase="on_demand",
                        price=price,
                        currency="USD",
                        price_unit="gpu-hour",
                        accelerator=cells[column(labels, "GPU")],
                        gpu_count=1,
                        vram=cells["VRAM"],
                        vcpus=cells[column(labels, "vCPU")],
                        ram=cells["RAM"],
                    )

    def parse_pools(self, response: Response) -> Iterator[Batch]:
        """One batch of all pools, those that are alike as one."""
        document, pools = json_of(response), dict[tuple[Any, ...], list[dict[str, Any]]]()
        for pool in document["server_meta"]:
            alike = (pool["gpu_type"], pool["region"], pool.get("workload_type"), pool.get("num_gpus"))
            pools.setdefault(alike, []).append(pool)
        yield self.batch(response, (o for same in pools.values() for o in self.read_pools(same, document["currency"])))

    def read_pools(self, pools: list[dict[str, Any]], currency: str) -> Iterator[RawOffer]:
        """What pools that are alike offer: on demand unless they are for spot alone, spot unless they are for VMs."""
        pool = pools[0]
        if len({(str(same["price_per_hour"]), str(same.get("spot_price"))) for same in pools}) != 1:
            raise SchemaDrift(f"expected one price for all pools of {pool['gpu_type']} in {pool['region']}")
        if not pool.get("spot_only_server"):
            yield priced(pools, currency, "on_demand", pool["price_per_hour"], "num_free_devices")
        if pool.get("spot_price") and pool.get("workload_type") != "vm":
            yield priced(pools, currency, "spot", pool["spot_price"], "spot_num_free_devices")


def priced(pools: list[dict[str, Any]], currency: str, purchase: Purchase, price: Any, free: str) -> RawOffer:
    """One offer; `free` names the field that tells how many GPUs are free, summed where every pool tells it."""
    pool, counts = pools[0], [same[free] for same in pools if same.get(free) is not None]
    return RawOffer(
        purchase=purchase,
        price=price,
        currency=currency,
        price_unit="gpu-hour",
        accelerator=pool["gpu_type"],
        sku=f"{pool['gpu_type']} {pool.get('workload_type')} up to {pool.get('num_gpus')}",
        gpu_count=1,
        vram=f"{pool['vram']} GB" if pool.get("vram") else None,
        vcpus=pool.get("cpus_per_gpu"),
        ram=f"{pool['ram_per_gpu']} GB" if pool.get("ram_per_gpu") else None,
        region=pool["region"],
        kind=pool.get("workload_type"),
        available_count=sum(counts) if len(counts) == len(pools) else None,
    )

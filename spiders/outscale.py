"""3DS Outscale: flexible GPUs, cards that are attached to a virtual machine.

Docs:  https://docs.outscale.com/api#readpubliccatalog
Gives: price of one GPU an hour, by subregion
Lacks: the machine (cores and RAM are priced apart and must be added), stock, form factor, interruptible capacity
Quirk: a GPU stands twice, as `attach` and as `allocate`, at one price; it is charged for from its allocation on, so
       that row is read. As no row is a whole machine, none has a count and a price of the machine. Only the regions in
       France are asked: of the others it is not known which currency they speak
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import JsonRequest, Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider

ALLOCATED = "Gpu:allocate:"


class OutscaleSpider(JsonListSpider):
    """Reads the public catalogue of each region."""

    name = "outscale"
    catalogue = "https://api.{}.outscale.com/api/v1/ReadPublicCatalog"
    start_urls = [catalogue.format("eu-west-2"), catalogue.format("cloudgouv-eu-west-1")]
    documents = (Document(r"/ReadPublicCatalog", "parse"),)
    records_path = ("Catalog", "Entries")

    async def start(self) -> AsyncIterator[Request]:
        """One request a region."""
        for url in self.start_urls:
            yield JsonRequest(url, data={}, callback=self.reader(url), dont_filter=True)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One allocated GPU, none for cores, memory, storage and the same GPU attached."""
        if record["Type"].startswith(ALLOCATED):
            yield RawOffer(
                purchase="on_demand",
                price=record["UnitPrice"],
                currency="EUR",
                price_unit="gpu-hour",
                accelerator=record["Type"].removeprefix(ALLOCATED),
                region=record["SubregionName"],
                kind="vm",
            )

"""Koyeb: GPU instances for services that scale to none, on demand.

Docs:  https://www.koyeb.com/pricing, https://www.koyeb.com/docs/reference/instances,
       https://www.koyeb.com/docs/faq/pricing, https://www.koyeb.com/docs/reference/api (CatalogInstances)
Gives: price of the instance an hour, GPU, count where the name tells it, memory of all its GPUs; with KOYEB_TOKEN the
       types by region with count, vCPUs, RAM and disk
Lacks: stock, interruptible capacity (there is none); on the page regions and sizes; in the catalogue GPU memory (it is
       not told whether of one GPU or of all)
Quirk: a row says the memory once or, for small screens, twice; dollar sign and amount stand apart ("$ 0.75 /hour").
       Instances without a GPU have no `vRAM`; plans are priced by the month. In the catalogue prices are text, and
       COMING_SOON is not yet sold. Taxes come on top
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from parsel import Selector
from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, dig, json_of
from spiders.shared.errors import Truncated
from spiders.shared.shapes.html_table import HtmlTableSpider, words

ROW = re.compile(
    r"(?:\b(?P<count>\d+)x[ -]?)?\b(?P<gpu>[A-Z][\w-]*)\s+(?:vRAM\s+(?P<vram>\d+ ?GB)\s+)(?:vRAM\s+\d+ ?GB\s+)?"
    r"(?P<price>\$\s*[\d.,]+)\s*/ ?hour\b"
)


class KoyebSpider(HtmlTableSpider):
    """Reads the catalogue where there is a key, else the GPU instances on the price page."""

    name = "koyeb"
    start_urls = ["https://www.koyeb.com/pricing"]
    catalog = "https://app.koyeb.com/v1/catalog/instances?limit=100"
    documents = (Document(r"/v1/catalog/instances", "parse_catalog"), Document(r"koyeb\.com/pricing", "parse"))
    anchors = ("GPU", "vRAM", "/hour")

    async def start(self) -> AsyncIterator[Request]:
        """One request: the catalogue for who has a key, the page for who has none."""
        key = self.key("KOYEB_TOKEN")
        self.use("KOYEB_TOKEN" if key else "open")
        url = self.catalog if key else self.start_urls[0]
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        yield Request(url, self.reader(url), headers=headers, dont_filter=True)

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """The price of every row that names a GPU and its memory."""
        for row in ROW.finditer(words(page.xpath("//body")[0])):
            yield RawOffer(
                purchase="on_demand",
                price=row["price"],
                currency="USD",
                price_unit="instance-hour",
                accelerator=row["gpu"].replace("-", " "),
                gpu_count=row["count"] or 1,
                vram_total=row["vram"],
                kind="serverless",
                tax_included=False,
            )

    def parse_catalog(self, response: Response) -> Iterator[Batch]:
        """One batch of the types with a GPU. Raises Truncated where the catalogue holds more than one answer."""
        document = json_of(response)
        types = dig(document, ("instances",), response.url)
        if document.get("count", len(types)) > len(types):
            raise Truncated(f"expected {document['count']} types from {response.url}, got {len(types)}")
        sold = [kind for kind in types if kind.get("gpu") and kind["status"] != "COMING_SOON"]
        yield self.batch(response, (read_type(kind, region) for kind in sold for region in kind["regions"]))


def read_type(kind: dict[str, Any], region: str) -> RawOffer:
    """One type in one region."""
    return RawOffer(
        purchase="on_demand",
        price=kind["price_hourly"],
        currency="USD",
        price_unit="instance-hour",
        accelerator=kind["gpu"]["name"],
        instance_type=kind["id"],
        gpu_count=kind["gpu"]["count"],
        vcpus=kind.get("vcpu_shares"),
        ram=kind.get("memory"),
        disk=kind.get("disk"),
        region=region,
        kind="serverless",
        tax_included=False,
    )

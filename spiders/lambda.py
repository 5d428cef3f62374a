"""Lambda: on-demand instances.

Docs:  https://docs.lambda.ai/api/cloud (keyed list), https://lambda.ai/pricing (page)
Gives: price, GPU, memory, vCPUs, RAM, disk for each size; with LAMBDA_API_KEY also type names and stock by region
Lacks: interruptible capacity (there is none); on the page stock and region. 1-Click Clusters (their term is a range)
Quirk: the page prices one GPU, the keyed list US cents for the instance. On the page cluster tables come first under
       the same price label, but without VRAM; the number of GPUs stands only on the tab ("8x") of a table's panel
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from parsel import Selector
from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, dig, json_of
from spiders.shared.shapes.html_table import HtmlTableSpider, column, dollars, tab_of, words


class LambdaSpider(HtmlTableSpider):
    """Reads the keyed list of instance types where there is a key, else the page."""

    name = "lambda"
    start_urls = ["https://lambda.ai/pricing"]
    types_url = "https://cloud.lambda.ai/api/v1/instance-types"
    documents = (Document(r"/v1/instance-types", "parse_types"), Document(r"lambda(labs)?\.(ai|com)/", "parse"))
    anchors = ('role="tabpanel"', 'data-label="VRAM/GPU"', 'data-label="PRICE/GPU/HR', "data-plan=")

    async def start(self) -> AsyncIterator[Request]:
        """One request: the list for who has a key, the page for who has none."""
        key = self.key("LAMBDA_API_KEY")
        self.use("LAMBDA_API_KEY" if key else "open")
        url, headers = (self.types_url, {"Authorization": f"Bearer {key}"}) if key else (self.start_urls[0], {})
        yield Request(url, self.reader(url), headers=headers, dont_filter=True)

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """Every priced row of the instance tables, with the count of the panel that it stands in."""
        for row in page.css("tr[data-plan]"):
            cells = {str(cell.attrib["data-label"]): words(cell) for cell in row.css("[data-label]")}
            if "VRAM/GPU" in cells and (price := dollars(cells[column(cells, "price/gpu/hr")])):
                yield RawOffer(
                    purchase="on_demand",
                    price=price,
                    currency="USD",
                    price_unit="gpu-hour",
                    accelerator=row.attrib["data-plan"],
                    gpu_count=tab_of(row).casefold().partition("x")[0],
                    vram=cells["VRAM/GPU"],
                    vcpus=cells.get("vCPUs"),
                    ram=cells.get("RAM"),
                    disk=cells.get("STORAGE"),
                    kind="vm",
                    tax_included=False,
                )

    def parse_types(self, response: Response) -> Iterator[Batch]:
        """One batch of the keyed list, a mapping by the name of the type."""
        types = dig(json_of(response), ("data",), response.url)
        gpus = (record for record in types.values() if record["instance_type"]["specs"].get("gpus") != 0)
        yield self.batch(response, (offer for record in gpus for offer in self.read_type(record)))

    def read_type(self, record: dict[str, Any]) -> Iterator[RawOffer]:
        """One offer for each region with capacity; where none has any, one that is sold out, its price still known."""
        kind, specs = record["instance_type"], record["instance_type"]["specs"]
        for region in record["regions_with_capacity_available"] or [None]:
            yield RawOffer(
                purchase="on_demand",
                price=kind["price_cents_per_hour"],
                currency="USD",
                price_unit="cent/instance-hour",
                accelerator=kind.get("gpu_description") or kind["description"],
                instance_type=kind["name"],
                gpu_count=specs.get("gpus"),
                vcpus=specs.get("vcpus"),
                ram=f"{specs['memory_gib']} GiB",
                disk=f"{specs['storage_gib']} GiB",
                region=region and region["name"],
                kind="vm",
                tax_included=False,
                availability=bool(region),
            )

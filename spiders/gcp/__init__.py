"""Google Cloud: machine types with GPUs, put together from billing SKUs with a key, from the price page without.

Docs:  https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list,
       https://cloud.google.com/products/compute/pricing/accelerator-optimized
Gives: on-demand, spot, 1 and 3 years of commitment, DWS Flex-start (`queued`) and DWS Calendar Mode (`capacity_block`),
       vCPUs, memory; with GOOGLE_API_KEY of every region and of N1 machines with an attached GPU
Lacks: stock, zones, spot history, interruption rates, TPUs, the smaller spot page (the price page has that column)
Quirk: a SKU prices a part, so a machine is cores + memory + GPUs + local SSD of one way to buy, and is left out where
       a part is missing; what it is made of stands in schemas/machine_types.csv. A price for a region is no promise
       that the machine is sold there, and a plain price none that it is sold without commitment: machine_types.csv
       knows some, the page is taken at its word. While prices change two generations are served: it is read twice
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from scrapy.http import Request, Response
from w3lib.url import add_or_replace_parameter

from spiders.gcp import machines, page, skus
from spiders.shared.base import Batch, Document, json_of
from spiders.shared.errors import SchemaDrift
from spiders.shared.shapes.paged_json import PagedJsonSpider

SKUS = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus?currencyCode=USD&pageSize=5000"
PAGE = "https://cloud.google.com/products/compute/pricing/accelerator-optimized"


class GcpSpider(PagedJsonSpider):
    """Walks all SKUs of Compute Engine where there is a key, else reads the price page, twice."""

    name = "gcp"
    records_path = ("skus",)
    documents = (Document(r"/services/[^/]+/skus", "parse_skus"), Document(r"/pricing/accelerator-opt", "read_page"))

    async def start(self) -> AsyncIterator[Request]:
        """The first page of SKUs, or the price page."""
        key = self.key("GOOGLE_API_KEY")
        self.use("GOOGLE_API_KEY" if key else "open")
        headers = {"X-Goog-Api-Key": key} if key else {}
        url = SKUS if key else PAGE
        yield Request(url, self.reader(url), headers=headers, dont_filter=True)

    def parse_skus(
        self, response: Response, seen: int | None = None, rates: skus.Rates | None = None
    ) -> Iterator[Batch | Request]:
        """The parts of this page are added to those before; the last page puts the machines together."""
        records = list(self.records(response))
        rates = skus.newest(rates or {}, records)
        yield from self.turn(response, self.parse_skus, len(records), seen, rates=rates)
        if not self.next_page(response):
            yield self.batch(response, machines.offers(rates, self.provider.fact("hours_per_month")))

    def next_page(self, response: Response) -> str | None:
        """The token of the page after this one is empty or missing on the last."""
        token = json_of(response).get("nextPageToken")
        return add_or_replace_parameter(response.url, "pageToken", token) if token else None

    def read_page(self, response: Response) -> Iterator[Batch | Request]:
        """One batch of the page, and the request that reads it once more, under an address of its own."""
        offers = page.offers(response)
        again = add_or_replace_parameter(response.url, "hl", "en")
        known = {"first": sorted(map(str, offers))}
        yield self.batch(response, offers)
        yield Request(again, self.compare_page, cb_kwargs=known, dont_filter=True)

    def compare_page(self, response: Response, first: list[str]) -> None:
        """Raises SchemaDrift where the second reading says anything else than the first."""
        odd = set(first) ^ set(map(str, page.offers(response)))
        if odd:
            raise SchemaDrift(
                f"expected the same prices at both readings of {response.url}, got {len(odd)} that differ"
            )

"""Oracle Cloud Infrastructure: list prices per GPU-hour, joined with the shapes that they are sold in.

Docs:  https://docs.oracle.com/en-us/iaas/Content/Compute/References/computeshapes.htm
Gives: price of every GPU part, the shapes with GPU count and memory, which of them may be preemptible
Lacks: regions (one price everywhere), stock, form factor; GPU memory that can be trusted (`gpuMemoryQty` is the total
       of most shapes, one GPU's of some, and wrong of others)
Quirk: a shape lists its GPU part as type `ocpu` with the number of OCPUs; the GPUs are counted by `gpuQty`. Licences
       ("OCI - NVIDIA AI Enterprise - H100") share metric and category with the GPUs. Preemptible is no price of its
       own: always the same discount off, virtual machines only
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, having, json_of
from spiders.shared.errors import SchemaDrift

PRODUCTS = "https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/?currencyCode=USD"
PART_KEYS = ("partNumber", "displayName", "metricName", "serviceCategory", "currencyCodeLocalizations")
SHAPE_KEYS = ("name", "hidden", "status", "allowPreemptible", "bundleMemoryQty", "gpuQty", "shapeType", "products")


class OciSpider(ProviderSpider):
    """Reads the shapes, then the price list; a GPU part that no shape names stays an offer of one GPU."""

    name = "oci"
    expect = "json"
    allowed_domains = ("apexapps.oracle.com",)
    start_urls = ["https://www.oracle.com/a/ocom/docs/cloudestimator2/data/shapes.json"]
    documents = (Document(r"/data/shapes\.json", "shapes"), Document(r"/cetools/api/v1/products", "products"))

    def shapes(self, response: Response) -> Iterator[Request]:
        """The shapes with GPUs, by part number, go on to the price list."""
        by_part: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for shape in having(dig(json_of(response), ("items",), response.url), SHAPE_KEYS, response.url):
            if shape["gpuQty"] and shape["status"] == "ACTIVE" and not shape["hidden"]:
                for product in shape["products"]:
                    by_part[product["partNumber"]].append(shape)
        yield Request(PRODUCTS, callback=self.products, cb_kwargs={"by_part": by_part})

    def products(
        self, response: Response, by_part: Mapping[str, Sequence[dict[str, Any]]] | None = None
    ) -> Iterator[Batch]:
        """The offers of every GPU part; alone, without the shapes, one GPU of each."""
        parts = having(dig(json_of(response), ("items",), response.url), PART_KEYS, response.url)
        gpus = [p for p in parts if p["metricName"] == "GPU Per Hour" and p["serviceCategory"] == "Compute - GPU"]
        rented = [part for part in gpus if "compute" in part["displayName"].casefold()]
        shapes = by_part or {}
        yield self.batch(response, (offer for p in rented for offer in self.read(p, shapes.get(p["partNumber"], ()))))

    def read(self, part: dict[str, Any], shapes: Sequence[dict[str, Any]]) -> Iterator[RawOffer]:
        """One part in each of its shapes."""
        price = pay_as_you_go(part)
        if not shapes:
            yield self.offer(part, price, gpu_count=1)
        for shape in shapes:
            words = {
                "instance_type": shape["name"],
                "gpu_count": shape["gpuQty"],
                "min_gpu_count": shape["gpuQty"],
                "ram": shape["bundleMemoryQty"] and f"{shape['bundleMemoryQty']} GB",
                "kind": shape["shapeType"]["value"],
            }
            yield self.offer(part, price, **words)
            if price is not None and shape["allowPreemptible"] and words["kind"] == "vm":
                kept = 1 - Decimal(str(self.provider.fact("preemptible_discount")))
                yield self.offer(part, price * kept, purchase="spot", **words)

    def offer(self, part: dict[str, Any], price: Decimal | None, **words: Any) -> RawOffer:
        """The words that all offers of a part share."""
        return RawOffer(
            **{"purchase": "on_demand"} | words,
            price=price,
            currency="USD",
            price_unit="gpu-hour",
            accelerator=part["displayName"],
            sku=part["partNumber"],
        )


def pay_as_you_go(part: dict[str, Any]) -> Decimal | None:
    """The one price, None where none is told. Raises SchemaDrift on several, a currency not asked for, no number."""
    localized = part["currencyCodeLocalizations"]
    prices = [p["value"] for local in localized for p in local["prices"] if p["model"] == "PAY_AS_YOU_GO"]
    if {local["currencyCode"] for local in localized} - {"USD"} or len(prices) > 1:
        raise SchemaDrift(f"expected one price in USD for part {part['partNumber']}, got {localized}")
    if not all(isinstance(price, int | Decimal) for price in prices):
        raise SchemaDrift(f"expected a number as price of part {part['partNumber']}, got {prices[0]!r}")
    return Decimal(prices[0]) if prices else None

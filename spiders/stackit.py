"""STACKIT: virtual machines with GPUs by region, on demand.

Docs:  https://docs.api.eu01.stackit.cloud/documentation/pim/version/v2
Gives: price of the whole machine, count (in the name of the type), vCPUs, RAM, region
Lacks: stock, GPU (only the type's family tells it), GPU memory, disk, network, interruptible capacity (there is none)
Quirk: one list of everything that is sold, under `services`, in copies under `skus`; databases have flavours too. Euro
       without VAT, told as a sign. `monthlyPrice` is 720 hours. `metro` is the same machine spread over zones, at its
       own price
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document, dig, having, json_of
from spiders.shared.errors import SchemaDrift
from spiders.shared.shapes.json_list import JsonListSpider


class StackitSpider(JsonListSpider):
    """Reads the price list that the provider's own calculator asks for."""

    name = "stackit"
    start_urls = ["https://pim.api.stackit.cloud/v1/skus"]
    documents = (Document(r"/v1/skus", "parse"),)
    expect = "json"

    def records(self, response: Response) -> Iterator[dict[str, Any]]:
        """The SKUs, under `services` or `skus`, or bare. Raises SchemaDrift where there is no list of objects."""
        document = json_of(response)
        if isinstance(document, dict):
            document = document["skus"] if "skus" in document else dig(document, ("services",), response.url)
        if not isinstance(document, list):
            raise SchemaDrift(f"expected a list of SKUs from {response.url}, got {type(document).__name__}")
        yield from having(document, ("category",), response.url)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One machine in one region; what is no GPU machine, or no longer sold, gives nothing."""
        if record["category"] != "Compute Engine GPU" or record["deprecated"] == "Yes":
            return
        if record["currency"] != "€":
            raise SchemaDrift(f"expected € as currency of {record['sku']}, got {record['currency']!r}")
        machine = record["attributes"]
        yield RawOffer(
            purchase="on_demand",
            price=record["price"],
            currency="EUR",
            price_unit=f"instance-{record['unitBilling'].removeprefix('per ')}",
            instance_type=machine["flavor"],
            gpu_count=machine["flavor"].rpartition(".g")[2],
            vcpus=machine["vCPU"],
            ram=f"{machine['ram']} GiB",
            region=record["region"],
            tier="metro" if machine.get("metro") else None,
            kind="vm",
            tax_included=False,
        )

"""STACKIT: virtual machines with GPUs by region, on demand.

Docs:  https://docs.api.eu01.stackit.cloud/documentation/pim/version/v2
Gives: price of the whole machine, count (in the name of the type), vCPUs, RAM, region
Lacks: stock, GPU (only the type's family tells it), GPU memory, disk, network, interruptible capacity (there is none)
Quirk: one list of everything that is sold; databases have flavours too. Euro without VAT, told as a sign.
       `monthlyPrice` is 720 hours. `metro` is the same machine spread over zones, at its own price
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.errors import SchemaDrift
from spiders.shared.shapes.json_list import JsonListSpider


class StackitSpider(JsonListSpider):
    """Reads the price list that the provider's own calculator asks for."""

    name = "stackit"
    start_urls = ["https://pim.api.stackit.cloud/v1/skus"]
    documents = (Document(r"/v1/skus", "parse"),)
    records_path = ("services",)
    expect = "json"

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
            tier="metro" if machine["metro"] else None,
            kind="vm",
            tax_included=False,
        )

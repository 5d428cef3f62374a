"""Thunder Compute: virtual machines with one or more GPUs, on demand.

Docs:  https://www.thundercompute.com/docs/api-reference (GET /v1/specs, GET /v1/pricing)
Gives: price of the configuration, GPU, count, memory; the mode where the key names one
Lacks: stock, regions, form factor, interruptible capacity
Quirk: the price list maps a configuration ("h100_x8_production", newer "h100_x8") to dollars an hour for all of its
       GPUs; rates of vCPUs, disks and snapshots and bare names of GPUs stand in the same mapping and are no
       configurations. The price is that of the base: which of the vCPUs it includes is told nowhere, so none are stated
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, json_of

CONFIGURATION = re.compile(r"(?P<gpu>[a-z0-9_]+?)_x(?P<count>\d+)(_(?P<mode>[a-z]+))?")


class ThundercomputeSpider(ProviderSpider):
    """Reads what the configurations are, then what they cost."""

    name = "thundercompute"
    start_urls = ["https://api.thundercompute.com:8443/v1/specs"]
    documents = (Document(r"/v1/specs", "parse_specs"), Document(r"/v1/pricing", "parse_prices"))
    expect = "json"

    def parse_specs(self, response: Response) -> Iterator[Request]:
        """The request for the prices, with the configurations at hand."""
        specs = dig(json_of(response), ("specs",), response.url)
        yield response.follow("pricing", self.parse_prices, cb_kwargs={"specs": specs}, dont_filter=True)

    def parse_prices(self, response: Response, specs: Mapping[str, Any] | None = None) -> Iterator[Batch]:
        """One batch of every configuration that has a price; one that is not described keeps what its key says."""
        prices = dig(json_of(response), ("pricing",), response.url)
        named = {found: price for key, price in prices.items() if (found := CONFIGURATION.fullmatch(key))}
        yield self.batch(response, (read(found, price, (specs or {}).get(found[0])) for found, price in named.items()))


def read(found: re.Match[str], price: Any, spec: Mapping[str, Any] | None) -> RawOffer:
    """One configuration."""
    return RawOffer(
        purchase="on_demand",
        price=price,
        currency="USD",
        price_unit="instance-hour",
        accelerator=spec.get("displayName", found["gpu"]) if spec else found["gpu"],
        instance_type=found[0],
        gpu_count=found["count"],
        vram=f"{spec['vramGB']} GB" if spec and "vramGB" in spec else None,
        kind="vm",
        tier=found["mode"],
    )

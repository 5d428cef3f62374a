"""Chutes: containers on GPUs of Bittensor subnet 64, started on request.

Docs:  https://chutes.ai/docs/sdk-reference/node-selector, https://github.com/chutesai/chutes-api (GET /pricing)
Gives: price of one GPU by its short name
Lacks: stock, region, vCPUs, RAM, disk; GPU memory and form factor stand in the short name or in the vendor's own list
Quirk: a rate card in USD and in a token; USD is read. `h100` and `a100` without a suffix
       are PCIe cards. There is no shell, and deploying costs a fee beside the hours
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class ChutesSpider(JsonListSpider):
    """Reads the keyless rate card."""

    name = "chutes"
    start_urls = ["https://api.chutes.ai/pricing"]
    documents = (Document(r"api\.chutes\.ai/pricing", "parse"),)
    records_path = ("gpu_price_estimates",)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One GPU, the least that can be asked for."""
        yield RawOffer(
            purchase="on_demand",
            price=record["usd"]["hour"],
            currency="USD",
            price_unit="gpu-hour",
            accelerator=record["_key"],
            gpu_count=1,
            kind="serverless",
        )

"""Nosana: markets of GPU hosts, one model in one tier each, paid by the second.

Docs:  https://nosana.com/pricing.md
Gives: price of one host, GPU, tier, least GPU memory of a host
Lacks: stock (hosts queue on the chain), region, vCPUs, RAM, disk, form factor; the count stands in the name only
Quirk: `usd_reward_per_hour` is the market's price as the vendor's price list quotes it, before the network's fee
       (`network_fee_percentage`), which its own dashboard adds for who rents. It follows the price of a token. A market
       of the tiers PREMIUM and COMMUNITY is one GPU unless its name says more ("8x"); of the tier OTHER that is not
       said, so the count is the name's or unknown. A market may stand for several models: then its name is read.
       Markets without a price are no offers; markets of one partner's hosts are not told from others
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider

TIMES = re.compile(r"\b(\d+) ?x\b", re.IGNORECASE)


class NosanaSpider(JsonListSpider):
    """Reads the list of markets, which needs no key."""

    name = "nosana"
    start_urls = ["https://api.nosana.com/api/markets/"]
    documents = (Document(r"/api/markets", "parse"),)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """One market."""
        models, name = record.get("gpu_types") or [], record["name"].removesuffix(" Community")
        several = TIMES.search(name)
        single = 1 if record["type"] != "OTHER" else None
        count = several[1] if several else single
        if record["usd_reward_per_hour"]:
            yield RawOffer(
                purchase="on_demand",
                price=record["usd_reward_per_hour"],
                currency="USD",
                price_unit="instance-hour",
                accelerator=models[0] if len(models) == 1 else name,
                sku=record["slug"],
                gpu_count=count,
                vram=f"{record['lowest_vram']} GB" if count == 1 and record.get("lowest_vram") else None,
                tier=record["type"],
                kind="container",
            )

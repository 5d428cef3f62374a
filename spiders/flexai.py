"""FlexAI: GPUs of several clouds for training and inference, on demand.

Docs:  https://flex.ai/pricing
Gives: list price of one GPU, form factor and memory where the name says them
Lacks: stock, regions, counts, whose capacity it is; a second, lower price of the page has no label and is in no Offer
Quirk: the prices are the page's JSON-LD (schema.org `Offer`), text in `price`; an Offer may be of something else
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.embedded_json import EmbeddedJsonSpider

CARD = re.compile(r"(NVIDIA|AMD|Tenstorrent|Intel)\b", re.IGNORECASE)


class FlexaiSpider(EmbeddedJsonSpider):
    """Reads the Offers of the page's JSON-LD that name a card with its maker."""

    name = "flexai"
    start_urls = ["https://flex.ai/pricing"]
    documents = (Document(r"flex\.ai/pricing", "parse"),)
    anchors = ("application/ld+json", "priceCurrency", "Offer")
    json_key = "offers"

    def read_value(self, value: Any) -> Iterator[RawOffer]:
        """The price of every card in a list of Offers, or in a single one."""
        for offer in value if isinstance(value, list) else [value]:
            if isinstance(offer, dict) and offer.get("@type") == "Offer" and CARD.match(offer.get("name") or ""):
                yield RawOffer(
                    purchase="on_demand",
                    price=offer["price"],
                    currency=offer["priceCurrency"],
                    price_unit="gpu-hour",
                    accelerator=offer["name"],
                    gpu_count=1,
                )

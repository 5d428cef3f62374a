"""Vast.ai: a marketplace of single machines, on demand and for a bid.

Docs:  https://docs.vast.ai/api/search-offers
Gives: price of the whole offer, GPU, count, memory of one GPU, share of CPU and RAM, place, verification of the host
Lacks: sold-out listings (what is listed is free), a list of GPU names, totals
Quirk: an anonymous answer is cut to 64 offers and ignores an offset, so the list is walked by price: each answer
       begins at the last price of the one before. `dph_total` holds 8 GB of disk (`dph_base` does not); a bid wins the
       GPU, the same disk comes on top. RAM and cores are the machine's, `cpu_cores_effective` is this offer's share.
       `gpu_frac` is a share of the machine, never of a GPU. `geolocation` may be null or ", US"
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from decimal import Decimal
from typing import Any

from scrapy.http import JsonRequest, Request, Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, having, json_of
from spiders.shared.errors import Truncated

CLAMP = 64
KEYS = (
    "id",
    "is_bid",
    "dph_base",
    "dph_total",
    "min_bid",
    "gpu_name",
    "num_gpus",
    "gpu_ram",
    "geolocation",
    "rentable",
)


class VastSpider(ProviderSpider):
    """Walks the offers of both kinds upwards in price until an answer is not full."""

    name = "vast"
    expect = "json"
    documents = (Document(r"/api/v0/bundles", "parse"),)

    async def start(self) -> AsyncIterator[Request]:
        """The cheapest offers of each kind."""
        self.use("VAST_API_KEY" if self.key("VAST_API_KEY") else "open")
        for kind in ("on-demand", "bid"):
            yield self.ask(kind, Decimal(0), frozenset())

    def ask(self, kind: str, low: Decimal, seen: frozenset[int]) -> Request:
        """The cheapest offers from a price on; `seen` are the listings at that price that are read already."""
        key = self.key("VAST_API_KEY")
        return JsonRequest(
            "https://console.vast.ai/api/v0/bundles/",
            data={
                "rentable": {"eq": True},
                "rented": {"eq": False},
                "type": kind,
                "dph_total": {"gte": float(low)},
                "order": [["dph_total", "asc"]],
                "limit": CLAMP,
            },
            headers={"Authorization": f"Bearer {key}"} if key else None,
            callback=self.parse,
            cb_kwargs={"kind": kind, "low": low, "seen": seen},
            dont_filter=True,
        )

    def parse(
        self, response: Response, kind: str = "on-demand", low: Decimal = Decimal(0), seen: frozenset[int] = frozenset()
    ) -> Iterator[Batch | Request]:
        """One batch, and what is dearer. Raises Truncated where a full answer does not lead to a higher price."""
        records = list(having(dig(json_of(response), ("offers",), response.url), KEYS, response.url))
        yield self.batch(response, (self.read(record) for record in records if record["id"] not in seen))
        if len(records) >= CLAMP:
            prices = [record["dph_total"] for record in records]
            last = prices[-1]
            if prices != sorted(prices) or last <= low:
                raise Truncated(f"expected {kind} offers that rise above {low} USD/h, got {CLAMP} up to {last}")
            yield self.ask(kind, last, frozenset(r["id"] for r in records if r["dph_total"] == last))

    def read(self, record: dict[str, Any]) -> RawOffer:
        """One listing, with the same disk in the price on demand and for a bid."""
        disk = record["dph_total"] - record["dph_base"]
        where, _, country = (record["geolocation"] or "").rpartition(", ")
        return RawOffer(
            purchase="bid" if record["is_bid"] else "on_demand",
            price=record["min_bid"] + disk if record["is_bid"] else record["dph_total"],
            currency="USD",
            price_unit="instance-hour",
            listing_id=str(record["id"]),
            accelerator=record["gpu_name"],
            gpu_count=record["num_gpus"],
            vram=f"{record['gpu_ram']} MiB",
            vcpus=record.get("cpu_cores_effective"),
            ram=ram_of(record),
            disk="8 GB",
            network=f"{record['inet_down']} Mbps" if record.get("inet_down") else None,
            region=record["geolocation"] if where else None,
            country=country or None,
            tier=record.get("verification"),
            kind="container",
            availability=record["rentable"],
            storage_usd_per_gib_month=record.get("storage_cost"),
        )


def ram_of(record: dict[str, Any]) -> str | None:
    """This offer's share of the machine's RAM, None where the answer lacks one of the three numbers."""
    ram, share, cores = (record.get(key) for key in ("cpu_ram", "cpu_cores_effective", "cpu_cores"))
    return f"{ram * share / cores:.0f} MiB" if ram and share and cores else None

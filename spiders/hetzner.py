"""Hetzner: dedicated GEX servers, each with one GPU, by the hour and by the month.

Docs:  https://docs.hetzner.com/robot/dedicated-server/server-lines/gpu-server/, the order page of Hetzner Robot
Gives: both prices with the fee for setting up, RAM, stock by location
Lacks: GPU (only the product's name tells it), vCPUs, interruptible capacity
Quirk: the list behind the order page; it holds every product line, of which GEX has GPUs. Each configuration (more RAM,
       other disks) of a product is priced apart and has an id. Prices are without VAT
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.json_list import JsonListSpider


class HetznerSpider(JsonListSpider):
    """Reads the configurations that can be ordered."""

    name = "hetzner"
    start_urls = ["https://robot-ws.your-server.de/order/server/available_configurations?currency=EUR"]
    documents = (Document(r"/available_configurations", "parse"),)

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """Both prices of one configuration at every location, none of a product line without GPUs."""
        if not record["product_name"].startswith("GEX"):
            return
        ram = [part for part in record["configuration"] if part["type"] == "ram"]
        for location, offered in record["availabilities"].items():
            words = {
                "instance_type": record["product_name"],
                "sku": str(record["configuration_id"]),
                "ram": f"{ram[0]['size']} {ram[0]['unit']}" if len(ram) == 1 else None,
                "region": location,
                "kind": "bare_metal",
                "available_count": offered["quantity"],
                "tax_included": False,
            }
            price = offered["price"]
            if price.get("hourly"):
                yield RawOffer(
                    purchase="on_demand", price=price["hourly"], currency="EUR", price_unit="instance-hour", **words
                )
            yield RawOffer(
                purchase="reserved",
                price=price["monthly"],
                currency="EUR",
                price_unit="instance-month",
                term_months=1,
                upfront=price.get("setup"),
                **words,
            )

"""UpCloud: GPU servers on demand and spot, by zone.

Docs:  https://developers.upcloud.com/1.3/4-pricing/
Gives: price of the whole server by zone, GPU, count, vCPUs, RAM, disk, and how many can be had
Lacks: GPU memory; the cap on what a month costs, which is 672 hours
Quirk: prices are cents of the account's currency for one hour. A spot plan has a price of its own, under the name of
       its plan with "SPOT-" in it, while its sizes stand with the plan itself. Stock is told by zone and plan, and a
       plan that is not named there is one of which nothing is known
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import Request, Response
from w3lib.http import basic_auth_header

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, dig, json_of

GPU_PLAN = re.compile(r"server_plan_(?P<name>GPU-.+)")
API = "https://api.upcloud.com/1.3"


class UpcloudSpider(ProviderSpider):
    """Reads plans, stock and prices, one after the other: the price list names the offers."""

    name = "upcloud"
    documents = (
        Document(r"/1\.3/plan", "read_plans"),
        Document(r"/1\.3/device/availability", "read_stock"),
        Document(r"/1\.3/price", "read_prices"),
    )
    expect = "json"

    async def start(self) -> AsyncIterator[Request]:
        """The plans."""
        self.use("UPCLOUD_USERNAME")
        yield self.ask("plan", self.read_plans)

    def ask(self, path: str, reader: Any, **known: Any) -> Request:
        """A request with the user's name and password; `known` goes to the reader."""
        login = basic_auth_header(self.key("UPCLOUD_USERNAME") or "", self.key("UPCLOUD_PASSWORD") or "")
        return Request(f"{API}/{path}", reader, headers={"Authorization": login}, dont_filter=True, cb_kwargs=known)

    def read_plans(self, response: Response) -> Iterator[Request]:
        """The stock, with the plans by name."""
        plans = dig(json_of(response), ("plans", "plan"), response.url)
        yield self.ask("device/availability?type=gpu", self.read_stock, plans={plan["name"]: plan for plan in plans})

    def read_stock(self, response: Response, plans: Any = None) -> Iterator[Request]:
        """The prices, with plans and stock."""
        yield self.ask("price", self.read_prices, plans=plans, stock=json_of(response))

    def read_prices(self, response: Response, plans: Any = None, stock: Any = None) -> Iterator[Batch]:
        """A batch for every GPU plan with a price in a zone."""
        prices = dig(json_of(response), ("prices",), response.url)
        currency = prices.get("currency", "EUR")
        found = [
            (zone["name"], known["name"], price)
            for zone in prices["zone"]
            for key, price in zone.items()
            if (known := GPU_PLAN.fullmatch(key))
        ]
        for zone, name, price in found:
            plan = (plans or {}).get(name) or (plans or {}).get(name.replace("SPOT-", "")) or {}
            free = (stock or {}).get(zone, {}).get("gpu_plans", {}).get(name, {}).get("amount")
            said = {"region": zone, "instance_type": name, "available_count": free}
            yield self.batch(response, [offer(plan, price=price["price"], currency=currency, **said)])


def offer(plan: dict[str, Any], **said: Any) -> RawOffer:
    """One plan in one zone, with what the price list and the stock say of it."""
    memory, disk = plan.get("memory_amount"), plan.get("storage_size")
    return RawOffer(
        purchase="spot" if "SPOT-" in said["instance_type"] else "on_demand",
        price_unit="cent/instance-hour",
        accelerator=plan.get("gpu_model"),
        gpu_count=plan.get("gpu_amount"),
        vcpus=plan.get("core_number"),
        ram=f"{memory} MiB" if memory else None,
        disk=f"{disk} GB" if disk else None,
        kind="vm",
        **said,
    )

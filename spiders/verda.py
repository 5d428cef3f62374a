"""Verda (formerly DataCrunch): instances, on demand and spot.

Docs:  https://api.verda.com/v1/docs
Gives: both prices, GPU, count, memory, vCPUs, RAM; with VERDA_CLIENT_ID and VERDA_CLIENT_SECRET also stock by location
Lacks: without a key stock and location. Prices of clusters, containers (`serverless_price`) and the dynamic price
Quirk: prices are strings for the whole instance, `gpu_memory` is that of all its GPUs together; a `spot_price` of null
       is no offer and is not filled from the other price. A saved price page is read as well: its JSON-LD says
       the way of buying in name and description; an Offer may be of a cluster, a container, a disk or a nameless CPU
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy.http import JsonRequest, Request, Response

from schemas.raw_offer import Purchase, RawOffer
from spiders.shared.base import Batch, Document, dig, json_of
from spiders.shared.shapes.embedded_json import embedded
from spiders.shared.shapes.json_list import JsonListSpider

NAMED = re.compile(r"(?P<count>\d+)x (?P<gpu>\S.*) (?P<way>on-demand|spot)")
Stock = dict[str, list[dict[str, Any]]]


class VerdaSpider(JsonListSpider):
    """Reads the keyless list of types; with credentials first the stock of both purchase kinds."""

    name = "verda"
    start_urls = ["https://api.verda.com/v1/instance-types"]
    documents = (
        Document(r"/v1/instance-types", "parse_types"),
        Document(r"/v1/instance-availability", "parse_stock"),
        Document(r"(verda\.com|datacrunch\.io)/pricing", "parse_page"),
    )

    async def start(self) -> AsyncIterator[Request]:
        """The list of types; with credentials a token, then the stock, then the list."""
        who, secret = self.key("VERDA_CLIENT_ID"), self.key("VERDA_CLIENT_SECRET")
        self.use("VERDA_CLIENT_ID" if who and secret else "open")
        url, grant = self.start_urls[0], {"grant_type": "client_credentials", "client_id": who, "client_secret": secret}
        if who and secret:
            yield JsonRequest(url.replace("instance-types", "oauth2/token"), self.parse_token, data=grant)
        else:
            yield Request(url, self.parse_types, dont_filter=True)

    def parse_token(self, response: Response) -> Iterator[Request]:
        """The token that the two questions for stock carry."""
        headers = {"Authorization": f"Bearer {dig(json_of(response), ('access_token',), response.url)}"}
        yield response.follow("/v1/instance-availability?is_spot=false", self.parse_stock, headers=headers)

    def parse_stock(self, response: Response, stock: Stock | None = None) -> Iterator[Request]:
        """What is free on demand, then what is free as spot, then the list of types."""
        if "is_spot=false" in response.url:
            known, url = {"on_demand": json_of(response)}, "/v1/instance-availability?is_spot=true"
        else:
            known, url = {**(stock or {}), "spot": json_of(response)}, self.start_urls[0]
        headers = {"Authorization": response.request.headers["Authorization"]} if response.request else {}
        yield response.follow(url, self.reader(url), headers=headers, cb_kwargs={"stock": known})

    def parse_types(self, response: Response, stock: Stock | None = None) -> Iterator[Batch]:
        """One batch of all types with GPUs."""
        types = (record for record in self.records(response) if record["gpu"]["number_of_gpus"])
        yield self.batch(response, (offer for record in types for offer in self.read_type(record, stock)))

    def read_type(self, record: dict[str, Any], stock: Stock | None) -> Iterator[RawOffer]:
        """Both purchase kinds of one type, each where it is free; one without a place where it is free nowhere."""
        prices: tuple[tuple[Purchase, str | None], ...] = (
            ("on_demand", record["price_per_hour"]),
            ("spot", record.get("spot_price")),
        )
        for purchase, price in prices:
            places = stock[purchase] if stock else []
            free = [place["location_code"] for place in places if record["instance_type"] in place["availabilities"]]
            for location in (free or [None]) if price is not None else []:
                yield RawOffer(
                    purchase=purchase,
                    price=price,
                    currency=record["currency"],
                    price_unit="instance-hour",
                    accelerator=record["gpu"]["description"],
                    instance_type=record["instance_type"],
                    gpu_count=record["gpu"]["number_of_gpus"],
                    vram_total=f"{record['gpu_memory']['size_in_gigabytes']} GB",
                    vcpus=record["cpu"]["number_of_cores"],
                    ram=f"{record['memory']['size_in_gigabytes']} GB",
                    region=location,
                    kind="vm",
                    availability=None if stock is None else bool(free),
                )

    def parse_page(self, response: Response) -> Iterator[Batch]:
        """One batch of the Offers of instances in the page's JSON-LD, each once."""
        offers = (o for graph in embedded(response.text, "@graph") for node in graph for o in read_node(node))
        yield self.batch(response, {str(offer): offer for offer in offers}.values())


def read_node(node: dict[str, Any]) -> Iterator[RawOffer]:
    """The Offer of an instance with GPUs, whose price is of all of them."""
    named = NAMED.fullmatch(node.get("name") or "")
    if named and node.get("description") == f"Hourly {named['way']} instance price":
        yield RawOffer(
            purchase="spot" if named["way"] == "spot" else "on_demand",
            price=node["price"],
            currency=node["priceCurrency"],
            price_unit="instance-hour",
            accelerator=named["gpu"],
            gpu_count=named["count"],
            kind="vm",
        )

"""Ubicloud: single GPUs for virtual machines, on demand, by the minute.

Docs:  https://github.com/ubicloud/ubicloud/tree/main/config/billing_rates
Gives: price of one GPU by location, out of the rates that the provider bills by
Lacks: stock, sizes; vCPUs, disk and address of the machine are billed beside the GPU
Quirk: a GPU is named by its PCI id ("20b5", "2901"), which only a comment explains. A rate stands until the next one of
       the same GPU and place begins; rates to come stand there too. A rate of 0 is a place of one customer
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import yaml
from scrapy.http import Response, TextResponse

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, expect_anchors, having
from spiders.shared.errors import SchemaDrift

KEYS = ("resource_type", "resource_family", "location", "unit_price", "billed_by", "active_from", "byoc")


class UbicloudSpider(ProviderSpider):
    """Reads the list of rates in the provider's public repository."""

    name = "ubicloud"
    start_urls = ["https://raw.githubusercontent.com/ubicloud/ubicloud/main/config/billing_rates/vm_metal.yml"]
    documents = (Document(r"/billing_rates/\w+\.yml", "parse"),)

    def parse(self, response: Response) -> Iterator[Batch]:
        """One batch of the rate of every GPU at every place that holds now."""
        gpus = [rate for rate in having(rates(response), KEYS, response.url) if rate["resource_type"] == "Gpu"]
        begun = [rate for rate in gpus if datetime.fromisoformat(rate["active_from"]) <= self.instant]
        begun.sort(key=lambda rate: datetime.fromisoformat(rate["active_from"]))
        latest = {(rate["resource_family"], rate["location"]): rate for rate in begun if rate["byoc"] == "false"}
        yield self.batch(response, (read(rate) for rate in latest.values() if rate["unit_price"].strip("0.")))


def rates(response: Response) -> list[dict[str, Any]]:
    """The rates, every scalar as the text that stands there: no float for money, no number for an id."""
    if not isinstance(response, TextResponse):
        raise SchemaDrift(f"expected a list of rates from {response.url}, got {len(response.body)} bytes of no text")
    expect_anchors(response, ("resource_type", "unit_price", "active_from"))
    found = yaml.load(response.text, Loader=yaml.BaseLoader)  # noqa: S506 - it makes nothing but text
    if not isinstance(found, list):
        raise SchemaDrift(f"expected a list of rates from {response.url}, got {type(found).__name__}")
    return found


def read(rate: dict[str, Any]) -> RawOffer:
    """One GPU at one place. Raises SchemaDrift unless it is billed by duration."""
    if rate["billed_by"] != "duration":
        raise SchemaDrift(f"expected a rate by duration, got {rate['billed_by']!r}")
    return RawOffer(
        purchase="on_demand",
        price=rate["unit_price"],
        currency="USD",
        price_unit="gpu-minute",
        accelerator=rate["resource_family"],
        region=rate["location"],
        kind="vm",
    )

"""Novita: prices in hundred-thousandths of a dollar, RAM that looks like GPU memory, stock of several regions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def first(**fields: Any) -> Any:
    def change(url: str, body: Any) -> Any:
        body["data"][0] |= fields
        return body

    return change


def test_35000_is_35_cents_for_one_gpu(replay: Any) -> None:
    for price in ("35000", 35000):
        offer = replay("novita", NIGHT, first(price=price)).offers[0]
        assert (offer.price, offer.usd_per_gpu_hour, offer.gpu_count) == (Decimal("0.35"), Decimal("0.35"), 1)


def test_memory_per_gpu_is_ram(replay: Any) -> None:
    offer = replay("novita", NIGHT).offers[0]
    assert (offer.vram_gib, offer.ram_gib) == (24, 62)


def test_spot_is_an_offer_only_where_it_has_a_price(replay: Any) -> None:
    spot = [o for o in replay("novita", NIGHT).offers if o.purchase == "spot"]
    assert {(o.price, o.region) for o in spot} == {
        (Decimal("0.175"), "US-CA-06 (California)"),
        (Decimal("0.175"), "EU-GB-01 (United Kingdom)"),
    }


def test_stock_of_several_regions_together_says_nothing_of_one(replay: Any) -> None:
    stock = {o.region: o.availability for o in replay("novita", NIGHT).offers if o.gpu == "RTX 4090"}
    assert stock == {
        "US-CA-06 (California)": "unknown",
        "EU-GB-01 (United Kingdom)": "unknown",
        "US-01 (Dallas)": "sold_out",
    }
    none = replay("novita", NIGHT, first(availableDeploy=False)).offers[0]
    assert none.availability == "sold_out"


def test_normal_stock_is_available(replay: Any) -> None:
    offer = replay("novita", NIGHT, first(regions=["US-01 (Dallas)"])).offers[0]
    assert (offer.availability, offer.flags) == ("available", None)


def test_a_malformed_price_is_refused_alone(replay: Any) -> None:
    for price in ("n/a", None, "-1"):
        read = replay("novita", NIGHT, first(price=price))
        assert (len(read.offers), len(read.rejects)) == (4, 2)


def test_stock_is_that_of_demand_and_says_nothing_of_spot(replay: Any) -> None:
    for case in (NIGHT, "2026-11-30-sold-out"):
        assert {o.availability for o in replay("novita", case).offers if o.purchase == "spot"} == {"unknown"}


def test_a_spot_price_of_what_is_not_sold_as_spot_is_no_offer(replay: Any) -> None:
    assert {o.purchase for o in replay("novita", NIGHT, first(billingMethods=["onDemand"])).offers} == {"on_demand"}

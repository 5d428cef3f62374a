"""Polaris: one GPU an hour, on demand and spot side by side."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_both_ways_to_rent_are_offers_of_their_own(replay: Any) -> None:
    h100 = {o.purchase: o.usd_per_gpu_hour for o in replay("polaris", NIGHT).offers if o.gpu == "H100"}
    assert h100 == {"on_demand": Decimal("2.748"), "spot": Decimal("1.602")}


def test_a_way_that_is_not_priced_is_no_offer(replay: Any) -> None:
    def unpriced(url: str, body: Any) -> Any:
        body["gpus"][0]["on_demand_per_hour"] = None
        return body

    assert {o.purchase for o in replay("polaris", NIGHT, unpriced).offers} == {"spot"}


def test_cpus_are_no_offers(replay: Any) -> None:
    assert {o.gpu for o in replay("polaris", NIGHT).offers} == {"H100", "H200", "A100", "RTX A6000", "V100"}


def test_whose_capacity_it_is_is_not_made_up(replay: Any) -> None:
    assert {(o.segment, o.reseller_of) for o in replay("polaris", NIGHT).offers} == {("reseller", None)}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        body["gpus"][1]["spot_per_hour"] = "soon"
        return body

    read = replay("polaris", NIGHT, broken)
    assert (len(read.offers), len(read.rejects)) == (6, 1)
    assert "soon" in read.rejects[0].reason


def test_gpus_of_one_price_class_are_offers_of_their_own(replay: Any) -> None:
    def classed(url: str, body: Any) -> Any:
        for gpu in body["gpus"]:
            gpu["billing_key"] = "one"
        return body

    offers = replay("polaris", NIGHT, classed).offers
    assert len({o.offer_key for o in offers}) == len(offers) == 7

"""Latitude.sh: whole servers in a page's script, for three terms and in two currencies."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"
KEYED = "2026-11-30-keyed"


def test_the_price_is_that_of_the_whole_server(replay: Any) -> None:
    offers = replay("latitude", NIGHT).offers
    per_gpu = {(o.gpu, o.gpu_count, o.usd_per_gpu_hour) for o in offers}
    assert per_gpu == {
        ("B300", 8, Decimal(16)),
        ("RTX PRO 6000", 8, Decimal("5.9975")),
        ("H100", 1, Decimal("3.37")),
    }


def test_reais_are_never_read_as_dollars(replay: Any) -> None:
    offers = replay("latitude", NIGHT).offers
    assert {o.currency for o in offers} == {"USD"}
    assert Decimal(640) not in {o.price for o in offers}


def test_q01_u20_cpu_plans_and_regions_without_a_price_are_no_offers(replay: Any) -> None:
    offers = replay("latitude", NIGHT).offers
    assert "c3.large.x86" not in {o.instance_type for o in offers}
    assert "United Kingdom" not in {o.region for o in offers}


def test_stock_is_that_of_the_region(replay: Any) -> None:
    stock = {(o.instance_type, o.country): o.availability for o in replay("latitude", NIGHT).offers}
    assert stock == {
        ("g4.b300.large", "US"): "sold_out",
        ("g4.rtx6kpro.large", "US"): "available",
        ("g4.rtx6kpro.large", "JP"): "limited",
        ("g3.h100.small", "US"): "available",
    }


def test_a_month_and_a_year_are_terms_at_the_price_of_the_whole_term(replay: Any) -> None:
    def terms(url: str, body: Any) -> Any:
        body["data"][-1]["attributes"]["regions"][0]["pricing"]["USD"] = {"hour": 1.36, "month": 496, "year": 4166}
        return body

    h100 = [o for o in replay("latitude", KEYED, terms).offers if o.gpu == "H100"]
    assert {(o.purchase, o.term_months, o.price, o.price_unit) for o in h100} == {
        ("on_demand", None, Decimal("1.36"), "instance-hour"),
        ("reserved", 1, Decimal(496), "instance-month"),
        ("reserved", 12, Decimal(4166), "instance-year"),
    }


def test_page_and_list_say_the_same(replay: Any) -> None:
    page, keyed = ({(o.offer_key, o.price) for o in replay("latitude", case).offers} for case in (NIGHT, KEYED))
    assert page == keyed


def test_a_price_below_zero_is_rejected_and_the_others_stay(replay: Any) -> None:
    def negative(url: str, body: Any) -> Any:
        body["data"][0]["attributes"]["regions"][0]["pricing"]["USD"]["hour"] = -128
        return body

    read = replay("latitude", KEYED, negative)
    assert (len(read.rejects), len(read.offers)) == (1, 3)


def test_a_region_without_dollars_is_no_offer_and_the_others_stay(replay: Any) -> None:
    def without(url: str, body: Any) -> Any:
        del body["data"][0]["attributes"]["regions"][0]["pricing"]["USD"]
        return body

    every, left = (replay("latitude", KEYED, change).offers for change in (None, without))
    assert 0 < len(left) < len(every)

"""E2E Networks: a table in dollars and a catalogue in rupees on one page, never mixed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_each_list_keeps_its_currency(replay: Any) -> None:
    offers = replay("e2e", NIGHT).offers
    prices = {c: {o.gpu: o.price for o in offers if o.currency == c} for c in ("USD", "INR")}
    assert prices["USD"] == {"B200": Decimal("6.50"), "H100": Decimal("2.90"), "L4": Decimal("0.57")}
    assert prices["INR"] == {"B200": 671, "H200": 436, "H100": 362, "A100": 189, "L40S": 102, "L4": 49}
    assert {(o.price_unit, o.gpu_count) for o in offers} == {("gpu-hour", 1)}


def test_without_a_rate_rupees_have_no_price_in_dollars(replay: Any) -> None:
    assert {(o.currency, o.usd_per_gpu_hour is None) for o in replay("e2e", NIGHT).offers} == {
        ("USD", False),
        ("INR", True),
    }


def test_in_stock_that_stands_at_everything_says_nothing(replay: Any) -> None:
    assert {o.availability for o in replay("e2e", NIGHT).offers} == {"unknown"}


def test_two_gpus_of_one_name_are_told_apart_by_memory(replay: Any) -> None:
    def smaller(url: str, body: str) -> str:
        return body.replace('NVIDIA L4 GPU Cloud Instance"', 'NVIDIA A100 GPU Cloud Instance"').replace(
            "NVIDIA L4 with 24GB", "NVIDIA A100 with 40GB"
        )

    a100 = {o.vram_gib: (o.price, o.offer_key) for o in replay("e2e", NIGHT, smaller).offers if o.gpu == "A100"}
    assert {vram: price for vram, (price, _) in a100.items()} == {80: 189, 40: 49}
    assert a100[80][1] != a100[40][1]


def test_a_month_and_a_year_are_terms_at_the_price_of_the_whole_term(replay: Any) -> None:
    def terms(url: str, body: str) -> str:
        was = "<td>$2.90</td><td>Contact us</td><td>Contact us</td>"
        assert was in body
        return body.replace(was, "<td>$2.90</td><td>$1,460.00</td><td>$8,760.00</td>")

    h100 = [o for o in replay("e2e", NIGHT, terms).offers if o.gpu == "H100" and o.currency == "USD"]
    assert {(o.purchase, o.term_months, o.price, o.usd_per_gpu_hour) for o in h100} == {
        ("on_demand", None, Decimal("2.90"), Decimal("2.90")),
        ("reserved", 1, Decimal(1460), Decimal(2)),
        ("reserved", 12, Decimal(8760), Decimal(1)),
    }


def test_q01_cpu_instances_are_no_offers(replay: Any) -> None:
    assert not {Decimal("4.7"), Decimal("0.049")} & {o.price for o in replay("e2e", NIGHT).offers}


def test_a_price_that_is_no_number_is_rejected_and_the_others_stay(replay: Any) -> None:
    def words(url: str, body: str) -> str:
        return body.replace('"price":436,', '"price":"on request",')

    read = replay("e2e", NIGHT, words)
    assert (len(read.rejects), len(read.offers)) == (1, 8)


def test_an_offer_of_something_without_a_name_is_passed_over(replay: Any) -> None:
    block = '<script type="application/ld+json">{"@type":"Thing","offers":{"@type":"Offer","price":"0"}}</script>'
    read = replay("e2e", NIGHT, lambda url, body: body.replace("</body>", block + "</body>"))
    assert read.offers == replay("e2e", NIGHT).offers

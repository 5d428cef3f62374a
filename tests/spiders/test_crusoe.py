"""Crusoe: rows per GPU-hour among blocks that look alike."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_u18_the_price_is_that_of_one_gpu_in_dollars(replay: Any) -> None:
    prices = {(o.gpu, o.form_factor): o.usd_per_gpu_hour for o in replay("crusoe", NIGHT).offers}
    assert prices == {
        ("H200", None): Decimal("4.29"),
        ("H100", None): Decimal("3.90"),
        ("A100", "SXM"): Decimal("2.30"),
        ("A100", "PCIe"): Decimal("2.00"),
        ("L40S", None): Decimal("1.50"),
        ("MI300X", "OAM"): Decimal("3.45"),
    }


def test_s06_spot_on_request_is_no_offer_and_no_price_on_demand(replay: Any) -> None:
    assert {o.purchase for o in replay("crusoe", NIGHT).offers} == {"on_demand"}
    spot = [o for o in replay("crusoe", "2026-11-30-night").offers if o.purchase == "spot"]
    assert [(o.gpu, o.price) for o in spot] == [("L40S", Decimal("0.90"))]


def test_inference_by_the_hour_is_another_product(replay: Any) -> None:
    def named_alike(url: str, body: str) -> str:
        return body.replace("GPU type", "GPU model")

    prices = {o.price for o in replay("crusoe", NIGHT, named_alike).offers}
    assert len(prices) == 6
    assert not {Decimal("5.50"), Decimal("0.04")} & prices


def test_what_is_hidden_is_not_offered(replay: Any) -> None:
    assert "A40" not in {o.gpu for o in replay("crusoe", NIGHT).offers}


def test_a_price_of_nothing_is_rejected_and_the_others_stay(replay: Any) -> None:
    read = replay("crusoe", NIGHT, lambda url, body: body.replace("$3.90", "$0.00"))
    assert (len(read.rejects), len(read.offers)) == (1, 5)


def test_memory_and_form_factor_are_told_by_what_a_tag_says(replay: Any) -> None:
    told = replay("crusoe", NIGHT).offers
    assert replay("crusoe", NIGHT, lambda url, body: body.replace("pricing-tag is-dark", "pricing-tag")).offers == told

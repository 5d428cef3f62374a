"""Alibaba Cloud: the currency that the document states, terms that are paid as a whole, names that look like GPUs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

NIGHT = "2026-11-29-night"
T4 = "cn-zhangjiakou::ecs.gn6i-c4g1.xlarge::vpc::linux::optimized"


@pytest.mark.parametrize(("currency", "usd"), [("USD", Decimal("10.46")), ("CNY", None)])
def test_an_amount_is_in_the_currency_of_its_document(replay: Any, currency: str, usd: Decimal | None) -> None:
    def stated(url: str, body: Any) -> Any:
        return body if isinstance(body, str) else body | {"currency": currency}

    (found,) = (offer for offer in replay("alibaba", NIGHT, stated).offers if offer.gpu == "T4")
    assert (found.price, found.currency, found.usd_per_hour) == (Decimal("10.46"), currency, usd)


def test_a_prepaid_price_is_for_the_whole_term(replay: Any) -> None:
    def prepaid(url: str, body: Any) -> Any:
        if not isinstance(body, str):
            body["pricingInfo"][T4] |= {
                "months": [{"price": "45.74", "period": "1"}],
                "years": [{"price": "466.56", "period": "1"}, {"price": "2332.74", "period": "5"}],
            }
        return body

    read = replay("alibaba", NIGHT, prepaid).raw
    assert [(o.term_months, o.price, o.price_unit) for o in read if o.purchase == "reserved"] == [
        (1, "45.74", "instance-month"),
        (12, "466.56", "instance-year"),
        (60, Decimal("466.548"), "instance-year"),
    ]


def test_cpu_machines_with_a_gpu_s_letters_and_other_systems_are_left_out(replay: Any) -> None:
    read = replay("alibaba", NIGHT)
    assert {offer.instance_type.split(".")[1].split("-")[0] for offer in read.raw} == {
        "gn5", "gn6i", "gn6v", "gn7e", "gn7i", "sgn7i", "ebmgn7e",
    }  # fmt: skip
    assert len(read.offers) == len({(offer.instance_type, offer.region) for offer in read.offers})


def test_a_share_of_a_card_is_no_whole_card(replay: Any) -> None:
    (share,) = (offer for offer in replay("alibaba", NIGHT).offers if "sgn7i" in offer.instance_type)
    assert (share.gpu, share.gpu_count) == ("A10", pytest.approx(1 / 3))


def test_a_price_that_is_none_is_a_reject_and_the_rest_stays(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        if not isinstance(body, str):
            body["pricingInfo"][T4]["hours"][0]["price"] = "-1"
        return body

    read = replay("alibaba", NIGHT, broken)
    assert ([reject.reason for reject in read.rejects], len(read.offers)) == (["price -1 is not above zero"], 6)

"""Exoscale: one number under three currencies, and types whose GPU stands in no answer."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_dollars_are_read_as_they_stand_and_nothing_is_converted(replay: Any) -> None:
    def apart(url: str, body: Any) -> Any:
        body["eur"] = dict.fromkeys(body["eur"], "99.00000000")
        body["chf"] = {}
        return body

    for change in (None, apart):
        offers = {o.instance_type: o for o in replay("exoscale", NIGHT, change).offers}
        assert len(offers) == 26
        assert {(o.currency, o.price == o.usd_per_hour, o.tax_included) for o in offers.values()} == {
            ("USD", True, False)
        }


def test_the_price_is_that_of_the_whole_instance(replay: Any) -> None:
    offer = next(o for o in replay("exoscale", NIGHT).offers if o.instance_type == "gpurtx6000pro.huge")
    assert (offer.gpu, offer.gpu_count, offer.vram_gib) == ("RTX PRO 6000", 8, 96)
    assert (offer.price, offer.usd_per_gpu_hour) == (Decimal("15.9722222"), Decimal("1.996527775"))


def test_gpu3_is_no_t4(replay: Any) -> None:
    offers = [o for o in replay("exoscale", NIGHT).offers if o.instance_type.startswith("gpu3.")]
    assert sorted((o.gpu, o.gpu_count) for o in offers) == [("A40", 1), ("A40", 2), ("A40", 4), ("A40", 8)]


def test_cpu_types_disks_and_traffic_are_no_offers(replay: Any) -> None:
    read = replay("exoscale", NIGHT)
    assert not read.rejects
    assert all(o.instance_type.startswith("gpu") for o in read.offers)


def test_a_count_that_the_answer_does_not_tell_is_not_made_up(replay: Any) -> None:
    offer = next(o for o in replay("exoscale", "2026-11-30-new-family").offers if o.gpu == "B300")
    assert offer.instance_type == "gpub300.extra-large"
    assert (offer.gpu_count, offer.usd_per_hour, offer.usd_per_gpu_hour) == (None, Decimal("9.4"), None)


def test_u20_a_price_of_zero_is_told_and_no_offer(replay: Any) -> None:
    def zero(url: str, body: Any) -> Any:
        body["usd"]["running_gpua30_huge"] = "0E-8"
        return body

    read = replay("exoscale", NIGHT, zero)
    assert [reject.raw.instance_type for reject in read.rejects] == ["gpua30.huge"]
    assert len(read.offers) == 25


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    for price in ("soon", "-12.5", True):

        def broken(url: str, body: Any, price: Any = price) -> Any:
            body["usd"]["running_gpua30_huge"] = price
            return body

        read = replay("exoscale", NIGHT, broken)
        assert [reject.raw.instance_type for reject in read.rejects] == ["gpua30.huge"]
        assert len(read.offers) == 25

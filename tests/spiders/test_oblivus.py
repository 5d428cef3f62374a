"""Oblivus: the price of one GPU, sizes of one to eight, stock by GPU and location."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_is_for_one_gpu_of_the_machine(replay: Any) -> None:
    (eight,) = [o for o in replay("oblivus", NIGHT).offers if o.gpu_count == 8]
    assert (eight.gpu, eight.form_factor) == ("H100", "PCIe")
    assert (eight.usd_per_gpu_hour, eight.usd_per_hour) == (Decimal("2.178"), Decimal("17.424"))


def test_stock_is_told_by_location_and_never_counted_by_size(replay: Any) -> None:
    offers = replay("oblivus", NIGHT).offers
    assert {o.available_count for o in offers} == {None}
    assert {(o.region, o.availability) for o in offers} == {
        ("OSL1", "available"),
        ("MON1", "sold_out"),
        (None, "unknown"),
    }


def test_a_malformed_price_is_refused_alone(replay: Any) -> None:
    def change(url: str, body: Any) -> Any:
        if "metadata" in url:
            body["data"]["gpu"]["RTX_A6000"]["hourlyCost"] = "-"
        return body

    read = replay("oblivus", NIGHT, change)
    assert (len(read.offers), len(read.rejects)) == (2, 4)


def test_a_gpu_without_a_name_is_called_by_its_key(replay: Any) -> None:
    def change(url: str, body: Any) -> Any:
        if "metadata" in url:
            for gpu in body["data"]["gpu"].values():
                del gpu["metaName"]
                for size in gpu["configurations"]:
                    del size["flavorID"]
        return body

    read, told = replay("oblivus", NIGHT, change), replay("oblivus", NIGHT)
    assert [o.gpu for o in read.offers] == [o.gpu for o in told.offers]
    assert len({o.offer_key for o in read.offers}) == len(told.offers)

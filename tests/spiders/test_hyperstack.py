"""Hyperstack: tables that look alike on the page, list prices joined to flavours with a key."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"
KEYED = "2026-11-30-keyed"


def test_the_tables_on_demand_and_spot_alone_are_offers(replay: Any) -> None:
    read = replay("hyperstack", NIGHT)
    spot = {o.gpu: o.usd_per_gpu_hour for o in read.offers if o.purchase == "spot"}
    assert spot == {"H100": Decimal("2.00"), "A100": Decimal("1.08"), "L40": Decimal("0.80")}
    assert len([o for o in read.offers if o.purchase == "on_demand"]) == 9
    assert not {Decimal("5.10"), Decimal("2.72"), Decimal("0.35"), Decimal("1.30")} & {o.price for o in read.offers}


def test_the_most_that_a_gpu_can_have_is_no_size(replay: Any) -> None:
    assert {(o.vcpus, o.ram_gib) for o in replay("hyperstack", NIGHT).offers} == {(None, None)}


def test_n06_the_form_factor_is_told_only_where_the_name_tells_it(replay: Any) -> None:
    h100 = {(o.accelerator_raw, o.form_factor) for o in replay("hyperstack", NIGHT).offers if o.gpu == "H100"}
    assert h100 == {
        ("NVIDIA H100 SXM", "SXM"),
        ("NVIDIA H100 NVLink", None),
        ("NVIDIA H100", None),
        ("NVIDIA H100 PCIe", "PCIe"),
    }


def test_the_list_price_counts_not_the_account_s_and_it_is_that_of_one_gpu(replay: Any) -> None:
    prices = {
        (o.instance_type, o.region): (o.usd_per_gpu_hour, o.usd_per_hour) for o in replay("hyperstack", KEYED).offers
    }
    assert prices["n3-H100x8", "CANADA-1"] == (Decimal("2.5"), Decimal(20))
    assert prices["n1-RTX-A6000x2", "NORWAY-1"] == (Decimal("0.5"), Decimal(1))


def test_u20_zero_in_the_price_book_is_no_price(replay: Any) -> None:
    (a100,) = [o for o in replay("hyperstack", KEYED).offers if o.gpu == "A100"]
    assert (a100.price, a100.availability) == (None, "sold_out")


def test_stock_and_country_are_those_of_the_region(replay: Any) -> None:
    h100 = {
        o.region: (o.availability, o.country)
        for o in replay("hyperstack", KEYED).offers
        if o.instance_type == "n3-H100x1"
    }
    assert h100 == {"CANADA-1": ("available", "CA"), "US-1": ("sold_out", "US")}


def test_q01_flavours_without_gpus_are_no_offers(replay: Any) -> None:
    assert "n1-cpu-small" not in {o.instance_type for o in replay("hyperstack", KEYED).offers}


def test_a_bare_list_is_read_as_well(replay: Any) -> None:
    bare = replay("hyperstack", KEYED, lambda url, body: body["data"] if "flavors" in url else body)
    assert len(bare.offers) == len(replay("hyperstack", KEYED).offers) == 6


def test_a_count_that_is_none_is_rejected_and_the_others_stay(replay: Any) -> None:
    def nothing(url: str, body: Any) -> Any:
        if "flavors" in url:
            body["data"][0]["flavors"][0]["gpu_count"] = 0
        return body

    read = replay("hyperstack", KEYED, nothing)
    assert (len(read.rejects), len(read.offers)) == (1, 5)


def test_the_region_may_stand_at_the_group_alone(replay: Any) -> None:
    def grouped(url: str, body: Any) -> Any:
        if "flavors" in url:
            for group in body["data"]:
                group["region_name"] = group["flavors"][0]["region_name"]
                for flavor in group["flavors"]:
                    del flavor["region_name"]
        return body

    assert replay("hyperstack", KEYED, grouped).offers == replay("hyperstack", KEYED).offers

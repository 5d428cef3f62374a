"""Paperspace: whole machines by the hour, their GPUs counted in their names."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_is_that_of_the_whole_machine(replay: Any) -> None:
    prices = {
        o.instance_type: (o.gpu_count, o.usd_per_gpu_hour, o.vram_gib) for o in replay("paperspace", NIGHT).offers
    }
    assert prices == {
        "A4000": (1, Decimal("0.76"), 16),
        "A4000x2": (2, Decimal("0.76"), 16),
        "A100-80G": (1, Decimal("3.18"), 80),
        "A100-80Gx8": (8, Decimal("3.18"), 80),
    }


def test_stock_is_that_of_the_region(replay: Any) -> None:
    a4000 = {o.region: o.availability for o in replay("paperspace", NIGHT).offers if o.instance_type == "A4000"}
    assert a4000 == {"Europe (AMS1)": "available", "West Coast (CA1)": "sold_out", "East Coast (NY2)": "available"}


def test_q01_machines_without_gpu_or_hourly_rate_are_no_offers(replay: Any) -> None:
    types = {o.instance_type for o in replay("paperspace", NIGHT).offers}
    assert not {"C5", "A100-80G-PCIe", "Free-A4000"} & types


def test_an_answer_of_a_batch_is_read_as_well(replay: Any) -> None:
    assert len(replay("paperspace", NIGHT, lambda url, body: [body]).offers) == 6


def test_a_rate_below_zero_is_rejected_and_the_others_stay(replay: Any) -> None:
    def negative(url: str, body: Any) -> Any:
        body["result"]["data"]["json"]["machineTypes"][2]["defaultUsageRates"][0]["rate"] = -1
        return body

    read = replay("paperspace", NIGHT, negative)
    assert (len(read.rejects), len(read.offers)) == (1, 5)

"""Hetzner: the product's name tells the GPU; a month is a term, an hour is on demand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NIGHT = "2026-11-29-night"


def test_by_the_hour_on_demand_and_by_the_month_with_its_fee(replay: Callable[..., Any]) -> None:
    offers = [o for o in replay("hetzner", NIGHT).offers if o.region == "FSN1"]
    assert [(o.gpu, o.vram_gib, o.purchase, o.price_unit, o.term_months) for o in offers] == [
        ("RTX 4000 SFF Ada", 20, "on_demand", "instance-hour", None),
        ("RTX 4000 SFF Ada", 20, "reserved", "instance-month", 1),
        ("RTX PRO 6000", 96, "on_demand", "instance-hour", None),
        ("RTX PRO 6000", 96, "reserved", "instance-month", 1),
    ]
    assert [float(o.upfront) for o in offers if o.upfront is not None] == [79, 0]


def test_none_left_at_a_place_is_sold_out_there(replay: Callable[..., Any]) -> None:
    stock = {(o.region, o.available_count, o.availability) for o in replay("hetzner", NIGHT).offers}
    assert stock == {("FSN1", 12, "available"), ("FSN1", 2, "available"), ("HEL1", 0, "sold_out")}

"""HPC-AI: a card's price stands in its page's scripts, its name in the address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NIGHT = "2026-11-29-night"


def test_spot_is_an_offer_of_its_own_and_null_is_none(replay: Callable[..., Any]) -> None:
    offers = replay("hpcai", NIGHT).offers
    assert [(o.gpu, o.purchase, float(o.usd_per_gpu_hour)) for o in offers] == [
        ("H200", "on_demand", 2.5),
        ("H200", "spot", 1.75),
        ("B200", "on_demand", 3.89),
    ]
    assert {(o.gpu_count, o.usd_per_hour) for o in offers} == {(None, None)}


def test_a_malformed_price_is_a_counted_reject(replay: Callable[..., Any]) -> None:
    def change(url: str, body: str) -> str:
        return body.replace('\\"pricePerGpu\\":2.5', '\\"pricePerGpu\\":-2.5')

    read = replay("hpcai", NIGHT, change)
    assert ["not above zero" in reject.reason for reject in read.rejects] == [True]
    assert len(read.offers) == 2

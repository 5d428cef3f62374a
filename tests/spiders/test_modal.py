"""Modal: dollars a second, and every function with a GPU can be preempted."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_prices_are_by_the_second_of_one_gpu(replay: Any) -> None:
    offers = {(o.gpu, o.vram_gib): o.usd_per_gpu_hour for o in replay("modal", NIGHT).offers}
    assert len(offers) == 11
    assert (offers["H100", 80], offers["A100", 80], offers["A100", 40]) == (
        Decimal("3.9492"),
        Decimal("2.4984"),
        Decimal("2.0988"),
    )


def test_what_can_be_preempted_is_not_on_demand(replay: Any) -> None:
    assert {(o.purchase, o.kind) for o in replay("modal", NIGHT).offers} == {("spot", "serverless")}


def test_cpu_and_memory_are_no_offers(replay: Any) -> None:
    assert not {Decimal("0.0000131"), Decimal("0.00000222")} & {o.price for o in replay("modal", NIGHT).offers}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("modal", NIGHT, lambda url, body: body.replace("$0.001097", "$0.000000"))
    assert (len(read.offers), [reject.raw.accelerator for reject in read.rejects]) == (10, ["H100"])

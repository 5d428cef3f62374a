"""Genesis Cloud: cards whose price is for one GPU of a node."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_is_that_of_one_gpu_of_the_node(replay: Any) -> None:
    read = replay("genesiscloud", NIGHT)
    assert {o.gpu: (o.gpu_count, o.usd_per_gpu_hour, o.usd_per_hour, o.vram_gib) for o in read.offers} == {
        "H100": (8, Decimal("2.19"), Decimal("17.52"), 80),
        "H200": (8, Decimal("3.15"), Decimal("25.2"), 141),
    }


def test_a_node_that_is_not_described_has_no_count(replay: Any) -> None:
    read = replay("genesiscloud", NIGHT, lambda url, body: body.replace("8x NVIDIA H200 GPU 141 GB", "H200 node"))
    (h200,) = [o for o in read.offers if o.gpu == "H200"]
    assert (h200.gpu_count, h200.usd_per_gpu_hour, h200.usd_per_hour) == (None, Decimal("3.15"), None)


def test_what_is_quoted_on_request_is_no_offer(replay: Any) -> None:
    assert "B200" not in {o.gpu for o in replay("genesiscloud", NIGHT).offers}


def test_a_price_of_nothing_is_rejected_and_the_others_stay(replay: Any) -> None:
    read = replay("genesiscloud", NIGHT, lambda url, body: body.replace("$3.15/h", "$0.00/h"))
    assert (len(read.rejects), len(read.offers)) == (1, 1)

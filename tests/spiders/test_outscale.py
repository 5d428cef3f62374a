"""Outscale: a card that is allocated is one offer, however often the catalogue names it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NIGHT = "2026-11-29-night"


def test_attached_and_allocated_are_one_offer_and_the_machine_is_none(replay: Callable[..., Any]) -> None:
    offers = [o for o in replay("outscale", NIGHT).offers if o.region == "eu-west-2"]
    assert [(o.gpu, o.vram_gib) for o in offers] == [
        ("H100", 80), ("H200", 141), ("A100", 80), ("L40", 48), ("A10", 24), ("V100", offers[-1].vram_gib),
    ]  # fmt: skip
    assert {(o.currency, o.price_unit) for o in offers} == {("EUR", "gpu-hour")}
    assert {(o.gpu_count, o.usd_per_hour) for o in offers} == {(None, None)}  # a card is no machine


def test_a_malformed_price_is_a_counted_reject(replay: Callable[..., Any]) -> None:
    def change(url: str, body: Any) -> Any:
        body["Catalog"]["Entries"][2]["UnitPrice"] = -1
        return body

    read = replay("outscale", NIGHT, change)
    assert [reject.raw.accelerator for reject in read.rejects] == ["nvidia-h100", "nvidia-h100"]
    assert len(read.offers) == 5

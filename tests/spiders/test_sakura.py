"""Sakura: yen for the whole machine; what has no GPU in its path is no offer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_path_of_a_class_tells_gpu_memory_and_count(replay: Callable[..., Any]) -> None:
    offers = replay("sakura", NIGHT).offers
    assert [(o.gpu, o.gpu_count, o.vram_gib, o.vcpus, o.ram_gib, o.zone) for o in offers] == [
        ("H100", 1, 80, 24, 240, "is1a"),
        ("V100", 1, 32, 4, 56, "is1a"),
        ("H100", 1, 80, 24, 240, "is1b"),
    ]
    assert {(o.currency, o.price_unit) for o in offers} == {("JPY", "instance-hour")}


def test_a_malformed_price_is_a_counted_reject(replay: Callable[..., Any]) -> None:
    def change(url: str, body: Any) -> Any:
        for record in body["ServiceClasses"].values():
            if "v100" in record["ServiceClassName"]:
                record["Price"]["Hourly"] = "ask"
        return body

    read = replay("sakura", NIGHT, change)
    assert (len(read.offers), len(read.rejects)) == (2, 1)

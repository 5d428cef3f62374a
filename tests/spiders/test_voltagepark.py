"""Voltage Park: counts that stand beside prices, two networks, presets priced as a whole."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def metal(read: Any) -> list[tuple[Any, ...]]:
    return sorted((o.interconnect, o.price, o.availability, o.available_count) for o in read.offers if o.interconnect)


def test_a01_a_price_without_a_free_gpu_is_sold_out(replay: Any) -> None:
    assert metal(replay("voltagepark", "2026-11-29-night")) == [
        ("ethernet", Decimal("1.99"), "sold_out", 0),
        ("infiniband", Decimal("2.49"), "sold_out", 0),
    ]


def test_the_count_of_one_network_is_not_the_other_s(replay: Any) -> None:
    assert metal(replay("voltagepark", "2026-11-30-night")) == [
        ("ethernet", Decimal("1.99"), "sold_out", 0),
        ("infiniband", Decimal("2.49"), "available", 16),
    ]


def test_u18_bare_metal_is_priced_by_gpu_and_a_preset_as_a_whole(replay: Any) -> None:
    read = {(o.kind, o.price): o for o in replay("voltagepark", "2026-11-29-night").offers}
    node, preset = read["bare_metal", Decimal("2.49")], read["vm", Decimal("15.12")]
    assert (node.gpu_count, node.usd_per_hour, node.usd_per_gpu_hour) == (8, Decimal("19.92"), Decimal("2.49"))
    assert (preset.gpu_count, preset.usd_per_hour, preset.usd_per_gpu_hour) == (8, Decimal("15.12"), Decimal("1.89"))


def test_cores_of_bare_metal_are_no_vcpus_and_disk_that_costs_extra_is_not_told(replay: Any) -> None:
    read = {o.kind: o for o in replay("voltagepark", "2026-11-29-night").offers}
    assert (read["bare_metal"].vcpus, read["bare_metal"].disk_gib) == (None, 18000)
    assert (read["vm"].vcpus, read["vm"].disk_gib) == (208, None)


def test_a_network_without_price_is_no_offer(replay: Any) -> None:
    def unpriced(url: str, body: Any) -> Any:
        if isinstance(body, dict):
            body["results"][0]["gpu_price_infiniband"] = None
        return body

    assert [row[0] for row in metal(replay("voltagepark", "2026-11-29-night", unpriced))] == ["ethernet"]


def test_a_preset_without_gpus_is_no_offer(replay: Any) -> None:
    def cpus(url: str, body: Any) -> Any:
        if isinstance(body, list):
            body[0]["resources"]["gpus"] = {}
        return body

    assert {o.kind for o in replay("voltagepark", "2026-11-29-night", cpus).offers} == {"bare_metal"}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        if isinstance(body, dict):
            body["results"][0]["gpu_price_ethernet"] = "-1.99"
        return body

    read = replay("voltagepark", "2026-11-29-night", broken)
    assert [reject.reason for reject in read.rejects] == ["price -1.99 is not above zero"]
    assert [row[0] for row in metal(read)] == ["infiniband"]

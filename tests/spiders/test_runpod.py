"""RunPod: two tiers that are never one, sold out with null sizes, a cluster's price for one GPU, two memories."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from schemas.providers import provider


def rows(read: Any, gpu: str) -> dict[str, Any]:
    return {o.tier: o for o in read.offers if o.gpu == gpu}


def test_a12_a20_tiers_are_two_offers(replay: Any) -> None:
    tiers = rows(replay("runpod", "2026-11-29-night"), "RTX 4090")
    assert {tier: (o.price, o.availability) for tier, o in tiers.items()} == {
        "secure": (Decimal("0.74"), "available"),
        "community": (Decimal("0.34"), "available"),
    }
    assert tiers["secure"].offer_key != tiers["community"].offer_key


def test_a01_what_has_no_stock_keeps_its_price_and_has_no_sizes(replay: Any) -> None:
    h100 = rows(replay("runpod", "2026-11-29-night"), "H100")
    secure, cluster = h100["secure"], h100["cluster"]
    assert (secure.availability, secure.price, secure.vcpus, secure.ram_gib) == (
        "sold_out",
        Decimal("3.29"),
        None,
        None,
    )
    assert (cluster.availability, cluster.price, cluster.vcpus, cluster.ram_gib) == (
        "sold_out",
        Decimal("2.5"),
        None,
        None,
    )
    assert (h100["community"].availability, h100["community"].ram_gib) == ("limited", 125)


def test_a01_stock_of_one_gpu_is_no_stock_of_a_node(replay: Any) -> None:
    def stocked(url: str, body: Any) -> Any:
        for record in body["data"]["gpuTypes"]:
            record["lowestPrice"] = {"minVcpu": 20, "minMemory": 125, "stockStatus": "High"}
        return body

    h100 = rows(replay("runpod", "2026-11-29-night", stocked), "H100")
    assert (h100["secure"].availability, h100["cluster"].availability) == ("available", "unknown")


def test_u18_r054_the_price_of_a_cluster_is_of_one_gpu(replay: Any) -> None:
    cluster = rows(replay("runpod", "2026-11-29-night"), "H100")["cluster"]
    assert (cluster.gpu_count, cluster.usd_per_gpu_hour, cluster.usd_per_hour) == (8, Decimal("2.5"), Decimal(20))


def test_u06_the_host_s_memory_is_not_the_gpu_s(replay: Any) -> None:
    def hosted(url: str, body: Any) -> Any:
        for record in body["data"]["gpuTypes"]:
            record["communityLowest"] = {"minVcpu": 8, "minMemory": 117, "stockStatus": "Low"}
        return body

    read = replay("runpod", "2026-11-29-night", hosted).offers
    assert {o.ram_gib for o in read if o.tier == "community"} == {117}
    assert {o.vram_gib for o in read if o.gpu == "A100"} == {40}
    assert {o.ram_gib for o in read if o.gpu == "H200" and o.tier == "secure"} == {251}


def test_a_tier_priced_zero_is_not_offered(replay: Any) -> None:
    read = replay("runpod", "2026-11-29-night")
    assert set(rows(read, "A100")) == set(rows(read, "RTX 3070")) == {"community"}


def test_a_price_that_spot_repeats_is_no_spot_offer(replay: Any) -> None:
    def repeated(url: str, body: Any) -> Any:
        for record in body["data"]["gpuTypes"]:
            record |= {"secureSpotPrice": record["securePrice"], "communitySpotPrice": record["communityPrice"]}
        return body

    assert {o.purchase for o in replay("runpod", "2026-11-29-night", repeated).offers} == {"on_demand"}


def test_n06_the_form_factor_stands_in_the_second_name(replay: Any) -> None:
    forms = {o.gpu: o.form_factor for o in replay("runpod", "2026-11-29-night").offers}
    assert (forms["H100"], forms["H200"], forms["MI300X"], forms["L40S"]) == ("SXM", "SXM", "OAM", None)


@pytest.mark.parametrize(("word", "said"), [("High", "available"), ("Low", "limited"), ("out_of_stock", "sold_out")])
def test_words_for_stock(replay: Any, word: str, said: str) -> None:
    def worded(url: str, body: Any) -> Any:
        for record in body["data"]["gpuTypes"]:
            record["lowestPrice"] = {"minVcpu": None, "minMemory": None, "stockStatus": word}
        return body

    read = replay("runpod", "2026-11-29-night", worded).offers
    assert {o.availability for o in read if o.tier == "secure"} == {said}
    assert not [o.flags for o in read if o.flags]


def test_collecting_is_asked_for_first() -> None:
    assert provider("runpod").access == "opt_in"

"""Prime Intellect: whole machines of other clouds, memory told together, plans that contradict their label."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def of(read: Any, plan: str, purchase: str = "on_demand") -> Any:
    (offer,) = [o for o in read.offers if o.instance_type == plan and o.purchase == purchase]
    return offer


def first(**fields: Any) -> Any:
    def change(url: str, body: Any) -> Any:
        body["items"][0] |= fields
        return body

    return change


def test_n12_a_plan_that_names_another_gpu_than_the_label_is_flagged(replay: Any) -> None:
    odd = of(replay("primeintellect", NIGHT), "g3-l40s-large")
    assert (odd.gpu, odd.gpu_count, odd.flags) == ("L40", 8, ["gpu_words_disagree"])


def test_u07_memory_is_told_for_all_gpus_together(replay: Any) -> None:
    eight = of(replay("primeintellect", NIGHT), "8H100.80S.240V")
    assert (eight.gpu_count, eight.vram_gib) == (8, 80)


def test_u28_a_price_keeps_every_digit(replay: Any) -> None:
    prices = {"onDemand": 1.6568, "communityPrice": None, "isVariable": None, "currency": "USD"}
    read = replay("primeintellect", NIGHT, first(prices=prices))
    assert of(read, "1H100.80S.30V").price == Decimal("1.6468") + Decimal("0.01")


def test_the_price_is_for_the_machine(replay: Any) -> None:
    eight = of(replay("primeintellect", NIGHT), "8H100.80S.240V")
    assert (eight.usd_per_hour, eight.usd_per_gpu_hour) == (Decimal("19.44"), Decimal("2.43"))


def test_the_same_plan_on_demand_and_spot_is_two_offers(replay: Any) -> None:
    read = replay("primeintellect", NIGHT)
    spot, fixed = of(read, "1H100.80S.30V", "spot"), of(read, "1H100.80S.30V")
    assert (spot.price, fixed.price) == (Decimal("0.94"), Decimal("2.43"))
    assert spot.offer_key != fixed.offer_key


def test_private_hosts_have_a_price_of_their_own(replay: Any) -> None:
    host = of(replay("primeintellect", NIGHT), "NVIDIA RTX A6000")
    assert (host.price, host.tier, host.reseller_of) == (Decimal("0.33"), "community_cloud", "runpod")


def test_a_malformed_price_is_refused_alone(replay: Any) -> None:
    read = replay("primeintellect", NIGHT, first(prices={"onDemand": -2.4, "currency": "USD"}))
    assert (len(read.offers), len(read.rejects)) == (5, 1)

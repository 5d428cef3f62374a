"""Nosana: the market's price before the fee, counts in names, markets without a price."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def first(**fields: Any) -> Any:
    """Fields of the first market set."""

    def changed(url: str, body: Any) -> Any:
        body[0].update(fields)
        return body

    return changed


def test_the_fee_is_not_added(replay: Any) -> None:
    raw = replay("nosana", NIGHT).raw
    assert {r.price for r in raw if r.sku == "nvidia-4090"} == {Decimal("0.2909")}


def test_a_market_of_eight_is_priced_as_one_host(replay: Any) -> None:
    (host,) = [o for o in replay("nosana", NIGHT).offers if o.tier == "OTHER"]
    assert (host.gpu_count, host.usd_per_hour, host.usd_per_gpu_hour) == (8, Decimal("18.2"), Decimal("2.275"))


def test_u20_markets_without_a_price_are_no_offers(replay: Any) -> None:
    read = replay("nosana", NIGHT)
    assert (len(read.offers), read.rejects) == (9, [])


def test_a_special_node_that_names_no_count_has_none(replay: Any) -> None:
    read = replay("nosana", NIGHT, first(type="OTHER"))
    (offer,) = [o for o in read.offers if o.usd_per_hour == Decimal("0.0327")]
    assert (offer.gpu_count, offer.usd_per_gpu_hour) == (None, None)


def test_a12_the_same_gpu_in_two_tiers_is_two_offers(replay: Any) -> None:
    h100 = {o.tier: o.usd_per_gpu_hour for o in replay("nosana", NIGHT).offers if o.gpu == "H100"}
    assert h100 == {"COMMUNITY": Decimal("1.0227"), "PREMIUM": Decimal("1.3636"), "OTHER": Decimal("2.275")}


def test_a_market_of_several_models_is_read_by_its_name(replay: Any) -> None:
    read = replay("nosana", NIGHT, first(gpu_types=[]))
    assert next(o for o in read.offers if o.tier == "COMMUNITY" and o.price < 1).gpu == "RTX 3060"
    laptop = replay("nosana", NIGHT, first(gpu_types=["NVIDIA GeForce RTX 4090 Laptop GPU"], lowest_vram=16))
    assert "RTX 4090 Laptop" in {o.gpu for o in laptop.offers}


def test_a_price_below_zero_is_told_and_the_rest_stays(replay: Any) -> None:
    read = replay("nosana", NIGHT, first(usd_reward_per_hour=-0.03))
    assert (len(read.offers), len(read.rejects)) == (8, 1)

"""Lium: hosts of many owners, priced for one GPU."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from schemas.providers import provider
from spiders.shared.secrets import without_fields

NIGHT = "2026-11-29-night"


def of(read: Any, gpu: str) -> Any:
    (offer,) = [o for o in read.offers if o.gpu == gpu]
    return offer


def with_first(**fields: Any) -> Any:
    """A change that sets fields of the first host."""
    return lambda url, body: [{**body[0], **fields}, *body[1:]]


def test_the_price_is_that_of_one_gpu_without_the_residue_of_a_float(replay: Any) -> None:
    b300 = of(replay("lium", NIGHT), "B300")
    assert (b300.gpu_count, b300.usd_per_gpu_hour, b300.usd_per_hour) == (8, Decimal("8.0003"), Decimal("64.0024"))


def test_a_price_to_come_is_not_the_price(replay: Any) -> None:
    assert of(replay("lium", NIGHT), "H200").price == Decimal("3.2")


def test_the_tier_is_how_it_is_bought_and_an_unknown_one_is_told(replay: Any) -> None:
    read = replay("lium", NIGHT, with_first(tier="community"))
    assert {(o.tier, o.purchase) for o in read.offers} == {("secure", "on_demand"), ("spot", "spot")}
    (reject,) = read.rejects
    assert "'community'" in reject.reason


def test_too_few_free_gpus_for_the_smallest_rental_are_sold_out(replay: Any) -> None:
    read = replay("lium", NIGHT, with_first(available_gpu_count=3, min_gpu_count_for_rental=8))
    first = next(o for o in read.offers if o.gpu == "H100" and o.gpu_count == 8)
    assert (first.availability, first.available_count) == ("sold_out", 3)
    assert of(read, "H200").availability == "available"


def test_sizes_are_of_the_host_in_kibibytes_and_of_a_card_in_mebibytes(replay: Any) -> None:
    ada = of(replay("lium", NIGHT), "RTX 4090")
    assert (ada.vram_gib, round(ada.ram_gib or 0), ada.disk_gib) == (24, 126, 900)


def test_a_host_that_tells_little_is_still_an_offer(replay: Any) -> None:
    def bare(url: str, body: Any) -> Any:
        kept = ("id", "machine_name", "price_per_gpu", "gpu_count", "tier")
        return [{**{name: body[0][name] for name in kept}, "location": None, "specs": None}]

    (offer,) = replay("lium", NIGHT, bare).offers
    assert (offer.country, offer.ram_gib, offer.vram_gib, offer.availability) == (None, None, 80, "unknown")


def test_a_malformed_host_is_told_and_the_others_stay(replay: Any) -> None:
    for fields in ({"price_per_gpu": "soon"}, {"price_per_gpu": -1}, {"price_per_gpu": None, "gpu_count": 0}):
        read = replay("lium", NIGHT, with_first(**fields))
        assert (len(read.offers), len(read.rejects)) == (6, 1)


def test_where_a_host_stands_and_who_runs_it_is_never_kept(replay: Any) -> None:
    host = {"executor_ip_address": "192.0.2.7", "miner_hotkey": "5F", "validator_hotkey": "5G", "lat": 1.5, "id": "a"}
    kept = json.loads(without_fields(json.dumps([host]).encode(), provider("lium").withhold))
    assert kept == [{**dict.fromkeys(host), "id": "a"}]
    raw = replay("lium", NIGHT, with_first(executor_ip_address="192.0.2.7", miner_hotkey="5F")).raw
    assert not any("192.0.2.7" in str(offer) or "5F" in str(offer) for offer in raw)

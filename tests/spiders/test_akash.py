"""Akash: statistics of bids for one GPU, by model."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def of(read: Any, word: str) -> Any:
    (offer,) = [o for o in read.offers if o.accelerator_raw == word]
    return offer


def with_h100(**fields: Any) -> Any:
    """A change that sets fields of the H100."""

    def change(url: str, body: Any) -> Any:
        body["models"][2] |= fields
        return body

    return change


def test_the_price_is_the_middle_of_the_bids_for_one_gpu_in_dollars(replay: Any) -> None:
    h100 = of(replay("akash", NIGHT), "nvidia h100")
    assert (h100.price, h100.usd_per_gpu_hour, h100.gpu_count) == (Decimal("2.58"), Decimal("2.58"), 1)
    assert (h100.form_factor, h100.vram_gib, h100.available_count) == ("SXM", 80, 29)


def test_a_gpu_that_nobody_has_bid_for_has_no_price(replay: Any) -> None:
    card = of(replay("akash", NIGHT), "nvidia rtx3060ti")
    assert (card.price, card.usd_per_hour, card.availability) == (None, None, "available")


def test_two_memories_of_one_model_are_two_offers(replay: Any) -> None:
    def twice(url: str, body: Any) -> Any:
        body["models"].append({**body["models"][0], "ram": "40Gi", "interface": "PCIe"})
        return body

    a100 = [o for o in replay("akash", NIGHT, twice).offers if o.gpu == "A100"]
    assert {(o.vram_gib, o.form_factor) for o in a100} == {(80, "SXM"), (40, "PCIe")}
    assert len({o.offer_key for o in a100}) == 2


def test_an_interface_that_is_not_told_stays_unknown(replay: Any) -> None:
    assert of(replay("akash", NIGHT, with_h100(interface="")), "nvidia h100").form_factor is None


def test_a_malformed_model_is_told_and_the_others_stay(replay: Any) -> None:
    for fields in (
        {"price": {"currency": "USD", "med": "soon"}},
        {"price": {"currency": "USD", "med": -1}},
        {"availability": {"total": 8, "available": "many"}},
    ):
        read = replay("akash", NIGHT, with_h100(**fields))
        assert (len(read.offers), len(read.rejects)) == (8, 1)

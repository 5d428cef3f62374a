"""Chutes: a rate card by short names, in dollars and in a token."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_dollars_are_read_not_the_token(replay: Any) -> None:
    prices = {o.accelerator_raw: o.usd_per_gpu_hour for o in replay("chutes", NIGHT).offers}
    assert (prices["h100"], prices["pro_6000"]) == (Decimal("1.79"), Decimal("1.8"))


def test_n09_short_names_are_the_vendor_s_cards(replay: Any) -> None:
    cards = {o.accelerator_raw: (o.gpu, o.form_factor, o.vram_gib) for o in replay("chutes", NIGHT).offers}
    assert cards["a6000"] == ("RTX A6000", None, 48)
    assert cards["a6000_ada"] == ("RTX 6000 Ada", None, 48)
    assert cards["pro_6000"] == ("RTX PRO 6000", None, 96)
    assert (cards["a100"], cards["a100_sxm"]) == (("A100", "PCIe", 80), ("A100", "SXM", 80))
    assert cards["h100"] == ("H100", "PCIe", 80)


def test_a_rate_that_is_no_number_is_told_and_the_rest_stays(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        body["gpu_price_estimates"]["h200"]["usd"]["hour"] = "soon"
        return body

    read = replay("chutes", NIGHT, broken)
    assert (len(read.offers), [r.raw.accelerator for r in read.rejects]) == (10, ["h200"])

"""Baseten: dollars a minute."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_prices_are_by_the_minute(replay: Any) -> None:
    offers = {o.gpu: (o.price_unit, o.usd_per_gpu_hour, o.kind) for o in replay("baseten", NIGHT).offers}
    assert offers["H100"] == ("instance-minute", Decimal("6.4998"), "serverless")
    assert offers["A100"][1] == Decimal("4.0002")


def test_shares_of_a_card_cpus_and_models_are_no_offers(replay: Any) -> None:
    read = replay("baseten", NIGHT)
    assert len(read.offers) == 6
    assert not {Decimal("0.0625"), Decimal("0.00058"), Decimal("0.10")} & {o.price for o in read.offers}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("baseten", NIGHT, lambda url, body: body.replace("$0.01414", "$0.00000"))
    assert (len(read.offers), [reject.raw.accelerator for reject in read.rejects]) == (5, ["L4"])

"""fal: the first price of a row is the list price, the second a floor."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_list_price_is_read_not_the_floor(replay: Any) -> None:
    prices = {o.gpu: (o.usd_per_gpu_hour, o.vram_gib, o.purchase, o.kind) for o in replay("fal", NIGHT).offers}
    assert prices == {
        "B300": (Decimal("8.5"), 288, "on_demand", "serverless"),
        "B200": (Decimal("6.25"), 180, "on_demand", "serverless"),
        "H200": (Decimal("4.5"), 141, "on_demand", "serverless"),
        "H100": (Decimal("4.5"), 80, "on_demand", "serverless"),
        "RTX PRO 6000": (Decimal("2.99"), 96, "on_demand", "serverless"),
    }


def test_a_card_to_ask_for_and_prices_of_models_are_no_offers(replay: Any) -> None:
    read = replay("fal", NIGHT)
    assert "A100" not in {o.gpu for o in read.offers}
    assert Decimal("0.05") not in {o.price for o in read.offers}


def test_a_row_that_stands_twice_is_one_offer(replay: Any) -> None:
    def twice(url: str, body: str) -> str:
        start, end = body.index('<div class="row">'), body.index("<h2>Output")
        return body[:end] + body[start:end] + body[end:]

    assert len(replay("fal", NIGHT, twice).offers) == 5


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("fal", NIGHT, lambda url, body: body.replace("$6.25/h", "$0.00/h"))
    assert (len(read.offers), [reject.raw.accelerator for reject in read.rejects]) == (4, ["B200"])

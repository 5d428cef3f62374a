"""NodeAI: data under an address that only the page tells."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_is_that_of_one_gpu(replay: Any) -> None:
    read = replay("nodeai", NIGHT)
    assert {(o.accelerator_raw, o.gpu, o.usd_per_gpu_hour) for o in read.offers} == {
        ("A100", "A100", Decimal("0.85")),
        ("A6000 / A40", None, Decimal("0.44")),
    }


def test_what_the_network_holds_is_not_what_is_free(replay: Any) -> None:
    offers = replay("nodeai", NIGHT).offers
    assert {(o.availability, o.available_count) for o in offers} == {("unknown", None)}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        if url.endswith(".json"):
            body["pageProps"]["content"]["options"][0]["pricePerHour"] = "soon"
        return body

    read = replay("nodeai", NIGHT, broken)
    assert (len(read.offers), len(read.rejects)) == (1, 1)
    assert "soon" in read.rejects[0].reason

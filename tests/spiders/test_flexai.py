"""FlexAI: the Offers of the page's JSON-LD."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_list_price_is_read_and_nothing_beside_it(replay: Any) -> None:
    offers = {(o.gpu, o.form_factor, o.vram_gib): o.usd_per_gpu_hour for o in replay("flexai", NIGHT).offers}
    assert offers == {
        ("H100", "SXM", 80): Decimal("2.10"),
        ("A100", None, 80): Decimal("1.80"),
        ("B200", None, 180): Decimal("6.25"),
    }


def test_a_block_that_stands_twice_is_read_once(replay: Any) -> None:
    def twice(url: str, body: str) -> str:
        start, end = body.index("<script"), body.index("</head>")
        return body[:end] + body[start:end] + body[end:]

    assert len(replay("flexai", NIGHT, twice).offers) == 3


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("flexai", NIGHT, lambda url, body: body.replace('"price":"6.25"', '"price":"contact us"'))
    assert (len(read.offers), [reject.raw.accelerator for reject in read.rejects]) == (2, ["NVIDIA B200"])


def test_what_is_no_named_offer_is_passed_over(replay: Any) -> None:
    odd = (
        '<script>{"offers":"all","x":{"offers":[{"@type":"Offer","price":"1.00"},{"@type":"AggregateOffer"}]}}</script>'
    )
    assert len(replay("flexai", NIGHT, lambda url, body: body.replace("</head>", odd + "</head>")).offers) == 3

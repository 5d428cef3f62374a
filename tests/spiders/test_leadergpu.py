"""LeaderGPU: two prices a month without labels, of one card and of the server."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_is_that_of_the_server_for_a_month(replay: Any) -> None:
    (offer,) = replay("leadergpu", NIGHT).offers
    assert (offer.gpu, offer.form_factor, offer.gpu_count, offer.vram_gib) == ("H100", "SXM", 8, 80)
    assert (offer.price, offer.currency, offer.price_unit) == (Decimal(11900), "EUR", "instance-month")
    assert (offer.purchase, offer.term_months, offer.interconnect) == ("reserved", 1, "NVLink")


def test_badge_link_and_error_correction_may_be_missing_or_there(replay: Any) -> None:
    def plain(url: str, body: str) -> str:
        return body.replace("<span>Popular</span>", "").replace("<i>NVLink</i> ", "").replace("HBM3<", "HBM3 ECC<")

    (offer,) = replay("leadergpu", NIGHT, plain).offers
    assert (offer.gpu, offer.price, offer.interconnect) == ("H100", Decimal(11900), None)


def test_a_server_to_ask_for_is_no_offer(replay: Any) -> None:
    assert {o.gpu for o in replay("leadergpu", NIGHT).offers} == {"H100"}


def test_a_malformed_price_is_told(replay: Any) -> None:
    read = replay("leadergpu", NIGHT, lambda url, body: body.replace("€11,900", "€0"))
    assert (len(read.offers), len(read.rejects)) == (0, 1)

"""HOSTKEY: euros a month, stock by location."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_is_for_a_month(replay: Any) -> None:
    offers = replay("hostkey", NIGHT).offers
    assert {(o.purchase, o.term_months, o.currency, o.price_unit) for o in offers} == {
        ("reserved", 1, "EUR", "instance-month")
    }
    assert {(o.region, o.gpu_count, o.price) for o in offers if o.gpu_count} == {("NL", 2, Decimal(1020))}


def test_stock_is_that_of_the_location(replay: Any) -> None:
    stock = {o.region: (o.availability, o.available_count) for o in replay("hostkey", NIGHT).offers if not o.gpu_count}
    assert stock == {"DE": ("sold_out", 0), "FI": ("available", 2), "NL": ("available", 7)}


def test_a_count_that_is_not_told_stays_unknown(replay: Any) -> None:
    assert {o.gpu_count for o in replay("hostkey", NIGHT).offers if o.instance_type == "gpu.v5-5090"} == {None}


def test_what_is_sold_nowhere_or_has_no_gpu_is_no_offer(replay: Any) -> None:
    assert {o.instance_type for o in replay("hostkey", NIGHT).offers} == {"gpu.v5-5090", "gpu.v5-2x5090"}
    assert "FR" not in {o.region for o in replay("hostkey", NIGHT).offers}


def test_a_country_is_known_by_its_code(replay: Any) -> None:
    assert {(o.region, o.country) for o in replay("hostkey", NIGHT).offers} == {(c, c) for c in ("DE", "FI", "NL")}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        body["presets"][0]["price"]["FI"]["EUR"] = "on request"
        return body

    read = replay("hostkey", NIGHT, broken)
    assert (len(read.offers), len(read.rejects)) == (3, 1)
    assert "on request" in read.rejects[0].reason

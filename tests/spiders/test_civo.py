"""Civo: on demand and by commitment, out of cells that say every price twice."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

NIGHT = "2026-11-29-night"


def prices(read: Any, count: int) -> dict[int | None, Decimal]:
    return {o.term_months: o.price for o in read.offers if o.gpu_count == count}


def test_every_term_is_an_offer_of_its_own(replay: Any) -> None:
    read = replay("civo", NIGHT)
    assert prices(read, 1) == {
        None: Decimal("1.29"),
        6: Decimal("1.19"),
        12: Decimal("1.09"),
        24: Decimal("0.99"),
        36: Decimal("0.89"),
    }
    assert {(o.purchase, o.term_months is None) for o in read.offers} == {("on_demand", True), ("reserved", False)}
    assert len(read.offers) == 15


def test_the_one_term_that_is_shown_is_not_the_price_on_demand(replay: Any) -> None:
    offers = replay("civo", NIGHT).offers
    assert {o.purchase for o in offers if o.usd_per_gpu_hour == Decimal("0.89")} == {"reserved"}


def test_the_price_is_that_of_the_instance(replay: Any) -> None:
    offers = [o for o in replay("civo", NIGHT).offers if o.purchase == "on_demand"]
    assert {(o.gpu_count, o.usd_per_hour, o.usd_per_gpu_hour) for o in offers} == {
        (1, Decimal("1.29"), Decimal("1.29")),
        (2, Decimal("2.58"), Decimal("1.29")),
        (4, Decimal("5.16"), Decimal("1.29")),
    }


def test_sizes_are_those_of_the_row(replay: Any) -> None:
    large = next(o for o in replay("civo", NIGHT).offers if o.gpu_count == 4)
    assert (large.gpu, large.vram_gib, large.vcpus, large.ram_gib, large.disk_gib) == ("L40S", 48, 48, 384, 800)


def test_tables_without_gpus_and_prices_by_the_month_are_no_offers(replay: Any) -> None:
    read = {o.price for o in replay("civo", NIGHT).offers}
    assert not {Decimal("0.107137"), Decimal("941.70"), Decimal("1883.40")} & read


def test_a_size_by_commitment_alone_has_no_price_on_demand(replay: Any) -> None:
    def contact(url: str, body: str) -> str:
        price = '<div id="price-value-hourly" data-option="hourly" class="price-value">$1.29<span>per hour</span></div>'
        assert price in body
        return body.replace(price, '<div data-option="hourly" class="price-value">Contact us</div>')

    assert set(prices(replay("civo", NIGHT, contact), 1)) == {6, 12, 24, 36}


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [("per hour", "per day", "per hour"), ("6_months", "half_a_year", "half_a_year")],
)
def test_another_unit_or_term_fails_loudly(failing: Any, was: str, becomes: str, said: str) -> None:
    report = failing("civo", NIGHT, lambda url, body: body.replace(was, becomes))
    assert report.error_class in {"LayoutChanged", "SchemaDrift"}
    assert said in report.error


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("civo", NIGHT, lambda url, body: body.replace("$1.29<", "$-1.29<"))
    assert (len(read.offers), [reject.raw.price for reject in read.rejects]) == (14, ["$-1.29"])

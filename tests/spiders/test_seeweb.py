"""Seeweb: euros an hour for one GPU, beside sizes of whole machines."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def prices(read: Any, gpu: str) -> dict[int | None, Decimal]:
    return {o.term_months: o.price for o in read.offers if o.gpu == gpu}


def test_every_term_is_an_offer_of_its_own(replay: Any) -> None:
    read = replay("seeweb", NIGHT)
    assert prices(read, "H100") == {None: Decimal("1.89"), 3: Decimal("1.80"), 6: Decimal("1.70"), 12: Decimal("1.61")}
    assert {(o.currency, o.form_factor, o.gpu_count) for o in read.offers} == {("EUR", "SXM", 1)}


def test_memory_of_four_gpus_is_not_that_of_one(replay: Any) -> None:
    read = replay("seeweb", NIGHT)
    assert {o.vram_gib for o in read.offers if o.gpu == "A100"} == {None}
    assert {o.vcpus for o in read.offers} == {None}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("seeweb", NIGHT, lambda url, body: body.replace("<span>1.61</span>", "<span>0.00</span>"))
    assert (len(read.offers), [reject.raw.term_months for reject in read.rejects]) == (11, [12])


def test_another_currency_fails_loudly(failing: Any) -> None:
    report = failing("seeweb", NIGHT, lambda url, body: body.replace("&euro;", "$"))
    assert report.error_class == "LayoutChanged"

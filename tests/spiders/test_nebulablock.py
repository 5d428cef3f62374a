"""Nebula Block: products under country and GPU, spot beside on demand, stock."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def a100(**fields: Any) -> Any:
    """Fields of the one A100 set."""

    def changed(url: str, body: Any) -> Any:
        body["data"]["CANADA"]["A100"][0].update(fields)
        return body

    return changed


def test_the_price_is_that_of_all_gpus(replay: Any) -> None:
    (eight,) = [o for o in replay("nebulablock", NIGHT).offers if o.gpu_count == 8]
    assert (eight.gpu, eight.form_factor, eight.vram_gib) == ("H100", "SXM", 80)
    assert (eight.usd_per_hour, eight.usd_per_gpu_hour) == (Decimal("16.032"), Decimal("2.004"))


def test_s09_spot_is_a_row_of_its_own(replay: Any) -> None:
    read = replay("nebulablock", NIGHT)
    assert [(o.form_factor, o.price) for o in read.offers if o.purchase == "spot"] == [("PCIe", Decimal("0.5"))]
    assert len({o.offer_key for o in read.offers}) == 4


def test_what_is_not_to_be_had_is_sold_out_whatever_its_stock(replay: Any) -> None:
    read = replay("nebulablock", NIGHT, a100(is_available=False))
    (offer,) = [o for o in read.offers if o.gpu == "A100"]
    assert (offer.availability, offer.available_count) == ("sold_out", 99)


def test_products_without_gpu_are_no_offers_and_numbers_serve_as_names(replay: Any) -> None:
    assert {o.gpu for o in replay("nebulablock", NIGHT, a100(gpu_count=0, gpu="", gpu_type="CPU")).offers} == {"H100"}
    assert not replay("nebulablock", NIGHT, a100(id=17)).rejects


def test_a_price_that_is_none_is_told_and_the_rest_stays(replay: Any) -> None:
    read = replay("nebulablock", NIGHT, a100(price_per_hour="call us"))
    assert (len(read.offers), len(read.rejects)) == (3, 1)

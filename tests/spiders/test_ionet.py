"""io.net: a price for all cards, two products of one configuration, rows that are no offers."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

NIGHT = "2026-11-29-night"


def only_machines(**fields: Any) -> Any:
    """Fields of the first machine set."""

    def changed(url: str, body: Any) -> Any:
        if "/vmaas/" in url:
            body["data"]["hardware"][0].update(fields)
        return body

    return changed


def test_the_price_is_that_of_all_cards(replay: Any) -> None:
    h100 = next(o for o in replay("ionet", NIGHT).offers if o.gpu == "H100" and o.kind == "vm")
    assert (h100.gpu_count, h100.usd_per_hour, h100.usd_per_gpu_hour) == (
        8,
        Decimal("27.8753424658"),
        Decimal("3.4844178082"),
    )
    assert (h100.form_factor, h100.interconnect, h100.country) == ("SXM", "NVLink", "FI")


def test_u20_rows_without_cards_or_price_are_no_offers(replay: Any) -> None:
    read = replay("ionet", NIGHT)
    assert {o.gpu for o in read.offers} == {"H100", "B300", "B200", "RTX 4090"}
    assert not read.rejects


def test_machine_and_container_of_one_configuration_are_two_offers(replay: Any) -> None:
    found = {o.kind: o for o in replay("ionet", NIGHT).offers if o.gpu == "H100"}
    assert found["vm"].offer_key != found["container"].offer_key
    assert (found["vm"].available_count, found["container"].available_count) == (None, 3)


@pytest.mark.parametrize("price", ["soon", -1])
def test_a_price_that_is_none_is_told_and_the_rest_stays(replay: Any, price: Any) -> None:
    read = replay("ionet", NIGHT, only_machines(price=price))
    assert (len(read.offers), [r.raw.tier for r in read.rejects]) == (7, ["vmaas"])


def test_what_the_list_does_not_tell_stays_unknown(replay: Any) -> None:
    bare = only_machines(sold_out=None, interconnect=None, location=None, memory=None, nvlink=False)
    offer = next(o for o in replay("ionet", NIGHT, bare).offers if o.gpu == "H100" and o.kind == "vm")
    assert (offer.availability, offer.form_factor, offer.region, offer.ram_gib) == ("unknown", None, None, None)
    assert (offer.country, offer.interconnect) == (None, None)

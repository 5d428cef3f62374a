"""CloudRift: variants of machines in US cents, free by data centre."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def of(read: Any, gpu: str) -> Any:
    (offer,) = [o for o in read.offers if o.gpu == gpu]
    return offer


def with_4090(**fields: Any) -> Any:
    """A change that sets fields of the one variant with an RTX 4090."""

    def change(url: str, body: Any) -> Any:
        body["data"]["instance_types"][2]["variants"][0] |= fields
        return body

    return change


def test_u18_the_price_is_cents_for_the_machine(replay: Any) -> None:
    read = replay("cloudrift", NIGHT)
    assert of(read, "RTX 4090").usd_per_hour == Decimal("0.39")
    pair = next(o for o in read.offers if o.gpu_count == 2)
    assert (pair.usd_per_hour, pair.usd_per_gpu_hour, pair.vram_gib) == (Decimal("2.7872"), Decimal("1.3936"), 96)


def test_machines_without_a_gpu_are_no_offers(replay: Any) -> None:
    assert not any("EPYC" in (o.accelerator_raw or "") for o in replay("cloudrift", NIGHT).offers)


def test_a_data_centre_with_nodes_but_none_free_is_sold_out(replay: Any) -> None:
    ada = of(replay("cloudrift", NIGHT), "RTX 4090")
    assert (ada.region, ada.availability, ada.available_count) == ("us-east-nc-nr-1", "sold_out", 0)


def test_a_type_that_stands_nowhere_keeps_its_price_without_a_region(replay: Any) -> None:
    amd = of(replay("cloudrift", NIGHT), "MI350X")
    assert (amd.region, amd.availability, amd.price) == (None, "sold_out", 400)


def test_without_counts_the_stock_is_unknown(replay: Any) -> None:
    change = with_4090(nodes_per_dc=None, available_nodes_per_dc=None, available_nodes=None)
    ada = of(replay("cloudrift", NIGHT, change), "RTX 4090")
    assert (ada.region, ada.availability, ada.available_count) == (None, "unknown", None)


def test_whose_data_centre_it_is_stands_in_the_row(replay: Any) -> None:
    def named(url: str, body: Any) -> Any:
        body["data"]["instance_types"][0]["datacenters"] = [{"name": "eu-central-it-gv-1", "provider_name": "Partner"}]
        return body

    owners = {o.gpu: o.reseller_of for o in replay("cloudrift", NIGHT, named).offers}
    assert (owners["RTX PRO 6000"], owners["RTX 5090"]) == ("Partner", None)


def test_a_malformed_variant_is_told_and_the_others_stay(replay: Any) -> None:
    for fields in ({"cost_per_hour": "?"}, {"cost_per_hour": -39}, {"cost_per_hour": 0, "gpu_count": None}):
        read = replay("cloudrift", NIGHT, with_4090(**fields))
        assert (len(read.offers), len(read.rejects)) == (6, 1)

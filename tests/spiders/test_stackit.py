"""STACKIT: GPU machines out of a list of everything, in euro, by types that tell their count."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def skus_with(flavor: str, **fields: Any) -> Any:
    """A change that sets fields of the SKUs of one flavour."""

    def change(url: str, body: Any) -> Any:
        for record in body["services"]:
            if record["attributes"].get("flavor") == flavor:
                record.update(fields)
        return body

    return change


def test_the_price_is_that_of_the_whole_machine(replay: Any) -> None:
    one, eight = sorted((o for o in replay("stackit", NIGHT).offers if o.gpu == "H100"), key=lambda o: o.gpu_count)
    assert (one.instance_type, one.gpu_count, one.form_factor) == ("n3.14d.g1", 1, "SXM")
    assert (eight.instance_type, eight.gpu_count, eight.price) == ("n3.104d.g8", 8, Decimal("64.3308055556"))
    assert abs(8 * one.price - eight.price) < Decimal("0.0001")


def test_the_month_of_720_hours_is_not_read(replay: Any) -> None:
    assert {o.price_unit for o in replay("stackit", NIGHT, skus_with("n2.14d.g1", monthlyPrice="0")).offers} == {
        "instance-hour"
    }


def test_a_machine_over_several_zones_is_an_offer_of_its_own(replay: Any) -> None:
    def both(url: str, body: Any) -> Any:
        for record in body["services"]:
            if record["attributes"].get("flavor") == "n1.14d.g1":
                metro = {**record, "price": "4.08500000000", "attributes": {**record["attributes"], "metro": True}}
        return {**body, "services": [*body["services"], metro]}

    rows = [o for o in replay("stackit", NIGHT, both).offers if o.instance_type == "n1.14d.g1"]
    assert {o.tier: o.price for o in rows} == {None: Decimal("2.6580833333"), "metro": Decimal("4.085")}
    assert len({o.offer_key for o in rows}) == 2


def test_euro_without_tax_and_no_dollar_without_a_rate(replay: Any) -> None:
    offers = replay("stackit", NIGHT).offers
    assert {(o.currency, o.tax_included, o.usd_per_hour) for o in offers} == {("EUR", False, None)}
    assert {(o.region, o.country) for o in offers} == {("eu01", "DE")}


def test_databases_cpu_types_and_what_is_deprecated_are_no_offers(replay: Any) -> None:
    assert {o.instance_type for o in replay("stackit", NIGHT).offers} == {
        "n1.14d.g1",
        "n1.56d.g4",
        "n2.14d.g1",
        "n3.14d.g1",
        "n3.104d.g8",
    }


def test_another_unit_is_told_and_no_offer(replay: Any) -> None:
    read = replay("stackit", NIGHT, skus_with("n2.14d.g1", unitBilling="per fortnight"))
    assert [reject.raw.instance_type for reject in read.rejects] == ["n2.14d.g1"]
    assert len(read.offers) == 4


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    for price in ("soon", "-1.74", ""):
        read = replay("stackit", NIGHT, skus_with("n2.14d.g1", price=price))
        assert [reject.raw.instance_type for reject in read.rejects] == ["n2.14d.g1"]
        assert len(read.offers) == 4


def test_the_list_is_read_under_another_key_and_bare(replay: Any) -> None:
    told = replay("stackit", NIGHT).offers
    for change in (lambda url, body: {"skus": body["services"]}, lambda url, body: body["services"]):
        assert replay("stackit", NIGHT, change).offers == told

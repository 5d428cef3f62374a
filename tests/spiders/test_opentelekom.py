"""Open Telekom Cloud: GPU flavours out of all machines, in euro, told by the flavour's name alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def rows_of(flavour: str, **fields: Any) -> Any:
    """A change that sets fields of the rows of one flavour."""

    def change(url: str, body: Any) -> Any:
        for row in body["response"]["result"]["ecs"]:
            if row["opiFlavour"] == flavour:
                row.update(fields)
        return body

    return change


def test_the_price_is_that_of_the_whole_machine(replay: Any) -> None:
    eight = next(o for o in replay("opentelekom", NIGHT).offers if o.instance_type == "p2s.16xlarge.8")
    assert (eight.gpu, eight.gpu_count, eight.vram_gib, eight.form_factor) == ("V100", 8, 32, None)
    assert (eight.price, eight.currency, eight.price_unit) == (Decimal("26.096"), "EUR", "instance-hour")


def test_every_system_and_region_is_an_offer_of_its_own(replay: Any) -> None:
    t4 = [o for o in replay("opentelekom", NIGHT).offers if o.gpu == "T4"]
    assert {(o.os, o.region, o.country) for o in t4} == {
        ("linux", "eu-de", "DE"),
        ("windows", "eu-de", "DE"),
        ("linux", "eu-nl", "NL"),
    }
    assert len({o.offer_key for o in t4}) == 3


def test_reserved_prices_of_unknown_meaning_are_no_offers(replay: Any) -> None:
    assert {(o.purchase, o.term_months) for o in replay("opentelekom", NIGHT).offers} == {("on_demand", None)}


def test_flavours_without_gpus_are_no_offers(replay: Any) -> None:
    types = {o.instance_type for o in replay("opentelekom", NIGHT).offers}
    assert not {"s3.medium.1", "physical.o2.medium"} & types


def test_a_size_that_nobody_knows_has_a_card_but_no_count(replay: Any) -> None:
    read = replay("opentelekom", NIGHT, rows_of("p3.4xlarge.8", opiFlavour="p3.32xlarge.8"))
    assert [(o.gpu, o.gpu_count) for o in read.offers if o.instance_type == "p3.32xlarge.8"] == [("A100", None)]


def test_what_may_be_absent_is_not_asked_for(replay: Any) -> None:
    def narrow(url: str, body: Any) -> Any:
        kept = ("opiFlavour", "priceAmount", "currency", "unit", "region", "osUnit")
        body["response"]["result"]["ecs"] = [{key: r[key] for key in kept} for r in body["response"]["result"]["ecs"]]
        return body

    assert len(replay("opentelekom", NIGHT, narrow).offers) == len(replay("opentelekom", NIGHT).offers)


def test_another_currency_in_the_amount_is_told(replay: Any) -> None:
    read = replay("opentelekom", NIGHT, rows_of("p3.4xlarge.8", priceAmount="7.944000 CHF"))
    assert [reject.raw.instance_type for reject in read.rejects] == ["p3.4xlarge.8"]


def test_a_malformed_price_or_unit_is_told_and_the_others_stay(replay: Any) -> None:
    for fields in ({"priceAmount": "auf Anfrage"}, {"priceAmount": "-1.000000 EUR"}, {"unit": "Stück"}):
        read = replay("opentelekom", NIGHT, rows_of("p3.4xlarge.8", **fields))
        assert [reject.raw.instance_type for reject in read.rejects] == ["p3.4xlarge.8"]
        assert len(read.offers) == 6

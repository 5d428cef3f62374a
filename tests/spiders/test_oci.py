"""Oracle: a price per GPU, joined with the shapes it is sold in; look-alikes; the one price that follows a rule."""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

from schemas.providers import provider
from spiders.shared import har
from spiders.shared.offline import read_answers
from spiders.shared.source import RECORDED

NIGHT = "2026-11-29-night"


def edited(part: str = "", shape: str = "", **fields: Any) -> Any:
    """A change of one part's or one shape's fields."""

    def change(url: str, body: Any) -> Any:
        for record in body["items"]:
            if (part and record.get("partNumber") == part) or (shape and record.get("name") == shape):
                record.update(fields)
        return body

    return change


def test_the_price_is_per_gpu_and_the_shape_counts_them(replay: Any) -> None:
    h100 = [o for o in replay("oci", NIGHT).offers if o.gpu == "H100"]
    assert [(o.instance_type, o.gpu_count, o.price, o.price_unit, o.usd_per_hour) for o in h100] == [
        ("BM.GPU.H100.8", 8, Decimal(10), "gpu-hour", Decimal(80))
    ]
    assert h100[0].min_gpu_count == 8


def test_gpus_are_counted_by_gpu_qty_not_by_the_products_quantity(replay: Any) -> None:
    counts = {o.instance_type: o.gpu_count for o in replay("oci", NIGHT).offers if o.instance_type}
    assert counts["BM.GPU.A100-v2.8"] == 8
    assert counts["VM.GPU3.4"] == 4


def test_preemptible_is_exactly_half_of_virtual_machines_only(replay: Any) -> None:
    offers = replay("oci", NIGHT, edited(shape="BM.GPU3.8", allowPreemptible=True)).offers
    listed = {o.instance_type: o.price for o in offers if o.purchase == "on_demand"}
    spot = {o.instance_type: o.price for o in offers if o.purchase == "spot"}
    assert set(spot) == {"VM.GPU2.1", "VM.GPU3.1", "VM.GPU3.2", "VM.GPU3.4", "VM.GPU.A10.1", "VM.GPU.A10.2"}
    assert all(price * 2 == listed[shape] for shape, price in spot.items())
    assert spot["VM.GPU3.1"] == Decimal("1.475")


def test_the_discount_says_where_it_stands() -> None:
    fact = provider("oci").facts["preemptible_discount"]
    assert str(fact.value) == "0.5"
    assert fact.source.startswith("https://blogs.oracle.com/")


def test_licences_appliances_and_nodes_are_no_gpus(replay: Any) -> None:
    raw = replay("oci", NIGHT).raw
    assert not {"B111826", "B109480", "B110965", "B111454", "B108806", "B109493"} & {o.sku for o in raw}
    assert {o.sku for o in raw if "H100" in (o.accelerator or "")} == {"B98415"}
    assert {o.sku for o in raw if "L40S" in (o.accelerator or "")} == {"B109479"}


def test_memory_that_the_estimator_gets_wrong_is_not_taken_over(replay: Any) -> None:
    vram = {o.gpu: o.vram_gib for o in replay("oci", NIGHT).offers}
    assert (vram["MI355X"], vram["GB300"], vram["B300"]) == (288, 288, 288)


def test_a_part_without_a_shape_stays_an_offer_of_one_gpu(replay: Any) -> None:
    (hidden,) = [o for o in replay("oci", NIGHT).raw if o.sku == "B88517"]
    assert (hidden.instance_type, hidden.gpu_count, hidden.min_gpu_count) == (None, 1, None)


def test_the_price_list_alone_is_one_gpu_of_each_part() -> None:
    products = [entry for entry in har.read(RECORDED / "oci" / NIGHT).entries if "products" in entry.url]
    offers = read_answers("oci", products).offers
    assert len(offers) == 15
    assert {(o.gpu_count, o.purchase, o.instance_type) for o in offers} == {(1, "on_demand", None)}


def test_f06_a_part_without_a_price_is_kept_without_one(replay: Any) -> None:
    unpriced = edited(part="B95909", currencyCodeLocalizations=[{"currencyCode": "USD", "prices": []}])
    read = replay("oci", NIGHT, unpriced)
    assert {(o.purchase, o.price) for o in read.offers if o.gpu == "A10"} == {("on_demand", None)}
    assert read.rejects == []


def test_u19_a_price_of_zero_is_no_price(replay: Any) -> None:
    free = [{"currencyCode": "USD", "prices": [{"model": "PAY_AS_YOU_GO", "value": 0}]}]
    read = replay("oci", NIGHT, edited(part="B98415", currencyCodeLocalizations=free))
    assert not [o for o in read.offers if o.gpu == "H100"]
    assert [reject.raw.sku for reject in read.rejects] == ["B98415"]


def test_two_prices_of_one_part_are_not_chosen_from(failing: Any) -> None:
    prices = [{"model": "PAY_AS_YOU_GO", "value": 10}, {"model": "PAY_AS_YOU_GO", "value": 8}]
    localized = [{"currencyCode": "USD", "prices": prices}]
    report = failing("oci", NIGHT, edited(part="B98415", currencyCodeLocalizations=localized))
    assert report.error_class == "SchemaDrift"
    assert "B98415" in report.error


def test_d06_the_order_of_the_answers_changes_nothing(replay: Any) -> None:
    def rows(change: Any = None) -> list[str]:
        return sorted(str(offer) for offer in replay("oci", NIGHT, change).raw)

    def shuffled(url: str, body: Any) -> Any:
        random.Random(5).shuffle(body["items"])
        return body

    assert rows(shuffled) == rows()


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    below = [{"currencyCode": "USD", "prices": [{"model": "PAY_AS_YOU_GO", "value": -10}]}]
    read = replay("oci", NIGHT, edited(part="B98415", currencyCodeLocalizations=below))
    assert {reject.raw.sku for reject in read.rejects} == {"B98415"}
    assert len(read.offers) == len([o for o in replay("oci", NIGHT).offers if o.gpu != "H100"])


def test_a_malformed_price_in_words_fails_by_its_part(failing: Any) -> None:
    worded = [{"currencyCode": "USD", "prices": [{"model": "PAY_AS_YOU_GO", "value": "soon"}]}]
    report = failing("oci", NIGHT, edited(part="B98415", currencyCodeLocalizations=worded))
    assert (report.error_class, "B98415, got 'soon'" in report.error) == ("SchemaDrift", True)

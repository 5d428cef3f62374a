"""Ola Krutrim: rupees an hour for the instance, on demand and by the month."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_both_columns_are_an_hour_of_the_instance(replay: Any) -> None:
    h100 = {o.purchase: o for o in replay("krutrim", NIGHT).offers if o.gpu == "H100"}
    assert {way: (o.price, o.currency, o.price_unit, o.term_months) for way, o in h100.items()} == {
        "on_demand": (Decimal(426), "INR", "instance-hour", None),
        "reserved": (Decimal(396), "INR", "instance-hour", 1),
    }
    assert {(o.gpu_count, o.vram_gib, o.vcpus, o.ram_gib) for o in h100.values()} == {(2, 80, 48, 400)}


def test_memory_tells_two_cards_of_one_name_apart(replay: Any) -> None:
    cards = [(o.vram_gib, o.purchase, o.price) for o in replay("krutrim", NIGHT).offers if o.gpu == "A100"]
    assert sorted(cards) == [
        (40, "on_demand", Decimal(105)),
        (80, "on_demand", Decimal(189)),
        (80, "reserved", Decimal(148)),
    ]


def test_slices_cpus_and_instances_to_ask_for_are_no_offers(replay: Any) -> None:
    read = replay("krutrim", NIGHT)
    assert not {Decimal(24), Decimal(3)} & {o.price for o in read.offers}
    assert {o.gpu_count for o in read.offers} == {1, 2}
    assert read.rejects == []


def test_without_a_column_by_the_month_there_is_the_price_on_demand(replay: Any) -> None:
    read = replay("krutrim", NIGHT, lambda url, body: body.replace("<th>Monthly</th>", "<th>Notes</th>"))
    assert {o.purchase for o in read.offers} == {"on_demand"}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("krutrim", NIGHT, lambda url, body: body.replace("₹105 /hr", "₹0 /hr"))
    assert (len(read.offers), len(read.rejects)) == (4, 1)

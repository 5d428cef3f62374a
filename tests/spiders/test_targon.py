"""Targon: a price for the whole resource, sizes in their own units, stock."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from spiders.targon import TargonSpider

NIGHT = "2026-11-29-night"


def machine(**fields: Any) -> Any:
    """Fields of the one H100 set."""

    def changed(url: str, body: Any) -> Any:
        next(r for r in body if r["name"] == "h100-small").update(fields)
        return body

    return changed


def test_the_price_is_that_of_all_gpus_and_sizes_have_their_own_units(replay: Any) -> None:
    spec = {"gpu_model": "RTX-PRO-6000B", "gpu_count": 8, "cpu_millicores": 96500, "memory_mib": 1048576}
    read = replay("targon", NIGHT, machine(spec={**spec, "disk_size_mib": 2097152}, cost_per_hour=24.72))
    (eight,) = [o for o in read.offers if o.gpu == "RTX PRO 6000"]
    assert (eight.usd_per_hour, eight.usd_per_gpu_hour) == (Decimal("24.72"), Decimal("3.09"))
    assert (eight.vcpus, eight.ram_gib, eight.disk_gib) == (96.5, 1024, 2048)


def test_rows_without_gpus_are_no_offers_and_nothing_left_is_sold_out(replay: Any) -> None:
    read = replay("targon", NIGHT)
    assert {o.gpu: o.availability for o in read.offers} == {"H100": "available", "H200": "sold_out"}


def test_the_list_may_lie_under_items(replay: Any) -> None:
    read = replay("targon", NIGHT, lambda url, body: {"items": body})
    assert len(read.offers) == 2


def test_a_rental_and_a_machine_of_one_name_are_two_offers(replay: Any) -> None:
    def rented(url: str, body: Any) -> Any:
        return [*body, {**body[1], "type": "rental"}]

    h100 = [o for o in replay("targon", NIGHT, rented).offers if o.gpu == "H100"]
    assert {(o.tier, o.kind) for o in h100} == {("rental", "container"), ("vm", "vm")}
    assert len({o.offer_key for o in h100}) == 2


def test_a_price_below_zero_is_told_and_the_rest_stays(replay: Any) -> None:
    read = replay("targon", NIGHT, machine(cost_per_hour=-3.09))
    assert (len(read.offers), len(read.rejects)) == (1, 1)


def test_a_saved_answer_of_the_list_before_is_read_as_well() -> None:
    spider = TargonSpider()
    assert spider.reader("https://api.targon.com/tha/v2/inventory?type=rental&gpu=true") == spider.parse

"""Targon: a price for the whole resource, megabytes, stock."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def machine(**fields: Any) -> Any:
    """Fields of the first virtual machine set."""

    def changed(url: str, body: Any) -> Any:
        if "type=vm" in url:
            body[0].update(fields)
        return body

    return changed


def test_the_price_is_that_of_all_gpus_and_sizes_are_megabytes(replay: Any) -> None:
    spec = {"gpu_type": "NVIDIA-H100", "gpu_count": 8, "vcpu": 96, "memory": 1048576, "storage": 2097152}
    eight = next(o for o in replay("targon", NIGHT, machine(spec=spec, cost_per_hour=24.72)).offers if o.gpu == "H100")
    assert (eight.usd_per_hour, eight.usd_per_gpu_hour) == (Decimal("24.72"), Decimal("3.09"))
    assert (eight.vcpus, eight.ram_gib, eight.disk_gib) == (96, 1024, 2048)


def test_rows_without_gpus_are_no_offers_and_nothing_left_is_sold_out(replay: Any) -> None:
    read = replay("targon", NIGHT)
    assert {o.gpu: o.availability for o in read.offers} == {"H100": "available", "H200": "sold_out"}


def test_the_list_may_lie_under_items(replay: Any) -> None:
    read = replay("targon", NIGHT, lambda url, body: {"items": body})
    assert len(read.offers) == 2


def test_a_rental_and_a_machine_of_one_name_are_two_offers(replay: Any) -> None:
    def rented(url: str, body: Any) -> Any:
        if "type=vm" in url:
            return body
        spec = {"gpu_type": "NVIDIA-H100", "gpu_count": 1}
        return [{"name": "h100-small", "type": "rental", "gpu": True, "spec": spec, "cost_per_hour": 3, "available": 1}]

    h100 = [o for o in replay("targon", NIGHT, rented).offers if o.gpu == "H100"]
    assert {(o.tier, o.kind) for o in h100} == {("rental", None), ("vm", "vm")}
    assert len({o.offer_key for o in h100}) == 2


def test_a_price_below_zero_is_told_and_the_rest_stays(replay: Any) -> None:
    read = replay("targon", NIGHT, machine(cost_per_hour=-3.09))
    assert (len(read.offers), len(read.rejects)) == (1, 1)

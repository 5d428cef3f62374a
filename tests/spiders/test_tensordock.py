"""TensorDock: the largest machine of a location is the sum of its parts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from schemas.providers import provider

NIGHT = "2026-11-29-night"


def test_the_price_is_gpus_vcpus_ram_and_disk_to_the_last_digit(replay: Any) -> None:
    four = replay("tensordock", NIGHT).offers[0]
    assert (four.gpu_count, four.vcpus, four.ram_gib, four.disk_gib) == (4, 32, 128, 1000)
    gpus, vcpus, ram, disk = Decimal("0.3966"), Decimal("0.003"), Decimal("0.002"), Decimal("0.00005")
    assert four.usd_per_hour == 4 * gpus + 32 * vcpus + 128 * ram + 1000 * disk


def test_a_gpu_that_no_machine_can_have_now_is_no_offer(replay: Any) -> None:
    assert "L40" not in {o.gpu for o in replay("tensordock", NIGHT).offers}
    assert "L40" in {o.gpu for o in replay("tensordock", "2026-11-30-night").offers}


def test_a_part_whose_price_is_no_number_refuses_the_machine_alone(replay: Any) -> None:
    for bad in ("n/a", -1, None):

        def change(url: str, body: Any, bad: Any = bad) -> Any:
            body["data"]["locations"][0]["gpus"][0]["pricing"]["per_gb_ram_hr"] = bad
            return body

        read = replay("tensordock", NIGHT, change)
        assert (len(read.offers), len(read.rejects)) == ((3, 1) if bad is not None else (4, 0))


def test_it_is_not_collected_while_its_list_is_empty() -> None:
    assert provider("tensordock").status == "frozen"

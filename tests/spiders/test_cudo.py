"""Cudo Compute: the smallest machine is the sum of its parts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

NIGHT = "2026-11-29-night"


def of(read: Any, gpu: str) -> Any:
    (offer,) = [o for o in read.offers if o.gpu == gpu]
    return offer


def test_the_price_is_gpu_and_vcpus_and_memory_to_the_last_digit(replay: Any) -> None:
    h100 = of(replay("cudo", NIGHT), "H100")
    assert (h100.gpu_count, h100.vcpus, h100.ram_gib) == (1, 2, 4)
    assert h100.usd_per_hour == Decimal("2.50") + 2 * Decimal("0.0025") + 4 * Decimal("0.0038")


def test_a_machine_of_at_least_two_gpus_has_the_parts_of_two(replay: Any) -> None:
    a100 = of(replay("cudo", NIGHT), "A100")
    assert (a100.gpu_count, a100.vcpus, a100.ram_gib, a100.available_count) == (2, 6, 12, 2)
    assert (a100.usd_per_hour, a100.usd_per_gpu_hour) == (Decimal("3.0606"), Decimal("1.5303"))


def test_no_free_gpu_is_sold_out_and_a_machine_without_gpu_is_no_offer(replay: Any) -> None:
    read = replay("cudo", NIGHT)
    assert (len(read.offers), of(read, "A40").availability) == (4, "sold_out")


@pytest.mark.parametrize("part", ["gpuPriceHr", "vcpuPriceHr", "memoryGibPriceHr"])
def test_a_malformed_price_of_a_part_refuses_the_machine_alone(replay: Any, part: str) -> None:
    def change(url: str, body: Any) -> Any:
        body["machineTypes"][0][part]["value"] = "-0.5"
        return body

    read = replay("cudo", NIGHT, change)
    assert (len(read.offers), len(read.rejects)) == (3, 1)


def test_the_least_that_a_machine_may_have_counts(replay: Any) -> None:
    def least(url: str, body: Any) -> Any:
        for record in body["machineTypes"]:
            record |= {"minVcpu": 4, "minMemoryGib": 16}
            del record["minGpuPerVm"], record["minVcpuPerGpu"]
        return body

    h100 = of(replay("cudo", NIGHT, least), "H100")
    assert (h100.gpu_count, h100.vcpus, h100.ram_gib) == (1, 4, 16)

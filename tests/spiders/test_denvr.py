"""Denvr: records in the page's script, priced for one GPU of a machine."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_is_that_of_one_gpu_of_the_machine(replay: Any) -> None:
    h100 = next(o for o in replay("denvr", NIGHT).offers if o.gpu == "H100")
    assert (h100.gpu_count, h100.usd_per_gpu_hour, h100.usd_per_hour) == (8, Decimal("2.10"), Decimal("16.8"))


def test_two_sizes_of_one_name_are_two_offers(replay: Any) -> None:
    a100 = {(o.form_factor, o.vram_gib): o.price for o in replay("denvr", NIGHT).offers if o.gpu == "A100"}
    assert a100 == {("PCIe", 40): Decimal("1.15"), ("SXM", 80): Decimal("1.30"), ("SXM", 40): Decimal("1.15")}


def test_what_is_sold_by_reservation_alone_is_no_offer(replay: Any) -> None:
    assert not {"H200", "B200", "MI300X"} & {o.gpu for o in replay("denvr", NIGHT).offers}


def test_a_size_without_a_unit_stays_unknown(replay: Any) -> None:
    pcie = next(o for o in replay("denvr", NIGHT).offers if (o.gpu, o.form_factor) == ("A100", "PCIe"))
    assert (pcie.ram_gib, pcie.vcpus) == (None, 64)


def test_a_count_that_is_no_number_is_rejected_and_the_others_stay(replay: Any) -> None:
    read = replay("denvr", NIGHT, lambda url, body: body.replace('"gpuCount":"1"', '"gpuCount":"some"'))
    assert (len(read.rejects), len(read.offers)) == (1, 6)

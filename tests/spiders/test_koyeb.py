"""Koyeb: instances with a GPU, whose memory is said twice."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_instances_without_a_gpu_and_plans_are_no_offers(replay: Any) -> None:
    read = replay("koyeb", NIGHT)
    assert len(read.offers) == 9
    assert not {Decimal("29"), Decimal("0.0144")} & {o.price for o in read.offers}
    assert {o.kind for o in read.offers} == {"serverless"}


def test_the_form_factor_is_known_where_the_name_says_it(replay: Any) -> None:
    a100 = {o.form_factor: o.usd_per_gpu_hour for o in replay("koyeb", NIGHT).offers if o.gpu == "A100"}
    assert a100 == {None: Decimal("1.60"), "SXM": Decimal("2.15")}


def test_memory_that_is_said_once_is_enough(replay: Any) -> None:
    def wide(url: str, body: str) -> str:
        return body.replace('<span class="md:hidden">vRAM 80GB</span>', "")

    assert len(replay("koyeb", NIGHT, wide).offers) == 9


def test_memory_of_several_gpus_is_their_total(replay: Any) -> None:
    def two(url: str, body: str) -> str:
        return body.replace("<div>H200<", "<div>2x H200<").replace("vRAM 141GB", "vRAM 282GB")

    (h200,) = [o for o in replay("koyeb", NIGHT, two).offers if o.gpu == "H200"]
    assert (h200.gpu_count, h200.vram_gib, h200.usd_per_gpu_hour) == (2, 141, Decimal("1.5"))


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("koyeb", NIGHT, lambda url, body: body.replace("$ 5.50", "$ 0.00"))
    assert (len(read.offers), [reject.raw.accelerator for reject in read.rejects]) == (8, ["B200"])


def test_with_a_key_the_types_are_read_by_region(replay: Any) -> None:
    offers = {o.instance_type: o for o in replay("koyeb", "2026-11-30-keyed").offers}
    assert set(offers) == {"gpu-nvidia-rtx-4000-sff-ada", "gpu-nvidia-rtx-a6000", "2x-gpu-nvidia-h100"}
    h100 = offers["2x-gpu-nvidia-h100"]
    assert (h100.gpu_count, h100.usd_per_gpu_hour, h100.region, h100.ram_gib) == (2, Decimal("3.3"), "na", 360)

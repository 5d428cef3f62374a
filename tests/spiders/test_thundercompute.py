"""Thunder Compute: two documents that meet by the name of a configuration."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_is_that_of_all_gpus_together(replay: Any) -> None:
    two = next(o for o in replay("thundercompute", NIGHT).offers if o.gpu_count == 2)
    assert (two.gpu, two.vram_gib, two.usd_per_hour, two.usd_per_gpu_hour) == (
        "A100",
        80,
        Decimal("2.18"),
        Decimal("1.09"),
    )


def test_rates_of_parts_and_bare_names_are_no_configurations(replay: Any) -> None:
    names = {o.instance_type for o in replay("thundercompute", NIGHT).offers}
    assert names == {"a6000_x1", "l40_x1", "l40s_x1", "a100xl_x1", "a100xl_x2", "h100_x1"}


def test_a_configuration_without_description_keeps_what_its_key_says(replay: Any) -> None:
    def undescribed(url: str, body: Any) -> Any:
        return {"specs": {}} if url.endswith("specs") else body

    gpus = {o.instance_type: (o.gpu, o.gpu_count) for o in replay("thundercompute", NIGHT, undescribed).offers}
    assert gpus["a100xl_x2"] == ("A100", 2)
    assert gpus["l40s_x1"] == ("L40S", 1)


def test_the_mode_is_a_tier_where_the_key_names_one(replay: Any) -> None:
    offers = replay("thundercompute", "2026-11-30-modes-in-the-keys").offers
    assert {(o.tier, o.gpu_count, o.price) for o in offers if o.gpu == "H100"} == {
        ("production", 1, Decimal("2.49")),
        ("prototyping", 1, Decimal("1.38")),
        ("production", 8, Decimal("19.92")),
    }
    assert {o.tier for o in replay("thundercompute", NIGHT).offers} == {None}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        if url.endswith("pricing"):
            body["pricing"]["l40_x1"] = -1
        return body

    read = replay("thundercompute", NIGHT, broken)
    assert (len(read.offers), [reject.reason for reject in read.rejects]) == (5, ["price -1 is not above zero"])


def test_a_name_of_several_words_is_a_configuration_as_well(replay: Any) -> None:
    def renamed(url: str, body: Any) -> Any:
        (documents,) = body.values()
        documents["rtx_pro_6000_x1"] = documents.pop("h100_x1")
        return body

    names = {o.instance_type for o in replay("thundercompute", NIGHT, renamed).offers}
    assert ("rtx_pro_6000_x1" in names, len(names)) == (True, 6)

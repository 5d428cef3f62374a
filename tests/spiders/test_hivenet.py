"""Hivenet: presets that list their GPUs one by one, in euros."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_is_for_all_gpus_of_the_preset(replay: Any) -> None:
    four = next(o for o in replay("hivenet", NIGHT).offers if o.gpu_count == 4)
    assert (four.gpu, four.price, four.currency, four.price_unit) == (
        "RTX 4090",
        Decimal("1.6"),
        "EUR",
        "instance-hour",
    )


def test_demonstrations_and_presets_without_gpus_are_no_offers(replay: Any) -> None:
    read = replay("hivenet", NIGHT)
    assert {(o.instance_type, o.region) for o in read.offers} == {
        ("1x-RTX-5090", "france-2"),
        ("1x-RTX-4090", "france-2"),
        ("1x-RTX-4090", "uae-magure"),
        ("4x-RTX-4090", "france-2"),
    }
    assert read.rejects == []


def test_a_country_is_known_where_the_location_names_one(replay: Any) -> None:
    assert {o.region: o.country for o in replay("hivenet", NIGHT).offers} == {"france-2": "FR", "uae-magure": "AE"}


def test_a_preset_of_two_models_is_neither_of_them(replay: Any) -> None:
    def mixed(url: str, body: Any) -> Any:
        body[3]["gpu"][0]["model"] = "RTX 5090"
        return body

    four = next(o for o in replay("hivenet", NIGHT, mixed).offers if o.gpu_count == 4)
    assert four.accelerator_raw == "RTX 4090 + RTX 5090"


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        body[1]["hourly_price"] = -0.75
        return body

    read = replay("hivenet", NIGHT, broken)
    assert (len(read.offers), [reject.reason for reject in read.rejects]) == (3, ["price -0.75 is not above zero"])

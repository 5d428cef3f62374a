"""Ubicloud: rates by the minute, of which the last that has begun holds."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def prices(read: Any) -> dict[tuple[str, str], Decimal]:
    return {(o.gpu, o.region): o.usd_per_gpu_hour for o in read.offers}


def test_a_rate_is_dollars_a_minute(replay: Any) -> None:
    assert prices(replay("ubicloud", NIGHT)) == {
        ("A100", "hetzner-fsn1"): Decimal("1.2261"),
        ("A100", "latitude-ai"): Decimal("1.2261"),
        ("B200", "tr-ist-u1"): Decimal(3),
    }


def test_a_rate_of_nothing_is_no_offer(replay: Any) -> None:
    assert "tr-ist-u1-tom" not in {o.region for o in replay("ubicloud", NIGHT).offers}


def test_a_rate_to_come_does_not_hold_yet(replay: Any) -> None:
    assert prices(replay("ubicloud", "2026-11-30-a-rate-to-come"))["A100", "hetzner-fsn1"] == Decimal("1.2261")


def test_the_last_rate_holds_wherever_it_stands(replay: Any) -> None:
    def older_below(url: str, body: str) -> str:
        (new,) = [line for line in body.splitlines(keepends=True) if "20b5" in line and "fsn1" in line]
        return body + new.replace("0.0204350000", "0.0300000000").replace("2025-03-07", "2024-03-07")

    assert prices(replay("ubicloud", NIGHT, older_below))["A100", "hetzner-fsn1"] == Decimal("1.2261")


def test_an_id_of_digits_alone_stays_text(replay: Any) -> None:
    bare = replay("ubicloud", NIGHT, lambda url, body: body.replace('"2901"', "2901"))
    assert prices(bare) == prices(replay("ubicloud", NIGHT))


def test_a_card_is_known_by_its_id(replay: Any) -> None:
    cards = {(o.accelerator_raw, o.gpu, o.form_factor, o.vram_gib) for o in replay("ubicloud", NIGHT).offers}
    assert cards == {("20b5", "A100", "PCIe", 80), ("2901", "B200", None, 180)}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("ubicloud", NIGHT, lambda url, body: body.replace("0.0500000000", "-0.05"))
    assert (len(read.offers), [reject.reason for reject in read.rejects]) == (2, ["price -0.05 is not above zero"])


def test_a_rate_by_amount_fails_loudly(failing: Any) -> None:
    report = failing("ubicloud", NIGHT, lambda url, body: body.replace("billed_by: duration", "billed_by: amount"))
    assert (report.error_class, "amount" in report.error) == ("SchemaDrift", True)


def test_a_country_is_known_where_the_provider_names_it(replay: Any) -> None:
    countries = {o.region: o.country for o in replay("ubicloud", NIGHT).offers}
    assert countries == {"hetzner-fsn1": "DE", "latitude-ai": None, "tr-ist-u1": "TR"}

"""European Central Bank: strict on layout, for a wrong rate moves every price in its currency."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from schemas.rate import Rate, usd_rates
from spiders.shared import har
from spiders.shared.offline import Offline, read_answers
from spiders.shared.source import RECORDED

NIGHT = "2026-11-30-night"


def read(*edits: tuple[str, str]) -> Offline:
    """The second night's document, each text replaced that must stand in it."""
    entry = har.read(RECORDED / "ecb" / NIGHT).entries[0]
    text = entry.body.decode()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return read_answers("ecb", [replace(entry, content=text.encode())])


def of(rates: list[Rate]) -> dict[str, Decimal]:
    return {rate.currency: rate.rate for rate in rates}


def test_a_rate_is_what_one_euro_costs() -> None:
    rates = read().rates
    assert {(rate.base, rate.kind, rate.day) for rate in rates} == {("EUR", "mid", date(2026, 11, 27))}
    assert of(rates)["USD"] == Decimal("1.1598")
    usd = usd_rates(rates)
    assert usd["EUR"][date(2026, 11, 27)] == (Decimal("1.1598"), "ecb")
    assert Decimal("1.35") < usd["GBP"][date(2026, 11, 27)].usd < Decimal("1.37")


def test_no_digit_of_a_rate_is_lost() -> None:
    assert of(read(("'9.0664'", "'9.066412345'")).rates)["HKD"] == Decimal("9.066412345")


def test_several_days_are_each_read_under_their_own() -> None:
    more = "<Cube time='2026-11-26'><Cube currency='USD' rate='1.1562'/></Cube>\n\t</Cube>\n</gesmes:Envelope>"
    rates = read(("\t</Cube>\n</gesmes:Envelope>", more)).rates
    assert {(r.day, r.rate) for r in rates if r.currency == "USD"} == {
        (date(2026, 11, 26), Decimal("1.1562")),
        (date(2026, 11, 27), Decimal("1.1598")),
    }


@pytest.mark.parametrize(
    "edit",
    [
        ("rate='1.1598'", "rate='-'"),
        ("rate='1.1598'", "rate='0.0000'"),
        ("rate='1.1598'", "rate='1,1598'"),
        ("rate='1.1598'", "rate='1e3'"),
        ("rate='1.1598'", "value='1.1598'"),
        ("currency='USD'", "currency='US Dollar'"),
        ("time='2026-11-27'", "date='2026-11-27'"),
        ("time='2026-11-27'", "time='27.11.2026'"),
        ("gesmes:Envelope", "gesmes:Message"),
    ],
)
def test_another_layout_is_no_rate(edit: tuple[str, str]) -> None:
    got = read(edit)
    assert got.rates == []
    assert [error.split(":")[0] for error in got.errors] == ["SchemaDrift"]


@pytest.mark.parametrize(
    "hostile",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>',
        '<!doctype x SYSTEM "http://127.0.0.1:9/x.dtd">',
    ],
)
def test_a_document_type_is_refused_before_it_is_parsed(hostile: str) -> None:
    got = read(('<?xml version="1.0" encoding="UTF-8"?>', '<?xml version="1.0" encoding="UTF-8"?>' + hostile))
    assert got.rates == []
    assert "document type" in got.errors[0]


def test_a_body_that_is_no_text_is_named(tmp_path: Any) -> None:
    entry = replace(har.read(RECORDED / "ecb" / NIGHT).entries[0], content=b"\x00\x01" * 40, mime="application/zip")
    assert read_answers("ecb", [entry]).errors[0].startswith("SchemaDrift")

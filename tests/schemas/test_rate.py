"""Exchange rates: what a unit of a currency costs in USD, whoever tells it and however."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from schemas.normalise import Rates
from schemas.rate import Rate, rate_sources, sources_of, usd_rates

WEDNESDAY = date(2026, 11, 25)
AT = datetime(2026, 11, 26, 2, tzinfo=UTC)
RATE_SPIDERS = Path(__file__).parents[2] / "spiders" / "rates"


def rate(source: str, base: str, currency: str, amount: str, day: date = WEDNESDAY) -> Rate:
    return Rate(
        source=source, day=day, base=base, currency=currency, rate=Decimal(amount), kind="mid", observed_at=AT,
        origin="live",
    )  # fmt: skip


VIETCOMBANK = [rate("vietcombank", "USD", "VND", "26122"), rate("vietcombank", "EUR", "VND", "29987.16")]
NBP = [
    rate("nbp", "USD", "PLN", "3.6770"),
    rate("nbp", "VND", "PLN", "0.00014035"),
    rate("nbp", "TWD", "PLN", "0.1161"),
]


def test_dong_by_a_bank_and_by_a_central_bank() -> None:
    usd = usd_rates(VIETCOMBANK)["VND"][WEDNESDAY]
    assert (round(1 / usd.usd), usd.source) == (26122, "vietcombank")
    usd = usd_rates(NBP)["VND"][WEDNESDAY]
    assert usd.source == "nbp"
    assert Decimal("26190") < 1 / usd.usd < Decimal("26210")


def test_the_more_trusted_source_speaks_and_a_currency_is_asked_of_who_gives_it() -> None:
    usd = usd_rates([*NBP, *VIETCOMBANK])
    assert usd["VND"][WEDNESDAY].source == "vietcombank"
    assert usd["TWD"][WEDNESDAY].source == "nbp"
    assert usd.get("EUR", {}) == {}  # a bank in Hanoi is not asked what the euro costs
    assert usd.get("PLN", {}) == {}


def test_sources_that_contradict_each_other_are_not_believed() -> None:
    """A decimal comma read as a thousands mark would make every price in dong a thousand times too dear."""
    wrong = [rate("vietcombank", "USD", "VND", "26.122")]
    assert usd_rates([*NBP, *wrong]).get("VND", {}) == {}
    known = Rates(usd_rates([*NBP, *wrong]))
    assert known.on("VND", WEDNESDAY) is None


def test_a_table_without_the_dollar_tells_nothing_and_days_are_never_mixed() -> None:
    assert usd_rates([rate("nbp", "VND", "PLN", "0.00014035")]) == {}
    thursday = date(2026, 11, 26)
    assert usd_rates([rate("nbp", "USD", "PLN", "3.6", thursday), rate("nbp", "VND", "PLN", "0.00014035")]) == {}


@pytest.mark.parametrize(
    ("currencies", "asked"),
    [
        ({"USD"}, []),
        ({"USD", "EUR"}, ["ecb"]),
        ({"VND"}, ["vietcombank", "nbp"]),
        ({"RUB", "JPY"}, ["ecb", "cbr", "nbp"]),
    ],
)
def test_who_is_asked_for_a_currency(currencies: set[str], asked: list[str]) -> None:
    assert sources_of(currencies) == asked


def test_every_source_has_its_spider_and_every_spider_its_facts() -> None:
    assert set(rate_sources()) == {path.stem for path in RATE_SPIDERS.glob("*.py")} - {"__init__"}

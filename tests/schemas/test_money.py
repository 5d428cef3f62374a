"""Prices in words. Each expectation says what a reader of the text would say, and None where he could not."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from schemas.money import Price, as_json, read_price

# text, amount, currency, unit, per, from
CASES: list[tuple[str, str | None, str | None, str | None, str | None, bool]] = [
    (",89 €", "0.89", "EUR", None, None, False),
    ("0,075", "0.075", None, None, None, False),
    ("2.199,00 €", "2199.00", "EUR", None, None, False),
    ("€4.999,99", "4999.99", "EUR", None, None, False),
    ("$1,499/mo", "1499", "USD", "month", None, False),
    ("0,89 €/Std.", "0.89", "EUR", "hour", None, False),
    ("from $1.99", "1.99", "USD", None, None, True),
    ("ab 1,99 €", "1.99", "EUR", None, None, True),
    ("từ 1.500.000 ₫/tháng", "1500000", "VND", "month", None, True),
    ("1,5 triệu đồng", "1500000", "VND", None, None, False),
    ("100 AUD", "100", "AUD", None, None, False),
    ("A$2.50", "2.50", "AUD", None, None, False),
    ("US$2.50/hr", "2.50", "USD", "hour", None, False),
    ("HK$10", "10", "HKD", None, None, False),
    ("¥12.68", "12.68", None, None, None, False),
    ("1,500円", "1500", "JPY", None, None, False),
    ("¥1,500 (円)", "1500", "JPY", None, None, False),
    ("12.68元/小时", "12.68", "CNY", "hour", None, False),
    ("CNY 12.68", "12.68", "CNY", None, None, False),
    ("¥12.68/小时", "12.68", "CNY", "hour", None, False),
    ("₹1,23,456.78", "123456.78", "INR", None, None, False),
    ("1 234,56 €", "1234.56", "EUR", None, None, False),
    ("1\u202f234,56 €", "1234.56", "EUR", None, None, False),
    ("CHF 1'234.50", "1234.50", "CHF", None, None, False),
    ("9.0E-4", "0.00090", None, None, None, False),
    ("$ 12.240", "12.240", "USD", None, None, False),
    ("$2 .0000/ 1 hour", "2.0000", "USD", "hour", None, False),
    ("$88.490000119 / 1 hour", "88.490000119", "USD", "hour", None, False),
    ("0.49$/hr", "0.49", "USD", "hour", None, False),
    ("$1.99 - $2.49", "1.99", "USD", None, None, True),
    ("$1.99–2.49/hr", "1.99", "USD", "hour", None, True),
    ("1,99 – 2,49 €", "1.99", "EUR", None, None, True),
    ("Free", None, None, None, None, False),
    ("N/A", None, None, None, None, False),
    ("—", None, None, None, None, False),
    ("Contact us", None, None, None, None, False),
    ("Sold out", None, None, None, None, False),
    ("$0.0004/s", "0.0004", "USD", "second", None, False),
    ("was $3.99 now $2.49", "2.49", "USD", None, None, False),
    ("$2.49 (was $3.99)", "2.49", "USD", None, None, False),
    ("$̶3̶.̶9̶9̶ $2.49", "2.49", "USD", None, None, False),
    ("~~$3.99~~ $2.49/hr", "2.49", "USD", "hour", None, False),
    ("<s>$3.99</s> $2.49", "2.49", "USD", None, None, False),
    ("statt 3,99 € nur 2,49 €", "2.49", "EUR", None, None, False),
    ("-5", None, None, None, None, False),
    ("-$5", None, None, None, None, False),
    ("$-5.00", None, None, None, None, False),
    ("NaN", None, None, None, None, False),
    ("inf", None, None, None, None, False),
    ("1e308", None, None, None, None, False),
    ("60% off", None, None, None, None, False),
    ("80 GB", None, None, None, None, False),
    ("8x", None, None, None, None, False),
    ("8 x H100", None, None, None, None, False),
    ("$/GPU/hr", None, None, None, None, False),
    ("$2.49/GPU/hr", "2.49", "USD", "hour", "gpu", False),
    ("$2.49 per GPU hour", "2.49", "USD", "hour", "gpu", False),
    ("$2.49 / GPU-hour", "2.49", "USD", "hour", "gpu", False),
    ("$2.49/GPU-hr", "2.49", "USD", "hour", "gpu", False),
    ("$3.90/GPU-hr", "3.90", "USD", "hour", "gpu", False),
    ("$2.49/hr/GPU", "2.49", "USD", "hour", "gpu", False),
    ("$2.49 per GPU per hour", "2.49", "USD", "hour", "gpu", False),
    ("$20/instance", "20", "USD", None, "instance", False),
    ("$20/instance-hour", "20", "USD", "hour", "instance", False),
    ("$20.72 per hour", "20.72", "USD", "hour", None, False),
    ("$0.10833/min", "0.10833", "USD", "minute", None, False),
    ("0,002 €/Min.", "0.002", "EUR", "minute", None, False),
    ("$0.001097 / sec", "0.001097", "USD", "second", None, False),
    ("1,99 € pro Stunde", "1.99", "EUR", "hour", None, False),
    ("1,99 € par heure", "1.99", "EUR", "hour", None, False),
    ("1,99 €/heure", "1.99", "EUR", "hour", None, False),
    ("80.000đ/giờ", "80000", "VND", "hour", None, False),
    ("80,000 VND/h", "80000", "VND", "hour", None, False),
    ("₩3,500/시간", "3500", "KRW", "hour", None, False),
    ("3,500원/시간", "3500", "KRW", "hour", None, False),
    ("1時間あたり 350円", "350", "JPY", "hour", None, False),
    ("350円/時間", "350", "JPY", "hour", None, False),
    ("月額 100,000円", "100000", "JPY", "month", None, False),
    ("每小时 12.5 元", "12.5", "CNY", "hour", None, False),
    ("$1.499/hr", "1.499", "USD", "hour", None, False),
    ("1.499 €/Monat", "1499", "EUR", "month", None, False),
    ("1.499 €/h", "1.499", "EUR", "hour", None, False),
    ("€ 1.499,00", "1499.00", "EUR", None, None, False),
    ("1,499 €", "1.499", "EUR", None, None, False),
    ("€1,499/mo", "1499", "EUR", "month", None, False),
    ("starting at $0.50/hr", "0.50", "USD", "hour", None, True),
    ("As low as $1.25/GPU/hr", "1.25", "USD", "hour", "gpu", True),
    ("à partir de 1,29 €/h", "1.29", "EUR", "hour", None, True),
    ("€ 0,89 per uur", "0.89", "EUR", "hour", None, False),
    ("2.49 USD/h", "2.49", "USD", "hour", None, False),
    ("USD 2.49", "2.49", "USD", None, None, False),
    ("EUR1.99", "1.99", "EUR", None, None, False),
    ("H100 $2.49", "2.49", "USD", None, None, False),
    ("16 $9.86", "9.86", "USD", None, None, False),
    ("8x H100 80GB $19.92/hr", "19.92", "USD", "hour", None, False),
    ("Up to $5/hr", None, None, None, None, False),
    ("$1.29 per hour $941.70 per month", "1.29", "USD", "hour", None, False),
    ("$0.001525/sec $5.49/hr", "0.001525", "USD", "second", None, False),
    ("$6.85/hr 25% off $5.14/hr", "5.14", "USD", "hour", None, False),
    ("€1,488 €11,900", None, None, None, None, False),
    ("$$52.80", "52.80", "USD", None, None, False),
    ("$100 AUD", "100", "AUD", None, None, False),
    ("2,00 zł/h", "2.00", "PLN", "hour", None, False),
    ("350 ₽/час", "350", "RUB", "hour", None, False),
    ("R$ 12,50/h", "12.50", "BRL", "hour", None, False),
    ("12 kr/h", "12", None, "hour", None, False),
    ("$0", "0", "USD", None, None, False),
    ("$1.5k/mo", "1500", "USD", "month", None, False),
    ("1.5万円", "15000", "JPY", None, None, False),
    ("2.5/hr", "2.5", None, "hour", None, False),
    ("2879.2", "2879.2", None, None, None, False),
    ("???", None, None, None, None, False),
    ("$3", "3", "USD", None, None, False),
    ("$1.99+", "1.99", "USD", None, None, True),
    ("¥99起", "99", None, None, None, True),
    ("$ 2.5 an hour", "2.5", "USD", "hour", None, False),
    ("$300 a month", "300", "USD", "month", None, False),
    ("$2.49/h per GPU", "2.49", "USD", "hour", "gpu", False),
    ("Price: From $2.50/hr", "2.50", "USD", "hour", None, True),
    ("hourly: $2.5", "2.5", "USD", "hour", None, False),
    ("$2.79/hr", "2.79", "USD", "hour", None, False),
    ("99,- €", "99", "EUR", None, None, False),
    ("￥12.68", "12.68", None, None, None, False),
    ("＄２．４９", "2.49", "USD", None, None, False),
    ("£1.20/hour", "1.20", "GBP", "hour", None, False),
    ("₹426 /hr", "426", "INR", "hour", None, False),
    ("Rs. 351/hr", "351", "INR", "hour", None, False),
    ("INR 1,23,456", "123456", "INR", None, None, False),
    ("$1,883.40 per month", "1883.40", "USD", "month", None, False),
    ("$0.08/GB-month + $2.00/hr", "2.00", "USD", "hour", None, False),
    ("1.234.567,89 €", "1234567.89", "EUR", None, None, False),
    ("1,2,3 $", None, None, None, None, False),
    ("$1.2.3", None, None, None, None, False),
    ("$142.416", "142.416", "USD", None, None, False),
    ("55.0400000000", "55.04", None, None, None, False),
    ("27.875342465753423", "27.875342465753423", None, None, None, False),
    ("0E-9", "0", None, None, None, False),
    ("N/A*", None, None, None, None, False),
    ("[Contact us](#ai-contact-form)", None, None, None, None, False),
    ("from $0.90", "0.90", "USD", None, None, True),
    ("$4 / 每小時", "4", "USD", "hour", None, False),
    ("3,81 €", "3.81", "EUR", None, None, False),
    ("NVIDIA H100", None, None, None, None, False),
    ("2026-12-01", None, None, None, None, False),
    ("1 GPU", None, None, None, None, False),
    ("Rp 15.000/jam", "15000", "IDR", None, None, False),
    ("4,50 Kč", "4.50", "CZK", None, None, False),
    ("0.12 EUR / Stunde", "0.12", "EUR", "hour", None, False),
    ("S$3.20/hr", "3.20", "SGD", "hour", None, False),
    ("CA$3.20", "3.20", "CAD", None, None, False),
    ("AUD 3.20/hr", "3.20", "AUD", "hour", None, False),
    ("$3.20 CAD/hr", "3.20", "CAD", "hour", None, False),
    ("USD $3.20", "3.20", "USD", None, None, False),
    ("49¢/hr", None, None, None, None, False),
    ("$2.00 /gpu /hour", "2.00", "USD", "hour", "gpu", False),
    ("$ 2,50 / giờ", "2.50", "USD", "hour", None, False),
    ("từ $0.5/giờ", "0.5", "USD", "hour", None, True),
    ("Kontakt", None, None, None, None, False),
    ("Nicht verfügbar", None, None, None, None, False),
    ("12.500 ₫/phút", "12500", "VND", "minute", None, False),
    ("$1,000,000", "1000000", "USD", None, None, False),
    ("$0.5 - 0.8 /hr", "0.5", "USD", "hour", None, True),
    ("€0.0117/hr", "0.0117", "EUR", "hour", None, False),
    ("$199/wk", "199", "USD", None, None, False),
]

SHARED = Path(__file__).resolve().parents[3] / "shared" / "cases" / "prices.jsonl"


@pytest.mark.parametrize(("text", "amount", "currency", "unit", "per", "floor"), CASES)
def test_prices(
    text: str, amount: str | None, currency: str | None, unit: str | None, per: str | None, floor: bool
) -> None:
    wanted = Price(text, None if amount is None else Decimal(amount), currency, per, unit, floor)
    assert read_price(text) == wanted


def test_U23_decimal_comma_without_or_with_a_leading_zero() -> None:
    assert read_price(",89 €").amount == Decimal("0.89")
    assert read_price("0,075").amount == Decimal("0.075")


@pytest.mark.parametrize(
    ("text", "locale", "amount"),
    [
        ("1,499", "en-US", "1499"),
        ("1,499", "de", "1.499"),
        ("1.499", "de-DE", "1499"),
        ("1.499", "en_GB", "1.499"),
        ("CHF 1.499", "de-CH", "1.499"),
        ("$1.499", "vi-VN", "1499"),
        ("2,49", "en", "2.49"),  # two digits are decimals in every locale
        ("1.499,00 €", "en", "1499.00"),
    ],
)
def test_a_locale_settles_what_is_ambiguous_and_nothing_else(text: str, locale: str, amount: str) -> None:
    assert read_price(text, locale).amount == Decimal(amount)


def test_U21_small_prices_keep_their_digits() -> None:
    assert read_price("$0.0041/hr").amount == Decimal("0.0041")
    assert read_price("$0.034").amount == Decimal("0.034")


def test_U30_one_page_in_two_currencies_is_read_as_published() -> None:
    assert [(p.amount, p.currency) for p in map(read_price, ("$4.54", "3,81 €", "4,57 €"))] == [
        (Decimal("4.54"), "USD"),
        (Decimal("3.81"), "EUR"),
        (Decimal("4.57"), "EUR"),
    ]


@pytest.mark.parametrize(
    ("text", "amount"),
    [("$2.79/hr", 2.79), ("$3", 3), ("9.0E-4", 0.0009), ("27.875342465753423", 27.875342465753423), ("N/A", None)],
)
def test_json_holds_a_number_that_is_the_price(text: str, amount: float | None) -> None:
    printed = as_json(read_price(text))
    assert printed["amount"] == amount
    assert list(printed) == ["text", "amount", "currency", "per", "unit", "from"]
    if amount is not None:
        again = json.loads(json.dumps(printed), parse_float=Decimal)["amount"]
        assert Decimal(again) == read_price(text).amount


def test_json_keeps_digits_that_a_double_cannot() -> None:
    assert as_json(read_price("$0.12345678901234567891"))["amount"] == "0.12345678901234567891"


def test_shared_cases() -> None:
    if not SHARED.exists():
        pytest.skip("no ../shared/cases/prices.jsonl beside the project")
    for case in map(json.loads, SHARED.read_text(encoding="utf-8").splitlines()):
        if case.get("scope") != "text":
            continue
        expect, price = case["expect"], read_price(case["input"])
        assert price.amount == (None if expect["amount"] is None else Decimal(expect["amount"])), case["id"]
        if expect["amount"] is not None and expect["currency"]:
            assert price.currency == expect["currency"], case["id"]
        assert price.from_ == bool(expect.get("floor")), case["id"]


@given(st.text(max_size=80), st.sampled_from([None, "de", "en-GB", "vi", "zz", ""]))
@example("$" * 400, None)
@example("1" * 400, None)
def test_never_raises_and_says_the_same_twice(text: str, locale: str | None) -> None:
    price = read_price(text, locale)
    read_price.cache_clear()
    assert read_price(text, locale) == price
    assert price.amount is None or (price.amount >= 0 and price.amount.is_finite())
    assert price.amount is not None or (price.currency, price.unit, price.per, price.from_) == (None, None, None, False)


@given(st.decimals(min_value="0.0001", max_value="99999", places=4), st.sampled_from(["USD", "EUR", "VND", "INR"]))
def test_a_plain_decimal_with_a_code_is_read_exactly(amount: Decimal, code: str) -> None:
    price = read_price(f"{code} {amount}")
    assert (price.amount, price.currency) == (amount, code)


@given(st.integers(1000, 9_999_999), st.integers(0, 99))
def test_groups_of_three_read_alike_in_every_style(whole: int, cents: int) -> None:
    english = f"${whole:,}.{cents:02}"
    wanted = Decimal(f"{whole}.{cents:02}")
    assert read_price(english).amount == wanted
    assert read_price(english[1:].replace(",", " ").replace(".", ",") + " €").amount == wanted
    assert read_price("CHF " + english[1:].replace(",", "\u2019")).amount == wanted
    continental = english[1:].replace(",", "_").replace(".", ",").replace("_", ".") + " €"
    assert read_price(continental).amount == wanted


@pytest.mark.parametrize(
    "text",
    [
        "1" * 100_000,
        "1," * 50_000,
        "$1 - " * 20_000,
        "<" * 100_000,
        "~~" * 50_000,
        "\u0336" * 100_000,
        "per 1 gpu " * 10_000,
    ],
)
def test_hostile_texts_come_to_an_end(text: str) -> None:
    """A pattern that backtracks would not come back from these within the life of the test run."""
    assert read_price(text).text == text

"""Single values as a person reads them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table.cells import age, duration, instant, money, percent, plain, safe, share, text_of
from table.terminal import width_of


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("1.6568000000", "1.6568"),
        ("2", "2.00"),
        ("2.1500000000", "2.15"),
        ("98.3200000000", "98.32"),
        ("0.0041", "0.0041"),
        ("0.034", "0.034"),
        ("0.0000123456", "0.00001235"),
        ("1.65675", "1.6568"),
        ("12345.678949", "12345.6789"),
        ("1E+2", "100.00"),
        ("0", "0.00"),
    ],
)
def test_U21_a_price_keeps_the_digits_that_count(amount: str, shown: str) -> None:
    assert money(Decimal(amount)) == shown


def test_an_unknown_price_is_a_question_mark() -> None:
    assert money(None) == "?"


prices = st.decimals(min_value=Decimal("1e-10"), max_value=Decimal("99999"), places=10)


@given(prices, prices)
def test_rounding_for_display_never_turns_an_order_round(one: Decimal, other: Decimal) -> None:
    low, high = sorted((one, other))
    assert Decimal(money(low)) <= Decimal(money(high))


@given(prices)
def test_a_price_is_shown_within_half_a_thousandth_of_itself(amount: Decimal) -> None:
    shown = Decimal(money(amount))
    assert abs(shown - amount) <= max(amount * Decimal("0.0005"), Decimal("5e-11"))
    assert len(money(amount).partition(".")[2]) >= 2


@given(prices)
def test_all_digits_are_kept_where_nothing_is_rounded(amount: Decimal) -> None:
    assert Decimal(plain(amount)) == amount
    assert "E" not in plain(amount)


@pytest.mark.parametrize(
    ("count", "shown"),
    [(8.0, "8"), (0.125, "1/8"), (1 / 3, "1/3"), (0.05, "1/20"), (3 / 7, "3/7"), (1.5, "3/2"), (None, "?")],
)
def test_a_share_of_a_gpu_is_a_fraction(count: float | None, shown: str) -> None:
    assert share(count) == shown


@pytest.mark.parametrize(
    ("seconds", "stale", "shown"),
    [
        (0, False, "0m"),
        (59 * 60, False, "59m"),
        (3 * 3600 + 1, False, "3h"),
        (47 * 3600, True, "47h!"),
        (48 * 3600, True, "2d!"),
        (-30, False, "0m"),
        (None, False, "?"),
    ],
)
def test_A11_age_with_a_mark_past_the_window(seconds: float | None, stale: bool, shown: str) -> None:
    assert age(seconds, stale) == shown


def test_times_are_utc_unless_the_reader_wants_a_zone() -> None:
    at = datetime(2026, 11, 30, 20, 5, tzinfo=UTC)
    assert instant(at) == "2026-11-30 20:05Z"
    assert instant(at, ZoneInfo("Asia/Ho_Chi_Minh")) == "2026-12-01 03:05+07:00"
    assert instant(at, ZoneInfo("Asia/Kathmandu")) == "2026-12-01 01:50+05:45"
    assert instant(at, ZoneInfo("America/St_Johns")) == "2026-11-30 16:35-03:30"
    assert instant(None) == "?"


def test_small_things() -> None:
    assert (duration(0.84), duration(12), duration(600), duration(None)) == ("0.8s", "12s", "10m", "?")
    assert (percent(-0.125), percent(0.5), percent(None)) == ("-12.5%", "+50.0%", "")


@pytest.mark.parametrize(
    "char", ["\x00", "\x1b", "\n", "\r", "\t", "\x07", "\x7f", "\x9b", "\u202e", "\u2066", "\u200b", "\ufeff", "\u2028"]
)
def test_harmful_characters_are_written_out(char: str) -> None:
    written = safe(f"us{char}east")
    assert char not in written
    assert written.startswith("us\\")
    assert written.endswith("east")
    assert written.isprintable()


@pytest.mark.parametrize("text", ["us-east-1", "Hồ Chí Minh", "東京", "São Paulo", "[red]x[/red]", "$(rm -rf)", "1/8"])
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert safe(text) == text


@given(st.text(max_size=40))
def test_what_is_safe_stays_safe(text: str) -> None:
    once = safe(text)
    assert safe(once) == once
    assert "\x1b" not in once
    assert "\n" not in once


def test_any_value_has_a_text_and_none_is_blank() -> None:
    values = [None, True, 8, 8.0, 0.5, Decimal("1.5"), date(2026, 11, 30), ["a", "b"], [], {}, {"a": None}, "x\x1b"]
    shown = [text_of(value) for value in values]
    assert shown == ["?", "yes", "8", "8", "0.5", "1.50", "2026-11-30", "a, b", "none", "none", "a ?", "x\\x1b"]


def test_wide_characters_take_two_columns() -> None:
    assert width_of("ab") == 2
    assert width_of("東京") == 4
    assert width_of("e\u0301") == 1

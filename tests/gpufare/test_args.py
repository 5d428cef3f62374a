"""What people type, and what it is read as."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufare import args
from gpufare.cli import UsageFault

NOW = datetime(2026, 12, 1, 5, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("H100", ("H100", None, None, None)),
        ("h100-sxm", ("H100", "SXM", None, None)),
        ("H100SXM5", ("H100", "SXM", None, None)),
        ("h100 pcie", ("H100", "PCIe", None, None)),
        ("H100_NVL", ("H100", "NVL", None, None)),
        ("rtx4090", ("RTX 4090", None, None, None)),
        ("4090", ("RTX 4090", None, None, None)),
        ("A100-80GB", ("A100", None, 80.0, None)),
        ("a100 40gb sxm", ("A100", "SXM", 40.0, None)),
        ("H100:8", ("H100", None, None, 8.0)),
        ("h100-sxm:8", ("H100", "SXM", None, 8.0)),
        ("8x H100", ("H100", None, None, 8.0)),
        ("A100:1/8", ("A100", None, None, 0.125)),
        ("mi300x", ("MI300X", None, None, None)),
        ("TPU v5e", ("TPU v5e", None, None, None)),
        ("Gaudi2", ("Gaudi 2", None, None, None)),
    ],
)
def test_a_gpu_narrows_only_by_what_its_words_say(text: str, read: tuple[Any, ...]) -> None:
    wanted = args.gpu(text)
    assert (wanted.gpu, wanted.form_factor, wanted.vram_gib, wanted.number and wanted.number.low) == read


def test_every_model_is_found_by_its_own_name() -> None:
    from schemas.gpu_table import rows_by_model

    for model in rows_by_model():
        for spelling in (model, model.lower(), model.replace(" ", "_"), model.replace(" ", "")):
            assert args.gpu(spelling).gpu == model


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("24..", 24, None),
        ("..80", None, 80),
        ("1..4", 1, 4),
        ("48", 48, 48),
        (" 1.5 .. 2 ", 1.5, 2),
        ("1/8", 0.125, 0.125),
    ],
)
def test_ranges(text: str, low: float | None, high: float | None) -> None:
    assert args.span("--vram", text) == args.Range(low, high)


@given(st.floats(0, 1000), st.floats(0, 1000), st.floats(0, 1000))
def test_a_range_holds_what_lies_between_its_ends(low: float, high: float, value: float) -> None:
    low, high = sorted((low, high))
    assert args.span("x", f"{low!r}..{high!r}").holds(value) == (low <= value <= high)
    assert not args.span("x", f"{low!r}..").holds(None)


@pytest.mark.parametrize("text", ["", "..", "a..b", "4..1", "-1..2", "1e999", "nan..", "1/0", "1...2"])
def test_no_ranges(text: str) -> None:
    with pytest.raises(UsageFault):
        args.span("--vram", text)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-11-29", datetime(2026, 11, 29, tzinfo=UTC), datetime(2026, 11, 29, 23, 59, 59, 999999, tzinfo=UTC)),
        ("yesterday", datetime(2026, 11, 30, tzinfo=UTC), datetime(2026, 11, 30, 23, 59, 59, 999999, tzinfo=UTC)),
        ("today", datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 12, 1, 23, 59, 59, 999999, tzinfo=UTC)),
        ("2026-11-29T02:00Z", datetime(2026, 11, 29, 2, tzinfo=UTC), None),
        ("2026-11-29t02:00z", datetime(2026, 11, 29, 2, tzinfo=UTC), None),
        ("2026-11-29T02:00", datetime(2026, 11, 29, 2, tzinfo=UTC), None),
        ("2026-11-29 02:00", datetime(2026, 11, 29, 2, tzinfo=UTC), None),
        ("2026-11-29T02:00+07:00", datetime(2026, 11, 28, 19, tzinfo=UTC), None),
        ("now", NOW, None),
        ("90d", NOW - timedelta(days=90), None),
        ("12h", NOW - timedelta(hours=12), None),
        ("30m", NOW - timedelta(minutes=30), None),
        ("2w", NOW - timedelta(weeks=2), None),
    ],
)
def test_times(text: str, start: datetime, end: datetime | None) -> None:
    assert args.moment(text, NOW) == start
    assert args.moment(text, NOW, end_of_day=True) == (end or start)


def test_a_day_is_a_day_of_utc_wherever_the_reader_sits() -> None:
    from zoneinfo import ZoneInfo

    evening = datetime(2026, 11, 30, 20, tzinfo=ZoneInfo("America/New_York"))  # 01:00 of the next day in UTC
    assert args.moment("yesterday", evening) == datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "2026-02-30", "tomorrowish", "-5d", "9999999d", "2026-11-29T25:00Z", "d"])
def test_no_times(text: str) -> None:
    with pytest.raises(UsageFault, match="write 2026-11-29"):
        args.moment(text, NOW)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("DE", "DE"),
        ("germany", "DE"),
        ("UK", "GB"),
        ("usa", "US"),
        ("Viet Nam", "VN"),
        ("vietnam", "VN"),
        ("korea", "KR"),
    ],
)
def test_countries(text: str, code: str) -> None:
    assert args.country(text) == code


def test_purchases() -> None:
    assert args.purchases(["on-demand,Spot", "capacity block"]) == ["on_demand", "spot", "capacity_block"]
    assert args.purchases(["preemptible"]) == ["spot"]
    assert args.purchases(["spot,any"]) is None
    assert args.purchases([]) == []


def test_columns_come_in_the_order_given_or_on_top() -> None:
    known = ["a_b", "c", "d"]
    assert args.columns(["C,A-B"], known, ["d"]) == ["c", "a_b"]
    assert args.columns(["+c", "a_b"], known, ["d", "c"]) == ["d", "c", "a_b"]

"""Sizes, speeds and price units."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.gpu_names import known_vram, nominal
from schemas.units import HOURS_PER, gbps, gib, per_hour, split_unit


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("80 GB", 80.0),  # nominal: the seller's GB is a GiB
        ("80GB", 80.0),
        ("80Gi", 80.0),
        ("80G", 80.0),
        ("1,152 GiB", 1152.0),
        ("1 152 GiB", 1152.0),
        ("2048 GiB", 2048.0),
        ("24576 MiB", 24.0),
        ("183104 MB", 178.8125),
        ("309237645312 B", 288.0),
        ("2 TB", 2048.0),
        ("5.8 TiB SSD", 5939.2),
        ("8 x 3840 GB SSD", 30720.0),
        (80, 80.0),
        ("80", 80.0),
        (Decimal("80.5"), 80.5),
        ("EBS only", None),
        ("64 vCPU", None),
        ("", None),
        (None, None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        (-3, None),
        ("400 Gb/s", None),
    ],
)
def test_sizes(text: str | float | Decimal | None, expected: float | None) -> None:
    assert gib(text) == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3200 Gigabit", 3200.0),
        ("400 Gigabit", 400.0),
        ("Up to 25 Gigabit", 25.0),
        ("100 Gbps", 100.0),
        ("25 Gbit/s", 25.0),
        ("400Gb/s", 400.0),
        ("400GbE", 400.0),
        ("500 Mbps", 0.5),
        ("8x 400 Gbps", 3200.0),
        ("3.2 Tbps", 3200.0),
        (100, 100.0),
        ("Moderate", None),
        ("High", None),
        (None, None),
    ],
)
def test_network_speeds(text: str | int | None, expected: float | None) -> None:
    assert gbps(text) == expected


def test_U17_reported_mebibytes_fall_into_the_nominal_class() -> None:
    reported = {"H100": 81559, "A100": 81920, "A10": 23028, "L40S": 46068, "L4": 23034, "T4": 15360}
    classes = {gpu: nominal(gpu, gib(f"{mib} MiB") or 0) for gpu, mib in reported.items()}
    assert classes == {"H100": 80, "A100": 80, "A10": 24, "L40S": 48, "L4": 24, "T4": 16}


def test_U03_total_over_count_is_a_known_size() -> None:
    each = (gib("183104 MB") or 0) / 8
    assert nominal("L4", each) == 24
    assert nominal("L4", each) in known_vram("L4")


def test_N16_memory_far_from_every_known_size_stays_as_reported() -> None:
    assert nominal("RTX 4090", (gib("98280 MiB") or 0) / 2) == 48  # known as a modified card
    assert nominal("L4", 12.0) == 12.0


def test_U31_one_documented_month() -> None:
    assert HOURS_PER["month"] == 730
    assert per_hour(Decimal(730), "instance-month", None)[0] == 1


@pytest.mark.parametrize(
    ("amount", "unit", "count", "instance", "gpu"),
    [
        ("2552", "cent/instance-hour", 8, "25.52", "3.19"),
        ("249", "cent/instance-hour", 1, "2.49", "2.49"),  # U18
        ("1.99", "gpu-hour", 8, "15.92", "1.99"),
        ("1.99", "gpu-hour", None, None, "1.99"),
        ("1.99", "instance-hour", None, "1.99", None),
        ("0.001097", "gpu-second", 1, "3.9492", "3.9492"),
        ("0.020435", "gpu-minute", 1, "1.2261", "1.2261"),
        ("24", "instance-day", 2, "1", "0.5"),
        ("8760", "instance-year", 1, "1", "1"),
        ("0.057", "instance-hour", Fraction(1, 8), "0.057", "0.456"),
        ("10", "instance-hour", 3, "10", "3.3333333333"),
        ("0.00000000005", "instance-hour", 1, "0", "0"),  # half to even
        ("0.00000000015", "instance-hour", 1, "0.0000000002", "0.0000000002"),
    ],
)
def test_prices_per_hour(
    amount: str, unit: str, count: int | Fraction | None, instance: str | None, gpu: str | None
) -> None:
    found = per_hour(Decimal(amount), unit, None if count is None else Fraction(count))
    assert found == (None if instance is None else Decimal(instance), None if gpu is None else Decimal(gpu))


def test_U28_adding_prices_leaves_no_dust() -> None:
    assert per_hour(Decimal("1.6468") + Decimal("0.01"), "instance-hour", None)[0] == Decimal("1.6568")


@pytest.mark.parametrize("unit", ["hour", "gpu-week", "cents/gpu-hour", "GPU-hour", "node-hour", ""])
def test_unknown_price_units_are_refused(unit: str) -> None:
    with pytest.raises(ValueError, match="price unit"):
        split_unit(unit)


@given(
    st.decimals(min_value="0.0001", max_value="9999999999", places=6),
    st.sampled_from(sorted(HOURS_PER)),
    st.integers(1, 4096),
)
def test_gpu_and_instance_price_agree(amount: Decimal, unit: str, count: int) -> None:
    instance, gpu = per_hour(amount, f"gpu-{unit}", Fraction(count))
    assert instance is not None
    assert gpu is not None
    assert abs(instance - gpu * count) <= Decimal("1e-10") * count
    assert per_hour(amount, f"instance-{unit}", Fraction(count))[0] == gpu


@given(st.text(max_size=60))
def test_sizes_and_speeds_never_raise(text: str) -> None:
    for value in (gib(text), gbps(text)):
        assert value is None or value >= 0

"""machine_types.csv: what a composed price is made of."""

from __future__ import annotations

from dataclasses import fields

import pytest

from schemas.facts import FactsError, parse_csv
from schemas.gpu_names import read_instance_type
from schemas.machine_types import FILE, MachineType, machine_types

HEADER = ",".join(field.name for field in fields(MachineType)) + "\n"


def test_counts_agree_with_what_the_machine_s_name_means() -> None:
    for row in machine_types("gcp"):
        named = read_instance_type(row.machine_type, "gcp")
        assert row.attached == (named is None or named.gpu is None), row.machine_type
        assert row.attached or (named and named.gpu_count == row.gpu_count), row.machine_type


def test_n22_memory_per_core_is_that_of_a_real_machine() -> None:
    for row in machine_types("gcp"):
        assert 3 <= row.ram_gib / row.vcpus <= 20, row.machine_type


def test_an_unknown_provider_has_none() -> None:
    assert machine_types("nobody") == ()


@pytest.mark.parametrize("cells", ["gcp,x,X,Card,one,1,4,16,0,yes,no,s,2026-12-01,", "gcp,x,X,Card,1,1,4,16,0,yes,"])
def test_a_row_that_is_not_understood_is_an_error(cells: str) -> None:
    with pytest.raises(FactsError):
        parse_csv(FILE, HEADER + cells + "\n", MachineType)

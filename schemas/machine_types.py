"""What a machine type is put together of, for clouds that price cores, memory and GPUs apart: machine_types.csv."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from schemas.facts import FactsError, load_csv

FILE = "machine_types.csv"


@dataclass(frozen=True, slots=True)
class MachineType:
    """One row of machine_types.csv.

    host_sku: the provider's word for cores and memory of this family; empty where the GPU's price holds them already.
    gpu_sku: its words for the GPU, parted by `;` where it has several; gpu_skus: how many of that unit are billed.
    gpu_count: GPUs of the machine, a share as 1/8. local_ssd_gib: disk that comes with it and is billed apart, 0 where
    there is none. on_demand: can it be had at the plain price. attached: the GPU is the buyer's choice, so that the
    machine's name does not tell it.
    """

    provider: str
    machine_type: str
    host_sku: str | None
    gpu_sku: tuple[str, ...]
    gpu_skus: int
    gpu_count: Fraction
    vcpus: int
    ram_gib: int
    local_ssd_gib: int
    on_demand: bool
    attached: bool
    source: str
    checked_on: date
    note: str | None


def machine_types(provider: str) -> tuple[MachineType, ...]:
    """The machine types of a provider; empty where none are listed. Raises FactsError for one that stands twice."""
    seen: set[tuple[str, str, tuple[str, ...], int]] = set()
    for line, row in enumerate(load_csv(FILE, MachineType), start=2):
        key = (row.provider, row.machine_type, row.gpu_sku, row.gpu_skus)
        if key in seen or not row.gpu_sku:
            raise FactsError(FILE, line, "machine_type", "each machine once, with its GPU", row.machine_type)
        seen.add(key)
    return tuple(row for row in load_csv(FILE, MachineType) if row.provider == provider)

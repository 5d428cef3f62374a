"""What training gets of a card: the memory that a program can use of it, and the methods that software knows on it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from schemas.assumptions import assumption
from schemas.facts import load_csv

Technique = Literal["full", "lora", "nf4", "int8", "gptq", "awq"]
SAME_SIZE = 0.07
"""share by which two statements of one memory size may differ, as in `filters`"""


@dataclass(frozen=True, slots=True)
class UsableMemory:
    """One row of usable_memory.csv: memory of a card as sold, and as a program reads it."""

    gpu: str
    vram_gib: float
    usable_gib: float
    source: str
    checked_on: date
    note: str | None


@dataclass(frozen=True, slots=True)
class MethodSupport:
    """One row of method_support.csv.

    method: full and lora on 16-bit weights; nf4 and int8 (bitsandbytes), gptq, awq: adapters on quantised weights.
    support: yes, partial or no; what has no row is not known.
    """

    vendor: str
    architectures: tuple[str, ...]
    method: str
    support: str
    source: str
    checked_on: date
    note: str | None


def usable_gib(gpu: str, vram_gib: float) -> float:
    """GiB of one whole card that a program can use, never more than `vram_gib`, what the seller says it has.

    A reading where usable_memory.csv has one of this card and size, else the assumed share of what it is sold with.
    """
    readings = [row for row in load_csv("usable_memory.csv", UsableMemory) if row.gpu == gpu]
    near = [row for row in readings if abs(row.vram_gib - vram_gib) <= SAME_SIZE * row.vram_gib]
    if near:
        return min(vram_gib, min(near, key=lambda row: abs(row.vram_gib - vram_gib)).usable_gib)
    return vram_gib * assumption("usable_vram_share").expected


def method_support(vendor: str, architecture: str, method: Technique) -> MethodSupport | None:
    """What is known of a method on an architecture; None is not known."""
    return _support().get((vendor, architecture, method))


@lru_cache(maxsize=1)
def _support() -> dict[tuple[str, str, str], MethodSupport]:
    rows = load_csv("method_support.csv", MethodSupport)
    return {(row.vendor, name, row.method): row for row in rows for name in row.architectures}

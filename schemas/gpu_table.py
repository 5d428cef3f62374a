"""The accelerators of `gpus.csv`: one row per model, form factor and memory size."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from schemas.facts import load_csv


@dataclass(frozen=True, slots=True)
class Gpu:
    """One row. Figures are per GPU as clouds count it: one die of a K80, one quarter of an A16 board, one TPU chip."""

    gpu: str
    """canonical model; several rows may share it"""
    variant: str
    vendor: str
    architecture: str
    year: int
    segment: str
    """datacenter, workstation, consumer, mobile or accelerator"""
    form_factor: str | None
    vram_gib: float
    unmarked: bool
    """whether the bare name may mean this row; no for sizes that sellers always state"""
    gpus_per_board: int
    mig_slices: int | None
    """compute slices that MIG parts a whole GPU into"""
    memory_type: str
    mem_bandwidth_gbs: float | None
    interconnect: str | None
    pcie: str | None
    fp16_tflops_dense: float | None
    """dense FP16 at the rate that training gets: tensor or matrix units with FP32 accumulate where there are any"""
    tflops_basis: str | None
    """where `fp16_tflops_dense` comes from: a datasheet, or which multiple of which rate; None exactly where that is"""
    bf16: str
    fp8: str
    int8: str
    fp4: str
    tdp_w: int | None
    """board power; empty where sources disagree, or where only measured power is published"""
    compute_capability: str | None
    cpu_arch: str | None
    """arm64 where the GPU is soldered to an Arm CPU"""
    source: str
    """what the figures were compared with on `checked_on`; `unproven` where nothing public was found"""
    checked_on: date
    note: str | None


def gpu_models() -> tuple[Gpu, ...]:
    """All rows of gpus.csv, in the file's order."""
    return load_csv("gpus.csv", Gpu)


@lru_cache(maxsize=1)
def rows_by_model() -> dict[str, tuple[Gpu, ...]]:
    """Canonical model to its rows."""
    found: dict[str, list[Gpu]] = {}
    for row in gpu_models():
        found.setdefault(row.gpu, []).append(row)
    return {model: tuple(rows) for model, rows in found.items()}


@lru_cache(maxsize=1)
def model_by_squash() -> dict[str, str]:
    """`squash(model)` to model."""
    return {squash(model): model for model in rows_by_model()}


def known_vram(gpu: str) -> tuple[float, ...]:
    """Every memory size in GiB in which this canonical model is known, ascending; empty for an unknown model."""
    return tuple(sorted({row.vram_gib for row in rows_by_model().get(gpu, ())}))


def usual_vram(gpu: str, form_factor: str | None = None) -> float | None:
    """The size that the name alone means, where it means one; None where it may mean several (A100, V100, A800)."""
    rows = rows_by_model().get(gpu, ())
    formed = [row for row in rows if form_factor and row.form_factor == form_factor]
    rows = tuple(formed) or rows
    sizes = {row.vram_gib for row in rows if row.unmarked} or {row.vram_gib for row in rows}
    return sizes.pop() if len(sizes) == 1 else None


def squash(text: str) -> str:
    """Letters and digits only, lower case: two spellings of one name agree in it."""
    return re.sub(r"[^a-z0-9]", "", text.lower())

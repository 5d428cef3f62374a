"""Names of accelerators: from a vendor's words, an instance type or a user's spelling to one canonical model.

Order: an alias of gpu_aliases.csv (for this provider, then for all), a type of the provider, the grammar of names. What
none of them knows keeps its words, `gpu` null and `known` false; a vendor stands there only where the words prove it.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import Any

from schemas.facts import digest, load_csv
from schemas.gpu_grammar import SAME_SIZE, Reading, mig_share, nominal, read_name
from schemas.gpu_table import Gpu, gpu_models, known_vram, model_by_squash, rows_by_model, squash, usual_vram
from schemas.gpu_words import fold
from schemas.instance_types import InstanceType, instance_types, read_type, same_provider

NORMALISER_VERSION = 2
"""to be raised with every change of the grammar that reads some string differently"""

__all__ = [
    "NORMALISER_VERSION",
    "SAME_SIZE",
    "Gpu",
    "GpuAlias",
    "GpuName",
    "InstanceType",
    "as_json",
    "canonical",
    "gpu_aliases",
    "gpu_models",
    "instance_types",
    "known_vram",
    "nearest_gpus",
    "nominal",
    "normaliser_version",
    "read_gpu",
    "read_instance_type",
    "usual_vram",
]


@dataclass(frozen=True, slots=True)
class GpuName:
    """How a string is read."""

    text: str
    vendor: str | None
    """lower case: nvidia, amd, intel, google, aws ..."""
    gpu: str | None
    """canonical model, as in gpus.csv"""
    form_factor: str | None
    """SXM, PCIe, NVL, OAM; None where not said"""
    vram_gib: float | None
    """of one whole GPU: what the text says, else the table's where the name means one size"""
    gpu_count: Fraction | None
    """a share of a GPU is a fraction; None where the text gives none"""
    known: bool


@dataclass(frozen=True, slots=True)
class GpuAlias:
    """One row of gpu_aliases.csv: a spelling that no grammar could guess. `provider` is a slug or * for all."""

    provider: str
    text: str
    gpu: str
    form_factor: str | None
    vram_gib: float | None
    sample: str
    """a string as the provider prints it, that a test reads"""
    source: str
    checked_on: date


def gpu_aliases() -> tuple[GpuAlias, ...]:
    """All rows of gpu_aliases.csv."""
    return load_csv("gpu_aliases.csv", GpuAlias)


@lru_cache(maxsize=65536)
def read_gpu(text: str, provider: str | None = None) -> GpuName:
    """Read a name or type of whatever kind. Never raises; what it does not know has `known` false."""
    return _answer(text, _read(text, provider))


@lru_cache(maxsize=65536)
def read_instance_type(text: str, provider: str | None = None) -> GpuName | None:
    """Read the name of an instance type; None where it tells no accelerator (a CPU type, or one that nothing knows)."""
    reading = _read(text, provider)
    return _answer(text, reading) if reading.gpu is not None else None


# Types that are codes and never spell their card: AWS's t4g.nano is a CPU and no T4G, Azure's Standard_A10 no A10.
_CODED = re.compile(
    r"[a-z]{1,4}\d[a-z0-9-]{0,12}\.(nano|micro|small|medium|large|\d{0,3}xlarge|metal[a-z0-9-]{0,12})|standard_[^n]\w{0,60}",
    re.IGNORECASE,
)


def _read(text: str, provider: str | None) -> Reading:
    told = _aliased(text, provider) or read_type(text, provider)
    return told or (Reading() if _CODED.fullmatch(text.strip()) else read_name(text))


def canonical(text: str) -> str | None:
    """The canonical model of a user's spelling (`rtx4090`, `RTX_4090`, `4090`, `h100`), None if there is none."""
    return model_by_squash().get(squash(fold(text))) or read_gpu(text).gpu


def nearest_gpus(text: str, n: int = 3) -> tuple[str, ...]:
    """Up to `n` models whose names are most like a misspelt one, the likeliest first."""
    models = model_by_squash()
    wanted = squash(fold(text))[:60]
    digits = re.sub(r"\D", "", wanted)
    # numbers are what tells cards apart: among equally like names the one with the same number is meant
    close = difflib.get_close_matches(wanted, models, n=max(4 * n, n), cutoff=0.5) if wanted else []
    close.sort(
        key=lambda key: -difflib.SequenceMatcher(None, wanted, key).ratio() - 0.1 * (re.sub(r"\D", "", key) == digits)
    )
    return tuple(models[key] for key in close[:n])


@lru_cache(maxsize=1)
def normaliser_version() -> str:
    """Twelve hex digits: the grammar's version together with the content of every table that it reads."""
    tables = digest(("gpu_aliases.csv", "gpus.csv", "instance_types.csv"))
    return hashlib.sha256(f"{NORMALISER_VERSION} {tables}".encode()).hexdigest()[:12]


def as_json(name: GpuName) -> dict[str, Any]:
    """The object that `resolve gpu` prints: {text, vendor, gpu, form_factor, vram_gib, gpu_count, known}."""
    count = name.gpu_count
    return {
        "text": name.text,
        "vendor": name.vendor,
        "gpu": name.gpu,
        "form_factor": name.form_factor,
        "vram_gib": name.vram_gib,
        "gpu_count": None if count is None else int(count) if count.denominator == 1 else float(count),
        "known": name.known,
    }


def _answer(text: str, reading: Reading) -> GpuName:
    vram = reading.vram_gib
    if vram is None and reading.gpu is not None:
        vram = usual_vram(reading.gpu, reading.form_factor)
    return GpuName(text, reading.vendor, reading.gpu, reading.form_factor, vram, reading.count, reading.gpu is not None)


_COUNT_BEFORE = re.compile(r"\s*(\d{1,3})\s?x\s*(?=[a-z])")
_VENDOR_BEFORE = re.compile(r"^\s*(?:nvidia|amd|intel)\b\s*")


@lru_cache(maxsize=1)
def _alias_rows() -> dict[str, tuple[GpuAlias, ...]]:
    found: dict[str, list[GpuAlias]] = {}
    for row in gpu_aliases():
        found.setdefault(squash(_VENDOR_BEFORE.sub("", fold(row.text), count=1)), []).append(row)
    return {key: tuple(rows) for key, rows in found.items()}


def _aliased(text: str, provider: str | None) -> Reading | None:
    folded = fold(text)
    count = None
    if match := _COUNT_BEFORE.match(folded):
        count, folded = Fraction(int(match[1])) or None, folded[match.end() :]
    if match := _VENDOR_BEFORE.match(folded):
        folded = folded[match.end() :]
    rows = _alias_rows().get(squash(folded), ())
    own = [row for row in rows if same_provider(provider, row.provider)] or [row for row in rows if row.provider == "*"]
    if not own:
        return None
    row = own[0]
    share = mig_share(text, row.gpu)
    if share is not None:
        count = share * (count or 1)
    return Reading(rows_by_model()[row.gpu][0].vendor, row.gpu, row.form_factor, row.vram_gib, count)

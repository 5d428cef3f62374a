"""What a provider's instance type means where its answer does not say: literal names from instance_types.csv, then the
grammars of providers whose type names spell out card and count. Every pattern is anchored: it reads all of a text or
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache

from schemas.facts import load_csv
from schemas.gpu_grammar import Reading, read_name
from schemas.gpu_table import rows_by_model, usual_vram
from schemas.gpu_words import fold

_SHORTEST_ALONE = 5
"""characters that a literal must have to count without a provider: `p1` or `ct3` means something only at home"""


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One row of instance_types.csv. `gpu_count` is empty where the type does not fix it; a share is written 1/8."""

    provider: str
    instance_type: str
    gpu: str
    form_factor: str | None
    gpu_count: Fraction | None
    vram_gib: float | None
    source: str
    checked_on: date
    note: str | None


def instance_types() -> tuple[InstanceType, ...]:
    """All rows of instance_types.csv."""
    return load_csv("instance_types.csv", InstanceType)


def same_provider(slug: str | None, provider: str) -> bool:
    """A row of `aws` holds for the spiders aws, aws_spot and whatever else reads that cloud."""
    return slug is not None and (slug == provider or slug.startswith(provider + "_"))


def type_key(text: str) -> str:
    """Folded, with underscores for spaces, without SageMaker's `ml.`, Exoscale's `running_` and Azure's ` Spot`."""
    key = re.sub(r"\s+", " ", fold(text)).strip().removesuffix(" spot").removesuffix(" low priority").replace(" ", "_")
    return key.removeprefix("ml.").removeprefix("running_")


def read_type(text: str, provider: str | None = None) -> Reading | None:
    """The meaning of a type's name, or None where neither a row nor a grammar knows it."""
    key = type_key(text)
    return _literal(key, provider) or _spelt(key, provider) or _family(key, provider)


@lru_cache(maxsize=1)
def _literals() -> dict[str, tuple[InstanceType, ...]]:
    found: dict[str, list[InstanceType]] = {}
    for row in instance_types():
        key = type_key(row.instance_type)
        for spelling in {key, key.removeprefix("standard_") if row.provider == "azure" else key, _exoscale(row, key)}:
            found.setdefault(spelling, []).append(row)
        if row.provider == "latitude":  # resellers write g3-a100-large
            found.setdefault(key.replace(".", "-"), []).append(row)
    return {key: tuple(rows) for key, rows in found.items()}


def _exoscale(row: InstanceType, key: str) -> str:
    return key.replace(".", "_") if row.provider == "exoscale" else key


@lru_cache(maxsize=1)
def _providers() -> frozenset[str]:
    return frozenset(row.provider for row in instance_types()) | {name for names, _, _ in _GRAMMARS for name in names}


def _at_home(provider: str | None) -> bool:
    """Whether this provider has names of its own here; a reseller has not, and may use anybody's."""
    return any(same_provider(provider, name) for name in _providers())


def _literal(key: str, provider: str | None) -> Reading | None:
    rows = _literals().get(key, ())
    own = [row for row in rows if same_provider(provider, row.provider)]
    if not own and not _at_home(provider) and len(key) >= _SHORTEST_ALONE:
        own = list(rows)
    meanings = {(row.gpu, row.form_factor, row.vram_gib, row.gpu_count) for row in own}
    if len(meanings) != 1:
        return None
    gpu, form, vram, count = meanings.pop()
    return Reading(rows_by_model()[gpu][0].vendor, gpu, form, vram, count)


_SHAPES = {
    "tencent": re.compile(r"\.\d{0,2}x?large\d+$"),
    "huawei": re.compile(r"\.\d{0,2}x?large\.\d+$"),
}
"""GN7.2XLARGE32 and pi2.2xlarge.4: shapes that only one cloud writes"""


@lru_cache(maxsize=1)
def _families() -> dict[str, tuple[InstanceType, ...]]:
    found: dict[str, list[InstanceType]] = {}
    for row in instance_types():
        found.setdefault(type_key(row.instance_type).split(".", maxsplit=1)[0], []).append(row)
    return {family: tuple(rows) for family, rows in found.items() if family not in {"vm", "bm"}}


def _family(key: str, provider: str | None) -> Reading | None:
    """A size of a known family that the table does not list yet: its card is certain, its count is not."""
    family, dot, _ = key.partition(".")
    if not _at_home(provider):
        provider = next((name for name, shape in _SHAPES.items() if shape.search(key)), None)
    rows = [row for row in _families().get(family, ()) if dot and same_provider(provider, row.provider)]
    meanings = {(row.gpu, row.vram_gib) for row in rows}
    if len(meanings) != 1:
        return None
    gpu, vram = meanings.pop()
    return Reading(rows_by_model()[gpu][0].vendor, gpu, None, vram, None)


def _spelt(key: str, provider: str | None) -> Reading | None:
    for names, pattern, read in _GRAMMARS:
        if _at_home(provider) and not any(same_provider(provider, name) for name in names):
            continue
        match = pattern.fullmatch(key)
        if match and (reading := read(match)):
            return reading
    return None


def _named(
    model: str, count: Fraction | int | None, vram: float | None = None, form: str | None = None
) -> Reading | None:
    """The model that these words name, with what the type's grammar adds."""
    name = read_name(model)
    if name.gpu is None:
        return None
    form = form or name.form_factor
    size = vram or name.vram_gib or usual_vram(name.gpu, form)
    return Reading(name.vendor, name.gpu, form, size, Fraction(count) if count is not None else name.count)


# Clouds that carry the A100 in one size only, though its name has two.
_A100_80 = 80.0


def _tpu(match: re.Match[str]) -> Reading | None:
    """The number counts TensorCores, two a chip, up to v4 and for v5p; chips for v5e and v6e."""
    version, number = match[1].replace("v5litepod", "v5e"), int(match[2])
    chips = Fraction(number) if version in {"v5e", "v6e"} else Fraction(number, 2)
    return _named(f"TPU {version}", chips) if chips >= 1 else None


def _ibm(match: re.Match[str]) -> Reading | None:
    if match[2] == "a100p":
        return _named("A100", int(match[1]), _A100_80, "PCIe")
    return _named(match[2], int(match[1]), 16.0 if match[2] == "v100" else None)


def _scaleway(match: re.Match[str]) -> Reading | None:
    return _named(match[1] + (match[2] or ""), int(match[3]), float(match[4]))


def _verda(match: re.Match[str]) -> Reading | None:
    size = float(match[3]) if match[3] else {"a100": _A100_80, "v100": 16.0}.get(match[2])
    return _named(match[2], int(match[1]), size, {"s": "SXM", "p": "PCIe"}.get(match[4] or ""))


def _hyperstack(match: re.Match[str]) -> Reading | None:
    return _named(match[1], int(match[2]), _A100_80 if match[1].startswith("a100") else None)


_ALIBABA = {
    "gn5": ("P100", 16.0), "gn5i": ("P4", 8.0), "gn6i": ("T4", 16.0), "gn6v": ("V100", 16.0), "gn6e": ("V100", 32.0),
    "gn7": ("A100", 40.0), "gn7e": ("A100", 80.0), "gn7i": ("A10", 24.0),
}  # fmt: skip


def _alibaba(match: re.Match[str]) -> Reading | None:
    """`gn7i-c32g1.16xlarge`: 32 vCPUs a GPU, 16 times 4 vCPUs in all, so two GPUs."""
    gpu, vram = _ALIBABA[match[1]]
    vcpus = 2 if match[3] == "large" else 4 * int(match[3].removesuffix("xlarge") or 1)
    count: Fraction | None = Fraction(vcpus, int(match[2]))
    if match[0].endswith("gn5-c8g1.14xlarge"):
        count = Fraction(8)  # 54 vCPUs, not 56, shared by eight
    elif match[0].endswith("gn5i-c28g1.14xlarge"):
        count = None  # sources disagree: two or four
    if count is not None and (count.denominator != 1 or count < 1):
        count = None
    return Reading("nvidia", gpu, None, vram, count)


def _alibaba_metal(_match: re.Match[str]) -> Reading | None:
    return Reading("nvidia", "A100", None, 80.0, Fraction(8))


def _alibaba_share(match: re.Match[str]) -> Reading | None:
    """`vgn6i-m4-vws`, `sgn7i-vws-m2`: the m figure is the GiB of the shared card."""
    gpu, vram = {"6": ("T4", 16.0), "7": ("A10", 24.0)}[match[1]]
    share = Fraction(int(match[2] or match[3])) / Fraction(vram)
    return Reading("nvidia", gpu, None, vram, share) if share <= 1 else None


def _oci(match: re.Match[str]) -> Reading | None:
    return _named(match[1], int(match[2]), _A100_80 if match[0].endswith("a100-v2." + match[2]) else None)


def _azure(match: re.Match[str]) -> Reading | None:
    return _named(match[1], None)


def _linode(match: re.Match[str]) -> Reading | None:
    return _named(f"{match[1]} ada" if match[2] else match[1], int(match[3]))


def _vultr(match: re.Match[str]) -> Reading | None:
    name = _named(match[1], None, _A100_80 if match[1] == "a100" else None)
    if name is None or not name.vram_gib:
        return None
    return Reading(name.vendor, name.gpu, None, name.vram_gib, Fraction(int(match[2]), int(name.vram_gib)))


def _latitude(match: re.Match[str]) -> Reading | None:
    counts = {"small": 1, "large": 8}
    return _named(match[1], counts.get(match[2]), _A100_80 if match[1] == "a100" else None)


_GRAMMARS: tuple[tuple[tuple[str, ...], re.Pattern[str], Callable[[re.Match[str]], Reading | None]], ...] = (
    (("gcp",), re.compile(r"(?:tpu[-_]?)?(v2|v3|v4|v5p|v5e|v5litepod|v6e)-(\d{1,5})"), _tpu),
    (("ibm",), re.compile(r"gx\d[a-z]{0,2}-\d+x\d+x(\d{1,2})([a-z]+\d+[a-z]*)"), _ibm),
    (("scaleway",), re.compile(r"([a-z]+\d+[a-z]*)(-sxm|-pcie)?-(\d{1,2})-(\d{2,3})g"), _scaleway),
    (
        ("verda", "datacrunch"),
        re.compile(r"(\d{1,2})([a-z]+\d+[a-z]*)(?:\.(\d{2,3})([sp])?)?\.\d+v(?:_+[a-z0-9-]+)?"),
        _verda,
    ),
    (("hyperstack",), re.compile(r"n\d-([a-z0-9-]{2,30}?)x(\d{1,2})(?:-[a-z]+)?"), _hyperstack),
    (
        ("alibaba",),
        re.compile(r"(?:ecs\.)?(gn5|gn5i|gn6i|gn6v|gn6e|gn7|gn7e|gn7i)-c(\d{1,2})g1\.(\d{0,2}x?large)"),
        _alibaba,
    ),
    (("alibaba",), re.compile(r"(?:ecs\.)?ebmgn7e\.32xlarge"), _alibaba_metal),
    (
        ("alibaba",),
        re.compile(r"(?:ecs\.)?[sv]gn([67])i-(?:m(\d{1,2})s?-vws|vws-m(\d{1,2})s?)\.\d{0,2}x?large"),
        _alibaba_share,
    ),
    (("oci",), re.compile(r"(?:bm|vm)\.gpu\.([a-z]+\d+[a-z]*)(?:-[a-z0-9]+)?\.(\d{1,2})"), _oci),
    (("azure",), re.compile(r"(?:standard_)?n[cdgv][a-z0-9]*(?:_[a-z]{1,5})?_([a-z]+\d+[a-z]*)_v\d"), _azure),
    (("linode",), re.compile(r"g\d-gpu-(rtx(?:pro)?\d{4})(a?)(?:-blackwell)?-?(\d)(?:-[a-z]{1,3})?"), _linode),
    (("vultr",), re.compile(r"vcg-([a-z0-9]+)-\d+c-\d+g-(\d{1,3})vram"), _vultr),
    (("latitude",), re.compile(r"g\d[.-]([a-z]+\d+[a-z]*)[.-](small|medium|large|xlarge)"), _latitude),
)

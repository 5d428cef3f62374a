"""GPU names and instance types. Expectations are reasoned from what the words say and from the makers' data sheets."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from schemas import facts, gpu_names
from schemas.gpu_names import (
    GpuAlias,
    InstanceType,
    as_json,
    canonical,
    gpu_aliases,
    gpu_models,
    instance_types,
    known_vram,
    nearest_gpus,
    normaliser_version,
    read_gpu,
    read_instance_type,
)

SHARED = Path(__file__).resolve().parents[3] / "shared"
MODELS = tuple(dict.fromkeys(row.gpu for row in gpu_models()))
VENDOR = {row.gpu: row.vendor for row in gpu_models()}

# text, gpu, form factor, GiB of one whole GPU, count
NAMES: list[tuple[str, str, str | None, float | None, Fraction | int | None]] = [
    # marketing words, generations and notes are no part of the model
    ("NVIDIA HGX H100", "H100", None, 80, None),
    ("NVIDIA DGX B200", "B200", None, 180, None),
    ("NVIDIA H100 Tensor Core GPU", "H100", None, 80, None),
    ("NVIDIA® H100™", "H100", None, 80, None),
    ("NVIDIA H100 80GB HBM3", "H100", None, 80, None),
    ("NVIDIA B300 SXM6 AC", "B300", "SXM", 288, None),
    ("Nvidia H100 80GB Plus GPU running in Americas", "H100", None, 80, None),
    ("nvidia-h100-mega-80gb", "H100", "SXM", 80, None),
    ("NVIDIA HGX B200 8-GPU", "B200", None, 180, 8),
    ("RTX 4090 Ext", "RTX 4090", None, 24, None),
    ("RTX 4090 Max", "RTX 4090", None, 24, None),
    ("geforcertx3060tilhr-pcie-12gb", "RTX 3060 Ti", "PCIe", 12, None),
    ("A40 (graphics mode)", "A40", None, 48, None),
    ("NVIDIA L40S with AMD CPU", "L40S", None, 48, None),
    ("RTX PRO 6000 WS", "RTX PRO 6000", None, 96, None),
    ("RTX PRO 6000 WK", "RTX PRO 6000", None, 96, None),
    ("RTX PRO 6000 S", "RTX PRO 6000", None, 96, None),
    ("RTX PRO Server 6000", "RTX PRO 6000", None, 96, None),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000", None, 96, None),
    ("rtx-pro-6000-maxq", "RTX PRO 6000", None, 96, None),
    ("nvidia-l4-vws", "L4", None, 24, None),
    ("HOPPER_H100", "H100", None, 80, None),
    ("ADA_L40", "L40", None, 48, None),
    # form factors: said or None; NVL72 is a rack, NVLink no form, HBM3 no SXM
    ("H100 NVL", "H100", "NVL", 94, None),
    ("H100NVL", "H100", "NVL", 94, None),
    ("H200 NVL", "H200", "NVL", 141, None),
    ("H100 SXM5", "H100", "SXM", 80, None),
    ("h100_sxm", "H100", "SXM", 80, None),
    ("H100-80G-PCIe-NVLink", "H100", "PCIe", 80, None),
    ("A100_NVLINK_80GB", "A100", None, 80, None),
    ("GB200 NVL72", "GB200", None, 186, None),
    ("GB300 NVL72", "GB300", None, 288, None),
    ("GB200-NVL-186GB", "GB200", None, 186, None),
    ("NVIDIA GH200 NVL2", "GH200", None, 96, None),
    ("AMD Instinct MI300X OAM", "MI300X", "OAM", 192, None),
    ("Tesla V100-SXM2-32GB", "V100", "SXM", 32, None),
    ("Tesla V100-FHHL-16GB", "V100", "PCIe", 16, None),
    ("H100 PCIe x16", "H100", "PCIe", 80, None),
    ("L40S PCIe gen4 x16", "L40S", "PCIe", 48, None),
    ("A100 PCIe x8", "A100", "PCIe", None, 8),
    ("intel-ice-lake-a100-pci", "A100", "PCIe", None, None),
    ("A100 40 GB (SXM4)", "A100", "SXM", 40, None),
    # neighbours are told apart
    ("L40", "L40", None, 48, None),
    ("L40S", "L40S", None, 48, None),
    ("L40 S", "L40S", None, 48, None),
    ("A10", "A10", None, 24, None),
    ("A10G", "A10G", None, 24, None),
    ("A100", "A100", None, None, None),
    ("A100X", "A100X", None, 80, None),
    ("A100 X", "A100X", None, 80, None),
    ("V100", "V100", None, None, None),
    ("V100S", "V100S", None, 32, None),
    ("V100 S", "V100S", None, 32, None),
    ("A800 PCIe", "A800", "PCIe", None, None),
    ("H800", "H800", None, 80, None),
    ("H20", "H20", None, 96, None),
    ("H200", "H200", None, 141, None),
    ("GH200", "GH200", None, 96, None),
    ("GB200", "GB200", None, 186, None),
    ("B200", "B200", None, 180, None),
    ("B100", "B100", None, 192, None),
    ("B300", "B300", None, 288, None),
    ("T4", "T4", None, 16, None),
    ("T4G", "T4G", None, 16, None),
    ("L4", "L4", None, 24, None),
    ("L20", "L20", None, 48, None),
    ("L2", "L2", None, 24, None),
    ("A2", "A2", None, 16, None),
    ("P4", "P4", None, 8, None),
    ("P40", "P40", None, 24, None),
    ("MI250", "MI250", None, 128, None),
    ("MI250X", "MI250X", None, 128, None),
    ("MI300A", "MI300A", None, 128, None),
    ("MI300X", "MI300X", None, 192, None),
    ("MI325X", "MI325X", None, 256, None),
    ("P100", "P100", None, 16, None),
    ("p100a", "p100a", None, 28, None),
    # the many 6000s, and their sisters
    ("RTX 6000", "Quadro RTX 6000", None, 24, None),
    ("RTX6000", "Quadro RTX 6000", None, 24, None),
    ("Quadro RTX 6000", "Quadro RTX 6000", None, 24, None),
    ("Q RTX 6000", "Quadro RTX 6000", None, 24, None),
    ("RTX 6000 Ada", "RTX 6000 Ada", None, 48, None),
    ("RTX 6000Ada", "RTX 6000 Ada", None, 48, None),
    ("RTX6000-Ada-Gen", "RTX 6000 Ada", None, 48, None),
    ("RTX Ada 6000", "RTX 6000 Ada", None, 48, None),
    ("RTX 6000 (Ada)", "RTX 6000 Ada", None, 48, None),
    ("6000 Ada", "RTX 6000 Ada", None, 48, None),
    ("RTX A6000", "RTX A6000", None, 48, None),
    ("A6000", "RTX A6000", None, 48, None),
    ("Quadro RTX A6000", "RTX A6000", None, 48, None),
    ("RTX-A6000-ADA", "RTX 6000 Ada", None, 48, None),
    ("RTX PRO 6000", "RTX PRO 6000", None, 96, None),
    ("RTX 6000 PRO", "RTX PRO 6000", None, 96, None),
    ("gpurtx6000pro", "RTX PRO 6000", None, 96, None),
    ("PRO 6000", "RTX PRO 6000", None, 96, None),
    ("RTX 6000 24GB", "Quadro RTX 6000", None, 24, None),
    ("RTX 6000 48GB", "RTX 6000 Ada", None, 48, None),
    ("RTX 6000 96GB", "RTX PRO 6000", None, 96, None),
    ("RTX 5000", "Quadro RTX 5000", None, 16, None),
    ("RTX 5000 32GB", "RTX 5000 Ada", None, 32, None),
    ("RTX 5000 Ada", "RTX 5000 Ada", None, 32, None),
    ("RTX PRO 5000 72GB", "RTX PRO 5000", None, 72, None),
    ("RTX 4000", "Quadro RTX 4000", None, 8, None),
    ("RTX 4000 20GB", "RTX 4000 Ada", None, 20, None),
    ("RTX 4000 SFF ADA", "RTX 4000 SFF Ada", None, 20, None),
    ("RTX 4000 Ada SFF", "RTX 4000 SFF Ada", None, 20, None),
    ("RTX 5880Ada", "RTX 5880 Ada", None, 48, None),
    ("RTX A2000 12GB", "RTX A2000", None, 12, None),
    ("QRTX8000", "Quadro RTX 8000", None, 48, None),
    ("RTX 8000", "Quadro RTX 8000", None, 48, None),
    # consumer cards
    ("RTX 4090D", "RTX 4090 D", None, 24, None),
    ("RTX 4090 D", "RTX 4090 D", None, 24, None),
    ("RTX 4080S", "RTX 4080 SUPER", None, 16, None),
    ("RTX 4080 SUPER", "RTX 4080 SUPER", None, 16, None),
    ("RTX 4070S Ti", "RTX 4070 Ti SUPER", None, 16, None),
    ("RTX 4070 TiS", "RTX 4070 Ti SUPER", None, 16, None),
    ("RTX4070TiSUPER", "RTX 4070 Ti SUPER", None, 16, None),
    ("GTX 1660 S", "GTX 1660 SUPER", None, 6, None),
    ("RTX 2060S", "RTX 2060 SUPER", None, 8, None),
    ("RTX306012GB", "RTX 3060", None, 12, None),
    ("RTX 3060 laptop", "RTX 3060 Laptop", None, 6, None),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090 Laptop", None, 16, None),
    ("1080 Ti", "GTX 1080 Ti", None, 11, None),
    ("2080ti", "RTX 2080 Ti", None, 11, None),
    ("GeForce 3090", "RTX 3090", None, 24, None),
    ("3090", "RTX 3090", None, 24, None),
    ("4x4090", "RTX 4090", None, 24, 4),
    ("GTX TITAN X", "GTX TITAN X", None, 12, None),
    ("Titan X", "TITAN X", None, 12, None),
    ("Titan Xp", "TITAN Xp", None, 12, None),
    ("Titan RTX", "TITAN RTX", None, 24, None),
    ("Titan V", "TITAN V", None, 12, None),
    ("RTX 2080 Ti 22GB", "RTX 2080 Ti", None, 22, None),
    ("RTX 4080 Super 32GB", "RTX 4080 SUPER", None, 32, None),
    ("RTX 4090 48GB", "RTX 4090", None, 48, None),
    ("P104-100", "P104-100", None, None, None),
    ("CMP 170HX", "CMP 170HX", None, 8, None),
    # AMD, Intel, Google, AWS and others
    ("7900XTX", "RX 7900 XTX", None, 24, None),
    ("Radeon RX 7900 XT", "RX 7900 XT", None, 20, None),
    ("AMD Radeon Pro V520", "Radeon Pro V520", None, 8, None),
    ("Radeon Pro W7900", "Radeon Pro W7900", None, 48, None),
    ("Radeon VII", "Radeon VII", None, 16, None),
    ("InstinctMI50", "MI50", None, 16, None),
    ("MI 300X", "MI300X", None, 192, None),
    ("AMD Instinct™ MI300X", "MI300X", None, 192, None),
    ("Gaudi", "Gaudi", None, 32, None),
    ("GAUDI2", "Gaudi 2", None, 96, None),
    ("Intel® Gaudi® 3", "Gaudi 3", None, 128, None),
    ("Gaudi HL-205", "Gaudi", None, 32, None),
    ("Habana Gaudi2 HL-225", "Gaudi 2", None, 96, None),
    ("Arc A770", "Arc A770", None, 16, None),
    ("Arc Pro B60", "Arc Pro B60", None, 24, None),
    ("Intel Data Center GPU Max 1550", "Max 1550", None, 128, None),
    ("TPU v5p", "TPU v5p", None, 95, None),
    ("TPU v5 lite", "TPU v5e", None, 16, None),
    ("tpu-v5-lite-podslice", "TPU v5e", None, 16, None),
    ("Trillium", "TPU v6e", None, 32, None),
    ("Ironwood", "TPU7x", None, 192, None),
    ("Inferentia2", "Inferentia2", None, 32, None),
    ("AWS Trainium", "Trainium", None, 32, None),
    ("Trainium 2", "Trainium2", None, 96, None),
    ("Qualcomm AI 100", "Cloud AI 100", None, 16, None),
    ("Cloud AI 100 Ultra", "Cloud AI 100 Ultra", None, 128, None),
    ("n150d", "n150", None, 12, None),
    ("Ascend 910B", "Ascend 910B", None, 64, None),
    # counts
    ("8x H100", "H100", None, 80, 8),
    ("8 × H100", "H100", None, 80, 8),
    ("H100 x8", "H100", None, 80, 8),
    ("H100 80GB x 8", "H100", None, 80, 8),
    ("x8 H100", "H100", None, 80, 8),
    ("8 H100", "H100", None, 80, 8),
    ("H100:8", "H100", None, 80, 8),
    ("A100x2", "A100", None, None, 2),
    ("Gaudi 2 x 8", "Gaudi 2", None, 96, 8),
    ("Flex 140 x 4", "Flex 140", None, 12, 4),
    ("A100-80Gx8", "A100", None, 80, 8),
    ("NVIDIA V100*1", "V100", None, None, 1),
    ("1*NVIDIA V100/1*32G", "V100", None, 32, 1),
    ("AMD MI300X (8x)", "MI300X", None, 192, 8),
    ("(x2) H100 NVL 94GB", "H100", "NVL", 94, 2),
    ("1 x NVIDIA L40S - 48GB", "L40S", None, 48, 1),
    ("NVIDIA H100 SXM 8x NVLink 80 GB HBM3", "H100", "SXM", 80, 8),
    ("2 GPU H100", "H100", None, 80, 2),
    ("RTX4000 Ada x1 Small", "RTX 4000 Ada", None, 20, 1),
    ("Dedicated 32GB + RTX6000 GPU x1", "Quadro RTX 6000", None, 24, 1),
    ("Dedicated 96GB + RTX6000 GPU x3", "Quadro RTX 6000", None, 24, 3),
    ("GPU-8xCPU-64GB-1xL40S", "L40S", None, 48, 1),
    ("H100 with 2x Intel Xeon", "H100", None, 80, None),
    ("高火力 VRT/24Core-240GB-H100x1", "H100", None, 80, 1),
    ("8x A100 640GB", "A100", None, 80, 8),
    ("gpu-h100x8-640gb", "H100", None, 80, 8),
    ("gpu-mi300x1-192gb", "MI300X", None, 192, 1),
    ("gpu-4000adax1-20gb", "RTX 4000 Ada", None, 20, 1),
    ("gd-8xh100ib-i128", "H100", None, 80, 8),
    ("g5-standard-32x128-8h100-0ib", "H100", None, 80, 8),
    ("a100-80gb-sxm-ib.8x", "A100", "SXM", 80, 8),
    # shares
    ("NVIDIA T4/8", "T4", None, 16, Fraction(1, 8)),
    ("P4*1/4", "P4", None, 8, Fraction(1, 4)),
    ("NVIDIA A10*1/12", "A10", None, 24, Fraction(1, 12)),
    ("1/6 A10", "A10", None, 24, Fraction(1, 6)),
    ("0.5x A100", "A100", None, None, Fraction(1, 2)),
    ("A16-8Q", "A16", None, 16, Fraction(1, 2)),
    ("A40-48Q", "A40", None, 48, 1),
    ("nvidia_l40s-48q", "L40S", None, 48, 1),
    ("NVIDIA-A100-SXM4-40GB-MIG-3g.20gb", "A100", "SXM", 40, Fraction(3, 7)),
    ("NVIDIA A100 MIG 3g.40gb", "A100", None, 80, Fraction(3, 7)),
    ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", "H100", None, 80, Fraction(1, 7)),
    ("A30 MIG 1g.6gb", "A30", None, 24, Fraction(1, 4)),
    ("MIG 1g.18gb", "H200", None, 141, Fraction(1, 7)),
    ("vcg-a100-1c-6g-4vram", "A100", None, 80, Fraction(1, 20)),
    ("vcg-a16-6c-64g-16vram", "A16", None, 16, 1),
    # memory
    ("NVIDIA GH200 480GB", "GH200", None, 96, None),
    ("Tesla K80 24GB", "K80", None, 12, None),
    ("A16 64GB", "A16", None, 16, None),
    ("B200 192GB", "B200", None, 192, None),
    ("1x B300 SXM6 262GB", "B300", "SXM", 262, 1),
    ("A100-80", "A100", None, 80, None),
    ("a100-pcie-40", "A100", "PCIe", 40, None),
    ("H20 141GB", "H20", None, 141, None),
    ("NVIDIA H20-3e", "H20", None, 141, None),
    ("plan/24core-240gb-1gpu-nvidia_h100_80gbvram-g2", "H100", None, 80, 1),
    ("A100 80GB 2TB NVMe", "A100", None, 80, None),
    ("NVIDIA A100 80GB PCIe x 2, 64 vCPU, 512 GB RAM", "A100", "PCIe", 80, 2),
    ("H100 80 GiB VRAM", "H100", None, 80, None),
    # Unicode
    ("\uff28\uff11\uff10\uff10\u3000\uff18\uff10\uff27\uff22", "H100", None, 80, None),
    ("H100\xa0SXM5", "H100", "SXM", 80, None),
    ("A10\u200b0", "A100", None, None, None),
    ("А100 80 ГБ", "A100", None, 80, None),
    ("8х Н100", "H100", None, 80, 8),
    ("RTX\u2011A6000", "RTX A6000", None, 48, None),
    ("H100\u2060 80GB", "H100", None, 80, None),
]

UNKNOWN = [
    # text, vendor that the words prove
    ("RTX 5090 Pro", "nvidia"),
    ("RTX 5090 Ti", "nvidia"),
    ("RTX 4500", "nvidia"),  # Ada or Blackwell: the bare name does not say
    ("RTX", "nvidia"),
    ("NVIDIA", "nvidia"),
    ("NVIDIA GPU", "nvidia"),
    ("Tesla", "nvidia"),
    ("AMD", "amd"),
    ("RX 7900", "amd"),
    ("MI300", None),  # X or A
    ("Genoa", None),
    ("AMD EPYC Milan", None),
    ("AMD EPYC 7V13", None),
    ("AMD Ryzen 9 7950X", None),
    ("Intel Xeon Platinum 8480", None),
    ("Intel Ice Lake", None),
    ("GPU", None),
    ("GPU H", None),
    ("L20N", None),
    ("L20 N", None),
    ("H100T", None),
    ("vGPU8", None),
    ("G49E", None),
    ("PPU 810", None),
    ("NETINT Quadra T1U x1 Small", None),
    ("A2 Instance Core running in Belgium", None),  # a machine family
    ("L4, A5000, 3090", None),  # one price for several cards
    ("H100/H200", None),
    ("NVL72", None),
    ("m5.large", None),
    ("ecs.g6.xlarge", None),  # CPU types of Alibaba look like GPU types of AWS
    ("n1-standard-4", None),
    ("Standard_D4s_v5", None),
    ("Standard_NP10s", None),  # FPGA
    ("f1.2xlarge", None),
    ("vt1.3xlarge", None),
    ("2901", None),
    ("", None),
    ("   ", None),
    ("(((", None),
    ("\x00", None),
]

# text, provider, gpu, form factor, GiB, count
TYPES: list[tuple[str, str | None, str, str | None, float | None, Fraction | int | None]] = [
    ("p5.48xlarge", None, "H100", "SXM", 80, 8),
    ("p5.4xlarge", "aws_spot", "H100", "SXM", 80, 1),
    ("ml.p4d.24xlarge", None, "A100", "SXM", 40, 8),
    ("g6f.large", None, "L4", None, 24, Fraction(1, 8)),
    ("g6.99xlarge", "aws", "L4", None, 24, None),  # an unlisted size: the card is certain, the count not
    ("g5.xlarge", "shadeform", "A10G", None, 24, 1),  # a reseller uses everybody's names
    ("dl2q.24xlarge", None, "Cloud AI 100", None, 16, 8),
    ("trn2.48xlarge", None, "Trainium2", None, 96, 16),
    ("Standard_NC24ads_A100_v4", None, "A100", "PCIe", 80, 1),
    ("NC24ads A100 v4 Spot", "azure", "A100", "PCIe", 80, 1),
    ("Standard_ND96asr_v4", None, "A100", "SXM", 40, 8),
    ("Standard_NV6ads_A10_v5", None, "A10", None, 24, Fraction(1, 6)),
    ("Standard_NC128ds_xl_RTXPRO6000BSE_v6", None, "RTX PRO 6000", None, 96, None),
    ("a2-ultragpu-4g", None, "A100", "SXM", 80, 4),
    ("g4-standard-6", "gcp", "RTX PRO 6000", None, 96, Fraction(1, 8)),
    ("ct5lp-hightpu-4t", None, "TPU v5e", None, 16, 4),
    ("tpu-v2-8", None, "TPU v2", None, 16, 4),  # TensorCores, two a chip
    ("v4-2048", None, "TPU v4", None, 32, 1024),
    ("v5p-8", None, "TPU v5p", None, 95, 4),
    ("v5litepod-64", None, "TPU v5e", None, 16, 64),  # chips
    ("v6e-4", None, "TPU v6e", None, 32, 4),
    ("tpu7x-128", None, "TPU7x", None, 192, None),
    ("BM.GPU.H100.8", None, "H100", "SXM", 80, 8),
    ("BM.GPU4.8", None, "A100", "SXM", 40, 8),
    ("VM.GPU.A10.2", "oci", "A10", None, 24, 2),
    ("Compute - GPU - E3", "oci", "A100", "SXM", 40, None),
    ("OCI- Compute - GPU - MI355X", "oci", "MI355X", None, 288, None),
    ("ecs.gn7i-c32g1.16xlarge", None, "A10", None, 24, 2),
    ("ecs.gn5-c8g1.14xlarge", None, "P100", None, 16, 8),
    ("ecs.gn6i-c40g1.10xlarge", None, "T4", None, 16, 1),
    ("ecs.sgn7i-vws-m2.xlarge", None, "A10", None, 24, Fraction(1, 12)),
    ("ecs.vgn6i-m4-vws.xlarge", None, "T4", None, 16, Fraction(1, 4)),
    ("gx3d-160x1792x8gaudi3", None, "Gaudi 3", None, 128, 8),
    ("gx3-24x120x1a100p", "ibm", "A100", "PCIe", 80, 1),
    ("H100-SXM-8-80G", None, "H100", "SXM", 80, 8),
    ("H100-2-80G", "scaleway", "H100", "PCIe", 80, 2),
    ("L4-4-24G", "scaleway", "L4", None, 24, 4),
    ("RENDER-S", None, "P100", None, 16, 1),
    ("1H100.80S.30V", None, "H100", "SXM", 80, 1),
    ("1A100.22V", None, "A100", None, 80, 1),
    ("2RTXPRO6000.60V", None, "RTX PRO 6000", None, 96, 2),
    ("8H100.80S.176V__FI", None, "H100", "SXM", 80, 8),
    ("n3-A100x8-NVLink", None, "A100", None, 80, 8),
    ("n3-RTX-A6000x4", None, "RTX A6000", None, 48, 4),
    ("n3-H100-SXM5x8", "hyperstack", "H100", "SXM", 80, 8),
    ("g1-gpu-rtx6000-2", "linode", "Quadro RTX 6000", None, 24, 2),
    ("g2-gpu-rtx4000a2-hs", "linode", "RTX 4000 Ada", None, 20, 2),
    ("g1-gpu-rtx4000a-1", "linode", "RTX 4000 Ada", None, 20, 1),
    ("gpu-rtx6000", "nebius", "RTX PRO 6000", None, 96, None),
    ("gpu-l40s-d", "nebius", "L40S", None, 48, None),
    ("gpu-b200-sxm-a", "nebius", "B200", "SXM", 180, None),
    ("gpu_1x_a100", "lambda", "A100", None, 40, 1),
    ("gpu_1x_a100", "massedcompute", "A100", None, 80, 1),
    ("gpu_1x_a100", None, "A100", None, None, 1),  # 40 or 80: whose slug is not said
    ("gpu_4x_h100_sxm5", "lambda", "H100", "SXM", 80, 4),
    ("l4-90", None, "L4", None, 24, 1),
    ("t2-le-45", None, "V100S", None, 32, 1),
    ("rtx5000-28", "ovh", "Quadro RTX 5000", None, 16, 1),
    ("GEX44", None, "RTX 4000 SFF Ada", None, 20, 1),
    ("gpu3.small", "exoscale", "A40", None, 48, 1),
    ("running_gpu3_huge", "exoscale", "A40", None, 48, 8),
    ("g3-a100-large", None, "A100", None, 80, 8),
    ("12x-RTX_4090-32-65536", None, "RTX 4090", None, 24, 12),
    ("20b5", "ubicloud", "A100", "PCIe", 80, None),
    ("GN7.2XLARGE32", "tencent", "T4", None, 16, None),
    ("GN10X.2XLARGE40", None, "V100", None, 32, None),
    ("pi2.2xlarge.4", "huawei", "T4", None, 16, None),
    ("pi2.2xlarge.4", None, "T4", None, 16, 1),
    ("TPU v6e-8", None, "TPU v6e", None, 32, 8),
    ("1V100.6V", None, "V100", None, 16, 1),
    ("g3-gpu-rtxpro6000-blackwell-1", "linode", "RTX PRO 6000", None, 96, 1),
    ("NVIDIA RTX 6000", "digitalocean", "RTX 6000 Ada", None, 48, None),
]


def _fraction(count: Fraction | int | None) -> Fraction | None:
    return None if count is None else Fraction(count)


@pytest.mark.parametrize(("text", "gpu", "form", "vram", "count"), NAMES)
def test_names(text: str, gpu: str, form: str | None, vram: float | None, count: Fraction | int | None) -> None:
    name = read_gpu(text)
    assert (name.gpu, name.form_factor, name.vram_gib, name.gpu_count) == (gpu, form, vram, _fraction(count))
    assert name.vendor == VENDOR[gpu]
    assert name.known
    assert name.text == text


@pytest.mark.parametrize(("text", "vendor"), UNKNOWN)
def test_what_is_not_known_stays_unknown(text: str, vendor: str | None) -> None:
    name = read_gpu(text)
    assert (name.gpu, name.vendor, name.known, name.vram_gib, name.gpu_count) == (None, vendor, False, None, None)
    assert read_instance_type(text) is None


@pytest.mark.parametrize(("text", "provider", "gpu", "form", "vram", "count"), TYPES)
def test_instance_types(
    text: str, provider: str | None, gpu: str, form: str | None, vram: float | None, count: Fraction | int | None
) -> None:
    name = read_instance_type(text, provider)
    assert name is not None
    assert (name.gpu, name.form_factor, name.vram_gib, name.gpu_count) == (gpu, form, vram, _fraction(count))
    assert read_gpu(text, provider) == name


def test_types_of_one_cloud_mean_nothing_at_another() -> None:
    assert read_instance_type("g6.xlarge", "alibaba") is None
    assert read_instance_type("p5.48xlarge", "gcp") is None


@pytest.mark.parametrize("form", ["SXM5", "sxm", "pcie", "NVL"])
def test_a_form_factor_alone_is_read_as_one(form: str) -> None:
    assert read_gpu(form).form_factor == {"S": "SXM", "P": "PCIe", "N": "NVL"}[form[0].upper()]
    assert read_gpu(form).gpu is None


# ---- the reported faults, by their ids


def test_N02_bracketed_notes_are_not_part_of_the_model() -> None:
    texts = ["A40 (graphics mode)", "L40S (graphics mode)", "RTX A6000", "A800 PCIe", "V100"]
    read = [(name.gpu, name.form_factor, name.vram_gib) for name in map(read_gpu, texts)]
    assert read == [
        ("A40", None, 48),
        ("L40S", None, 48),
        ("RTX A6000", None, 48),
        ("A800", "PCIe", None),
        ("V100", None, None),
    ]


def test_N03_no_cpu_family_becomes_a_gpu_and_no_unknown_name_a_neighbour() -> None:
    texts = ["RTX 4090 Ext", "RTX 4090 Max", "Genoa", "RTX 5090 Pro", "MI300X"]
    assert [read_gpu(text).gpu for text in texts] == ["RTX 4090", "RTX 4090", None, None, "MI300X"]
    assert read_gpu("MI300X").vendor == "amd"


def test_N04_form_factor_and_generation_make_five_of_five() -> None:
    texts = ["H100 NVL", "H100 PCIe", "RTX 6000", "RTX 6000 Ada", "RTX A4000"]
    for provider in (None, "runpod", "lambda", "hyperstack"):
        read = [read_gpu(text, provider) for text in texts]
        assert len({(name.gpu, name.form_factor) for name in read}) == 5
        assert [name.vram_gib for name in read] == [94, 80, 24, 48, 16]


def test_N06_form_factor_is_kept_where_the_type_proves_it() -> None:
    forms = [read_gpu(text).form_factor for text in ("H100 PCIe", "Standard_NC40ads_H100_v5", "p5.48xlarge", "H100")]
    assert forms == ["PCIe", "NVL", "SXM", None]


def test_N09_four_cards_of_one_number() -> None:
    read = [read_gpu(text) for text in ("RTX A6000", "Quadro RTX 6000", "RTX 6000 Ada", "RTX PRO 6000")]
    assert len({name.gpu for name in read}) == 4
    assert [name.vram_gib for name in read] == [48, 24, 48, 96]


def test_N10_names_agree_with_the_memory_that_the_payload_reports() -> None:
    reported = {"H100 NVL": 95830, "RTX 4080S": 16376, "RTX 3090 Ti": 24564, "RTX 4090D": 24564}
    for text, mib in reported.items():
        vram = read_gpu(text).vram_gib
        assert vram is not None
        assert abs(vram - mib / 1024) <= 0.07 * vram


def test_N11_a_vendor_word_alone_is_never_a_model() -> None:
    assert {read_gpu(text).gpu for text in ("NVIDIA", "AMD", "GPU", "", "Intel", "NVIDIA GPU")} == {None}
    assert not {model.lower() for model in MODELS} & {"nvidia", "amd", "gpu", "", "intel"}
    name = read_instance_type("p5en.48xlarge")
    assert name is not None
    assert (name.gpu, name.form_factor, name.vram_gib, name.gpu_count) == ("H200", "SXM", 141, 8)


def test_N12_the_plan_says_l40s() -> None:
    name = read_instance_type("g3-l40s-large", "primeintellect")
    assert name is not None
    assert (name.gpu, name.gpu_count) == ("L40S", 8)


def test_N15_one_token_two_providers_two_cards() -> None:
    assert read_gpu("gpu-rtx6000", "nebius").gpu == "RTX PRO 6000"
    assert read_gpu("g1-gpu-rtx6000-1", "linode").gpu == "Quadro RTX 6000"


def test_N19_superchips_are_models_of_their_own_with_an_arm_host() -> None:
    texts = ["GH200", "GB200-NVL-186GB", "NVIDIA B200"]
    gpus = [read_gpu(text).gpu for text in texts]
    assert gpus == ["GH200", "GB200", "B200"]
    hosts = [{row.cpu_arch for row in gpu_models() if row.gpu == gpu} for gpu in gpus]
    assert hosts == [{"arm64"}, {"arm64"}, {None}]


def test_N20_opaque_codes_invent_no_model() -> None:
    for text in ("GPU H", "L20N", "vGPU8", "G49E"):
        name = read_gpu(text, "alibaba")
        assert (name.text, name.gpu, name.vendor, name.known) == (text, None, None, False)


def test_N22_a_marketplace_plan_names_the_same_card_as_everybody() -> None:
    assert read_gpu("1x-RTX_4090-256").gpu == read_gpu("NVIDIA GeForce RTX 4090").gpu == "RTX 4090"


# ---- the tables


def test_at_least_150_accelerators_each_with_source_and_day() -> None:
    assert len(MODELS) >= 150
    assert all(row.source and row.checked_on for row in gpu_models())
    keys = [(row.gpu, row.variant, row.vram_gib) for row in gpu_models()]
    assert len(keys) == len(set(keys))


def test_no_rental_price_stands_in_the_facts() -> None:
    columns = (facts.FACTS_DIR / "gpus.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "price" not in columns
    assert "usd" not in columns


def test_number_formats_follow_from_the_compute_capability() -> None:
    for row in gpu_models():
        if row.vendor != "nvidia":
            continue
        assert row.compute_capability is not None
        capability = float(row.compute_capability)
        assert (row.bf16 == "yes") == (capability >= 8.0), row
        assert (row.fp8 == "yes") == (capability >= 8.9), row
        assert (row.fp4 == "yes") == (capability >= 10.0), row
        assert (row.int8 == "yes") == (capability >= 6.1), row


def test_closed_columns_hold_nothing_else() -> None:
    for row in gpu_models():
        assert row.segment in {"datacenter", "workstation", "consumer", "mobile", "accelerator"}
        assert row.form_factor in {None, "SXM", "PCIe", "NVL", "OAM"}
        assert {row.bf16, row.fp8, row.int8, row.fp4} <= {"yes", "no", "unknown"}
        assert row.cpu_arch in {None, "arm64"}
        assert row.vram_gib > 0
        assert row.gpus_per_board in {1, 2, 4}


@pytest.mark.parametrize("row", gpu_aliases(), ids=lambda row: f"{row.provider}-{row.sample}")
def test_every_alias_reads_its_sample(row: GpuAlias) -> None:
    name = read_gpu(row.sample, None if row.provider == "*" else row.provider)
    assert name.gpu == row.gpu
    assert row.form_factor in {None, name.form_factor}
    assert row.vram_gib in {None, name.vram_gib}


@pytest.mark.parametrize("row", instance_types(), ids=lambda row: f"{row.provider}-{row.instance_type}")
def test_every_instance_type_is_read_as_its_row_says(row: InstanceType) -> None:
    assert row.gpu in MODELS
    name = read_instance_type(row.instance_type, row.provider)
    assert name is not None
    assert (name.gpu, name.form_factor, name.gpu_count) == (row.gpu, row.form_factor, row.gpu_count)
    if row.vram_gib is not None:
        assert name.vram_gib == row.vram_gib
        assert any(abs(row.vram_gib - size) <= 0.07 * size for size in known_vram(row.gpu))


def test_B13_a_changed_alias_moves_the_normaliser_version(tmp_path, monkeypatch) -> None:
    for name in ("gpu_aliases.csv", "gpus.csv", "instance_types.csv"):
        (tmp_path / name).write_bytes((facts.FACTS_DIR / name).read_bytes())
    monkeypatch.setattr(facts, "FACTS_DIR", tmp_path)
    versions = []
    for name in ("", "gpu_aliases.csv", "instance_types.csv", "gpus.csv"):
        if name:
            with (tmp_path / name).open("a") as file:
                file.write("\n")
        normaliser_version.cache_clear()
        versions.append(normaliser_version())
    normaliser_version.cache_clear()
    assert len(set(versions)) == 4


# ---- what users type


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("rtx4090", "RTX 4090"),
        ("RTX 4090", "RTX 4090"),
        ("RTX_4090", "RTX 4090"),
        ("4090", "RTX 4090"),
        ("h100", "H100"),
        ("a6000", "RTX A6000"),
        ("gaudi-2", "Gaudi 2"),
        ("mi300x", "MI300X"),
        ("v520", "Radeon Pro V520"),
        ("nonsense", None),
        ("", None),
    ],
)
def test_canonical(text: str, gpu: str | None) -> None:
    assert canonical(text) == gpu


@pytest.mark.parametrize(
    ("text", "gpu"),
    [("H1000", "H100"), ("rtx 409", "RTX 4090"), ("gauddi 2", "Gaudi 2"), ("4080 supr", "RTX 4080 SUPER")],
)
def test_nearest_names_hold_the_one_that_was_meant(text: str, gpu: str) -> None:
    assert gpu in nearest_gpus(text)
    assert len(nearest_gpus(text, 2)) <= 2
    assert nearest_gpus("") == ()


def test_json_has_the_fields_that_outside_tools_read() -> None:
    assert as_json(read_gpu("NVIDIA T4/8")) == {
        "text": "NVIDIA T4/8",
        "vendor": "nvidia",
        "gpu": "T4",
        "form_factor": None,
        "vram_gib": 16.0,
        "gpu_count": 0.125,
        "known": True,
    }
    whole = as_json(read_gpu("8x H100"))["gpu_count"]
    assert whole == 8
    assert isinstance(whole, int)


# ---- properties


@pytest.mark.parametrize("gpu", MODELS)
def test_every_model_reads_as_itself_in_every_spelling(gpu: str) -> None:
    spellings = {gpu, gpu.lower(), gpu.upper(), gpu.replace(" ", ""), gpu.replace(" ", "-"), gpu.replace(" ", "_")}
    spellings |= {f"8x {gpu}", f"{gpu} x8", f"{gpu} (some note)", f"{gpu} PCIe"}
    if VENDOR[gpu] in {"nvidia", "amd", "intel"}:
        spellings |= {f"{VENDOR[gpu].upper()} {spelling}" for spelling in spellings}
    assert {read_gpu(spelling).gpu for spelling in spellings} == {gpu}
    assert read_gpu(f"8x {gpu}").gpu_count == 8
    assert read_gpu(f"8x{gpu}").gpu_count == 8
    assert canonical(gpu) == gpu


@settings(max_examples=400)
@given(
    st.sampled_from(MODELS),
    st.integers(1, 64),
    st.sampled_from(["{n}x {g}", "{g} x{n}", "{g} x {n}", "{n} x {g}", "{g}:{n}"]),
)
def test_counts_are_read_wherever_they_stand(gpu: str, n: int, shape: str) -> None:
    assume(gpu != "MLU370")  # X4 and X8 are variants of that card
    name = read_gpu(shape.format(n=n, g=gpu))
    assert (name.gpu, name.gpu_count) == (gpu, n)


@given(st.sampled_from([case[0] for case in NAMES]), st.data())
def test_case_and_separators_change_nothing(text: str, data: st.DataObject) -> None:
    assume(text.isascii() and "+" not in text)
    separator = data.draw(st.sampled_from([" ", "-", "_", "  "]))
    other = "".join(data.draw(st.sampled_from([c.lower(), c.upper()])) for c in text)
    other = "".join(separator if c in " -_" else c for c in other)
    if read_gpu(text).gpu_count is None or read_gpu(text).gpu_count.denominator == 1:
        assert read_gpu(other).gpu == read_gpu(text).gpu


@given(st.text(max_size=60), st.sampled_from([None, "aws", "nebius", "oci", "nobody"]))
@example("(" * 60, None)
@example("/8", None)
@example("1g.5gb", None)
@example("-8q", None)
def test_never_raises_and_says_the_same_twice(text: str, provider: str | None) -> None:
    name = read_gpu(text, provider)
    read_gpu.cache_clear()
    assert read_gpu(text, provider) == name
    assert name.known == (name.gpu is not None)
    assert name.gpu is None or name.gpu in MODELS
    assert name.vram_gib is None or name.vram_gib > 0
    assert name.gpu_count is None or name.gpu_count > 0
    read_instance_type(text, provider)
    canonical(text)


PIECES = [
    *MODELS,
    "8x",
    "x8",
    "80GB",
    "80 GB",
    "SXM5",
    "PCIe",
    "NVL",
    "Ti",
    "Super",
    "Ada",
    "Pro",
    "(",
    ")",
    "/",
    "*",
    "1/4",
    "MIG",
    "1g.10gb",
]


@given(st.lists(st.sampled_from(PIECES), max_size=8), st.sampled_from(["", " ", "-", "_", "/"]))
def test_heaps_of_known_pieces_never_raise(pieces: list[str], separator: str) -> None:
    name = read_gpu(separator.join(pieces))
    assert name.gpu is None or name.gpu in MODELS


@given(
    st.sampled_from(
        [text for text, *_ in NAMES if not text.lower().startswith(("nvidia", "amd", "8", "1", "2", "x", "("))]
    )
)
def test_a_vendor_word_in_front_changes_nothing(text: str) -> None:
    name = read_gpu(text)
    assume(name.vendor in {"nvidia", "amd"} and name.gpu_count in {None, 8})
    more = read_gpu(f"{name.vendor.upper()} {text}")
    assert (more.gpu, more.form_factor, more.vram_gib, more.gpu_count) == (
        name.gpu,
        name.form_factor,
        name.vram_gib,
        name.gpu_count,
    )


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "1" * 100_000,
        "x8" * 50_000,
        "rtx 4090 " * 20_000,
        "(" * 100_000,
        "sdx" * 16,
        "4090sdx" * 8,
        "mig " * 20_000,
        "\ufdfa" * 1000,
    ],
)
def test_hostile_texts_come_to_an_end(text: str) -> None:
    """A pattern that backtracks would not come back from these within the life of the test run."""
    assert read_gpu(text).text == text
    for read in (read_instance_type, canonical, nearest_gpus):
        read(text)


# ---- saved answers, where they are at hand


def _shared(path: str) -> str:
    file = SHARED / path
    if not file.exists():
        pytest.skip(f"no ../shared/{path} beside the project")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("scope", ["name", "instance_type"])
def test_shared_cases(scope: str) -> None:
    wrong = []
    for case in map(json.loads, _shared("cases/gpu_names.jsonl").splitlines()):
        if case["kind"] != "gpu-name" or case.get("scope", "name") != scope:
            continue
        name, expect = read_gpu(case["input"]), case["expect"]
        sizes = expect["vram_gib"] or []
        fits = name.vram_gib is None if not sizes else name.vram_gib is None or _near(name.vram_gib, sizes)
        if (
            name.gpu not in {expect["gpu"], *expect.get("also", [])}
            or not fits
            or expect["vendor"] not in {None, name.vendor}
        ):
            wrong.append((case["id"], case["input"], name))
        if "gpu_count" in expect and name.gpu_count != expect["gpu_count"]:
            wrong.append((case["id"], case["input"], name))
        if "fraction" in expect and name.gpu_count != Fraction(expect["fraction"]):
            wrong.append((case["id"], case["input"], name))
    assert wrong == []


def _near(vram: float, sizes: list[float]) -> bool:
    return any(abs(vram - size) <= 0.07 * size for size in sizes)


def test_aws_describes_its_types_as_our_table_does() -> None:
    answer = json.loads(_shared("real/aws/describe_instance_types_gpu_only.json"))
    types = answer if isinstance(answer, list) else answer["InstanceTypes"]
    assert types
    for described in types:
        (card,) = described["GpuInfo"]["Gpus"]
        name = read_instance_type(described["InstanceType"], "aws")
        assert name is not None, described["InstanceType"]
        assert canonical(card["Name"]) == name.gpu
        assert name.gpu_count == card["Count"], described["InstanceType"]
        assert name.vram_gib is not None
        assert _near(card["MemoryInfo"]["SizeInMiB"] / 1024, [name.vram_gib])


@pytest.mark.parametrize(
    "path", ["history/aws_karpenter_ondemand_changes.csv", "history/azure_karpenter_ondemand_changes.csv"]
)
def test_every_accelerated_type_ever_published_is_known(path: str) -> None:
    provider = "aws" if "aws" in path else "azure"
    lines = _shared(path).splitlines()
    column = lines[0].split(",").index("instance_type")
    types = {line.split(",")[column] for line in lines[1:]}
    unknown = {text for text in types if read_instance_type(text, provider) is None}
    assert {text for text in unknown if "_NP" not in text} == set()  # NP: FPGAs


def test_gpu_names_imports_nothing_heavy() -> None:
    source = Path(gpu_names.__file__).read_text(encoding="utf-8")
    assert not any(word in source for word in ("import pandas", "import pyarrow", "import scrapy", "import babel"))


@pytest.mark.parametrize(
    "text", ["t4g.nano", "t4g.2xlarge", "a1.large", "Standard_A10", "Standard_A10_v2", "Standard_L8s_v3"]
)
def test_a_type_that_is_a_code_does_not_spell_a_card(text: str) -> None:
    assert read_gpu(text).gpu is None
    assert read_instance_type(text, "aws") is None

"""What holds for every provider whatever it has in stock: invariants and minimums by kind, no list of offers."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from schemas.gpu_names import gpu_models
from schemas.providers import providers
from spiders.shared.source import RECORDED

CASES = sorted(RECORDED.glob("*/*/offers.jsonl"))
MODELS = {row.gpu for row in gpu_models()}
ACTIVE = sorted(slug for slug, facts in providers().items() if facts.status == "active")
SELLS_INTERRUPTIBLE = {
    "aws": "spot",
    "azure": "spot",
    "verda": "spot",
    "nebius": "spot",
    "oci": "spot",
    "vast": "bid",
    "digitalocean": "spot",
    "gcp": "spot",
    "hyperstack": "spot",
    "lium": "spot",
    "nebulablock": "spot",
    "spheron": "spot",
    "polaris": "spot",
    "salad": "spot",
    "tencent": "spot",
    "upcloud": "spot",
}
# Minimums, which no sell-out can break: how many are collected, and how many of them without a key.
COLLECTED, WITHOUT_KEY = 60, 48
NIGHT = "2026-11-29-night"


def offers(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parts[-3]}-{path.parts[-2]}")
def test_B14_invariants_of_every_recorded_case(path: Path) -> None:
    found = offers(path)
    assert len({offer["offer_key"] for offer in found}) == len(found)
    for offer in found:
        if "price" in offer:
            assert float(offer["price"]) > 0
        if "usd_per_hour" in offer and "gpu_count" in offer:
            per_gpu = float(offer["usd_per_hour"]) / offer["gpu_count"]
            assert float(offer["usd_per_gpu_hour"]) == pytest.approx(per_gpu, rel=1e-6)
        assert offer.get("gpu") is None or offer["gpu"] in MODELS
        assert offer.get("vram_gib", 1) > 0
        assert offer.get("interruption_rate") != "0"


def test_B14_a_sell_out_breaks_nothing() -> None:
    """What is sold out is a row that says so, not a row that is gone."""
    cases = [path for path in CASES if path.parts[-2].endswith("sold-out")]
    assert cases
    for path in cases:
        assert "sold_out" in {offer["availability"] for offer in offers(path)}


@pytest.mark.parametrize(("name", "purchase"), sorted(SELLS_INTERRUPTIBLE.items()))
def test_B14_who_sells_interruptible_capacity_has_rows_of_it(name: str, purchase: str) -> None:
    kinds = [offer["purchase"] for offer in offers(RECORDED / name / NIGHT / "offers.jsonl")]
    assert purchase in kinds
    assert "on_demand" in kinds


def spider_of(name: str) -> type[Any]:
    """The class of a provider's spider."""
    return next(
        found
        for found in vars(importlib.import_module(f"spiders.{name}")).values()
        if isinstance(found, type) and getattr(found, "name", None) == name
    )


PAGES = [name for name in ACTIVE if getattr(spider_of(name), "anchors", ())]


@pytest.mark.parametrize("name", PAGES)
def test_B21_a_page_is_read_by_three_anchors_and_another_layout_fails(name: str) -> None:
    assert len(spider_of(name).anchors) >= 3
    cases = list(RECORDED.glob(f"{name}/*changed-layout*/error.json"))
    assert cases
    for path in cases:
        assert json.loads(path.read_text())["error_class"] in {"LayoutChanged", "SchemaDrift"}


def test_more_are_collected_than_by_any_open_list_most_of_them_without_a_key() -> None:
    assert len(PAGES) > 9
    assert len(ACTIVE) >= COLLECTED
    assert sum(providers()[name].access != "key" for name in ACTIVE) >= WITHOUT_KEY


def test_A24_hardware_of_other_makers_is_offered_like_any_other() -> None:
    vendors = {offer.get("vendor") for path in CASES for offer in offers(path)}
    assert vendors >= {"nvidia", "amd", "intel", "google", "aws"}


@pytest.mark.parametrize("name", ACTIVE)
def test_B21_every_spider_has_an_answer_to_run_on_offline(name: str) -> None:
    assert offers(RECORDED / name / NIGHT / "offers.jsonl")

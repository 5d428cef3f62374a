"""What holds for every provider whatever it has in stock: invariants and minimums by kind, no list of offers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.gpu_names import gpu_models
from schemas.providers import providers
from spiders.shared.source import RECORDED

CASES = sorted(RECORDED.glob("*/*/offers.jsonl"))
MODELS = {row.gpu for row in gpu_models()}
PAGES = ("lambda", "coreweave", "nebius", "fpt", "hotaisle", "digitalocean", "civo", "together", "massedcompute")
SELLS_INTERRUPTIBLE = {
    "aws": "spot",
    "azure": "spot",
    "verda": "spot",
    "nebius": "spot",
    "oci": "spot",
    "vast": "bid",
    "digitalocean": "spot",
}
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


@pytest.mark.parametrize("name", PAGES)
def test_B21_a_page_is_read_by_three_anchors_and_another_layout_fails(name: str) -> None:
    import importlib

    spider = next(
        found
        for found in vars(importlib.import_module(f"spiders.{name}")).values()
        if isinstance(found, type) and getattr(found, "name", None) == name
    )
    assert len(spider.anchors) >= 3  # type: ignore[attr-defined]
    case = json.loads((RECORDED / name / "2026-11-30-changed-layout" / "error.json").read_text())
    assert case["error_class"] == "LayoutChanged"


@pytest.mark.parametrize("name", sorted(slug for slug, facts in providers().items() if facts.status == "active"))
def test_B21_every_spider_has_an_answer_to_run_on_offline(name: str) -> None:
    assert offers(RECORDED / name / NIGHT / "offers.jsonl")

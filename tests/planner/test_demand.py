"""A fine-tuning job as a demand on cards: from the model's memory to the cards that hold it."""

from __future__ import annotations

from typing import Any

import pytest

from planner.cards import LINKED, Shape, judge, proposals
from planner.demand import demand_of, technique_of
from planner.fit import Job, Refused, estimate
from schemas.models import find_model


def job(model: str = "llama-3.1-8b", method: str = "lora", **given: Any) -> Job:
    return Job(model=find_model(model), method=method, **given)


def holds(what: Job, gpu: str, vram_gib: float, count: int = 1, form_factor: str | None = None) -> bool:
    shape = Shape(gpu=gpu, form_factor=form_factor, vram_gib=vram_gib, gpu_count=count)
    return judge(shape, demand_of(what)).fit is not None


def test_one_gpu_needs_what_the_estimate_says() -> None:
    need, told = demand_of(job()).need_of(1), estimate(job())
    assert need is not None
    assert (need.low_gib, need.expected_gib, need.high_gib) == (told.low_gib, told.expected_gib, told.high_gib)


def test_A4_each_gpu_of_a_larger_node_needs_less() -> None:
    demand = demand_of(job(method="full"))
    needs = [demand.need_of(gpus) for gpus in (1, 2, 4, 8)]
    expected = [need.expected_gib for need in needs if need]
    assert len(expected) == 4
    assert expected == sorted(expected, reverse=True)


def test_the_jobs_own_sharding_is_kept() -> None:
    by_stages = [
        need.expected_gib
        for sharding in ("zero-1", "zero-2", "zero-3")
        if (need := demand_of(job(method="full", gpus=2, sharding=sharding)).need_of(8))
    ]
    assert by_stages == sorted(by_stages, reverse=True)
    alone, split = demand_of(job(method="full", gpus=2, sharding="zero-3")), demand_of(job(method="full"))
    assert alone.need_of(1) == split.need_of(1)


def test_weights_that_cannot_be_parted_stay_whole_on_each_gpu() -> None:
    demand = demand_of(job(quant="gptq-int4"))
    one, eight = demand.need_of(1), demand.need_of(8)
    assert one is not None
    assert eight is not None
    assert eight.expected_gib >= one.expected_gib


@pytest.mark.parametrize(
    ("given", "technique"),
    [
        ({"method": "full"}, "full"),
        ({"method": "lora"}, "lora"),
        ({"method": "qlora"}, "nf4"),
        ({"method": "qlora", "quant": "nf4-dq"}, "nf4"),
        ({"method": "lora", "quant": "int8"}, "int8"),
        ({"method": "lora", "quant": "gptq-int8"}, "gptq"),
    ],
)
def test_A24_how_the_job_is_called_in_the_table_of_support(given: dict[str, Any], technique: str) -> None:
    assert technique_of(job(**given)) == technique


def test_A5_bf16_is_asked_for_and_fp16_is_not() -> None:
    small = {"model": "llama-3.2-1b", "method": "qlora"}
    assert not holds(job(**small), "T4", 16)
    assert holds(job(**small, precision="fp16"), "T4", 16)
    assert not holds(job(**small), "V100", 16)


def test_A4_a_full_run_of_a_70b_model_takes_a_node_with_links() -> None:
    found, left_out = proposals(demand_of(job("llama-3.1-70b", "full")), sizes=(1, 2, 4, 8))
    assert found
    assert all(proposal.fit.gpu_count > 1 for proposal in found)
    assert found[0].fit.link == LINKED
    assert "no fewer do" in str(found[0].why)
    assert any(card.gpu == "RTX 4090" for card, _ in left_out)


def test_the_largest_micro_batch_of_a_card_grows_with_its_memory() -> None:
    demand = demand_of(job(method="qlora"))
    sizes = []
    for gpu, vram in (("L4", 24), ("A100", 80), ("B200", 180)):
        fit = judge(Shape(gpu=gpu, form_factor=None, vram_gib=vram, gpu_count=1), demand).fit
        assert fit is not None
        assert fit.micro_batch is not None
        sizes.append(fit.micro_batch)
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1]


def test_a_job_that_cannot_be_estimated_says_so() -> None:
    with pytest.raises(Refused):
        demand_of(job(gpus=2, sharding="pipeline")).need_of(2)

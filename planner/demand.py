"""What a fine-tuning job asks of cards: peak memory by number of GPUs, number formats, the way of training."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from planner.cards import Demand, Need
from planner.fit import Job, JobError, estimate, largest_micro_batch
from schemas.training import Technique

SHARDED_BY = "fsdp"
"""how a job is spread over the GPUs of a node where it does not say"""
WHOLE_ON_EACH = "ddp"
"""what is left where the frozen weights cannot be parted"""


def demand_of(job: Job, *, sure: bool = False) -> Demand:
    """What the job asks of one GPU, or of each GPU of a node.

    `job.gpus` is not looked at: the demand answers for every number of GPUs. On more than one the job is sharded as it
    says, else by FSDP; where its weights cannot be parted (GPTQ, int8), each GPU holds all of them. sure: as in Demand.
    Asking for a need raises planner.fit.Refused where the job cannot be estimated.
    """

    @cache
    def need_of(gpus: int) -> Need | None:
        spread = on_node(job, gpus)
        if spread is None:
            return None
        told = estimate(spread)
        return Need(told.low_gib, told.expected_gib, told.high_gib)

    @cache
    def batch_of(usable_gib: float, gpus: int) -> int | None:
        spread = on_node(job, gpus)
        return None if spread is None else largest_micro_batch(spread, usable_gib)

    return Demand(
        need_of=need_of,
        technique=technique_of(job),
        formats=("bf16",) if job.needs_bf16 else (),
        batch_of=batch_of,
        sure=sure,
    )


def on_node(job: Job, gpus: int) -> Job | None:
    """The job on so many GPUs of one node; None where it cannot run there."""
    if gpus == 1:
        return replace(job, gpus=1, sharding=None)
    for sharding in (job.sharding,) if job.sharding else (SHARDED_BY, WHOLE_ON_EACH):
        try:
            return replace(job, gpus=gpus, sharding=sharding)
        except JobError:
            continue
    return None


def technique_of(job: Job) -> Technique | None:
    """The row of method_support.csv that the job goes by."""
    if job.quant is None:
        return "lora" if job.way.frozen_base else "full"
    known: dict[str, Technique] = {"nf4": "nf4", "fp4": "nf4", "int8": "int8", "gptq": "gptq", "awq": "awq"}
    return known.get(job.quant.split("-")[0])

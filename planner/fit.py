"""Peak memory of a fine-tuning job on each of its GPUs: a range, term by term, with the reasons for its width.

`low` is the leanest stack that may run the job, `high` the hungriest, `expected` the mean of all that may, by their
weight; each stretched by how far published measurements scatter about the formula. Accuracy and its proof: the tests of
tests/planner and `benchmarks/fit.py`. Pure: values in, values out.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from planner.job import Job, JobError
from planner.shape import TEXT_DECODER, UNKNOWN_TYPE
from planner.stack import Candidate, candidates
from planner.terms import GIB, NAMES, counting
from schemas.messages import Said, said
from schemas.stacks import ranges

__all__ = ["Estimate", "Job", "JobError", "Refused", "Term", "estimate", "largest_micro_batch", "range_about"]

SCATTER = "scatter"
DECIMALS = 2
MOST_MICRO_BATCH = 65536
_SOURCES = {
    "weights": "parameters x bytes each; NF4: QLoRA paper, arXiv 2305.14314",
    "adapters": "rank x (inputs + outputs) of each target: LoRA paper, arXiv 2106.09685",
    "gradients": "ZeRO paper, arXiv 1910.02054",
    "optimizer": "ZeRO paper, arXiv 1910.02054; 8-bit Adam: arXiv 2110.02861",
    "activations": "Korthikanti et al., arXiv 2205.05198, counted for each method; constants fitted",
    "logits": "tokens x vocabulary x bytes of all copies; bytes fitted for each stack",
    "gathered": "two layers and an embedding in use at a time: ZeRO paper, FSDP documentation",
    "temporary": "copies that the optimizer's step holds: DeepSpeed, torch multi-tensor AdamW",
    "overhead": "allocator, CUDA context, buffers between GPUs; fitted",
    SCATTER: "how far published measurements lie from the sum of the terms, and stacks beyond a sensible range",
}


class Refused(ValueError):
    """The job cannot be estimated; the text says why."""


@dataclass(frozen=True, slots=True)
class Term:
    """One part of the peak, in GiB per GPU."""

    name: str
    low_gib: float
    expected_gib: float
    high_gib: float
    source: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """Peak memory of one GPU in GiB. The terms sum to each total exactly: both are rounded to hundredths.

    `scatter` is the term that takes low and high from the sum of the others to the ends of the range; in `expected` it
    is 0, in `low` mostly below. `reasons` say what makes the range wide or the confidence low.
    """

    low_gib: float
    expected_gib: float
    high_gib: float
    terms: tuple[Term, ...]
    confidence: Literal["normal", "low"]
    reasons: tuple[Said | str, ...]


def estimate(job: Job) -> Estimate:
    """Estimate a job. Raises Refused for what the formula does not cover."""
    _refuse(job)
    likely = candidates(job)
    mean = _mean(job, likely)
    lean, hungry = ("bf16", "fp32") if job.adapter_dtype is None else (None, None)
    leanest = min((_rounded(job, candidate, lean) for candidate in likely), key=_total)
    hungriest = max((_rounded(job, candidate, hungry) for candidate in likely), key=_total)
    doubts = _doubts(job)
    low, high = range_about(_total(leanest), _total(mean), _total(hungriest), bool(doubts))
    leanest[SCATTER], mean[SCATTER] = round(low - _total(leanest), DECIMALS), 0.0
    hungriest[SCATTER] = round(high - _total(hungriest), DECIMALS)
    return Estimate(
        low_gib=_total(leanest),
        expected_gib=_total(mean),
        high_gib=_total(hungriest),
        terms=tuple(Term(name, leanest[name], mean[name], hungriest[name], _SOURCES[name]) for name in mean),
        confidence="low" if doubts else "normal",
        reasons=(*doubts, *_widths(job, likely)),
    )


def largest_micro_batch(job: Job, usable_gib: float) -> int | None:
    """The largest micro batch whose expected peak stays within `usable_gib` of each GPU; None where not even 1 does.

    Raises Refused as `estimate` does.
    """

    def holds(size: int) -> bool:
        return _expected_gib(dataclasses.replace(job, micro_batch=size)) <= usable_gib

    most = max(1, MOST_MICRO_BATCH // job.seq_len)
    if not holds(1):
        return None
    low, high = 1, 2
    while high <= most and holds(high):
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle <= most and holds(middle) else (low, middle)
    return low


@lru_cache(maxsize=4096)
def _expected_gib(job: Job) -> float:
    """The expected peak of `estimate` alone: many cards are asked for the same micro batches."""
    _refuse(job)
    return _total(_mean(job, candidates(job)))


def _mean(job: Job, likely: tuple[Candidate, ...]) -> dict[str, float]:
    """GiB of each term over the stacks that may run the job, by their weight, rounded to hundredths."""
    counted = [_rounded(job, candidate, None) for candidate in likely]
    return {
        name: round(sum(c.share * terms[name] for c, terms in zip(likely, counted, strict=True)), DECIMALS)
        for name in NAMES
    }


def _rounded(job: Job, candidate: Candidate, adapter_dtype: str | None) -> dict[str, float]:
    """GiB of each term on one stack, rounded to hundredths."""
    terms = counting(job, candidate.stack, adapter_dtype).terms()
    return {name: round(terms[name] / GIB, DECIMALS) for name in NAMES}


def _total(terms: dict[str, float]) -> float:
    return round(sum(terms.values()), DECIMALS)


def range_about(leanest: float, expected: float, hungriest: float, doubtful: bool) -> tuple[float, float]:
    """Ends of the range in GiB: scatter about the outermost stacks, no further off than is of use."""
    bounds = ranges()
    low = max(leanest * bounds.scatter_low, expected / bounds.most_below)
    high = min(hungriest * bounds.scatter_high, expected * bounds.most_above)
    if doubtful:
        low, high = low * bounds.uncertain_low, high * bounds.uncertain_high
    return round(low, DECIMALS), round(high, DECIMALS)


def _refuse(job: Job) -> None:
    why = {
        "offload": "CPU offload: what stays on the card depends on the host and its bus",
        "pipeline": "pipelines over cards: the fullest card depends on where the layers are cut; use fsdp or zero-3",
        "tensor": "tensor parallelism is not covered; use fsdp or zero-3",
        "sequence": "sequence parallelism is not covered; use fsdp or zero-3",
    }.get(job.sharding or "")
    if why:
        raise Refused(f"no estimate for {why}")


def _doubts(job: Job) -> tuple[Said | str, ...]:
    """Why confidence is low."""
    found: list[Said | str] = []
    if job.model.experts:
        found.append(said("doubt.experts"))
    if not job.way.certain:
        found.append(said("doubt.method", method=job.method))
    note = job.model.note or ""
    if TEXT_DECODER in note:
        found.append(said("doubt.multimodal"))
    if UNKNOWN_TYPE in note:
        found.append(note)
    return tuple(found)


def _widths(job: Job, likely: tuple[Candidate, ...]) -> tuple[Said, ...]:
    """What makes the range wide."""
    found = []
    if len(likely) > 1:
        found.append(said("width.any_stack", stacks=", ".join(each.stack.name for each in likely)))
    elif job.stack is None:
        found.append(said("width.stack_taken", stack=likely[0].stack.name))
    if job.adapter_dtype is None and job.way.frozen_base:
        found.append(said("width.adapter_dtype"))
    if any(each.stack.reserved_logit_factor > 1 for each in likely) and job.lengths is None:
        found.append(said("width.lengths"))
    if job.model.context and job.seq_len > job.model.context:
        found.append(said("width.context", tokens=job.seq_len, context=job.model.context))
    bounds = ranges()
    found.append(said("width.scatter", below=1 - bounds.scatter_low, above=bounds.scatter_high - 1))
    return tuple(found)

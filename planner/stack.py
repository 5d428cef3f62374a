"""Which stacks may run a job whose stack nobody named, by what the job itself says."""

from __future__ import annotations

from typing import NamedTuple

from planner.job import Job
from schemas.stacks import Stack, stacks


class Candidate(NamedTuple):
    """A stack and its share among those that may run the job; the shares sum to 1."""

    stack: Stack
    share: float


def candidates(job: Job) -> tuple[Candidate, ...]:
    """The stack that the job names; else all that what is known of the job does not exclude, the likelier heavier.

    `bf16-true` is what Lightning calls true 16 bit. GPTQ and AWQ weights, fp16 weights and DeepSpeed are run by
    trainers on Hugging Face models. The type of the adapters parts trainers that keep them in fp32 from the others.
    """
    if job.stack is not None:
        return (Candidate(stacks()[job.stack], 1.0),)
    left = [stack for stack in stacks().values() if stack.weight]
    if job.true_16bit:
        left = _where(left, {stack.name for stack in left if stack.family == "lightning"})
    if job.deepspeed or job.precision == "fp16" or (job.quant and not job.quant.startswith(("nf4", "fp4"))):
        left = _where(left, {stack.name for stack in left if stack.family == "huggingface"})
    if job.adapter_dtype and job.way.frozen_base:
        left = _where(left, {stack.name for stack in left if stack.adapter_dtype == job.adapter_dtype})
    whole = sum(stack.weight for stack in left)
    return tuple(Candidate(stack, stack.weight / whole) for stack in left)


def _where(left: list[Stack], names: set[str]) -> list[Stack]:
    """Those of these names, or all where that would leave none: such a job runs on a stack that we do not know."""
    return [stack for stack in left if stack.name in names] or left

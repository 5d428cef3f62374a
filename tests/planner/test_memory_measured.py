"""How close estimates come to published measurements, and how far the fitted constants carry over.

The refit leaves each source out in turn. A source that shares its kind of run with others comes out about as well as
before. ms-swift Benchmark does not: only there do texts of many lengths meet a figure of what torch has reserved, so
without it nothing tells how far the allocator goes above even lengths.
"""

from __future__ import annotations

import csv
import dataclasses
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pytest

from planner.fit import estimate
from planner.job import Job
from planner.job_csv import jobs
from planner.terms import GIB, Counting, counting
from schemas.stacks import constants, stacks

MEASURED = Path(__file__).resolve().parents[3] / "shared" / "finetune" / "measured_dev.csv"
EVERYWHERE = "constants"

# The constants that are fitted, by stack or EVERYWHERE, and where a refit starts: what counting gives, not what was
# fitted. 16 bytes of a logit are its copies in 16 bit, upcast, shifted, softmax and gradient.
STARTS: dict[tuple[str, str], float] = {
    ("hf-old", "logit_bytes"): 16.0,
    ("hf-old", "layer_share"): 1.0,
    ("hf-old", "reserved_logit_factor"): 2.0,
    ("hf-mid", "logit_bytes"): 14.0,
    ("hf", "logit_bytes"): 10.0,
    ("hf-lean", "logit_bytes"): 8.0,
    ("hf-lean", "layer_share"): 1.0,
    ("litgpt", "logit_bytes"): 10.0,
    ("litgpt", "norm_bytes"): 8.0,
    ("litgpt", "quantised_input_share"): 1.0,
    ("unsloth", "layer_share"): 1.0,
    ("torchtune-compile", "logit_bytes"): 2.0,
    ("torchtune-compile", "layer_share"): 1.0,
    (EVERYWHERE, "unwrapped_logits_share"): 0.5,
    (EVERYWHERE, "document_tokens"): 4096.0,
    (EVERYWHERE, "output_copy_bytes"): 2.0,
    (EVERYWHERE, "softcap_logit_bytes"): 2.0,
    (EVERYWHERE, "deepspeed_group_bytes"): 4.0,
}
Values = Mapping[tuple[str, str], float]


class Run(NamedTuple):
    """A job and what it took at its peak, as published."""

    source: str
    method: str
    job: Job
    peak_gib: float


@lru_cache(maxsize=1)
def runs() -> tuple[Run, ...]:
    """Measurements that can be scored. Skips the test where the file is missing."""
    if not MEASURED.is_file():
        pytest.skip("no ../shared/finetune/measured_dev.csv beside the project")
    with MEASURED.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with MEASURED.open(newline="") as file:
        read = list(jobs(file))
    scored = [
        Run(row["source"], row["method"], job, float(row["measured_peak_gib"]))
        for row, job in zip(rows, read, strict=True)
        if row["use_for_scoring"] == "yes" and row["kind"].startswith("measured") and isinstance(job, Job)
    ]
    assert len(scored) == sum(r["use_for_scoring"] == "yes" and r["kind"].startswith("measured") for r in rows)
    return tuple(scored)


def estimated_gib(run: Run, values: Values) -> float:
    """The sum of the terms of a run on its own stack, with these constants."""
    assert run.job.stack is not None
    mine = {field: value for (where, field), value in values.items() if where == run.job.stack}
    everywhere = {field: value for (where, field), value in values.items() if where == EVERYWHERE}
    counted: Counting = counting(run.job, dataclasses.replace(stacks()[run.job.stack], **mine))
    counted = dataclasses.replace(counted, fixed=dataclasses.replace(constants(), **everywhere))
    return sum(counted.terms().values()) / GIB


def median_error(chosen: Sequence[Run], values: Values) -> float:
    """Median of |estimate / measurement - 1|."""
    return statistics.median(abs(estimated_gib(run, values) / run.peak_gib - 1) for run in chosen)


# What it costs a constant to leave its start by a factor of e: as much as one run that is a fifth off. One that a
# single run depends on must not follow that run wherever it goes.
PULL = 0.2


def refit(chosen: Sequence[Run], rounds: int = 3) -> dict[tuple[str, str], float]:
    """The constants that make the sum of |log(estimate / measurement)| of these runs smallest, found one at a time.

    PULL holds each near its start; one that none of the runs depends on stays there.
    """
    values = dict(STARTS)
    step = 1.3
    for _ in range(rounds):
        for key in values:
            touched = [run for run in chosen if key[0] in (EVERYWHERE, run.job.stack)]
            if not touched:
                continue
            best = _loss(touched, values, key)
            for factor in (step, 1 / step):
                while (loss := _loss(touched, values | {key: values[key] * factor}, key)) < best - 1e-9:
                    best, values = loss, values | {key: values[key] * factor}
        step = math.sqrt(step)
    return values


def _loss(chosen: Sequence[Run], values: Values, moved: tuple[str, str]) -> float:
    errors = sum(abs(math.log(estimated_gib(run, values) / run.peak_gib)) for run in chosen)
    return errors + PULL * abs(math.log(values[moved] / STARTS[moved]))


def _median_by_method(chosen: Sequence[Run], errors: Sequence[float], least: int) -> dict[str, float]:
    counted = Counter(run.method for run in chosen)
    return {
        method: statistics.median(e for run, e in zip(chosen, errors, strict=True) if run.method == method)
        for method, count in counted.items()
        if count >= least
    }


def test_estimates_on_a_known_stack_are_close() -> None:
    found = [estimate(run.job) for run in runs()]
    errors = [abs(each.expected_gib / run.peak_gib - 1) for run, each in zip(runs(), found, strict=True)]
    assert statistics.median(errors) <= 0.065
    assert max(_median_by_method(runs(), errors, least=10).values()) <= 0.10
    assert sum(error <= 0.2 for error in errors) >= 0.9 * len(errors)


def test_ranges_without_a_stack_hold_what_was_measured() -> None:
    found = [estimate(dataclasses.replace(run.job, stack=None)) for run in runs()]
    errors = [abs(each.expected_gib / run.peak_gib - 1) for run, each in zip(runs(), found, strict=True)]
    widths = sorted(each.high_gib / each.low_gib for each in found)
    inside = sum(each.low_gib <= run.peak_gib <= each.high_gib for run, each in zip(runs(), found, strict=True))
    assert statistics.median(errors) <= 0.12
    assert inside >= 0.85 * len(found)
    assert statistics.median(widths) <= 1.8
    assert widths[int(0.9 * len(widths))] <= 2.6


# Sources of five rows or more, and how far off the median of one may be that the constants never saw: well inside the
# sixth by which measurements scatter. ms-swift Benchmark is the only source of its kind of run, as said above.
LEFT_OUT = {
    "Qwen README profile": 0.10,
    "ms-swift Benchmark": 0.18,
    "litgpt config_hub": 0.10,
    "LLM-trainer GPU test": 0.12,
    "litgpt resource-tables": 0.10,
    "LLaMA-Factory wiki": 0.10,
    "HF PEFT method_comparison": 0.10,
    "Answer.AI FSDP-QLoRA": 0.10,
    "torchtune flags table": 0.10,
}


@pytest.mark.parametrize("source", LEFT_OUT)
def test_constants_carry_over_to_a_source_that_was_left_out(source: str) -> None:
    held = [run for run in runs() if run.source == source]
    assert len(held) >= 5
    values = refit([run for run in runs() if run.source != source])
    assert median_error(held, values) <= LEFT_OUT[source]


def test_a_refit_on_all_sources_confirms_the_constants() -> None:
    values = refit(runs())
    assert abs(median_error(runs(), values) - median_error(runs(), {})) < 0.02
    for (where, field), value in values.items():
        kept = getattr(constants() if where == EVERYWHERE else stacks()[where], field)
        assert 0.5 <= value / kept <= 2.0, f"{where}.{field} is {kept}, a refit gives {value:.2f}"


def test_sources_of_five_rows_are_all_left_out_once() -> None:
    counted = Counter(run.source for run in runs())
    assert {source for source, count in counted.items() if count >= 5} == set(LEFT_OUT)

"""Peak memory as estimated against peak memory as published: ours, with the stack known and hidden, beside others.

    python benchmarks/fit.py [FILE.csv]

FILE has the columns of a table of measured runs; ../shared/finetune/measured_dev.csv without it. The others are
installed from the package registry into a virtual environment in a temporary folder and are given the same shapes and
settings: ftuneai 0.4.1 and fitcheck-llm 0.3.1, both MIT. Runs that one of them cannot describe (several GPUs, methods
other than full, LoRA and QLoRA, mixtures of experts) are left out for all in the first table.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from planner.fit import Job, estimate
from planner.job_csv import jobs
from schemas.methods import methods

MEASURED = Path(__file__).resolve().parents[2] / "shared" / "finetune" / "measured_dev.csv"
PEERS = ("ftuneai==0.4.1", "fitcheck-llm==0.3.1")

# Runs inside the other environment: a job of plain values in, GiB out, null where it takes none such.
PEER_CODE = r"""
import json, sys
from fitcheck import GpuSpec, ModelConfig, TrainingConfig, estimate
from ftuneai.core import models as f
from ftuneai.core.memory import MemoryEstimator

def fitcheck(j):
    model = ModelConfig(name="m", num_params=j["params"], hidden_size=j["hidden"], num_layers=j["layers"],
        num_attention_heads=j["heads"], num_kv_heads=j["kv_heads"], intermediate_size=j["intermediate"],
        vocab_size=j["vocab"], head_dim=j["head_dim"], tie_word_embeddings=j["tied"])
    training = TrainingConfig(precision=j["precision"], quantization=j["quant"], double_quant=j["double_quant"],
        optimizer="adam8bit" if j["eight_bit"] else "adamw", optimizer_dtype="bf16" if j["bf16_states"] else "fp32",
        batch_size=j["batch"], seq_len=j["seq"], lora_rank=None if j["method"] == "full" else j["rank"],
        lora_targets=[t + "_proj" for t in j["targets"]], grad_checkpoint=j["checkpointing"], flash_attn=j["flash"])
    return estimate(model, training, GpuSpec("any", 10**6, 10**6)).total_mib / 1024

def ftune(j):
    model = f.ModelSpec(name="m", parameters=j["params"], hidden_size=j["hidden"], num_layers=j["layers"],
        num_attention_heads=j["heads"], num_kv_heads=j["kv_heads"], intermediate_size=j["intermediate"],
        vocab_size=j["vocab"], max_seq_length=10**7)
    few, all_ = f.LoRATarget.ATTENTION, f.LoRATarget.ALL_LINEAR
    target = all_ if "up" in j["targets"] else f.LoRATarget.ATTENTION_ALL if "o" in j["targets"] else few
    quant = {"none": f.Quantization.NONE, "nf4": f.Quantization.INT4, "int8": f.Quantization.INT8}[j["quant"]]
    config = f.TrainingConfig(method=f.FineTuneMethod(j["method"]), quantization=quant, batch_size=j["batch"],
        seq_length=j["seq"], gradient_checkpointing=j["checkpointing"], lora_rank=j["rank"], lora_target=target,
        optimizer=f.OptimizerType.ADAM_8BIT if j["eight_bit"] else f.OptimizerType.ADAMW, flash_attention=j["flash"])
    return MemoryEstimator(model, config).estimate().total_gb

def told(function, j):
    try:
        return function(j)
    except (ValueError, KeyError, TypeError) as error:
        print(error, file=sys.stderr)

jobs = json.load(sys.stdin)
json.dump([{"ftuneai": told(ftune, j), "fitcheck-llm": told(fitcheck, j)} for j in jobs], sys.stdout)
"""


class Run(NamedTuple):
    """A job and the peak that was published, in GiB."""

    job: Job
    peak_gib: float


def measured(path: Path) -> list[Run]:
    """The runs that can be scored."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with path.open(newline="") as file:
        read = list(jobs(file))
    return [
        Run(job, float(row["measured_peak_gib"]))
        for row, job in zip(rows, read, strict=True)
        if row["use_for_scoring"] == "yes" and row["kind"].startswith("measured") and isinstance(job, Job)
    ]


def describable(job: Job) -> bool:
    """Can both of the others describe the job?"""
    return job.gpus == 1 and not job.model.experts and job.method in {"full", "lora", "qlora"}


def plain(job: Job) -> dict[str, Any]:
    """The job in plain values."""
    model = job.model
    return {
        "params": int(model.params), "hidden": model.hidden, "layers": model.layers, "heads": model.heads,
        "kv_heads": model.kv_heads, "intermediate": model.intermediate, "vocab": model.vocab, "tied": model.tied,
        "head_dim": model.head_dim, "precision": job.precision, "method": job.method, "batch": job.micro_batch,
        "quant": "none" if job.quant is None else "int8" if "8" in job.quant else "nf4",
        "double_quant": job.quant == "nf4-dq", "eight_bit": job.optimizer_kind.eight_bit, "seq": job.seq_len,
        "bf16_states": job.adapter_dtype == "bf16" or not methods()[job.method].frozen_base, "rank": job.lora_rank,
        "targets": [part for part in job.lora_targets if part != "head"], "checkpointing": job.checkpointing,
        "flash": job.attention == "flash",
    }  # fmt: skip


def of_peers(chosen: Sequence[Run]) -> list[dict[str, float | None]] | None:
    """What the others say, in GiB; None, with a line that says what to do, where they cannot be installed."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = f"{folder}/bin/python"
        install = [python, "-m", "pip", "install", "--quiet", *PEERS]
        if subprocess.run(install, check=False, capture_output=True).returncode:
            print(f"the others are left out: `pip install {' '.join(PEERS)}` failed; is the package registry in reach?")
            return None
        told = json.dumps([plain(run.job) for run in chosen])
        done = subprocess.run([python, "-c", PEER_CODE], check=False, input=told, capture_output=True, text=True)
        if done.returncode:
            print(f"the others are left out: {done.stderr.strip().splitlines()[-1]}")
            return None
        answer: list[dict[str, float | None]] = json.loads(done.stdout)
        return answer


def line(name: str, chosen: Sequence[Run], gib: Sequence[float]) -> None:
    """One row of a table."""
    errors = [each / run.peak_gib - 1 for run, each in zip(chosen, gib, strict=True)]
    size = sorted(abs(error) for error in errors)
    near = sum(error <= 0.2 for error in size) / len(size)
    print(
        f"{name:26} {len(errors):5} {statistics.median(size):8.1%} {size[int(0.9 * len(size))]:8.1%} {near:8.0%}"
        f" {statistics.median(errors):+8.1%}"
    )


def main() -> None:
    """Print both tables."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else MEASURED
    if not path.is_file():
        print(f"no {path}: nothing to compare with")
        return
    runs = measured(path)
    hidden = {run: estimate(dataclasses.replace(run.job, stack=None)) for run in runs}
    known = {run: estimate(run.job) for run in runs}
    common = [run for run in runs if describable(run.job)]
    peers = of_peers(common)
    print(f"{'runs that all describe':26} {'rows':>5} {'median':>8} {'p90':>8} {'in 20 %':>8} {'bias':>8}")
    line("gpufare, stack known", common, [known[run].expected_gib for run in common])
    line("gpufare, stack hidden", common, [hidden[run].expected_gib for run in common])
    for name in ("fitcheck-llm", "ftuneai") if peers else ():
        told = [(run, gib) for run, each in zip(common, peers or (), strict=True) if (gib := each[name]) is not None]
        line(name, [run for run, _ in told], [gib for _, gib in told])
    print("all runs")
    line("gpufare, stack known", runs, [known[run].expected_gib for run in runs])
    line("gpufare, stack hidden", runs, [hidden[run].expected_gib for run in runs])
    inside = sum(hidden[run].low_gib <= run.peak_gib <= hidden[run].high_gib for run in runs) / len(runs)
    width = statistics.median(hidden[run].high_gib / hidden[run].low_gib for run in runs)
    print(f"stack hidden: {inside:.0%} of the runs inside the range, median high/low {width:.2f}")


if __name__ == "__main__":
    main()

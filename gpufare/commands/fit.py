"""`fit`: how much memory a fine-tuning job takes on each GPU, term by term; many jobs from a CSV file."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpufare.cli import UsageFault, complain
from gpufare.commands.options import Output, completion, emit, examples, output_options
from table.view import Row, Shown, View, column

if TYPE_CHECKING:
    from planner.fit import Estimate, Job
    from schemas.models import Model


def _model_names() -> list[str]:
    from schemas.models import models

    return list(models())


def _method_names() -> list[str]:
    from schemas.methods import methods

    return list(methods())


def _stack_names() -> list[str]:
    from schemas.stacks import stacks

    return list(stacks())


@click.command(
    "fit",
    epilog=examples(
        "fit --model 8b --method qlora",
        "fit --model llama-3.1-70b --method lora --seq 4096 --gpus 8 --sharding fsdp",
        "fit --model 7b --method full --optimizer adamw8bit --stack hf-liger -o json",
        "fit --config ./my-model/config.json --method qlora --batch 4",
        "fit --from-csv jobs.csv -o jsonl",
    ),
)
@click.option(
    "--model", metavar="NAME", help="llama-3.1-8b, Qwen/Qwen2.5-7B, 8b ...", shell_complete=completion(_model_names)
)
@click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A model's config.json instead.")
@click.option(
    "--method", metavar="NAME", help="full, lora, qlora, dora, prefix ...", shell_complete=completion(_method_names)
)
@click.option("--seq", "seq_len", type=int, metavar="TOKENS", help="Tokens of one text.  [default: 2048]")
@click.option("--batch", "micro_batch", type=int, metavar="N", help="Texts in one micro batch.  [default: 1]")
@click.option("--lengths", metavar="even|mixed", help="Are all texts as long as --seq, or is that the longest?")
@click.option("--precision", metavar="NAME", help="bf16, fp16, mixed, fp32.  [default: bf16]")
@click.option("--quant", metavar="NAME", help="Of frozen weights: nf4, nf4-dq, int8, gptq-int4 ...")
@click.option("--optimizer", metavar="NAME", help="adamw, adamw8bit, adafactor, lion, sgd.  [default: adamw]")
@click.option("--no-checkpointing", is_flag=True, help="Keep all activations instead of computing them again.")
@click.option("--attention", metavar="NAME", help="flash (also sdpa) or eager.  [default: flash]")
@click.option(
    "--stack",
    metavar="NAME",
    help="hf, hf-liger, axolotl, unsloth, litgpt, torchtune ...",
    shell_complete=completion(_stack_names),
)
@click.option("--rank", "lora_rank", type=int, metavar="R", help="Of the adapters.  [default: 16]")
@click.option("--targets", "lora_targets", metavar="NAMES", help="all-linear, q+v, qkv+mlp ...  [default: all-linear]")
@click.option("--adapter-dtype", metavar="NAME", help="bf16 or fp32; else as the stack does.")
@click.option("--gpus", type=int, metavar="N", help="GPUs that share the job.  [default: 1]")
@click.option("--sharding", metavar="NAME", help="ddp, zero-1, zero-2, zero-3, fsdp.")
@click.option("--from-csv", "file", type=click.Path(path_type=Path), metavar="FILE", help="A job in each row instead.")
@output_options
def fit_command(*, model: str | None, config: Path | None, file: Path | None, out: Output, **said: Any) -> None:
    """Memory of a fine-tuning job on each GPU, in GiB: low, expected, high, and what it is made of.

    `low` is the leanest software that may run it, `high` the hungriest; --stack narrows the range. With --from-csv each
    row of the file is a job, under the column names model_key, method, seq_len, micro_batch and more; a row that is no
    job is answered with `error` and nulls in its place, and the exit code is then 1.
    """
    given = {name: value for name, value in said.items() if value is not None and value is not False}
    if file is not None:
        if model or config or given:
            raise UsageFault("--from-csv takes every setting from the file; leave the other options out")
        _answer_file(file, out)
        return
    job = job_of(_model_of(model, config), given)
    emit(_view(job, _estimated(job)), out)


def job_of(model: Model, given: dict[str, Any]) -> Job:
    """The job that options describe. Raises UsageFault for a word that is none, or for what cannot be."""
    from planner.fit import Job, JobError

    if "method" not in given:
        raise UsageFault("say how: --method full, lora or qlora")
    fields = {name: value for name, value in given.items() if name not in {"no_checkpointing", "lora_targets"}}
    if "lora_targets" in given:
        fields["lora_targets"] = (given["lora_targets"],)
    try:
        return Job(model=model, checkpointing="no_checkpointing" not in given, **fields)
    except JobError as error:
        raise UsageFault(str(error)) from None


def _model_of(model: str | None, config: Path | None) -> Model:
    from planner.shape import ConfigError, from_config
    from schemas.models import UnknownModel, find_model

    if (model is None) == (config is None):
        raise UsageFault("name one model: --model 8b, or --config FILE")
    try:
        return find_model(model) if model is not None else from_config(str(config))
    except (UnknownModel, ConfigError) as error:
        raise UsageFault(str(error)) from None
    except OSError as error:
        raise UsageFault(f"{config}: {error.strerror}") from None


def _estimated(job: Job) -> Estimate:
    from planner.fit import Refused, estimate

    try:
        return estimate(job)
    except Refused as error:
        raise click.ClickException(str(error)) from None


def _view(job: Job, found: Estimate) -> View:
    from dataclasses import asdict

    query = {name: value for name, value in asdict(job).items() if name != "model"} | {"model": job.model.name}
    total = {"low_gib": found.low_gib, "expected_gib": found.expected_gib, "high_gib": found.high_gib}
    rows: list[Row] = [asdict(term) for term in found.terms]
    where = "on 1 GPU" if job.gpus == 1 else f"on each of {job.gpus} GPUs"
    header = [
        f"{job.model.name}, {job.method}: {found.expected_gib:.1f} GiB {where}"
        f" ({found.low_gib:.1f} to {found.high_gib:.1f}), confidence {found.confidence}"
    ]
    return View(
        "fit",
        rows,
        [column("name", heading="TERM"), *_figures(), column("source", drop=1)],
        datetime.now(UTC),
        query,
        {"rows": len(rows)},
        {"estimate": {**total, "confidence": found.confidence, "reasons": list(found.reasons)}},
        header=header,
        notes=found.reasons,
    )


def _figures() -> list[Shown]:
    def shown(heading: str, name: str) -> Shown:
        return Shown(heading, lambda row: "?" if row[name] is None else f"{row[name]:.2f}", "right", name=name)

    return [shown("LOW GiB", "low_gib"), shown("EXPECTED GiB", "expected_gib"), shown("HIGH GiB", "high_gib")]


def _answer_file(file: Path, out: Output) -> None:
    from planner.job_csv import ColumnsError

    try:
        with file.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(_file_rows(lines))
    except ColumnsError as error:
        raise UsageFault(f"{file}: {error}") from None
    except UnicodeDecodeError:
        raise UsageFault(f"{file} is no text in UTF-8") from None
    except OSError as error:
        raise UsageFault(f"{file}: {error.strerror}") from None
    failed = [row for row in rows if row["error"]]
    shown = [column("row"), *_figures(), column("confidence", drop=1), column("error")]
    view = View(
        "fit_many", rows, shown, datetime.now(UTC), {"from_csv": str(file)}, {"rows": len(rows), "errors": len(failed)}
    )
    emit(view, out)
    if failed:
        first = f"row {failed[0]['row']}: {failed[0]['error']}"
        complain(f"{len(failed)} of {len(rows)} rows have no estimate; the first is {first}")
        click.get_current_context().exit(1)


def _file_rows(lines: Any) -> Iterator[Row]:
    """An answer for each row of the file, in order, counted from 1."""
    from planner.fit import JobError, Refused, estimate
    from planner.job_csv import jobs

    for number, job in enumerate(jobs(lines), start=1):
        row: dict[str, Any] = dict.fromkeys(("row", "low_gib", "expected_gib", "high_gib", "confidence", "error"))
        row["row"] = number
        try:
            if isinstance(job, JobError):
                raise job
            found = estimate(job)
        except (JobError, Refused) as error:
            row["error"] = str(error)
        else:
            row |= {name: getattr(found, name) for name in ("low_gib", "expected_gib", "high_gib", "confidence")}
        yield row

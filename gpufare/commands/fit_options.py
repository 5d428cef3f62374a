"""Options of `fit`, and their reading: the job, the work to be done, the cards that are wanted, the language."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpufare import args
from gpufare.cli import UsageFault
from gpufare.commands.options import completion

if TYPE_CHECKING:
    from planner.fit import Job
    from planner.job_cost import Rate, Work
    from schemas.gpu_table import Gpu
    from schemas.messages import Messages
    from schemas.models import Model

Option = Callable[[Callable[..., None]], Callable[..., None]]
SECONDS = {"s": 1, "m": 60, "h": 3600}
NEVER = "never"
MOST = 1_000_000


def model_names() -> list[str]:
    """Names of all models."""
    from schemas.models import models

    return list(models())


def method_names() -> list[str]:
    """Names of all methods."""
    from schemas.methods import methods

    return list(methods())


def _stack_names() -> list[str]:
    from schemas.stacks import stacks

    return list(stacks())


def _languages() -> list[str]:
    from schemas.messages import languages

    return list(languages())


JOB: tuple[Option, ...] = (
    click.option(
        "--model", metavar="NAME", help="llama-3.1-8b, Qwen/Qwen2.5-7B, 8b ...", shell_complete=completion(model_names)
    ),
    click.option("--config", type=click.Path(path_type=Path), metavar="FILE", help="A model's config.json instead."),
    click.option(
        "--method", metavar="NAME", help="full, lora, qlora, dora, prefix ...", shell_complete=completion(method_names)
    ),
    click.option("--seq", "seq_len", type=int, metavar="TOKENS", help="Tokens of one text.  [default: 2048]"),
    click.option("--batch", "micro_batch", type=int, metavar="N", help="Texts in one micro batch.  [default: 1]"),
    click.option("--lengths", metavar="even|mixed", help="Are all texts as long as --seq, or is that the longest?"),
    click.option("--precision", "--dtype", metavar="NAME", help="bf16, fp16, mixed, fp32.  [default: bf16]"),
    click.option("--quant", metavar="NAME", help="Of frozen weights: nf4, nf4-dq, int8, gptq-int4 ..."),
    click.option("--optimizer", metavar="NAME", help="adamw, adamw8bit, adafactor, lion, sgd.  [default: adamw]"),
    click.option("--no-checkpointing", is_flag=True, help="Keep all activations instead of computing them again."),
    click.option("--attention", metavar="NAME", help="flash (also sdpa) or eager.  [default: flash]"),
    click.option(
        "--stack",
        metavar="NAME",
        help="hf, hf-liger, axolotl, unsloth, litgpt, torchtune ...",
        shell_complete=completion(_stack_names),
    ),
    click.option("--rank", "lora_rank", type=int, metavar="R", help="Of the adapters.  [default: 16]"),
    click.option("--targets", "lora_targets", metavar="NAMES", help="all-linear, q+v, ...  [default: all-linear]"),
    click.option("--adapter-dtype", metavar="NAME", help="bf16 or fp32; else as the stack does."),
    click.option("--gpus", "node_gpus", type=int, metavar="N", help="GPUs that share the job.  [default: the fewest]"),
    click.option("--sharding", metavar="NAME", help="ddp, zero-1, zero-2, zero-3, fsdp.  [default on a node: fsdp]"),
)


def _from_0(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number from 0 to MOST: no NaN, which compares with nothing, and no infinity."""
    if value is not None and not 0 <= value <= MOST:
        raise click.BadParameter(f"{value:g} is not from 0 to {MOST:,}")
    return value


def _above_0(ctx: click.Context, param: click.Parameter, value: float | None) -> float | None:
    """A number above 0, up to MOST."""
    if value is not None and not 0 < value <= MOST:
        raise click.BadParameter(f"{value:g} is not above 0 and up to {MOST:,}")
    return value


WORK: tuple[Option, ...] = (
    click.option("--hours", type=float, callback=_above_0, metavar="H", help="Useful hours of one run."),
    click.option("--minutes", type=float, callback=_above_0, metavar="M", help="Useful minutes of one run."),
    click.option(
        "--runs",
        type=click.IntRange(1, MOST),
        metavar="N",
        help="How many runs, each billed for itself.  [default: 1]",
    ),
    click.option("--disk", type=float, callback=_from_0, metavar="GIB", help="Disk that is rented meanwhile."),
    click.option("--egress", type=float, callback=_from_0, metavar="GIB", help="What leaves the provider, once."),
    click.option(
        "--stopped-hours",
        type=float,
        callback=_from_0,
        metavar="H",
        help="Hours for which the instance is stopped, its disk kept.",
    ),
    click.option("--checkpoint-every", metavar="TIME", help="15m, 1h, or never.  [default: the cheapest interval]"),
    click.option("--rate", type=float, callback=_from_0, metavar="N", help="Interruptions of a node per running hour."),
)
lang_option = click.option(
    "--lang", metavar="CODE", help="en or vi.  [default: as the locale says]", shell_complete=completion(_languages)
)


def with_options(*options: Option) -> Option:
    """The options in the order given."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def words_of(language: str | None) -> Messages:
    """The messages of the language that was asked for, else of the locale. Raises UsageFault for none of ours."""
    from schemas.messages import language_of, languages, messages

    if language is None:
        return messages(language_of(os.environ, languages()))
    return messages(args.one_of("language", language, languages()))


def model_of(model: str | None, config: Path | None) -> Model:
    """The one model that is named. Raises UsageFault."""
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


def job_of(model: Model, given: dict[str, Any]) -> Job:
    """The job that options describe. Raises UsageFault for a word that is none, or for what cannot be."""
    from planner.fit import Job, JobError

    if "method" not in given:
        raise UsageFault("say how: --method full, lora or qlora")
    other = {"no_checkpointing", "lora_targets", "node_gpus"}
    fields = {name: value for name, value in given.items() if name not in other}
    if "lora_targets" in given:
        fields["lora_targets"] = (given["lora_targets"],)
    if "node_gpus" in given:
        fields["gpus"] = given["node_gpus"]
    try:
        return Job(model=model, checkpointing="no_checkpointing" not in given, **fields)
    except JobError as error:
        raise UsageFault(str(error)) from None


def work_of(
    *,
    hours: float | None,
    minutes: float | None,
    runs: int | None,
    disk: float | None,
    egress: float | None,
    stopped_hours: float | None,
    checkpoint_every: str | None,
    rate: float | None,
) -> Work | None:
    """What is to be done, None where no time is given. Raises UsageFault for two times, or for others without one."""
    from planner.job_cost import Work

    if hours is not None and minutes is not None:
        raise UsageFault("one run takes --hours or --minutes, not both")
    if hours is None and minutes is None:
        others = {
            "--runs": runs, "--disk": disk, "--egress": egress, "--stopped-hours": stopped_hours,
            "--checkpoint-every": checkpoint_every, "--rate": rate,
        }  # fmt: skip
        if said := [name for name, value in others.items() if value is not None]:
            raise UsageFault(f"{said[0]} needs the time of a run as well: --hours 6, or --minutes 20")
        return None
    run_s = round(3600 * hours if hours is not None else 60 * (minutes or 0))
    if run_s < 1:
        raise UsageFault("a run takes a second at least")
    saves = checkpoint_every is None or args.folded(checkpoint_every) != NEVER
    return Work(
        run_s=run_s,
        runs=runs or 1,
        stopped_s=round(3600 * (stopped_hours or 0)),
        storage_gib=disk or 0.0,
        egress_gib=egress or 0.0,
        checkpoints=saves,
        checkpoint_every_s=_seconds(checkpoint_every) if saves and checkpoint_every is not None else None,
    )


def rate_of(rate: float | None) -> Rate | None:
    """Interruptions of a node per running hour, as the reader gives them."""
    from planner.job_cost import Rate

    return None if rate is None else Rate("given", rate, rate, rate, "--rate")


def cards_of(asked: dict[str, Any]) -> list[Gpu]:
    """The cards of gpus.csv that the filters let through; those of laptops only by name."""
    from schemas.gpu_table import gpu_models

    wanted = args.gpus(asked["gpu"])
    vendors = {
        args.one_of("vendor", word, [row.vendor for row in gpu_models()]) for word in args.listed(asked["vendor"])
    }
    vram = args.span("--vram", asked["vram"]) if asked["vram"] is not None else None
    return [
        row
        for row in gpu_models()
        if (any(_is(row, one) for one in wanted) if wanted else row.segment != "mobile")
        and (not vendors or row.vendor in vendors)
        and (vram is None or vram.holds(row.vram_gib))
    ]


def sizes_of(node_gpus: int | None, asked: dict[str, Any]) -> tuple[int, ...]:
    """Numbers of GPUs on one node to look at: of --gpus, of --gpu H100:8, of --count, else as nodes are sold."""
    from planner.cards import NODE_SIZES

    if node_gpus is not None:
        return (node_gpus,)
    if named := {int(one.number.low) for one in args.gpus(asked["gpu"]) if one.number and one.number.low}:
        return tuple(sorted(named))
    span = args.span("--count", asked["count"]) if asked["count"] is not None else None
    if span is not None and span.low == span.high and span.low is not None and span.low >= 1:
        return (int(span.low),)
    return tuple(size for size in NODE_SIZES if span is None or span.holds(size))


def _is(row: Gpu, wanted: args.Wanted) -> bool:
    return (
        row.gpu == wanted.gpu
        and (wanted.form_factor is None or row.form_factor == wanted.form_factor)
        and (wanted.vram_gib is None or abs(row.vram_gib - wanted.vram_gib) <= 0.07 * wanted.vram_gib)
    )


def _seconds(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip().casefold())
    seconds = round(float(match[1]) * SECONDS[match[2]]) if match else 0
    if seconds < 1:
        raise UsageFault(f"--checkpoint-every {text!r} is no time; write 15m, 90s, 1h or never")
    return seconds

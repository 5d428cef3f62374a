"""Jobs from a CSV file, one a row, with the column names of published tables of measured memory."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator

from planner.job import Job, JobError
from schemas.gpu_table import squash
from schemas.models import Model, UnknownModel, find_model
from schemas.stacks import stack_spellings

NEEDED = ("model_key", "method", "seq_len", "micro_batch")
# Column: field of Job. Other columns are left alone.
_TEXTS = {"method": "method", "precision": "precision", "quant": "quant", "optimizer": "optimizer",
          "flash_attn": "attention", "sharding": "sharding", "adapter_dtype": "adapter_dtype",
          "stack": "stack"}  # fmt: skip
_NUMBERS = {"seq_len": "seq_len", "micro_batch": "micro_batch", "num_gpus": "gpus", "lora_rank": "lora_rank"}


class ColumnsError(ValueError):
    """The file is no CSV of jobs: a needed column is missing."""


def jobs(lines: Iterable[str]) -> Iterator[Job | JobError]:
    """The job of each row, in order, or why the row is none. An empty cell means the default of Job.

    The first line names the columns: those of NEEDED, and any of precision, quant, optimizer, grad_ckpt (yes or no),
    flash_attn (yes, no, sdpa), num_gpus, sharding, lora_rank, lora_targets, adapter_dtype, stack, metric. Others are
    not read. A stack that stacks.toml does not have is as good as none: the estimate spans all. Raises ColumnsError.
    """
    reader = csv.DictReader(lines)
    header = [name.strip() for name in reader.fieldnames or ()]
    missing = [name for name in NEEDED if name not in header]
    if missing:
        raise ColumnsError(f"no column {', '.join(missing)} in the first line; needed are {', '.join(NEEDED)}")
    reader.fieldnames = header
    for row in reader:
        try:
            yield _job(row)
        except JobError as error:
            yield error


def _job(row: dict[str, str | None]) -> Job:
    cells = {name: (value or "").strip() for name, value in row.items() if isinstance(name, str)}
    given: dict[str, object] = {field: cells[name] for name, field in _TEXTS.items() if cells.get(name)}
    given |= {field: _number(name, cells[name]) for name, field in _NUMBERS.items() if cells.get(name)}
    if squash(str(given.get("stack", ""))) not in {squash(spelling) for spelling in stack_spellings()}:
        given.pop("stack", None)
    for name in NEEDED:
        if not cells[name]:
            raise JobError(f"{name} is empty")
    if cells.get("grad_ckpt"):
        given["checkpointing"] = _yes(cells["grad_ckpt"])
    if cells.get("lora_targets"):
        given["lora_targets"] = (cells["lora_targets"],)
    if cells.get("metric"):
        given["metric"] = metric(cells["metric"])
    return Job(model=_model(cells["model_key"]), **given)  # type: ignore[arg-type]


def metric(text: str) -> str:
    """Which figure the words of a publication mean; what they leave open is the whole device's, as nvidia-smi shows."""
    words = text.lower()
    if "allocated" in words or "active" in words:
        return "allocated"
    return "reserved" if "reserved" in words and "device" not in words else "device"


def _model(name: str) -> Model:
    try:
        return find_model(name)
    except UnknownModel as error:
        raise JobError(str(error)) from None


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise JobError(f"{name} {text!r} is no whole number") from None


def _yes(text: str) -> bool:
    answer = {"yes": True, "no": False}.get(text.lower())
    if answer is None:
        raise JobError(f"grad_ckpt {text!r} must be yes or no")
    return answer

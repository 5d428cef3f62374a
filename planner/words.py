"""Words that people describe a job with, and the names that we keep for them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from schemas.gpu_table import squash
from schemas.methods import method_spellings
from schemas.stacks import Optimizer, optimizers, quants, stack_spellings


class JobError(ValueError):
    """A job that cannot be: a word that is none, or settings that exclude each other. One line."""


def _spellings(**names: str) -> dict[str, str]:
    """Every spelling to its name: the name itself (an underscore stands for -) and the words after it."""
    return {
        spelling: name.replace("_", "-")
        for name, more in names.items()
        for spelling in (name.replace("_", "-"), *more.split())
    }


PRECISIONS = _spellings(
    bf16="bfloat16 bf16-true", fp16="float16 16-true", bf16_mixed="mixed", fp16_mixed="16-mixed",
    fp32="float32 32-true",
)  # fmt: skip
ATTENTIONS = _spellings(flash="flash-attention flash2 sdpa yes", eager="no")
SHARDINGS = _spellings(
    ddp="", zero_1="deepspeed-zero-1", zero_2="deepspeed-zero-2", zero_3="deepspeed-zero-3", fsdp="fsdp1 fsdp2",
    offload="", pipeline="device_map naive-pipeline-(device_map)", tensor="tensor-parallel",
    sequence="sequence-parallel",
)  # fmt: skip
METRICS = _spellings(allocated="", reserved="", device="nvidia-smi")
LENGTHS = _spellings(even="", mixed="")
ADAPTER_DTYPES = _spellings(bf16="fp16", fp32="")
_QUANTS = _spellings(
    nf4="4bit bnb-4bit bnb-nf4 int4", int8="8bit bnb-8bit", gptq_int4="gptq", awq_int4="awq", hqq_4bit="hqq"
)
_OPTIMIZERS = _spellings(
    adamw="adam adamw-torch adamw-torch-fused paged-adamw paged-adamw-32bit",
    adamw_8bit="adam-8bit paged-adamw-8bit adamw-bnb-8bit", adafactor="", lion="paged-lion",
    lion_8bit="paged-lion-8bit", sgd="lomo", sgd_momentum="",
)  # fmt: skip

ATTENTION_PARTS = ("q", "k", "v", "o")
MLP_PARTS = ("gate", "up", "down")
_GROUPS = {
    **dict.fromkeys(("all-linear", "all"), (*ATTENTION_PARTS, *MLP_PARTS)),
    **dict.fromkeys(("attn", "attention", "attn linear", "self_attn", "qkvo"), ATTENTION_PARTS),
    **dict.fromkeys(("qkv", "c_attn", "W_pack", "query_key_value"), ("q", "k", "v")),
    "mlp": MLP_PARTS,
    "gate_up": ("gate", "up"),
    "head": ("head",),
    "lm_head": ("head",),
    **{part: (part,) for part in (*ATTENTION_PARTS, *MLP_PARTS)},
}
# Modules that adapters may train which hold no large matrix.
_SMALL = ("norm", "embed")


def word(what: str, text: str, known: Mapping[str, str]) -> str:
    """The name that a word means, whatever its case and separators. Raises JobError with the nearest names."""
    found = {squash(spelling): name for spelling, name in known.items()}.get(squash(text))
    if found is None:
        raise JobError(_near(what, text, list(dict.fromkeys(known.values()))))
    return found


def optional_words(field: str) -> Mapping[str, str]:
    """Spellings of a field of Job that may be None."""
    match field:
        case "quant":
            return {name: name for name in quants()} | _QUANTS
        case "stack":
            return stack_spellings()
        case _:
            return {"adapter_dtype": ADAPTER_DTYPES, "sharding": SHARDINGS, "metric": METRICS, "lengths": LENGTHS}[
                field
            ]


def method_name(text: str) -> str:
    """The method of methods.csv that a word means.

    `peft-` before a name that is not known there means some other adapter of the PEFT library.
    """
    try:
        return word("method", text, method_spellings())
    except JobError:
        if text.strip().lower().startswith("peft-"):
            return "other-peft"
        raise


@lru_cache(maxsize=64)
def optimizer(text: str) -> Optimizer:
    """The optimizer that a text names; what stands in brackets and `+opt-in-bwd` say how it runs, not which it is."""
    plain = re.sub(r"(?i)\([^)]*\)|deepspeed|\+?opt-in-bwd", "", text)
    return optimizers()[word("optimizer", plain, _OPTIMIZERS)]


def targets(words: str | Iterable[str]) -> tuple[str, ...]:
    """The matrices of a layer that adapters attach to, of q, k, v, o, gate, up, down and head, each once.

    Takes `q+v`, `all-linear`, `mlp`, `qkv`, `q_proj`. Modules without a large matrix (norms) count for nothing.
    """
    known = {squash(name): parts for name, parts in _GROUPS.items()}
    found: set[str] = set()
    texts = (words,) if isinstance(words, str) else words
    for part in (part.strip() for text in texts for part in re.split(r"[+,]", text) if part.strip()):
        plain = squash(part.lower().removesuffix("_proj"))
        if plain in known:
            found.update(known[plain])
        elif not any(small in part.lower() for small in _SMALL):
            raise JobError(_near("target", part, list(_GROUPS)))
    return tuple(part for part in (*ATTENTION_PARTS, *MLP_PARTS, "head") if part in found)


def _near(what: str, text: str, names: list[str]) -> str:
    close = difflib.get_close_matches(squash(text), [squash(name) for name in names], n=3, cutoff=0.5)
    near = [name for word in close for name in names if squash(name) == word]
    hint = f"did you mean {', '.join(dict.fromkeys(near))}?" if near else f"one of: {', '.join(names)}"
    return f"no {what} {text!r}; {hint}"

"""A fine-tuning job as somebody describes it, with every word checked: what cannot be is refused in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from schemas.gpu_table import squash
from schemas.methods import Method, method_spellings, methods
from schemas.models import Model
from schemas.stacks import Optimizer, Quant, optimizers, quants, stack_spellings

PRECISIONS = {"bf16": "bf16", "bf16-true": "bf16", "bfloat16": "bf16", "fp16": "fp16", "float16": "fp16",
              "16-true": "fp16", "mixed": "bf16-mixed", "bf16-mixed": "bf16-mixed", "fp16-mixed": "fp16-mixed",
              "16-mixed": "fp16-mixed", "fp32": "fp32", "float32": "fp32", "32-true": "fp32"}  # fmt: skip
ATTENTIONS = {"flash": "flash", "flash2": "flash", "flash-attention": "flash", "yes": "flash", "sdpa": "flash",
              "eager": "eager", "no": "eager"}  # fmt: skip
SHARDINGS = {"ddp": "ddp", "zero1": "zero-1", "zero2": "zero-2", "zero3": "zero-3", "fsdp": "fsdp", "fsdp2": "fsdp",
             "fsdpoffload": "offload", "fsdp2offload": "offload", "zero2offload": "offload", "zero3offload": "offload",
             "zerooffload": "offload", "naivepipelinedevicemap": "pipeline", "pipeline": "pipeline",
             "devicemap": "pipeline", "tensorparallel": "tensor", "sequenceparallel": "sequence"}  # fmt: skip
METRICS = ("allocated", "reserved", "device")
LENGTHS = ("even", "mixed")
_OPTIMIZERS = {"adamw": "adamw", "adam": "adamw", "adamwtorch": "adamw", "adamwtorchfused": "adamw",
               "pagedadamw": "adamw", "pagedadamw32bit": "adamw", "adamw8bit": "adamw-8bit", "adam8bit": "adamw-8bit",
               "pagedadamw8bit": "adamw-8bit", "adamwbnb8bit": "adamw-8bit", "adafactor": "adafactor", "lion": "lion",
               "lion8bit": "lion-8bit", "pagedlion8bit": "lion-8bit", "sgd": "sgd", "sgdmomentum": "sgd-momentum",
               "lomo": "sgd"}  # fmt: skip
_QUANTS = {name: name for name in quants()} | {"4bit": "nf4", "bnb-4bit": "nf4", "8bit": "int8", "bnb-8bit": "int8"}
_ADAPTER_DTYPES = {"bf16": "bf16", "fp16": "bf16", "fp32": "fp32"}
ATTENTION_PARTS = ("q", "k", "v", "o")
MLP_PARTS = ("gate", "up", "down")
_GROUPS = {"all-linear": (*ATTENTION_PARTS, *MLP_PARTS), "all": (*ATTENTION_PARTS, *MLP_PARTS), "mlp": MLP_PARTS,
           "qkv": ("q", "k", "v"), "attn": ATTENTION_PARTS, "attention": ATTENTION_PARTS,
           "attn linear": ATTENTION_PARTS, "self_attn": ATTENTION_PARTS, "head": ("head",),
           "lm_head": ("head",)}  # fmt: skip
# Modules that adapters may train which hold no large matrix.
_SMALL = ("norm", "layernorm", "embed")
MOST_TOKENS = 10**8


class JobError(ValueError):
    """A job that cannot be: a word that is none, or settings that exclude each other. One line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One fine-tuning job, as one of its GPUs sees it. Words are taken in any spelling and kept in ours.

    quant: format of the frozen weights; None means 16 bit, and nf4 for qlora. stack: a name of stacks.toml, None where
    nobody knows. adapter_dtype: bf16, fp32 or None for what the stack does. sharding: None, ddp, zero-1, zero-2,
    zero-3, fsdp. metric: how the figure is to be measured: allocated or reserved by torch, or the whole device (None).
    lengths: are all texts of seq_len tokens (even), or of many lengths up to it (mixed)? None: mixed for `reserved`, as
    published, else even. precision: bf16, fp16, bf16-mixed, fp16-mixed, fp32; `bf16-true` is bf16 and sets true_16bit:
    nothing runs under autocast. Raises JobError.
    """

    model: Model
    method: str = "lora"
    precision: str = "bf16"
    quant: str | None = None
    optimizer: str = "adamw"
    seq_len: int = 2048
    micro_batch: int = 1
    checkpointing: bool = True
    attention: str = "flash"
    stack: str | None = None
    lora_rank: int = 16
    lora_targets: tuple[str, ...] = ("all-linear",)
    adapter_dtype: str | None = None
    gpus: int = 1
    sharding: str | None = None
    metric: str | None = None
    lengths: str | None = None
    true_16bit: bool = False

    def __post_init__(self) -> None:
        self._set("method", word("method", self.method, method_spellings()))
        self._set("true_16bit", self.true_16bit or squash(self.precision) in {"bf16true", "16true"})
        self._set("precision", word("precision", self.precision, PRECISIONS))
        self._set("attention", word("attention", self.attention, ATTENTIONS))
        if self.quant is None and self.method == "qlora":
            self._set("quant", "nf4")
        for name, known in (("quant", _QUANTS), ("stack", stack_spellings()), ("adapter_dtype", _ADAPTER_DTYPES)):
            value = getattr(self, name)
            if value is not None:
                self._set(name, word(name.replace("_", " "), value, known))
        if self.sharding is not None:
            self._set("sharding", word("sharding", self.sharding, SHARDINGS))
        if self.metric is not None:
            self._set("metric", word("metric", self.metric, {each: each for each in METRICS}))
        if self.lengths is not None:
            self._set("lengths", word("lengths", self.lengths, {each: each for each in LENGTHS}))
        self._set("optimizer", self.optimizer.strip() or "adamw")
        _optimizer(self.optimizer)
        self._set("lora_targets", targets(self.lora_targets))
        self._check_numbers()
        self._check_combinations()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _check_numbers(self) -> None:
        for name in ("seq_len", "micro_batch", "gpus", "lora_rank"):
            if getattr(self, name) < 1:
                raise JobError(f"{name} must be 1 or more, not {getattr(self, name)}")
        if self.tokens > MOST_TOKENS:
            raise JobError(f"seq_len x micro_batch is {self.tokens} tokens; at most {MOST_TOKENS} are estimated")
        if self.lora_rank > self.model.hidden:
            raise JobError(f"lora_rank {self.lora_rank} exceeds the model's hidden width {self.model.hidden}")

    def _check_combinations(self) -> None:
        if self.quant and not self.way.frozen_base:
            raise JobError(f"{self.method} trains the weights, so they cannot be {self.quant}; use --method qlora")
        if self.sharding and self.gpus == 1:
            raise JobError(f"sharding {self.sharding} needs 2 GPUs or more; add --gpus N")
        if self.quant and self.sharded_weights and not quants()[self.quant].shards:
            raise JobError(f"{self.quant} weights cannot be parted by {self.sharding}; use nf4, or sharding ddp")
        if self.way.trains.startswith("rank") and not self.lora_targets:
            raise JobError(f"{self.method} needs targets; write --targets all-linear or --targets q+v")

    @property
    def way(self) -> Method:
        """The row of methods.csv."""
        return methods()[self.method]

    @property
    def needs_bf16(self) -> bool:
        """Must the card compute in bf16?"""
        return self.precision.startswith("bf16")

    @property
    def master_weights(self) -> bool:
        """Are the weights themselves in fp32?"""
        return self.precision == "fp32" or self.precision.endswith("-mixed")

    @property
    def tokens(self) -> int:
        """Tokens of one micro batch."""
        return self.seq_len * self.micro_batch

    @property
    def quant_kind(self) -> Quant | None:
        """Format of the frozen weights, None for 16 bit or 32 bit."""
        return quants()[self.quant] if self.quant else None

    @property
    def optimizer_kind(self) -> Optimizer:
        """What the optimizer holds."""
        return _optimizer(self.optimizer)

    @property
    def deepspeed(self) -> bool:
        """Does DeepSpeed run the optimizer, with fp32 copies of trained 16-bit weights?"""
        return "deepspeed" in self.optimizer.lower() or (self.sharding or "").startswith("zero")

    @property
    def step_in_backward(self) -> bool:
        """Is every weight updated as soon as its gradient is known, so that gradients do not pile up?"""
        return "opt-in-bwd" in self.optimizer.lower()

    @property
    def sharded_weights(self) -> bool:
        """Does each GPU hold a part of the weights only?"""
        return self.sharding in {"zero-3", "fsdp"}


def _optimizer(text: str) -> Optimizer:
    """The optimizer that a text names; `(DeepSpeed)` and `+opt-in-bwd` say how it runs, not which it is."""
    plain = re.sub(r"(?i)\(?deepspeed\)?|\+?opt-in-bwd", "", text)
    return optimizers()[word("optimizer", plain, _OPTIMIZERS)]


def targets(words: Iterable[str]) -> tuple[str, ...]:
    """The matrices of a layer that adapters attach to, of q, k, v, o, gate, up, down and head, each once.

    Takes `q+v`, `all-linear`, `mlp`, `qkv`, `q_proj`. Modules without a large matrix (norms) count for nothing.
    """
    found: dict[str, None] = {}
    parts = [part.strip() for text in words for part in re.split(r"[+,]", text) if part.strip()]
    known = {squash(name): parts for name, parts in _GROUPS.items()}
    known |= {part: (part,) for part in (*ATTENTION_PARTS, *MLP_PARTS)}
    for part in parts:
        plain = squash(part.lower().removesuffix("_proj"))
        if plain in known:
            found |= dict.fromkeys(known[plain])
        elif not any(small in part.lower() for small in _SMALL):
            raise JobError(_near("target", part, [*_GROUPS, *ATTENTION_PARTS, *MLP_PARTS]))
    order = (*ATTENTION_PARTS, *MLP_PARTS, "head")
    return tuple(part for part in order if part in found)


def word(what: str, text: str, known: Mapping[str, str]) -> str:
    """The name that a word means, whatever its case and separators. Raises JobError with the nearest names."""
    found = {squash(spelling): name for spelling, name in known.items()}.get(squash(text))
    if found is None:
        raise JobError(_near(what, text, list(dict.fromkeys(known.values()))))
    return found


def _near(what: str, text: str, names: list[str]) -> str:
    import difflib

    close = difflib.get_close_matches(squash(text), [squash(name) for name in names], n=3, cutoff=0.5)
    near = [name for word in close for name in names if squash(name) == word]
    hint = f"did you mean {', '.join(dict.fromkeys(near))}?" if near else f"one of: {', '.join(names)}"
    return f"no {what} {text!r}; {hint}"

"""A fine-tuning job as somebody describes it, with every word checked: what cannot be is refused in one line."""

from __future__ import annotations

from dataclasses import dataclass

from planner import words
from planner.words import JobError
from schemas.gpu_table import squash
from schemas.methods import Method, methods
from schemas.models import Model
from schemas.stacks import Optimizer, Quant, quants

__all__ = ["Job", "JobError"]

_MAY_BE_NONE = ("quant", "stack", "adapter_dtype", "sharding", "metric", "lengths")
MOST_TOKENS = 10**8


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
        self._set("method", words.method_name(self.method))
        self._set("true_16bit", self.true_16bit or squash(self.precision) in {"bf16true", "16true"})
        self._set("precision", words.word("precision", self.precision, words.PRECISIONS))
        self._set("attention", words.word("attention", self.attention, words.ATTENTIONS))
        if self.quant is None and self.method in {"qlora", "qdora"}:
            self._set("quant", "nf4")
        if self.sharding and "offload" in self.sharding.lower():
            self._set("sharding", "offload")
        for name in _MAY_BE_NONE:
            value = getattr(self, name)
            if value is not None:
                self._set(name, words.word(name.replace("_", " "), value, words.optional_words(name)))
        self._set("optimizer", self.optimizer.strip() or "adamw")
        words.optimizer(self.optimizer)
        self._set("lora_targets", words.targets(self.lora_targets))
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
        return words.optimizer(self.optimizer)

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

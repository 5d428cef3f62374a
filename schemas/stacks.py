"""Training stacks and what they keep in memory: stacks.toml, loaded strictly.

A stack is a trainer with its kernels. Which one runs is the largest single influence on memory after model and length:
whether the loss is computed in pieces, what is upcast, which inputs are kept.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any, TypeVar

from schemas.facts import FactsError, load_toml

FILE = "stacks.toml"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """One trainer with its kernels."""

    name: str
    title: str
    aliases: tuple[str, ...]
    logit_bytes: float
    """peak bytes of one logit, all copies together: 2 in 16 bit, 4 upcast, 4 shifted, 4 softmax, 4 gradient; a loss in
    pieces holds a few only"""
    norm_bytes: float
    """bytes per token and hidden element that the two RMSNorms of a layer keep, with their upcasts; 0 when compiled"""
    layer_share: float
    """what a layer really keeps, as a share of what is counted: compiled code computes again what is cheap, and a layer
    that runs again holds more than it keeps"""
    residual_upcast: bool
    """does preparing a k-bit model turn norms and embeddings, and with them the residual stream, into fp32?"""
    casts_adapter_input: bool
    """is a 4-byte copy of the input kept for each fp32 adapter?"""
    quantised_input_share: float
    """how much quantised linear layers keep, as a multiple of their 16-bit inputs"""
    offloads_checkpoints: bool
    """do the checkpoints of the layers go to host memory?"""
    reserved_logit_factor: float
    """how often over the allocator holds the logits when texts of many lengths alternate, by what torch has reserved"""
    unties_head: bool
    """is the output head held apart even where the model ties it to the embedding?"""
    step_copy: bool
    """does the optimizer step hold one more copy of the weights (multi-tensor AdamW)?"""
    adapter_dtype: str
    """bf16 or fp32: what adapters are unless the job says it"""
    family: str
    """huggingface, lightning, torchtune or unsloth: whose model code runs"""
    weight: float
    """how much the stack counts when nobody says which one runs; 0 for one that nobody runs unawares"""
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Meter:
    """What a way of measuring adds: `factor` on all that is live, and GiB that are there whatever runs."""

    factor: float
    fixed_gib: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """Figures that hold for all stacks. Sources stand beside each in stacks.toml."""

    unwrapped_logits_share: float
    """of `logit_bytes`, where the forward pass runs in 16 bit without autocast (fp16 weights, DeepSpeed)"""
    document_tokens: float
    """length at which half of a long cap is used by texts of many lengths"""
    eager_stored_bytes: float
    """per attention score and head, kept for the backward pass by attention without a fused kernel"""
    eager_recomputed_bytes: float
    """the same at the peak inside one layer, with the gradients"""
    output_copy_bytes: float
    """per output of a linear layer that an adapter scales"""
    softcap_logit_bytes: float
    """per logit, where a tanh squeezes the logits"""
    head_adapter_logit_bytes: float
    """per logit, where the head has an adapter: its own output and the sum"""
    trained_embedding_bytes: float
    """per parameter of embedding and head that is trained whole beside LoRA: fp32 copy, gradient and states"""
    eight_bit_state_bytes: float
    """of one state of an 8-bit optimizer, with the scales of its blocks and the tensors that stay in 32 bit"""
    deepspeed_group_bytes: float
    """per parameter of the group that DeepSpeed turns into fp32 at a time"""
    deepspeed_group_params: float
    step_copy_bytes: float
    """per weight, held by a multi-tensor optimizer step"""
    few_params: float
    """parameters of a method whose number does not matter"""
    few_layers: int
    """layers that methods train which train a few"""
    several_gpus_gib: float
    """buffers for talking to other GPUs"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """How wide a range is drawn about an estimate; all are factors."""

    scatter_low: float
    """where the lowest measurements lie for a known stack, as a share of the estimate"""
    scatter_high: float
    most_below: float
    """low is at least the expected figure divided by this: stacks further off are left out"""
    most_above: float
    """high is at most the expected figure times this; wider than below, for too little memory costs a failed run"""
    uncertain_low: float
    """further factor where an estimate has low confidence"""
    uncertain_high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Quant:
    """A number format of frozen weights.

    linear_bytes: per weight of a linear layer, with its scales. keeps_inputs: do its layers keep their inputs for the
    backward pass? shards: can its weights be parted over GPUs (FSDP, ZeRO-3)?
    """

    linear_bytes: float
    keeps_inputs: bool
    shards: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    """What an optimizer holds: numbers for each trained weight, in the weight's type or in 8 bit."""

    states: float
    eight_bit: bool


@lru_cache(maxsize=1)
def ranges() -> Range:
    """How wide ranges are drawn."""
    return _record(Range, "range", load_toml(FILE)["range"])


@lru_cache(maxsize=1)
def quants() -> dict[str, Quant]:
    """Number formats of frozen weights by name."""
    return {name: _record(Quant, name, row) for name, row in load_toml(FILE)["quants"].items()}


@lru_cache(maxsize=1)
def optimizers() -> dict[str, Optimizer]:
    """Optimizers by name."""
    return {name: _record(Optimizer, name, row) for name, row in load_toml(FILE)["optimizers"].items()}


@lru_cache(maxsize=1)
def stacks() -> dict[str, Stack]:
    """Every stack by name."""
    return {name: _record(Stack, name, {"name": name, **row}) for name, row in load_toml(FILE)["stacks"].items()}


@lru_cache(maxsize=1)
def stack_spellings() -> dict[str, str]:
    """Every spelling, name or alias, to the stack's name."""
    return {spelling: row.name for row in stacks().values() for spelling in (row.name, *row.aliases)}


@lru_cache(maxsize=1)
def meters() -> dict[str, Meter]:
    """Ways of measuring: allocated and reserved by torch, and the whole device."""
    return {name: _record(Meter, name, row) for name, row in load_toml(FILE)["meters"].items()}


@lru_cache(maxsize=1)
def constants() -> Constants:
    """What holds for all stacks."""
    return _record(Constants, "constants", load_toml(FILE)["constants"])


def _record(kind: type[T], where: str, row: dict[str, Any]) -> T:
    fields = {field.name: field.type for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if set(row) != set(fields):
        odd = ", ".join(sorted(set(row) ^ set(fields)))
        raise FactsError(FILE, 0, where, f"the keys {', '.join(fields)}", f"{odd} missing or unknown")
    return kind(**{name: _value(value, fields[name]) for name, value in row.items()})


def _value(value: Any, kind: Any) -> Any:
    return float(value) if kind == "float" else tuple(value) if isinstance(value, list) else value


def checked_on() -> date:
    """When the figures were last set."""
    day: date = load_toml(FILE)["checked_on"]
    return day

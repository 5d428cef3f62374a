"""How many bytes each part of a training step takes on one GPU, for one stack.

Peak = what stays (weights, adapters, gradients, optimizer states) + what a step adds (activations, logits, gathered
weights), or, where that is more, what the optimizer's own step adds. Sources: ZeRO (arXiv 1910.02054) for states and
their sharding; Korthikanti et al. (arXiv 2205.05198) for activations; QLoRA (arXiv 2305.14314) for NF4; the rest is
counted from what the layers keep for their backward pass. Everything here is in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from planner.job import Job
from planner.shape import Widths, widths
from schemas.stacks import Constants, Meter, Stack, constants, meters

GIB = float(2**30)
NAMES = ("weights", "adapters", "gradients", "optimizer", "activations", "logits", "gathered", "temporary", "overhead")


class Trained(NamedTuple):
    """Numbers of parameters that are trained: of the model itself, of embeddings beside adapters, of adapters."""

    base: float
    embeddings: float
    adapters: float


@dataclass(frozen=True, slots=True)
class Counting:
    """A job on one stack: counts its terms."""

    job: Job
    stack: Stack
    adapter_bytes: int
    """of one adapter weight: 2 or 4"""
    fixed: Constants
    sizes: Widths

    @property
    def embeddings(self) -> float:
        """Parameters of embedding and head as this stack holds them."""
        table = float(self.job.model.vocab * self.job.model.hidden)
        return 2 * table if self.stack.unties_head else self.sizes.embeddings

    @property
    def base_bytes(self) -> float:
        """Of one weight that is not quantised."""
        return 4.0 if self.job.master_weights else 2.0

    @property
    def upcast(self) -> bool:
        """Are norms, embeddings and the residual stream in fp32 above quantised weights?"""
        return self.stack.residual_upcast and self.job.quant in {"nf4", "nf4-dq", "fp4", "int8"}

    @property
    def fp32_copy(self) -> bool:
        """Does the optimizer step an fp32 copy of 16-bit weights?"""
        return self.job.deepspeed and not self.job.master_weights and self.job.way.state_share > 0

    def trained(self) -> Trained:
        """What is trained."""
        job, sizes = self.job, self.sizes
        layers = self.fixed.few_layers * sizes.linear / job.model.layers
        match job.way.trains:
            case "all":
                return Trained(sizes.linear + self.embeddings, 0.0, 0.0)
            case "layers":
                return Trained(layers, 0.0, 0.0)
            case "layers+embeddings":
                return Trained(layers + self.embeddings, 0.0, 0.0)
            case "few":
                return Trained(0.0, 0.0, self.fixed.few_params)
            case trains:
                return Trained(0.0, self.embeddings if trains == "rank+embeddings" else 0.0, self.adapter_params())

    def adapter_params(self) -> float:
        """Weights of low-rank adapters: rank x (inputs + outputs) of each target (LoRA, arXiv 2106.09685).

        Experts of a mixture count as one MLP each."""
        model, sizes = self.job.model, self.sizes
        mlp = sizes.mlp * (model.experts / model.topk if model.experts else 1)
        per_layer = {
            "q": sizes.hidden + sizes.queries,
            "k": sizes.hidden + sizes.keys,
            "v": sizes.hidden + sizes.keys,
            "o": sizes.queries + sizes.hidden,
            "gate": (sizes.hidden + mlp) * model.gated,
            "up": sizes.hidden + mlp,
            "down": mlp + sizes.hidden,
        }
        layers = model.layers * sum(per_layer[part] for part in self.job.lora_targets if part != "head")
        head = sizes.hidden + model.vocab if "head" in self.job.lora_targets else 0
        return float(self.job.lora_rank * (layers + head))

    def weights(self) -> float:
        """The model itself. Quantised: linear layers in their format, embeddings in 16 bit, or fp32 after an upcast."""
        job = self.job
        if job.quant_kind is None:
            return (self.sizes.linear + self.embeddings) * self.base_bytes
        return self.sizes.linear * job.quant_kind.linear_bytes + self.embeddings * (4 if self.upcast else 2)

    def gradients(self, trained: Trained) -> float:
        job = self.job
        base = 2.0 if job.deepspeed else self.base_bytes
        held = trained.base * job.way.gradient_share
        if job.step_in_backward:
            largest = max(self.sizes.linear / job.model.layers, float(job.model.vocab * job.model.hidden))
            held = min(held, largest)
        return held * base + trained.adapters * self.adapter_bytes

    def optimizer(self, trained: Trained) -> float:
        """States; with DeepSpeed or an fp32 copy of 16-bit weights, that copy too (ZeRO: K = 12)."""
        job = self.job
        kind = job.optimizer_kind
        of_base = 4.0 if job.deepspeed else self.base_bytes
        master = trained.base * 4 if self.fp32_copy else 0.0
        each = self.fixed.eight_bit_state_bytes
        states = trained.base * job.way.state_share * kind.states * (each if kind.eight_bit else of_base)
        adapters = trained.adapters * kind.states * (each if kind.eight_bit else self.adapter_bytes)
        return master + states + adapters + trained.embeddings * self.fixed.trained_embedding_bytes

    def layer(self) -> float:
        """Bytes that one layer keeps of one token for its backward pass, attention by a fused kernel."""
        job, sizes, model = self.job, self.sizes, self.job.model
        hidden, queries, keys, mlp = sizes.hidden, sizes.queries, sizes.keys, sizes.mlp
        # LayerNorm keeps its 16-bit input; RMSNorm is written out in torch and keeps upcast copies.
        norm = (self.stack.norm_bytes if model.gated else min(self.stack.norm_bytes, 2.0)) * hidden * model.norms / 2
        if job.way.keeps == "all":
            return 2.0 * (4 * hidden + 2 * queries + 2 * keys) + (8.0 if model.gated else 4.0) * mlp + norm
        # Frozen linear layers need no input. The gate's product is kept by both of its factors.
        kept = 2.0 * (2 * hidden + 2 * queries + 2 * keys) + (6.0 if model.gated else 2.0) * mlp + norm
        if job.quant_kind and job.quant_kind.keeps_inputs:
            kept += 2.0 * (2 * hidden + queries + mlp) * self.stack.quantised_input_share
        outputs = queries + 2 * keys + hidden + (2 if model.gated else 1) * mlp + hidden
        if job.way.keeps == "outputs":
            kept += self.fixed.output_copy_bytes * outputs
        if job.way.keeps in {"targets", "scaled"}:
            kept += self.adapter_inputs()
        return kept

    def adapter_inputs(self) -> float:
        """Bytes of one token that the adapters of one layer keep: inputs once in 16 bit, copies cast to fp32 each."""
        sizes, parts = self.sizes, set(self.job.lora_targets)
        cast = 4.0 if self.adapter_bytes == 4 and self.stack.casts_adapter_input else 0.0
        inputs = {"q": sizes.hidden, "k": sizes.hidden, "v": sizes.hidden, "o": sizes.queries, "gate": sizes.hidden,
                  "up": sizes.hidden, "down": sizes.mlp}  # fmt: skip
        outputs = {"q": sizes.queries, "k": sizes.keys, "v": sizes.keys, "o": sizes.hidden, "gate": sizes.mlp,
                   "up": sizes.mlp, "down": sizes.hidden}  # fmt: skip
        kept = cast * sum(inputs[part] for part in parts if part != "head")
        kept += 2.0 * sizes.hidden * (bool(parts & {"q", "k", "v"}) + bool(parts & {"gate", "up"}))
        kept += 2.0 * sizes.mlp * ("down" in parts)
        if self.job.way.keeps == "scaled":
            kept += 2 * self.fixed.output_copy_bytes * sum(outputs[part] for part in parts if part != "head")
        return kept

    def activations(self) -> float:
        """All layers; with checkpointing the input of each layer and what one layer keeps when it is run again."""
        job, model = self.job, self.job.model
        kept = self.stack.layer_share * self.layer()
        scores = float(model.heads * job.seq_len) if job.attention == "eager" else 0.0
        if not job.checkpointing:
            return model.layers * job.tokens * (kept + self.fixed.eager_stored_bytes * scores)
        one = job.tokens * (kept + self.fixed.eager_recomputed_bytes * scores)
        checkpoint = 0.0 if self.stack.offloads_checkpoints else 4.0 if self.upcast else 2.0
        return one + model.layers * job.tokens * checkpoint * model.hidden

    def logits(self) -> float:
        """All copies of the logits at the loss."""
        job, fixed = self.job, self.fixed
        plain = self.stack.logit_bytes
        if job.precision == "fp16" or (job.deepspeed and self.stack.residual_upcast):
            plain *= fixed.unwrapped_logits_share
        plain += fixed.softcap_logit_bytes * job.model.softcap
        plain += fixed.head_adapter_logit_bytes * ("head" in job.lora_targets and job.way.trains == "rank")
        held = float(job.tokens * job.model.vocab) * plain
        if job.lengths == "mixed" or (job.lengths is None and job.metric == "reserved"):
            # Texts of many lengths: each length asks for blocks of its own, and the longest are rare.
            spread = self.stack.reserved_logit_factor
            return held * max(1.0, spread / (1 + job.seq_len / fixed.document_tokens))
        return held

    def gathered(self) -> float:
        """Weights of two layers and of the largest embedding, put together from all GPUs for use (ZeRO-3, FSDP)."""
        job = self.job
        if not job.sharded_weights:
            return 0.0
        layer = self.sizes.linear / job.model.layers
        table = float(job.model.vocab * job.model.hidden) * 2
        if job.quant_kind:
            return 2 * layer * job.quant_kind.linear_bytes + layer * 2 + table
        return 2 * layer * 2 + table

    def temporary(self, own: float, passing: float) -> float:
        """What the optimizer's step holds for the `own` weights that this GPU steps, where that exceeds `passing`.

        `passing` is what is gone when the step runs. DeepSpeed keeps its group all the time.
        """
        job, fixed = self.job, self.fixed
        if not job.way.state_share:
            return 0.0
        if job.deepspeed:
            return fixed.deepspeed_group_bytes * min(fixed.deepspeed_group_params, own)
        copies = self.stack.step_copy and not job.step_in_backward
        return max(0.0, fixed.step_copy_bytes * own - passing) if copies else 0.0

    def terms(self) -> dict[str, float]:
        """Bytes by the names of NAMES."""
        job, fixed = self.job, self.fixed
        trained = self.trained()
        parts = job.gpus
        weights_by = parts if job.sharded_weights else 1
        gradients_by = parts if job.sharding in {"zero-2", "zero-3", "fsdp"} else 1
        optimizer_by = parts if job.sharding in {"zero-1", "zero-2", "zero-3", "fsdp"} else 1
        held = {
            "weights": self.weights() / weights_by,
            "adapters": trained.adapters * self.adapter_bytes / weights_by,
            "gradients": self.gradients(trained) / gradients_by,
            "optimizer": self.optimizer(trained) / optimizer_by,
            "activations": self.activations(),
            "logits": self.logits(),
            "gathered": self.gathered(),
        }
        passing = held["activations"] + held["logits"] + held["gathered"]
        held["temporary"] = self.temporary(trained.base / optimizer_by, passing)
        meter = self.meter()
        live = sum(held.values())
        several = fixed.several_gpus_gib * GIB if job.gpus > 1 else 0.0
        return held | {"overhead": (meter.factor - 1) * live + meter.fixed_gib * GIB + several}

    def meter(self) -> Meter:
        """What the way of measuring adds."""
        return meters()[self.job.metric or "device"]


def counting(job: Job, stack: Stack, adapter_dtype: str | None = None) -> Counting:
    """The job on a stack; `adapter_dtype` where neither the job nor the stack shall decide it."""
    dtype = adapter_dtype or job.adapter_dtype or stack.adapter_dtype
    return Counting(job, stack, 4 if dtype == "fp32" else 2, constants(), widths(job.model))

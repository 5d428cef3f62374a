"""The sizes of a model that memory is counted with, from models.csv or from a Hugging Face config.json."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schemas.facts import word_set
from schemas.models import Model

# What config.json calls a size, by family; the first is the usual name.
_NAMES = {
    "hidden": ("hidden_size", "n_embd", "d_model"),
    "layers": ("num_hidden_layers", "n_layer", "num_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "intermediate": ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim"),
    "vocab": ("vocab_size", "padded_vocab_size"),
}
# Types by their MLP: GELU and LayerNorm, or a gate and RMSNorm.
_PLAIN_TYPES = word_set(
    "bloom codegen falcon gpt2 gpt_bigcode gpt_neo gpt_neox gptj mpt opt phi stablelm_alpha starcoder2"
)
_GATED_TYPES = word_set(
    "baichuan chatglm cohere cohere2 deepseek_v2 deepseek_v3 exaone exaone4 gemma gemma2 gemma3 gemma3_text glm glm4"
    " glm4_moe gpt_oss granite granitemoe hunyuan_v1_dense internlm2 internlm3 llama llama4 llama4_text mimo minicpm"
    " ministral mistral mistral3 mixtral olmo olmo2 olmoe phi3 phi4mini phimoe qwen qwen2 qwen2_moe qwen3 qwen3_moe"
    " seed_oss smollm3 stablelm"
)
_TIED_TYPES = ("gemma", "gpt2", "bloom", "opt", "cohere", "phi4mini")
_FOUR_NORMS = ("gemma2", "gemma3")


TEXT_DECODER = "text decoder only"
UNKNOWN_TYPE = "counted as one of Llama's kin: unknown model_type"


class ConfigError(ValueError):
    """A config.json does not hold a decoder-only transformer; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Widths:
    """Elements of one layer's activations for one token, and parameters. All are numbers of elements."""

    hidden: int
    queries: int
    """heads x head size"""
    keys: int
    """of keys, and of values"""
    mlp: int
    """MLP width that one token passes: of a mixture, all experts it is sent to"""
    embeddings: float
    """parameters of input embedding and output head"""
    linear: float
    """all other parameters"""


def widths(model: Model) -> Widths:
    """Sizes of a model."""
    table = float(model.vocab * model.hidden)
    embeddings = table if model.tied else 2 * table
    mlp = model.moe_intermediate * (model.topk + model.shared_experts) if model.experts else model.intermediate
    return Widths(
        hidden=model.hidden,
        queries=model.heads * model.head_dim,
        keys=model.kv_heads * model.head_dim,
        mlp=mlp,
        embeddings=embeddings,
        linear=model.params - embeddings,
    )


def counted_params(model: Model) -> float:
    """Parameters by the shape: attention, MLP or experts with their router, embeddings; norms and biases left out."""
    queries, keys = model.heads * model.head_dim, model.kv_heads * model.head_dim
    attention = 2 * model.hidden * (queries + keys)
    matrices = 3 if model.gated else 2
    dense = matrices * model.hidden * model.intermediate
    experts = matrices * model.hidden * model.moe_intermediate * (model.experts + model.shared_experts)
    routed = experts + model.hidden * model.experts
    table = model.vocab * model.hidden * (1 if model.tied else 2)
    return float(
        model.layers * attention + model.moe_layers * routed + (model.layers - model.moe_layers) * dense + table
    )


def from_config(path: str | Path) -> Model:
    """The model of a Hugging Face `config.json`, or of the folder that holds it.

    Of a multimodal model the text decoder is read; a type that is not known here is taken for one with gated MLPs and
    RMSNorm. `note` says either. Raises ConfigError where the file is no JSON
    object or lacks a size, which it names; OSError where it cannot be read.
    """
    file = Path(path)
    file = file / "config.json" if file.is_dir() else file
    try:
        whole = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ConfigError(f"{file} is no JSON: {error}") from None
    if not isinstance(whole, dict):
        raise ConfigError(f"{file} holds no JSON object")
    text = whole.get("text_config")
    config = {**whole, **text} if isinstance(text, dict) else whole
    notes = [TEXT_DECODER] if isinstance(text, dict) else []
    kind = str(config.get("model_type", ""))
    if kind not in _PLAIN_TYPES | _GATED_TYPES:
        notes.append(f"{UNKNOWN_TYPE} {kind!r}")
    return _Config(str(file), config).model("; ".join(notes) or None)


class _Config:
    """One config.json, asked for sizes under their several names."""

    def __init__(self, file: str, config: dict[str, Any]) -> None:
        self.file = file
        self.config = config
        self.type = str(config.get("model_type", ""))

    def model(self, note: str | None) -> Model:
        if self.config.get("is_encoder_decoder"):
            raise ConfigError(
                f"{self.file}: {self.type or 'this'} is an encoder with a decoder; only decoders are known"
            )
        hidden, layers, heads = self.size("hidden"), self.size("layers"), self.size("heads")
        if heads > hidden:
            raise ConfigError(f"{self.file}: {heads} attention heads in a hidden width of {hidden}")
        experts = self.optional(0, "num_local_experts", "num_experts", "n_routed_experts")
        intermediate = 4 * hidden if self.implied_width() else self.size("intermediate")
        shared = int(bool(self.config.get("multi_query")))  # one head of keys for all queries
        if self.type == "qwen":
            intermediate //= 2  # the first Qwen writes the widths of gate and up as one
        model = Model(
            name=str(self.config.get("_name_or_path") or Path(self.file).resolve().parent.name),
            hf_id=None,
            params_b=0.0,
            hidden=hidden,
            layers=layers,
            heads=heads,
            kv_heads=self.optional(shared or heads, "num_key_value_heads", "num_kv_heads", "multi_query_group_num"),
            head_dim=self.optional(hidden // heads, "head_dim", "kv_channels"),
            intermediate=intermediate,
            vocab=self.size("vocab"),
            tied=bool(self.config.get("tie_word_embeddings", self.type.startswith(_TIED_TYPES))),
            gated=self.type not in _PLAIN_TYPES,
            context=self.optional(0, "max_position_embeddings", "n_positions", "seq_length") or None,
            experts=experts,
            topk=self.needed("experts of a token", "num_experts_per_tok", "num_experts_per_token") if experts else 0,
            moe_intermediate=self.optional(intermediate, "moe_intermediate_size") if experts else 0,
            moe_layers=layers - self.optional(0, "first_k_dense_replace") if experts else 0,
            shared_experts=self.optional(0, "n_shared_experts") if experts else 0,
            norms=4 if self.type.startswith(_FOUR_NORMS) else 2,
            softcap=bool(self.config.get("final_logit_softcapping")),
            aliases=(),
            default_for=(),
            year=None,
            source=self.file,
            checked_on=None,
            note=note,
        )
        import dataclasses

        return dataclasses.replace(model, params_b=counted_params(model) / 1e9)

    def size(self, what: str) -> int:
        return self.needed(what, *_NAMES[what])

    def implied_width(self) -> bool:
        """GPT-2 and its kin leave the MLP width out where it is four times the hidden width."""
        return self.type in _PLAIN_TYPES and not any(self.config.get(name) for name in _NAMES["intermediate"])

    def needed(self, what: str, *names: str) -> int:
        value = self.optional(0, *names)
        if not value:
            raise ConfigError(f"{self.file} lacks {names[0]} ({what}; also read: {', '.join(names[1:]) or 'none'})")
        return value

    def optional(self, otherwise: int, *names: str) -> int:
        for name in names:
            value = self.config.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ConfigError(f"{self.file}: {name} must be a whole number from 0 up, not {value!r}")
            return value
        return otherwise

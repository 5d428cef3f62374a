"""A model's shape out of its config.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.fit import Job, estimate
from planner.shape import ConfigError, counted_params, from_config, widths
from schemas.models import Model, find_model, models

LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
    "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False,
    "max_position_embeddings": 131072,
}  # fmt: skip


# Attention of these keeps queries and keys in a smaller latent space, which the plain count does not know.
LATENT_ATTENTION = {"DeepSeek-V3", "DeepSeek-V2-Lite"}


def test_sizes_agree_with_the_number_of_parameters() -> None:
    for name, model in models().items():
        allowed = 0.03 if name in LATENT_ATTENTION else 0.004
        assert counted_params(model) / model.params == pytest.approx(1, abs=allowed), name
        assert 0 < widths(model).embeddings < model.params


def read(tmp_path: Path, config: Any) -> Model:
    file = tmp_path / "config.json"
    file.write_text(config if isinstance(config, str) else json.dumps(config))
    return from_config(file)


def test_a_config_gives_the_shape_of_the_table(tmp_path: Path) -> None:
    found, known = read(tmp_path, LLAMA), find_model("llama-3.1-8b")
    for field in ("hidden", "layers", "heads", "kv_heads", "head_dim", "intermediate", "vocab", "tied", "gated"):
        assert getattr(found, field) == getattr(known, field), field
    assert found.params_b == pytest.approx(known.params_b, rel=1e-3)
    assert from_config(tmp_path) == found, "the folder of a config.json will do"
    told = [estimate(Job(model=model, method="qlora")) for model in (found, known)]
    assert told[0].expected_gib == pytest.approx(told[1].expected_gib, abs=0.02)
    assert (told[0].confidence, told[0].reasons) == ("normal", told[1].reasons)


@pytest.mark.parametrize(
    "name", ["hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size"]
)
def test_a_missing_size_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"lacks {name}"):
        read(tmp_path, {key: value for key, value in LLAMA.items() if key != name})


def test_a_mixture_needs_the_experts_of_a_token(tmp_path: Path) -> None:
    mixture = LLAMA | {"model_type": "mixtral", "num_local_experts": 8, "vocab_size": 32000}
    with pytest.raises(ConfigError, match="lacks num_experts_per_tok"):
        read(tmp_path, mixture)
    found = read(tmp_path, mixture | {"num_experts_per_tok": 2})
    assert found.params_b == pytest.approx(find_model("mixtral-8x7b").params_b, rel=1e-3)
    assert estimate(Job(model=found, method="lora")).confidence == "low"


def test_the_text_decoder_of_a_multimodal_model_is_read_with_low_confidence(tmp_path: Path) -> None:
    found = read(tmp_path, {"model_type": "llava", "vision_config": {"hidden_size": 1024}, "text_config": LLAMA})
    assert found.hidden == 4096
    told = estimate(Job(model=found, method="lora"))
    assert told.confidence == "low"
    assert any("multimodal" in str(reason) for reason in told.reasons)


def test_a_type_that_nobody_knows_lowers_the_confidence(tmp_path: Path) -> None:
    told = estimate(Job(model=read(tmp_path, LLAMA | {"model_type": "brandnew"}), method="lora"))
    assert told.confidence == "low"
    assert "unknown model_type 'brandnew'" in str(told.reasons[0])


def test_older_names_of_sizes_are_read(tmp_path: Path) -> None:
    config = {
        "model_type": "gpt2",
        "n_embd": 768,
        "n_layer": 12,
        "n_head": 12,
        "vocab_size": 50257,
        "n_positions": 1024,
    }
    found = read(tmp_path, config)
    assert (found.gated, found.tied, found.intermediate, found.context) == (False, True, 3072, 1024)
    # 124 million as published, 0.8 million of them positions.
    assert found.params_b == pytest.approx(0.1236, rel=0.01)


def test_one_head_of_keys_is_read(tmp_path: Path) -> None:
    sizes = {"hidden_size": 4544, "num_hidden_layers": 32, "num_attention_heads": 71, "vocab_size": 65024}
    found = read(tmp_path, {"model_type": "falcon", "multi_query": True, "tie_word_embeddings": False, **sizes})
    assert found.params_b == pytest.approx(find_model("falcon-7b").params_b, rel=1e-3)


def test_the_first_qwen_writes_its_width_doubled(tmp_path: Path) -> None:
    sizes = {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 151936}
    found = read(tmp_path, {"model_type": "qwen", "intermediate_size": 22016, "kv_channels": 128, **sizes})
    assert found.params_b == pytest.approx(find_model("qwen-7b").params_b, rel=1e-3)


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("{", "is no JSON"),
        ("[]", "holds no JSON object"),
        (LLAMA | {"hidden_size": "4096"}, "hidden_size must be a whole number"),
        (LLAMA | {"hidden_size": -1}, "hidden_size must be a whole number"),
        (LLAMA | {"num_attention_heads": 8192}, "8192 attention heads in a hidden width of 4096"),
        (LLAMA | {"num_hidden_layers": 0}, "lacks num_hidden_layers"),
        ({"model_type": "t5", "is_encoder_decoder": True}, "only decoders are known"),
        ({"model_type": "mamba", "hidden_size": 768, "num_hidden_layers": 24}, "lacks num_attention_heads"),
    ],
)
def test_another_file_is_told_in_one_line(tmp_path: Path, config: Any, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, config)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)

"""Shapes of models, stacks and methods: loaded strictly, consistent, found by what people type."""

from __future__ import annotations

import dataclasses

import pytest

from schemas.methods import KEEPS, TRAINS, method_spellings, methods
from schemas.models import UnknownModel, find_model, models
from schemas.stacks import constants, meters, optimizers, quants, ranges, stack_spellings, stacks


def test_there_are_enough_models_each_with_its_source() -> None:
    assert len(models()) >= 70
    for model in models().values():
        assert model.source
        assert model.checked_on is not None


def test_shapes_are_whole() -> None:
    for name, model in models().items():
        assert model.heads % model.kv_heads == 0, name
        assert (model.experts > 0) == (model.topk > 0) == (model.moe_layers > 0), name
        assert model.norms in {2, 4}, name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("llama-3.1-70b", "Llama-3.1-70B"), ("LLAMA_3.1 70B", "Llama-3.1-70B"),
        ("meta-llama/Llama-3.1-8B", "Llama-3.1-8B"),
        ("Llama-3.1-8B-Instruct", "Llama-3.1-8B"), ("qwen2.5-7b", "Qwen2.5-7B"), ("Qwen/Qwen2.5-7B", "Qwen2.5-7B"),
        ("8b", "Llama-3.1-8B"), ("70B", "Llama-3.1-70B"), ("7b", "Qwen2.5-7B"), ("1.5b", "Qwen2.5-1.5B"),
        ("Zephyr-7B (Mistral)", "Zephyr-7B (Mistral)"), ("unsloth/gemma-2-9b-it", "Gemma-2-9b"), ("phi4", "phi-4"),
    ],
)  # fmt: skip
def test_A2_models_are_found_by_what_people_type(text: str, name: str) -> None:
    assert find_model(text).name == name


@pytest.mark.parametrize(
    ("text", "near"), [("lama-3.1-8b", "Llama-3.1-8B"), ("mistal-7b", "Mistral-7B-v0.1"), ("15b", "Qwen2.5-14B")]
)
def test_a_name_that_is_none_gets_the_nearest(text: str, near: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        find_model(text)
    assert near in caught.value.near
    assert f"no model {text!r}" in str(caught.value)


def test_every_name_finds_its_own_model() -> None:
    for name, model in models().items():
        for spelling in (name, *model.aliases, *model.default_for, *((model.hf_id,) if model.hf_id else ())):
            assert find_model(spelling) is model


def test_methods_use_known_words_and_have_a_source() -> None:
    assert {"full", "lora", "qlora", "dora", "adapter", "prefix", "prompt", "full-galore"} <= set(methods())
    for method in methods().values():
        assert method.trains in TRAINS
        assert method.keeps in KEEPS
        assert method.source
    assert method_spellings()["peftprefixtuning"] == "prefix"


def test_stacks_are_told_apart_and_bounded() -> None:
    for name, stack in stacks().items():
        assert stack_spellings()[name] == name
        assert 0 < stack.logit_bytes <= 18, "more copies of a logit than any loss has"
        assert stack.adapter_dtype in {"bf16", "fp32"}
        assert stack.source.startswith(("fitted: ", "counted"))
    spellings = [spelling for stack in stacks().values() for spelling in (stack.name, *stack.aliases)]
    assert len(spellings) == len(set(spellings))
    assert sum(stack.weight for stack in stacks().values()) > 0


def test_figures_have_sensible_signs() -> None:
    assert all(value > 0 for value in dataclasses.astuple(constants()))
    assert meters()["allocated"].fixed_gib < meters()["reserved"].fixed_gib < meters()["device"].fixed_gib
    assert ranges().scatter_low < 1 < ranges().scatter_high
    assert ranges().most_above > ranges().most_below > 1
    assert 0.5 < quants()["nf4-dq"].linear_bytes < quants()["nf4"].linear_bytes < 1
    assert optimizers()["adamw"].states == 2

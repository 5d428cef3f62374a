"""Peak memory: published anchors, what the terms promise, and what moves which way."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.fit import Estimate, Job, JobError, Refused, estimate, largest_micro_batch
from planner.terms import NAMES
from schemas.methods import methods
from schemas.models import find_model, models
from schemas.stacks import quants, stacks

GIB_TO_GB = 2**30 / 1e9


def job(model: str = "llama-3.1-8b", **said: Any) -> Job:
    return Job(model=find_model(model), **said)


def expected(found: Estimate) -> dict[str, float]:
    return {term.name: term.expected_gib for term in found.terms}


@pytest.mark.parametrize(
    ("sharding", "published_gb"), [("ddp", 120), ("zero-1", 31.4), ("zero-2", 16.6), ("zero-3", 1.9)]
)
def test_states_of_7_5b_on_64_gpus_as_in_figure_1_of_the_zero_paper(sharding: str, published_gb: float) -> None:
    model = dataclasses.replace(find_model("llama-2-7b"), params_b=7.5)
    found = estimate(Job(model=model, method="full", optimizer="AdamW (DeepSpeed)", gpus=64, sharding=sharding))
    terms = expected(found)
    states_gb = (terms["weights"] + terms["gradients"] + terms["optimizer"]) * GIB_TO_GB
    assert states_gb == pytest.approx(published_gb, abs=0.05)


def test_qlora_of_65b_fits_one_card_of_48_gb_as_its_paper_says() -> None:
    paper = job("65b", method="qlora", quant="nf4-dq", seq_len=512, lora_rank=64, adapter_dtype="bf16")
    assert estimate(paper).expected_gib < 0.94 * 48
    assert expected(estimate(dataclasses.replace(paper, method="lora", quant=None)))["weights"] > 48


def test_lomo_of_65b_fits_eight_cards_of_24_gb_as_its_repository_says() -> None:
    lomo = job("65b", method="lomo", gpus=8, sharding="zero-3", seq_len=512, stack="hf")
    assert estimate(lomo).low_gib < 0.94 * 24 < estimate(dataclasses.replace(lomo, method="full")).low_gib


@pytest.mark.parametrize(("card_gb", "tokens"), [(8, 2972), (12, 21848), (24, 78475), (48, 191728), (80, 342733)])
def test_the_longest_context_that_unsloth_publishes_fills_the_card(card_gb: int, tokens: int) -> None:
    longest = job(
        method="qlora",
        stack="unsloth-offload",
        seq_len=tokens,
        lora_rank=32,
        optimizer="adamw8bit",
        adapter_dtype="fp32",
    )
    assert estimate(longest).expected_gib == pytest.approx(card_gb, rel=0.15)


def test_adapters_of_lora_are_counted_as_published() -> None:
    """LitGPT prints 4,194,304 trainable parameters for rank 8 on q and v of Llama 2 7B, 6,553,600 of 13B."""
    for model, trainable in (("llama-2-7b", 4_194_304), ("llama-2-13b", 6_553_600)):
        from planner.terms import counting

        small = job(model, lora_rank=8, lora_targets=("q+v",))
        assert counting(small, stacks()["litgpt"]).adapter_params() == trainable


jobs_of_any_kind = st.builds(
    lambda model, method, seq, batch, keep, stack, dtype, rank, attention, spread, metric: Job(
        model=model, method=method, seq_len=seq, micro_batch=batch, checkpointing=keep, stack=stack, metric=metric,
        adapter_dtype=dtype, lora_rank=rank, attention=attention, gpus=spread[0], sharding=spread[1],
    ),
    st.sampled_from(list(models().values())), st.sampled_from(list(methods())), st.integers(1, 65536),
    st.integers(1, 64), st.booleans(), st.sampled_from([None, *stacks()]), st.sampled_from([None, "bf16", "fp32"]),
    st.sampled_from([1, 8, 64, 256]), st.sampled_from(["flash", "eager"]),
    st.sampled_from([(1, None), (2, "ddp"), (4, "zero-1"), (8, "zero-2"), (8, "zero-3"), (64, "fsdp")]),
    st.sampled_from([None, "allocated", "reserved", "device"]),
)  # fmt: skip


@given(jobs_of_any_kind)
def test_A2_terms_sum_to_the_total_and_the_range_is_one(any_job: Job) -> None:
    found = estimate(any_job)
    assert [term.name for term in found.terms] == [*NAMES, "scatter"]
    for end in ("low_gib", "expected_gib", "high_gib"):
        assert round(sum(getattr(term, end) for term in found.terms), 2) == getattr(found, end)
    assert 0 < found.low_gib <= found.expected_gib <= found.high_gib
    assert all(term.source and term.expected_gib >= 0 for term in found.terms)
    assert found.reasons


@given(jobs_of_any_kind)
def test_more_tokens_never_take_less(any_job: Job) -> None:
    longer = dataclasses.replace(any_job, seq_len=any_job.seq_len * 2)
    larger = dataclasses.replace(any_job, micro_batch=any_job.micro_batch * 2)
    more = min(estimate(longer).expected_gib, estimate(larger).expected_gib)
    assert estimate(any_job).expected_gib <= more + 0.05  # each of nine terms is rounded to hundredths


@given(jobs_of_any_kind)
def test_a_job_read_again_is_the_same_job(any_job: Job) -> None:
    assert dataclasses.replace(any_job) == any_job


def test_what_saves_memory_saves_it() -> None:
    plain = job(method="full", stack="hf", seq_len=4096)
    of = {
        "lora": job(method="lora", stack="hf", seq_len=4096),
        "qlora": job(method="qlora", stack="hf", seq_len=4096),
        "eight_bit": dataclasses.replace(plain, optimizer="adamw8bit"),
        "liger": job(method="lora", stack="hf-liger", seq_len=4096),
        "zero-2": dataclasses.replace(plain, gpus=8, sharding="zero-2"),
        "zero-3": dataclasses.replace(plain, gpus=8, sharding="zero-3"),
    }
    size = {name: estimate(each).expected_gib for name, each in of.items()}
    whole = estimate(plain).expected_gib
    assert size["qlora"] < size["lora"] < size["eight_bit"] < whole
    assert size["zero-3"] < size["zero-2"] < whole
    assert size["liger"] < size["lora"]
    assert whole < estimate(dataclasses.replace(plain, checkpointing=False)).expected_gib
    assert whole < estimate(dataclasses.replace(plain, precision="mixed")).expected_gib


def test_a_named_stack_narrows_the_range() -> None:
    asked = job(method="qlora", seq_len=4096)
    unknown, named = estimate(asked), estimate(dataclasses.replace(asked, stack="unsloth"))
    assert named.high_gib / named.low_gib < unknown.high_gib / unknown.low_gib
    assert "stack not given" in " ".join(map(str, unknown.reasons))
    assert "stack not given" not in " ".join(map(str, named.reasons))


def test_texts_of_many_lengths_take_more() -> None:
    even = job(stack="hf-old", lengths="even")
    assert estimate(dataclasses.replace(even, lengths="mixed")).expected_gib > estimate(even).expected_gib


@pytest.mark.parametrize("usable_gib", [10.0, 22.5, 44.7, 75.0])
def test_the_largest_micro_batch_fits_and_the_next_does_not(usable_gib: float) -> None:
    small = job(method="qlora", seq_len=1024)
    size = largest_micro_batch(small, usable_gib)
    assert size is not None
    assert estimate(dataclasses.replace(small, micro_batch=size)).expected_gib <= usable_gib
    assert estimate(dataclasses.replace(small, micro_batch=size + 1)).expected_gib > usable_gib


def test_no_micro_batch_fits_where_one_text_does_not() -> None:
    assert largest_micro_batch(job("70b", method="full"), 80.0) is None


@pytest.mark.parametrize(
    ("model", "said", "why"),
    [
        ("qwen3-30b-a3b", {}, "mixture of experts"),
        ("8b", {"method": "galore"}, "few or no measurements"),
    ],
)
def test_low_confidence_is_said_and_widens(model: str, said: dict[str, Any], why: str) -> None:
    found = estimate(job(model, **said))
    assert found.confidence == "low"
    assert why in str(found.reasons[0])


@pytest.mark.parametrize("sharding", ["FSDP+offload", "naive pipeline (device_map)", "tensor-parallel"])
def test_what_the_formula_does_not_cover_is_refused(sharding: str) -> None:
    with pytest.raises(Refused, match="no estimate for"):
        estimate(job(gpus=2, sharding=sharding))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"seq_len": 0}, "seq_len must be 1 or more, not 0"),
        ({"micro_batch": -1}, "micro_batch must be 1 or more, not -1"),
        ({"gpus": 0}, "gpus must be 1 or more"),
        ({"lora_rank": 0}, "lora_rank must be 1 or more"),
        ({"lora_rank": 10**6}, "exceeds the model's hidden width"),
        ({"seq_len": 10**9}, "at most"),
        ({"method": "qlor"}, "did you mean qlora"),
        ({"method": "full", "quant": "nf4"}, "use --method qlora"),
        ({"method": "qlora", "quant": "gptq-int4", "gpus": 2, "sharding": "zero-3"}, "cannot be parted by zero-3"),
        ({"method": "qlora", "quant": "nf5"}, "did you mean nf4"),
        ({"sharding": "zero-3"}, "needs 2 GPUs or more"),
        ({"lora_targets": ("q+z",)}, "no target 'z'"),
        ({"lora_targets": ("input_layernorm",)}, "needs targets"),
        ({"stack": "unslot"}, "did you mean unsloth"),
        ({"optimizer": "adamm"}, "did you mean adamw"),
        ({"precision": "bf61"}, "did you mean bf16"),
        ({"adapter_dtype": "int8"}, "no adapter dtype"),
        ({"attention": "falsh"}, "did you mean flash"),
        ({"lengths": "odd"}, "no lengths"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_one_line(said: dict[str, Any], told: str) -> None:
    with pytest.raises(JobError) as caught:
        job(**said)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("field", "typed", "kept"),
    [
        ("method", "PEFT-prefixtuning", "prefix"), ("method", "peft-something-new", "other-peft"),
        ("method", "Full-finetuning", "full"), ("quant", "bnb-4bit", "nf4"), ("stack", "UNSLOTH", "unsloth"),
        ("stack", "Axolotl", "axolotl-cce"), ("precision", "16-mixed", "fp16-mixed"), ("attention", "sdpa", "flash"),
        ("lora_targets", ("q_proj,v_proj",), ("q", "v")), ("lora_targets", "q+v", ("q", "v")),
        ("lora_targets", ("qkv+gate_up_proj",), ("q", "k", "v", "gate", "up")),
        ("lora_targets", ("all-linear+lm_head",), ("q", "k", "v", "o", "gate", "up", "down", "head")),
        ("adapter_dtype", "fp16", "bf16"),
    ],
)  # fmt: skip
def test_words_are_taken_in_any_spelling(field: str, typed: Any, kept: Any) -> None:
    assert getattr(job(**{field: typed}), field) == kept


@pytest.mark.parametrize(
    ("typed", "states", "eight_bit", "deepspeed"),
    [("AdamW", 2, False, False), ("PagedAdamW8bit", 2, True, False), ("AdamW (DeepSpeed)", 2, False, True),
     ("AdamW8bit+opt-in-bwd", 2, True, False), ("adamw_bnb_8bit", 2, True, False), ("SGD", 0, False, False)],
)  # fmt: skip
def test_optimizers_as_published_tables_name_them(typed: str, states: float, eight_bit: bool, deepspeed: bool) -> None:
    read = job(method="full", optimizer=typed)
    assert (read.optimizer_kind.states, read.optimizer_kind.eight_bit, read.deepspeed) == (states, eight_bit, deepspeed)
    assert read.step_in_backward == ("opt-in-bwd" in typed)


def test_nf4_can_be_parted_and_every_format_is_estimated() -> None:
    assert estimate(job(method="qlora", gpus=2, sharding="zero-3")).expected_gib > 0
    sizes = {name: expected(estimate(job(method="lora", quant=name)))["weights"] for name in quants()}
    assert sizes["nf4-dq"] < sizes["nf4"] < sizes["int8"]

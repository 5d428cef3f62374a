"""`gpufare fit`: memory of one job term by term, of many from a file, and what wrong words are answered with."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
HEADER = "model_key,method,seq_len,micro_batch,quant,lora_rank,lora_targets,stack,metric\n"


def test_A2_memory_is_split_into_terms_that_sum_to_the_total(ask: Ask) -> None:
    answer = ask("fit", "--model", "8b", "--method", "qlora", "-o", "json")
    assert answer.code == 0
    assert answer.json["schema"] == "gpufare.fit/1"
    terms = {row["name"]: row for row in answer.rows}
    assert {"weights", "gradients", "optimizer", "activations", "overhead"} <= set(terms)
    total = answer.json["estimate"]
    for end in ("low_gib", "expected_gib", "high_gib"):
        assert round(sum(row[end] for row in answer.rows), 2) == total[end]
    assert total["low_gib"] < total["expected_gib"] < total["high_gib"]
    assert total["confidence"] == "normal"
    assert answer.json["query"]["model"] == "Llama-3.1-8B"
    assert answer.json["query"]["seq_len"] == 2048


def test_the_table_states_total_range_and_what_widens_it(ask: Ask) -> None:
    answer = ask("fit", "--model", "8b", "--method", "lora")
    total = ask("fit", "--model", "8b", "--method", "lora", "-o", "json").json["estimate"]
    assert f"{total['expected_gib']:.1f} GiB" in answer.out.splitlines()[0]
    assert "stack not given" in answer.out


def test_every_option_reaches_the_job(ask: Ask) -> None:
    query = ask(
        "fit", "--model", "llama-3.1-70b", "--method", "lora", "--seq", "4096", "--batch", "2", "--lengths", "mixed",
        "--precision", "fp16", "--quant", "nf4-dq", "--optimizer", "adamw8bit", "--no-checkpointing", "--attention",
        "eager", "--stack", "axolotl", "--rank", "64", "--targets", "q+v", "--adapter-dtype", "bf16", "--gpus", "8",
        "--sharding", "fsdp", "-o", "json",
    ).json["query"]  # fmt: skip
    assert query == {
        "model": "Llama-3.1-70B", "method": "lora", "seq_len": 4096, "micro_batch": 2, "lengths": "mixed",
        "precision": "fp16", "quant": "nf4-dq", "optimizer": "adamw8bit", "checkpointing": False, "attention": "eager",
        "stack": "axolotl-cce", "lora_rank": 64, "lora_targets": ["q", "v"], "adapter_dtype": "bf16", "gpus": 8,
        "sharding": "fsdp", "metric": None, "true_16bit": False,
    }  # fmt: skip


def test_a_config_file_stands_for_a_model(ask: Ask, tmp_path: Path) -> None:
    config = {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 32,
              "intermediate_size": 8192, "vocab_size": 128256}  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert ask("fit", "--config", str(tmp_path / "config.json"), "--method", "lora").code == 0
    (tmp_path / "config.json").write_text(json.dumps(config | {"vocab_size": None}))
    answer = ask("fit", "--config", str(tmp_path), "--method", "lora")
    assert (answer.code, answer.out) == (2, "")
    assert "lacks vocab_size" in answer.err


def test_a_file_is_answered_row_by_row_in_order(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(
        HEADER
        + "Llama-3.1-8B,qlora,2048,1,nf4,16,q+v,hf,nvidia-smi\n"
        + "Llama-3.1-8B,lora,2048,1,,,,,\n"
        + "Llama-3.1-8B,full,2048,1,,,,,torch max reserved\n"
    )
    answer = ask("fit", "--from-csv", str(file), "-o", "jsonl")
    assert answer.code == 0
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [row["row"] for row in rows] == [1, 2, 3]
    assert [row["error"] for row in rows] == [None] * 3
    assert rows[0]["expected_gib"] < rows[1]["expected_gib"] < rows[2]["expected_gib"]
    table = list(csv.DictReader(io.StringIO(ask("fit", "--from-csv", str(file), "-o", "csv").out)))
    assert [float(row["high_gib"]) for row in table] == [row["high_gib"] for row in rows]


def test_a_stack_of_a_file_that_nobody_knows_is_as_good_as_none(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(HEADER + "8b,qlora,2048,1,,,,my-own,\n" + "8b,qlora,2048,1,,,,,\n" + "8b,qlora,2048,1,,,,hf,\n")
    rows = [json.loads(line) for line in ask("fit", "--from-csv", str(file), "-o", "jsonl").out.splitlines()]
    unknown, none, known = [row["high_gib"] / row["low_gib"] for row in rows]
    assert unknown == none > known


def test_the_help_has_examples(ask: Ask) -> None:
    answer = ask("fit", "--help")
    assert answer.code == 0
    assert "gpufare fit --model 8b --method qlora" in answer.out.partition("Examples:")[2]


def test_a_bad_row_is_answered_in_its_place_and_the_code_is_1(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text(
        HEADER
        + "8b,qlora,2048,1,,,,,\n"
        + "nosuch-9000b,qlora,2048,1,,,,,\n"
        + "8b,qlora,many,1,,,,,\n"
        + "8b,qlora,,1,,,,,\n"
        + "8b,full,2048,1,nf4,,,,\n"
        + "8b,lora\n"
        + "8b,lora,2048,1,,,,,\n"
    )
    answer = ask("fit", "--from-csv", str(file), "-o", "jsonl")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert answer.code == 1
    assert [row["row"] for row in rows] == list(range(1, 8))
    assert [row["expected_gib"] is None for row in rows] == [False, True, True, True, True, True, False]
    assert "no model 'nosuch-9000b'" in rows[1]["error"]
    assert "seq_len 'many' is no whole number" in rows[2]["error"]
    assert "seq_len is empty" in rows[3]["error"]
    assert "5 of 7 rows have no estimate; the first is row 2" in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--model", "lama-3.1-8b", "--method", "lora"], "did you mean Llama-3.1-8B"),
        (["--model", "8b", "--method", "qlor"], "did you mean qlora"),
        (["--model", "8b"], "--method full, lora or qlora"),
        (["--method", "lora"], "--model 8b, or --config FILE"),
        (["--model", "8b", "--config", "x.json", "--method", "lora"], "name one model"),
        (["--model", "8b", "--method", "lora", "--seq", "0"], "seq_len must be 1 or more, not 0"),
        (["--model", "8b", "--method", "lora", "--batch", "-3"], "micro_batch must be 1 or more, not -3"),
        (["--model", "8b", "--method", "lora", "--seq", "many"], "--seq"),
        (["--model", "8b", "--method", "full", "--quant", "nf4"], "use --method qlora"),
        (["--model", "8b", "--method", "qlora", "--quant", "gptq-int4", "--gpus", "2", "--sharding", "zero3"],
         "cannot be parted"),
        (["--config", "/no/such/config.json", "--method", "lora"], "No such file"),
        (["--from-csv", "/no/such/file.csv"], "No such file"),
        (["--from-csv", "jobs.csv", "--method", "lora"], "leave the other options out"),
    ],
)  # fmt: skip
def test_a_wrong_word_exits_with_2_and_one_line(ask: Ask, arguments: list[str], said: str) -> None:
    answer = ask("fit", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "no column model_key"), (b"model,method\n", "no column model_key, seq_len"), (b"\xff\xfe\x00", "UTF-8")],
)
def test_a_file_that_holds_no_jobs_exits_with_2(ask: Ask, tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "jobs.csv"
    file.write_bytes(content)
    answer = ask("fit", "--from-csv", str(file))
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


def test_what_is_not_covered_is_refused_with_its_reason(ask: Ask) -> None:
    answer = ask("fit", "--model", "8b", "--method", "lora", "--gpus", "2", "--sharding", "fsdp+offload")
    assert (answer.code, answer.out) == (1, "")
    assert "CPU offload" in answer.err

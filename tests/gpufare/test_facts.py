"""Facts on the command line: providers, hardware, how words are read, what a saved answer holds."""

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from schemas.offer import Offer
from schemas.providers import FACT_NAMES, Fact, providers
from schemas.record import columns

Ask = Callable[..., Any]
RECORDED = Path(__file__).parents[2] / "spiders" / "recorded" / "hyperbolic"


def test_providers_tell_access_and_proof(ask: Ask) -> None:
    rows = {row["provider"]: row for row in ask("providers", "-o", "json").rows}
    assert rows["hyperbolic"]["access"] == "open"
    assert rows["hyperbolic"]["asked"] == "yes"
    assert (rows["hyperbolic"]["proof"], rows["verda"]["proof"]) == ("answer", "shape")
    assert rows["vast"]["asked"].startswith("no: terms restrict collection")
    assert "gpufare enable vast" in ask("providers", "vast").out
    assert [row["provider"] for row in ask("providers", "Vast,HYPERBOLIC", "-o", "json").rows] == ["vast", "hyperbolic"]


def test_facts_name_their_source_and_day(ask: Ask) -> None:
    rows = ask("providers", "--facts", "-o", "json").rows
    assert {row["fact"] for row in rows} >= set(FACT_NAMES)
    for row in rows:
        assert set(row) == {"provider", "fact", "value", "source", "checked_on", "old"}
        assert row["fact"] == "terms" or (row["value"] is None) == (row["source"] is None) == (
            row["checked_on"] is None
        )


def test_a_fact_that_nobody_looked_at_for_180_days_is_marked(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    known = providers()
    old = Fact("own image", "https://lambda.ai/docs", datetime.now(UTC).date() - timedelta(days=181))
    new = replace(old, checked_on=datetime.now(UTC).date() - timedelta(days=180))
    table = {"lambda": replace(known["lambda"], facts={"docker": old, "sign_up": new})}
    monkeypatch.setattr("schemas.providers.providers", lambda: table)
    rows = {row["fact"]: row for row in ask("providers", "lambda", "--facts", "-o", "json").rows}
    assert (rows["docker"]["old"], rows["sign_up"]["old"], rows["ssh"]["old"]) == (True, False, None)
    lines = [line for line in ask("providers", "lambda", "--facts").out.splitlines() if " ! " in line]
    assert len(lines) == 1
    assert "docker" in lines[0]


def test_gpus_are_found_and_filtered(ask: Ask) -> None:
    rows = ask("gpus", "h100", "-o", "json").rows
    assert {row["gpu"] for row in rows} == {"H100"}
    assert {row["form_factor"] for row in rows} >= {"SXM", "PCIe", "NVL"}
    assert all(row["source"] and row["checked_on"] for row in rows)
    amd = list(csv.DictReader(io.StringIO(ask("gpus", "--vendor", "AMD", "--vram", "128..", "-o", "csv").out)))
    assert {row["vendor"] for row in amd} == {"amd"}
    assert min(float(row["vram_gib"]) for row in amd) == 128
    assert ask("gpus", "-o", "json").json["counts"]["models"] >= 150


def test_resolve_gpu_answers_each_text_with_one_line(ask: Ask) -> None:
    (line,) = ask("resolve", "gpu", "8x H100 SXM5 80GB").out.splitlines()
    assert json.loads(line) == {
        "text": "8x H100 SXM5 80GB", "vendor": "nvidia", "gpu": "H100", "form_factor": "SXM", "vram_gib": 80,
        "gpu_count": 8, "known": True,
    }  # fmt: skip


@pytest.mark.parametrize("what", ["gpu", "price"])
def test_answers_and_lines_stay_together(ask: Ask, what: str) -> None:
    lines = ["H100", "", "$2.15/hr", "a\x0bb\x85c\u2028d", "-5", "x" * 5000, "\x1b[31m", "  "]
    out = ask("resolve", what, stdin="\n".join(lines).encode() + b"\n\xff\xfe\r\nlast").out
    answers = [json.loads(line) for line in out.split("\n") if line]
    assert len(answers) == len(lines) + 2
    assert [answer["text"] for answer in answers[: len(lines)]] == lines
    assert answers[-1]["text"] == "last"
    assert "\x1b" not in out


def test_resolve_price_tells_only_what_the_text_says(ask: Ask) -> None:
    texts = ["from $2.15/GPU/hr", "1.234,56 €", "contact us", "-$5"]
    answers = [json.loads(line) for line in ask("resolve", "price", *texts).out.splitlines()]
    first, euro, none, _ = answers
    assert list(first) == ["text", "amount", "currency", "per", "unit", "from"]
    assert (first["amount"], first["currency"], first["per"], first["unit"], first["from"]) == (
        2.15, "USD", "gpu", "hour", True,
    )  # fmt: skip
    assert (euro["amount"], euro["currency"], euro["unit"]) == (1234.56, "EUR", None)
    assert none["amount"] is None


def test_parse_prints_one_offer_a_line(ask: Ask) -> None:
    answer = ask("parse", "hyperbolic", str(RECORDED / "2026-11-29-night" / "answers.har"))
    assert answer.code == 0
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert len(rows) >= 5
    assert all(list(row) == list(columns(Offer)) for row in rows)
    assert {row["observed_at"] for row in rows} == {"2026-11-29T02:00:00Z"}
    assert {row["origin"] for row in rows} == {"recording"}
    assert all(isinstance(row["usd_per_hour"], int | float) for row in rows)


def test_parse_reads_a_bare_body_at_a_given_time(ask: Ask, tmp_path: Path) -> None:
    (entry,) = [
        entry
        for entry in json.loads((RECORDED / "2026-11-29-night" / "answers.har").read_text())["log"]["entries"]
        if "rental-options" in entry["request"]["url"]
    ]
    body = tmp_path / "body"
    body.write_text(entry["response"]["content"]["text"])
    from_har = ask("parse", "hyperbolic", str(RECORDED / "2026-11-29-night"), "--at", "2026-11-30")
    for url in ([], ["--url", entry["request"]["url"]]):
        answer = ask("parse", "hyperbolic", str(body), *url, "--at", "2026-11-30")
        assert answer.code == 0
        rows = [json.loads(line) for line in answer.out.splitlines()]
        keys = [json.loads(line)["offer_key"] for line in from_har.out.splitlines()]
        assert [row["offer_key"] for row in rows] == keys
        assert {row["observed_at"] for row in rows} == {"2026-11-30T00:00:00Z"}


def test_parse_of_a_changed_layout_fails_in_one_line(ask: Ask) -> None:
    answer = ask("parse", "hyperbolic", str(RECORDED / "2026-11-30-changed-layout"))
    assert (answer.code, answer.out) == (1, "")
    assert "SchemaDrift" in answer.err
    assert all(line.startswith("gpufare: ") for line in answer.err.splitlines())


def test_parse_of_something_else_is_no_traceback(ask: Ask, tmp_path: Path) -> None:
    for name, content in (
        ("empty", b""),
        ("text", b"hello \x1b[31m"),
        ("har", b'{"log": {"entries": 3}}'),
        ("nul", b"\x00"),
    ):
        (tmp_path / name).write_bytes(content)
        answer = ask("parse", "hyperbolic", str(tmp_path / name))
        assert answer.code == 1, name
        assert "Traceback" not in answer.err
        assert "\x1b" not in answer.err
    assert ask("parse", "hyperbolic", str(tmp_path / "nothere")).code == 2
    two = ask(
        "parse", "hyperbolic", *[str(tmp_path / "text")] * 3, "--url", "https://a.example", "--url", "https://b.example"
    )
    assert two.code == 2
    assert ask("parse", "hyperbolic", str(tmp_path / "text"), "--url", "file:///etc/passwd").code == 2


def test_the_other_name_of_offers(ask: Ask) -> None:
    assert ask("table", "H100:8", "--as-of", "2026-11-30T05:00Z") == ask(
        "offers", "H100:8", "--as-of", "2026-11-30T05:00Z"
    )

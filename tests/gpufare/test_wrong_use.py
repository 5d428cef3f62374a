"""Wrong words: exit code 2, one line, the nearest right name; and readers that go away."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ask = Callable[..., Any]
Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["offers", "H10O"], "did you mean H100?"),
        (["offers", "--provider", "hyperbolc"], "did you mean hyperbolic?"),
        (["offers", "--region", "us-easst-1"], "did you mean us-east-1?"),
        (["offers", "--country", "germny"], "did you mean Germany?"),
        (["offers", "--continent", "Europa"], "did you mean Europe?"),
        (["offers", "--purchase", "on-demnd"], "did you mean on_demand?"),
        (["offers", "--segment", "hyperscalar"], "did you mean hyperscaler?"),
        (["offers", "--tier", "comunity"], "did you mean community?"),
        (["offers", "--vendor", "nvida"], "did you mean nvidia?"),
        (["offers", "--sort", "prise"], "did you mean price?"),
        (["offers", "--columns", "usd_per_houre"], "did you mean usd_per_hour?"),
        (["offers", "--vram", "4..2"], "did you mean 2..4?"),
        (["offers", "--vram", "big"], "is no number"),
        (["offers", "--vram", ".."], "open at both ends"),
        (["offers", "--count", "-1"], "must be a number from 0 up"),
        (["offers", "--count", "nan"], "must be a number from 0 up"),
        (["offers", "--max-price", "cheap"], "is no number"),
        (["offers", "--as-of", "2026-13-01"], "write 2026-11-29"),
        (["offers", "--as-of", "someday"], "write 2026-11-29"),
        (["offers", "-o", "jsn"], "json"),
        (["offers", "--limit", "-1"], "--limit"),
        (["ofers"], "did you mean `gpufare offers`?"),
        (["changes", "--kind", "pricedwn"], "did you mean price_down?"),
        (["changes", "--after", "nosuchid"], "no change 'nosuchid'"),
        (["diff", "2026-11-30", "2026-11-29"], "did you mean `gpufare diff 2026-11-29 2026-11-30`?"),
        (["diff", "2026-11-30"], "DAY"),
        (["history"], "Name a GPU"),
        (["show", "aws:g4-7"], "did you mean aws:g4-"),
        (["status", "lamda"], "did you mean lambda?"),
        (["providers", "hyperbolc"], "did you mean hyperbolic?"),
        (["gpus", "H10O"], "did you mean H100?"),
        (["gpus", "--vendor", "amdd"], "did you mean amd?"),
        (["parse", "hyperbolc", "/dev/null"], "did you mean hyperbolic?"),
        (["resolve", "gpu", "--provider", "hyperbolc", "H100"], "did you mean hyperbolic?"),
        (["sql", "SELECT nope FROM offers_now"], "nope"),
        (["sql", "SELECT * FROM offer_now"], "offers_now"),
        (["sql", "DROP TABLE offers_now"], "read-only"),
        (["sql", " "], "no statement"),
    ],
)
def test_a_wrong_word_exits_with_2_and_one_line(ask: Ask, arguments: list[str], said: str) -> None:
    answer = ask(*arguments)
    assert answer.code == 2, answer.err
    assert answer.out == ""
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1
    assert answer.err.startswith("gpufare: ")


@pytest.mark.parametrize(
    "arguments",
    [["offers", "H100"], ["changes"], ["diff", "1d", "now"], ["history", "H100"], ["status"], ["unmapped"],
     ["show", "x"], ["sql", "SELECT 1"]],
)  # fmt: skip
def test_no_store_names_the_next_command(ask: Ask, tmp_path: Path, arguments: list[str]) -> None:
    answer = ask(*arguments, data=tmp_path / "none")
    assert answer.code == 2
    assert "run `gpufare refresh`" in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "arguments",
    [["offers"], ["changes"], ["diff", "30d", "now"], ["history", "H100"], ["unmapped"], ["sql", "FROM offers_now"]],
)
def test_an_empty_store_gives_an_empty_answer(ask: Ask, empty: Path, arguments: list[str]) -> None:
    assert ask(*arguments, "-o", "json", data=empty).rows == []
    assert ask(*arguments, data=empty).code == 0


@pytest.mark.parametrize("format", ["table", "json", "csv"])
def test_a_reader_that_goes_away_is_no_fault(shell: Shell, live: Path, format: str) -> None:
    statement = "SELECT a.* FROM snapshots a, snapshots b, snapshots c LIMIT 20000"
    done = shell(f'gpufare --data {live} sql "{statement}" --limit 20000 -o {format} | head -n 1')
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1


def test_parquet_goes_through_a_pipe(shell: Shell, live: Path) -> None:
    done = shell(f"gpufare --data {live} offers H100 -o parquet | head -c 4")
    assert done.stdout == "PAR1"


def test_a_terminal_that_knows_no_unicode_gets_no_traceback(shell: Shell, live: Path) -> None:
    done = shell(f"gpufare --data {live} history H100 --plot", {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.returncode == 0, done.stderr
    assert "\\u2581" in done.stdout


def test_a_file_that_cannot_be_written_is_one_line(ask: Ask, tmp_path: Path) -> None:
    answer = ask("offers", "H100", "-o", "json", "--to", str(tmp_path / "no" / "x.json"))
    assert answer.code == 1
    assert len(answer.err.splitlines()) == 1
    assert "No such file" in answer.err


def test_a_file_is_written_whole(ask: Ask, tmp_path: Path) -> None:
    answer = ask("offers", "H100", "-o", "json", "--to", str(tmp_path / "x.json"))
    assert (answer.code, answer.out) == (0, "")
    assert len(json.loads((tmp_path / "x.json").read_text())["rows"]) == 11
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize(
    "command",
    ["offers", "show", "changes", "diff", "history", "status", "unmapped", "sql", "providers", "gpus", "resolve",
     "resolve gpu", "resolve price", "parse"],
)  # fmt: skip
def test_every_command_explains_itself_with_examples(ask: Ask, command: str) -> None:
    answer = ask(*command.split(), "--help")
    assert answer.code == 0
    assert f"gpufare {command.split()[0]}" in answer.out.partition("Examples:")[2]


def test_the_shell_completes_names(shell: Shell) -> None:
    def completed(line: str) -> set[str]:
        words = line.split(" ")
        done = shell(
            "gpufare", {"_GPUFARE_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        )
        return {part.partition(",")[2] for part in done.stdout.splitlines()}

    assert {"H100", "H100,H200"} & completed("gpufare offers H10") == {"H100"}
    assert "hyperbolic" in completed("gpufare offers --provider hyp")
    assert completed("gpufare offers --columns usd_per_h") == {"usd_per_hour"}
    assert "on-demand" in completed("gpufare offers --purchase on")

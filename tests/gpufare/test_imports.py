"""`gpufare import` and `gpufare export` as they are typed: what they say, where, and how they end."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpufare.cli import cli, main
from gpufare.commands.imports import MAPPING
from storage.imports import load_mapping

Run = Callable[..., "Answer"]
ROWS = """seen,cloud,type,region,kind,usd,memory
2026-01-01,aws,p5.48xlarge,us-east-1,ondemand,98.32,2048
2026-01-02,aws,p5.48xlarge,us-east-1,ondemand,55.04,2048
2026-01-02,aws,p5.48xlarge,test,ondemand,1,1
"""


def told(text: str) -> str:
    """The example that the help shows."""
    return "\n".join(line[2:] for line in text.splitlines() if line.startswith("  "))


@dataclass(frozen=True)
class Answer:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    (tmp_path / "acme.toml").write_text(told(MAPPING))
    (tmp_path / "prices.csv.gz").write_bytes(gzip.compress(ROWS.encode()))
    monkeypatch.chdir(tmp_path)

    def ran(*arguments: str) -> Answer:
        with pytest.raises(SystemExit) as ended:
            main(["--data", "store", *arguments])
        said = capsys.readouterr()
        return Answer(int(ended.value.code or 0), said.out, said.err)

    return ran


def test_the_mapping_in_the_help_is_one(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text(told(MAPPING))
    assert load_mapping(str(tmp_path / "m.toml")).source.licence == "CC-BY-4.0"
    shown = CliRunner().invoke(cli, ["import", "--help"]).output
    assert all(line.strip() in shown for line in told(MAPPING).splitlines())
    assert "gpufare import gpuhunt" in shown


def test_a_history_goes_in_once_and_comes_out(run: Run, tmp_path: Path) -> None:
    first = run("import", "csv", "prices.csv.gz", "--mapping", "acme.toml")
    assert (first.returncode, first.stdout) == (0, "")
    assert "aws: 2 snapshots stored from 2026-01-01 to 2026-01-02 with 2 offers and 1 changes; 0 were" in first.stderr
    assert "left out: 1 rows, region is skipped by the mapping" in first.stderr
    assert "licence: CC-BY-4.0; credit: Acme" in first.stderr
    again = run("import", "csv", "prices.csv.gz", "--mapping", "acme.toml")
    assert "0 snapshots stored with 0 offers and 0 changes; 2 were there already" in again.stderr
    moved = run("changes", "--since", "2026-01-01", "--until", "2026-01-03", "--all", "-o", "csv")
    assert "price_down" in moved.stdout
    then = run("offers", "H100", "--as-of", "2026-01-01", "-o", "csv")
    assert "98.32" in then.stdout

    out = run("export", "skypilot", "sky", "--as-of", "2026-01-01")
    assert (out.returncode, out.stdout) == (0, "")
    assert ",98.32," in (tmp_path / "sky/.sky/catalogs/v8/aws/vms.csv").read_text()
    assert "CC-BY-4.0" in (tmp_path / "sky/_SOURCES.txt").read_text()
    none = run("export", "gpuhunt", "hunt")
    assert "left out: 1 rows, unknown CPU" in none.stderr
    assert len(list((tmp_path / "hunt").glob("*.csv"))) == 9


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["import", "csv", "prices.csv.gz"], 2, "--mapping FILE"),
        (["import", "csv", "none.csv", "--mapping", "acme.toml"], 2, "no file or folder none.csv"),
        (["import", "csv", "prices.csv.gz", "--mapping", "karpenter"], 2, "karpenter-aws"),
        (["import", "csv", "prices.csv.gz", "--mapping", "acme.toml", "--observed-at", "now"], 2, "--observed-at"),
        (["import", "gpuhunt", "prices.csv.gz", "--mapping", "acme.toml"], 2, "--mapping is for csv"),
        (["import", "gpuhunt", "prices.csv.gz", "--provider", "lamda"], 2, "did you mean lambda?"),
        (["import", "gpuhunt", "prices.csv.gz", "--provider", "aws"], 1, "name it with --observed-at"),
        (
            ["import", "gpuhunt", "prices.csv.gz", "--provider", "aws", "--observed-at", "1d"],
            1,
            "expected the column 'instance_name'",
        ),
        (["import", "csv", "prices.csv.gz", "--mapping", "karpenter-aws"], 1, "expected the column 'generated_at'"),
        (["import", "csv", "acme.toml", "--mapping", "acme.toml"], 1, "expected .csv, .csv.gz or .zip"),
        (["export", "gpuhunt", "out"], 2, "no store"),
        (["export", "csv", "out", "--as-of", "now"], 2, "--since and --until"),
        (["export", "skypilot", "out", "--until", "now"], 2, "--as-of"),
    ],
)
def test_wrong_use_and_failures_are_one_line(run: Run, arguments: list[str], code: int, said: str) -> None:
    answer = run(*arguments)
    assert answer.returncode == code, answer.stderr
    assert said in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert answer.stdout == ""


def test_nothing_imported_goes_into_a_sample(run: Run, tmp_path: Path) -> None:
    from storage.lake import Lake

    Lake.open(tmp_path / "store", origin="recording", create=True)
    answer = run("import", "csv", "prices.csv.gz", "--mapping", "acme.toml")
    assert answer.returncode == 2
    assert "live or sample, never both" in answer.stderr


def test_a_folder_of_yours_is_left_alone(run: Run, tmp_path: Path) -> None:
    run("import", "csv", "prices.csv.gz", "--mapping", "acme.toml")
    answer = run("export", "csv", ".")
    assert answer.returncode == 2
    assert "stays as it is" in answer.stderr
    assert (tmp_path / "acme.toml").exists()

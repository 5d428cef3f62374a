"""Deployments: one list, and prefect.yaml says the same."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from flows.deploy import DEPLOYMENTS, Daily, Hourly, absolute
from flows.refresh import Outcome, State, retryable
from schemas.scrape import ERROR_CLASSES

ROOT = Path(__file__).parents[2]


def test_prefect_yaml_holds_the_same_deployments() -> None:
    written = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    assert [one["name"] for one in written] == [one.name for one in DEPLOYMENTS]
    for yaml_one, ours in zip(written, DEPLOYMENTS, strict=True):
        schedules = [(each["cron"], each["timezone"]) for each in yaml_one.get("schedules", [])]
        assert yaml_one["entrypoint"] == f"flows/nightly.py:{ours.function}"
        assert yaml_one["description"] == ours.description
        assert yaml_one["parameters"] == dict(ours.parameters)
        assert schedules == ([(ours.schedule.cron, "UTC")] if ours.schedule else [])
        assert ("concurrency_limit" in yaml_one) is bool(ours.schedule)


@pytest.mark.parametrize(
    ("schedule", "now", "due"),
    [
        (Daily(hour=2, minute=40), "2026-12-01T02:39:59", "2026-12-01T02:40"),
        (Daily(hour=2, minute=40), "2026-12-01T02:40:00", "2026-12-02T02:40"),
        (Daily(hour=2, minute=40), "2026-12-31T09:00:00", "2027-01-01T02:40"),
        (Hourly(minute=7), "2026-12-01T09:06:00", "2026-12-01T09:07"),
        (Hourly(minute=7), "2026-12-01T23:07:00", "2026-12-02T00:07"),
    ],
)
def test_the_next_time(schedule: Any, now: str, due: str) -> None:
    found = schedule.next_after(datetime.fromisoformat(now).replace(tzinfo=UTC))
    assert found == datetime.fromisoformat(due).replace(tzinfo=UTC)


def test_cron_says_the_same_as_the_next_time() -> None:
    assert Daily(hour=2, minute=40).cron == "40 2 * * *"
    assert Hourly(minute=7).cron == "7 * * * *"


def test_a_run_in_another_folder_finds_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert absolute("./data") == str(tmp_path / "data")
    assert absolute("s3://bucket/ledger") == "s3://bucket/ledger"


def gpufare(bare: dict[str, str], *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gpufare", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**bare, **env}, timeout=60)


def test_schedule_lists_without_serving(bare: dict[str, str]) -> None:
    listed = gpufare(bare, "schedule", "--list")
    assert listed.returncode == 0, listed.stderr
    lines = listed.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [one.path for one in DEPLOYMENTS]
    assert "02:40 UTC" in lines[0]
    assert "by hand" in lines[2]


def test_schedule_refuses_a_port_where_another_server_is_named(bare: dict[str, str]) -> None:
    refused = gpufare(bare, "schedule", "--port", "4300", PREFECT_API_URL="http://127.0.0.1:9/api")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "PREFECT_API_URL" in refused.stderr


@pytest.mark.prefect
@pytest.mark.parametrize("command", [["schedule"], ["refresh", "hyperbolic", "--recorded", "2026-11-29-night"]])
def test_a_server_that_does_not_answer_is_one_line(bare: dict[str, str], tmp_path: Path, command: list[str]) -> None:
    env = {"PREFECT_API_URL": "http://127.0.0.1:9/api", "PREFECT_HOME": str(tmp_path)}
    gone = gpufare(bare, "--data", str(tmp_path / "data"), *command, **env)
    assert gone.returncode == 1
    assert "no Prefect server answers at http://127.0.0.1:9/api" in gone.stderr
    assert "Traceback" not in gone.stderr
    assert not (tmp_path / "data").exists()


def test_the_runbook_has_a_row_for_every_error_class_and_deployment() -> None:
    rows = {
        line.split("|")[1].strip(" `") for line in (ROOT / "flows/README.md").read_text().splitlines() if "|" in line
    }
    assert {*ERROR_CLASSES, *get_args(State), *(one.path for one in DEPLOYMENTS)} <= rows


def test_the_runbook_says_what_is_tried_again() -> None:
    for line in (ROOT / "flows/README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and cells[1] in ERROR_CLASSES:
            assert (cells[3] == "yes") is retryable(Outcome("acme", "failed", "", cells[1])), cells[1]

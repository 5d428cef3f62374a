"""The plain refresh: who is asked, who is skipped and why, and that one failure stays with its provider."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.access import refusal, write_enabled
from flows.refresh import Outcome, Task, UnknownRecording, plan, refresh, retryable, threads
from schemas.providers import Provider, provider, providers
from schemas.scrape import ERROR_CLASSES
from storage.lake import Lake, StoreOriginError

FIRST, SECOND = "2026-11-29-night", "2026-11-30-night"
NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)


def planned(*names: str, recorded: str | None = None, **environment: str) -> tuple[list[Task], list[Outcome]]:
    return plan(names or None, recorded=recorded, now=NOW, run_id="run", environment=environment)


def acme(**facts: Any) -> Provider:
    return Provider(slug="acme", title="Acme", homepage="https://acme.example", segment="neocloud", **facts)


# Who is asked.


@pytest.mark.usefixtures("no_keys")
def test_b1_without_keys_every_open_provider_is_asked_and_the_others_say_why_not() -> None:
    tasks, skipped = planned()
    asked = {task.name for task in tasks}
    assert asked >= {"hyperbolic", "lambda", "aws"}
    assert asked | {outcome.name for outcome in skipped} == {n for n, p in providers().items() if p.status == "active"}
    assert asked & {outcome.name for outcome in skipped} == set()
    assert all(outcome.detail for outcome in skipped)
    assert {task.observed_at for task in tasks} == {NOW}


def test_b1_the_missing_keys_are_named() -> None:
    facts = acme(access="key", keys=("ACME_ID", "ACME_SECRET"))
    assert refusal(facts, {}, {}) == "needs ACME_ID, ACME_SECRET"
    assert refusal(facts, {}, {"ACME_ID": "x", "ACME_SECRET": ""}) == "needs ACME_SECRET"
    assert refusal(facts, {}, {"ACME_ID": "x", "ACME_SECRET": "y"}) is None


@pytest.mark.parametrize("status", ["frozen", "retired", "quote_only", "off"])
def test_b1_a_provider_that_is_not_active_says_since_when_or_why(status: Any) -> None:
    assert refusal(acme(status=status, status_reason="its list is gone"), {}, {}) == f"{status}: its list is gone"


@pytest.mark.usefixtures("no_keys")
def test_restricting_terms_need_an_opt_in_or_the_own_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUFARE_CONFIG", str(tmp_path / "enabled.json"))
    assert provider("vast").access == "opt_in"
    tasks, skipped = planned("vast")
    assert not tasks
    assert "gpufare enable vast" in skipped[0].detail
    assert [task.name for task in planned("vast", VAST_API_KEY="mine")[0]] == ["vast"]
    write_enabled({"vast": date(2026, 12, 1).isoformat()})
    assert [task.name for task in planned("vast")[0]] == ["vast"]


def test_a_page_that_needs_a_browser_is_skipped_and_named_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUFARE_CHROMIUM", "/nowhere/chromium")
    tasks, skipped = planned("fpt")
    assert not tasks
    assert "make chromium" in skipped[0].detail


@pytest.mark.usefixtures("no_keys")
def test_a_recording_asks_nobody_and_needs_no_consent(tmp_path: Path) -> None:
    (tmp_path / "vast.har").write_text(
        json.dumps(
            {
                "log": {
                    "version": "1.2",
                    "creator": {"name": "a browser", "version": "1"},
                    "entries": [
                        {
                            "startedDateTime": "2026-11-28T05:00:00Z",
                            "request": {"method": "GET", "url": "https://vast.example/", "headers": []},
                            "response": {
                                "status": 200,
                                "headers": [],
                                "content": {"mimeType": "text/plain", "text": "x"},
                            },
                        }
                    ],
                }
            }
        )
    )
    (task,), skipped = planned("vast", recorded=str(tmp_path))
    assert not skipped
    assert task.observed_at == datetime(2026, 11, 28, 5, tzinfo=UTC)
    assert task.origin == "recording"
    tasks, skipped = planned(recorded=str(tmp_path))
    assert ([task.name for task in tasks], skipped) == (["vast"], [])


@pytest.mark.usefixtures("no_keys")
def test_providers_without_the_recording_are_skipped_and_a_recording_of_none_is_wrong_use() -> None:
    tasks, skipped = planned("hyperbolic", "aws", recorded="2026-11-30-too-many-requests")
    assert [task.name for task in tasks] == ["hyperbolic"]
    assert skipped == [Outcome("aws", "skipped", "no recording 2026-11-30-too-many-requests")]
    with pytest.raises(UnknownRecording, match="2026-11-31-night"):
        planned(recorded="2026-11-31-night")


def test_the_deadline_is_the_providers_own() -> None:
    (task,), _ = planned("hyperbolic")
    assert task.deadline_s == provider("hyperbolic").deadline_s


# What is worth a second try, and who waits for whom.


@pytest.mark.parametrize("error_class", ERROR_CLASSES)
def test_only_what_may_pass_by_itself_is_asked_again(error_class: str) -> None:
    again = {"TimedOut", "NetworkError", "HttpError", "Truncated"}
    assert retryable(Outcome("acme", "failed", "", error_class)) is (error_class in again)


def test_a_quarantined_or_finished_provider_is_not_asked_again() -> None:
    assert not retryable(Outcome("acme", "quarantined", "uniform_shift: 0.42"))
    assert not retryable(Outcome("acme", "done"))


def test_b19_a_slow_provider_holds_one_place_and_no_other() -> None:
    ended: dict[str, float] = {}
    start = time.monotonic()

    def one(task: Task) -> Outcome:
        time.sleep(1.0 if task.name == "slow" else 0.01)
        ended[task.name] = time.monotonic() - start
        return Outcome(task.name, "done")

    tasks = [Task(name, "run", NOW) for name in ("slow", "a", "b", "c", "d")]
    outcomes = threads(2)(one, tasks)
    assert [outcome.name for outcome in outcomes] == ["slow", "a", "b", "c", "d"]
    assert max(ended[name] for name in "abcd") < ended["slow"]


# The whole way, on recorded answers.


@pytest.mark.usefixtures("no_keys")
def test_f04_b2_one_provider_fails_and_the_others_are_new(tmp_path: Path, folder_of: Any) -> None:
    names = ("lambda", "hyperbolic", "verda")
    store = str(tmp_path / "store")
    first = folder_of(tmp_path / "first", dict.fromkeys(names, FIRST))
    second = folder_of(tmp_path / "second", dict.fromkeys(names, SECOND), failing=("hyperbolic",))
    assert refresh(store, names, recorded=str(first)).ok
    summary = refresh(store, names, recorded=str(second))

    assert {outcome.name: outcome.state for outcome in summary.outcomes} == {
        "lambda": "done",
        "hyperbolic": "failed",
        "verda": "done",
    }
    assert not summary.ok
    (failed,) = summary.of("failed")
    assert failed.error_class == "HttpError"
    assert "500" in failed.detail
    lake = Lake.open(store)
    last = {name: lake.last_accepted(name) for name in names}
    days = {name: scrape.observed_at.day for name, scrape in last.items() if scrape}
    assert days == {"lambda": 30, "hyperbolic": 29, "verda": 30}
    moved = lake.query(
        f"SELECT DISTINCT provider FROM {lake.relation('changes')} WHERE observed_at::date = '2026-11-30'"
    )
    assert "hyperbolic" not in moved["provider"].to_pylist()
    attempt = lake.scrapes("hyperbolic")[-1]
    assert (attempt.verdict, attempt.error_class) == ("failed", "HttpError")
    assert list((tmp_path / "store" / "logs").rglob("hyperbolic.log"))


@pytest.mark.usefixtures("no_keys")
def test_the_rates_of_the_night_are_read_where_a_currency_needs_them_and_stored_once(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    assert provider("hyperbolic").currencies == ("USD",)
    assert [one.name for one in refresh(store, ["hyperbolic"], recorded=FIRST).outcomes] == ["hyperbolic"]
    assert provider("scaleway").currencies == ("EUR",)
    for _ in range(2):
        told, scaleway = refresh(store, ["scaleway"], recorded=FIRST).outcomes
        assert (told.name, told.state, told.detail) == ("ecb", "done", "exchange rates")
        assert scaleway.state == "done", scaleway
    lake = Lake.open(store)
    rates = lake.rates()
    assert {"USD", "GBP"} <= {rate.currency for rate in rates}
    assert {rate.base for rate in rates} == {"EUR"}
    assert told.offers == len(rates)
    rows = lake.snapshot(lake.visible("scaleway")[0].scrape_id)
    assert set(rows["currency"].to_pylist()) == {"EUR"}
    assert None not in rows["usd_per_hour"].to_pylist()
    assert None not in rows["rate_date"].to_pylist()


@pytest.mark.usefixtures("no_keys")
def test_when_a_run_was_due_is_kept_with_its_scrapes(tmp_path: Path) -> None:
    due = datetime(2026, 11, 29, 2, 40, tzinfo=UTC)
    summary = refresh(str(tmp_path / "store"), ["hyperbolic"], recorded=FIRST, scheduled_at=due)
    (scrape,) = Lake.open(str(tmp_path / "store")).scrapes("hyperbolic")
    assert scrape.scheduled_at == due
    assert scrape.run_id == summary.run_id
    assert abs(scrape.recorded_at - datetime.now(UTC)) < timedelta(minutes=2)


@pytest.mark.usefixtures("no_keys")
def test_a_deadline_too_short_is_a_timeout_and_ends_the_run_in_order(tmp_path: Path) -> None:
    summary = refresh(str(tmp_path / "store"), ["hyperbolic"], recorded="2026-11-30-night", deadline_s=0.05)
    (failed,) = summary.of("failed")
    assert failed.error_class == "TimedOut"
    assert retryable(failed)


@pytest.mark.usefixtures("no_keys")
def test_recordings_never_enter_a_live_store(tmp_path: Path) -> None:
    Lake.open(str(tmp_path / "store"), origin="live", create=True)
    with pytest.raises(StoreOriginError):
        refresh(str(tmp_path / "store"), ["hyperbolic"], recorded=FIRST)


def gpufare(bare: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own; says on its last line whether Prefect was imported."""
    code = (
        "import atexit, sys; from gpufare.cli import main;"
        "atexit.register(lambda: print('prefect' if 'prefect' in sys.modules else 'plain'));"
        f"main({list(arguments)!r})"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=bare, timeout=120)


def test_b1_the_command_exits_0_when_all_that_could_run_passed(tmp_path: Path, bare: Any, folder_of: Any) -> None:
    env = {**bare, "GPUFARE_CONFIG": str(tmp_path / "none.json")}
    night = folder_of(tmp_path / "night", {"hyperbolic": FIRST})
    ran = gpufare(env, "--data", str(tmp_path / "store"), "refresh", "--recorded", str(night))
    assert ran.returncode == 0, ran.stderr
    assert "1 done, 0 skipped, 0 failed, 0 quarantined" in ran.stderr
    assert ran.stdout.split() == ["plain"]


def test_b1_the_command_exits_1_and_names_what_failed(tmp_path: Path, bare: Any) -> None:
    case = "2026-11-30-too-many-requests"
    ran = gpufare(bare, "--data", str(tmp_path / "store"), "refresh", "hyperbolic", "--recorded", case)
    assert ran.returncode == 1
    assert "hyperbolic" in ran.stderr
    assert "Blocked: " in ran.stderr
    assert "gpufare status" in ran.stderr

"""The flows on a real Prefect server: `gpufare schedule` starts it, its API triggers runs, TERM ends it all."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from flows.deploy import DEPLOYMENTS
from storage.lake import Lake

pytestmark = pytest.mark.prefect

FIRST, SECOND = "2026-11-29-night", "2026-11-30-night"
START_S, RUN_S = 180, 240


@dataclass
class Served:
    """A running `gpufare schedule`."""

    process: subprocess.Popen[bytes]
    log: Path
    store: Path
    env: dict[str, str]
    port: int = 0

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def api(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            payload = None if body is None else json.dumps(body)
            connection.request(method, f"/api{path}", payload, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            read = answer.read()
            assert answer.status < 400, (answer.status, path, read[:500])
            return json.loads(read)
        finally:
            connection.close()

    def run(self, deployment: str, **parameters: Any) -> dict[str, Any]:
        """Trigger a deployment and wait for the run's end."""
        found = self.api("GET", f"/deployments/name/{deployment}")
        begun = self.api("POST", f"/deployments/{found['id']}/create_flow_run", {"parameters": parameters})
        return self.ended(begun["id"])

    def ended(self, run_id: str) -> dict[str, Any]:
        def final() -> dict[str, Any] | None:
            run: dict[str, Any] = self.api("GET", f"/flow_runs/{run_id}")
            return run if run["state"]["type"] in {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"} else None

        return until(final, RUN_S, self.said)

    def tasks(self, run: dict[str, Any]) -> list[dict[str, Any]]:
        """Its task runs; Prefect tells of them by events, a moment later."""

        def listed() -> list[dict[str, Any]] | None:
            wanted = {"flow_runs": {"id": {"any_": [run["id"]]}}}
            found: list[dict[str, Any]] = self.api("POST", "/task_runs/filter", wanted)
            return found if found and all(one["state"]["type"] in {"COMPLETED", "FAILED"} for one in found) else None

        return until(listed, 30, self.said)


def until(found: Callable[[], Any], seconds: float, said: Callable[[], str]) -> Any:
    """What `found` gives once it gives something."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if (value := found()) is not None:
            return value
        time.sleep(0.2)
    raise AssertionError(f"nothing after {seconds} s:\n{said()}")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, bare: dict[str, str]) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("prefect")
    env = {
        **bare,
        "PREFECT_HOME": str(folder / "home"),
        "PREFECT_RUNNER_POLL_FREQUENCY": "1",
        "GPUFARE_CONFIG": str(folder / "enabled.json"),
        "PYTHONUNBUFFERED": "1",
    }
    log, store = folder / "schedule.log", folder / "store"
    # A sample store from the start: should a schedule come due meanwhile, that run is refused before it asks anybody.
    Lake.open(str(store), origin="recording", create=True)
    with log.open("wb") as sink:
        command = [sys.executable, "-m", "gpufare", "--data", str(store), "schedule"]
        process = subprocess.Popen(command, env=env, stdout=sink, stderr=sink, cwd=folder, start_new_session=True)
    here = Served(process, log, store, env)
    try:
        here.port = int(until(lambda: re.search(r"127\.0\.0\.1:(\d+)", here.said()), START_S, here.said)[1])
        until(lambda: served_all(here), START_S, here.said)
        yield here
    finally:
        for left in [*children(process), process.pid]:
            if psutil.pid_exists(left):
                os.kill(left, signal.SIGKILL)
        process.wait()


def served_all(here: Served) -> bool | None:
    assert here.process.poll() is None, here.said()
    try:
        names = {one["name"] for one in here.api("POST", "/deployments/filter", {})}
    except (OSError, http.client.HTTPException):
        return None
    return True if names == {one.name for one in DEPLOYMENTS} else None


def children(process: subprocess.Popen[bytes]) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def test_the_deployments_are_served_with_their_schedules(served: Served) -> None:
    told = {one["name"]: one for one in served.api("POST", "/deployments/filter", {})}
    for ours in DEPLOYMENTS:
        crons = [(one["schedule"]["cron"], one["schedule"]["timezone"]) for one in told[ours.name]["schedules"]]
        assert crons == ([(ours.schedule.cron, "UTC")] if ours.schedule else [])
        assert told[ours.name]["parameters"] == {"store": str(served.store), "jobs": 2, **ours.parameters}
        assert not told[ours.name]["paused"]
        assert told[ours.name]["entrypoint"] == f"flows.nightly.{ours.function}"
    assert f"Prefect at http://127.0.0.1:{served.port}" in served.said()


def test_w01_a_run_through_the_api_leaves_a_snapshot_and_so_does_the_second_in_the_same_worker(served: Served) -> None:
    run = served.run("refresh/by-hand", providers=["hyperbolic"], recorded=FIRST)
    assert run["state"]["type"] == "COMPLETED", (run["state"], served.said())
    assert "0 failed, 0 quarantined" in run["state"]["message"]
    lake = Lake.open(str(served.store))
    (scrape,) = lake.visible("hyperbolic")
    assert scrape.observed_at.day == 29
    assert scrape.scheduled_at is not None
    assert lake.snapshot(scrape.scrape_id).num_rows == scrape.offers > 0
    (task,) = served.tasks(run)
    assert task["name"] == "refresh hyperbolic"
    assert task["tags"] == ["gpufare-provider"]

    again = served.run("refresh/by-hand", providers=["hyperbolic"], recorded=SECOND)
    assert again["state"]["type"] == "COMPLETED", (again["state"], served.said())
    lake.refresh()
    newest, oldest = lake.visible("hyperbolic")
    assert (newest.observed_at.day, oldest.observed_at.day) == (30, 29)
    assert newest.run_id != oldest.run_id
    moved = lake.query(f"SELECT scrape_id FROM {lake.relation('changes')}")["scrape_id"].to_pylist()
    assert set(moved) == {newest.scrape_id}


def test_the_command_line_runs_the_same_flow_where_a_server_is_named(served: Served, tmp_path: Path) -> None:
    env = {**served.env, "PREFECT_API_URL": f"http://127.0.0.1:{served.port}/api"}
    store = tmp_path / "store"
    ran = subprocess.run(
        [sys.executable, "-m", "gpufare", "--data", str(store), "refresh", "hyperbolic", "--recorded", FIRST],
        env=env,
        capture_output=True,
        text=True,
        timeout=RUN_S,
    )
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"hyperbolic +done", ran.stderr)
    assert "0 skipped, 0 failed, 0 quarantined" in ran.stderr
    runs = served.api("POST", "/flow_runs/filter", {"flow_runs": {"state": {"type": {"any_": ["COMPLETED"]}}}})
    assert len([run for run in runs if run["parameters"].get("store") == str(store)]) == 1
    assert len(Lake.open(str(store)).visible("hyperbolic")) == 1


SPREAD = """
import json, sys, threading, time
from datetime import UTC, datetime
from flows import nightly
from flows.refresh import Outcome, Task, refresh
from prefect import flow, get_client

folder, store = sys.argv[1:]
told = {}

@flow(name="retries")
def retries(*names):
    summary = refresh(store, names, recorded=folder, spread=nightly.prefect_tasks(2, 0.2))
    told[threading.current_thread().name] = {outcome.name: outcome.state for outcome in summary.outcomes}

@flow(name="places")
def places(jobs, **seconds):
    spans, start = {}, time.monotonic()
    def one(task):
        begun = time.monotonic() - start
        time.sleep(seconds[task.name])
        spans[task.name] = begun, time.monotonic() - start
        return Outcome(task.name, "failed", "", "TimedOut") if task.name == "failing" else Outcome(task.name, "done")
    nightly.prefect_tasks(jobs, 0.2)(one, [Task(name, "run", datetime.now(UTC)) for name in seconds])
    return spans

retries("hyperbolic", "verda")
thread = threading.Thread(target=retries, args=("verda",), name="another")
thread.start()
thread.join()
told["places"] = places(2, slow=4.0, a=0.01, failing=0.01, b=0.01, c=0.01)
with get_client(sync_client=True) as client:
    client.upsert_global_concurrency_limit_by_name(nightly.LIMIT, 1)
told["limited"] = places(2, a=0.5, b=0.5)
case = "2026-11-30-too-many-requests"
state = nightly.refresh_flow(store + "-2", providers=["hyperbolic"], recorded=case, return_state=True)
told["refused"] = str(state.state_details.flow_run_id)
told["unknown"] = nightly.refresh_flow(store, providers=["hyperbolik"], return_state=True).message
print(json.dumps(told))
"""


def test_b19_w02_retries_threads_places_and_limits(served: Served, tmp_path: Path, folder_of: Any) -> None:
    night = folder_of(tmp_path / "night", {"hyperbolic": FIRST, "verda": FIRST}, failing=("hyperbolic",))
    env = {**served.env, "PREFECT_API_URL": f"http://127.0.0.1:{served.port}/api"}
    command = [sys.executable, "-c", SPREAD, str(night), str(tmp_path / "store")]
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=RUN_S)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["MainThread"] == {"hyperbolic": "failed", "verda": "done"}
    assert told["another"] == {"verda": "done"}
    attempts = Lake.open(str(tmp_path / "store")).scrapes("hyperbolic")
    assert [one.error_class for one in attempts] == ["HttpError"] * 3, "one attempt and two more"
    spans = told["places"]
    assert max(spans[name][1] for name in ("a", "b", "c", "failing")) < spans["slow"][1]
    (_, first_end), (second_start, _) = sorted(told["limited"].values())
    assert first_end <= second_start, "the limit of one over all runs was not honoured"
    assert "did you mean 'hyperbolic'?" in told["unknown"]
    refused = served.ended(told["refused"])
    assert refused["state"]["type"] == "FAILED"
    assert "1 failed (hyperbolic Blocked)" in refused["state"]["message"]
    (task,) = served.tasks(refused)
    assert task["run_count"] == 1, "who refuses is not asked again"
    assert task["state"]["message"].startswith("Blocked: ")


def test_term_ends_the_runs_the_server_and_leaves_nothing(served: Served) -> None:
    left = children(served.process)
    assert left, "the server is a child"
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(60) == 0, served.said()
    assert served.said().splitlines()[-1] == "ended"
    assert not [pid for pid in left if psutil.pid_exists(pid)]
    marked = [
        p.info["pid"] for p in psutil.process_iter(["pid", "cmdline"]) if str(served.store) in str(p.info["cmdline"])
    ]
    assert not marked

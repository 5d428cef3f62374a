"""A run that is killed anywhere leaves a whole store: nothing half visible, and the next refresh works."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from flows.refresh import refresh
from storage.lake import Lake
from storage.verify import verify

HERE = Path(__file__).parent
FIRST, SECOND = "2026-11-29-night", "2026-11-30-night"
PROVIDER = "hyperbolic"
# Each phase once or twice, at a place in it: milliseconds from its beginning. `make chaos` kills by the hundred, and
# compactions, replays and imports too; here the whole command starts and dies as a user's would.
KILLS = [
    *(("crawling", delay) for delay in (0, 600)),
    ("recording", 0.3),
    ("normalising", 0.5),
    *(("snapshot", delay) for delay in (0, 3)),
    ("snapshot-written", 0),
    ("changes", 3),
    ("changes-written", 0),
    ("pointer", 3),
    ("pointer-written", 0),
]


@pytest.fixture(scope="module")
def first_night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("first") / "store"
    assert refresh(str(store), [PROVIDER], recorded=FIRST).ok
    return store


def run(store: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(HERE / "kill_at.py"), str(store), *arguments],
        cwd=HERE.parent,
        env={**os.environ, "PYTHONPATH": str(HERE.parent)},
        capture_output=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(("phase", "delay"), KILLS, ids=str)
def test_killed(first_night: Path, tmp_path: Path, phase: str, delay: float) -> None:
    store = tmp_path / "store"
    shutil.copytree(first_night, store)
    killed = run(store, SECOND, phase, str(delay), PROVIDER)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()[-400:]
    left = [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or [])]
    assert not left
    report = verify(Lake.open(store))
    assert report.whole, report.lines()
    lake = Lake.open(store)
    for scrape in lake.visible():
        assert lake.snapshot(scrape.scrape_id).num_rows == scrape.offers > 0
    days = {scrape.observed_at.day for scrape in lake.visible()}
    assert days in ({29}, {29, 30})
    again = refresh(str(store), [PROVIDER], recorded=SECOND)
    assert again.ok
    lake = Lake.open(store)
    assert {scrape.observed_at.day for scrape in lake.visible()} == {29, 30}
    assert verify(lake).whole


def test_two_refreshes_at_once_both_land_and_nothing_is_doubled(first_night: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(first_night, store)
    command = [sys.executable, "-m", "gpufare", "--data", str(store), "refresh", "--recorded", SECOND]
    running = [
        subprocess.Popen([*command, *names], cwd=HERE.parent, stderr=subprocess.PIPE)
        for names in (["hyperbolic", "lambda"], ["verda", "scaleway", "hyperbolic"])
    ]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
    lake = Lake.open(store)
    assert verify(lake).whole
    second = [scrape for scrape in lake.visible() if scrape.observed_at.day == 30]
    assert sorted(scrape.provider for scrape in second) == ["hyperbolic", "lambda", "scaleway", "verda"]

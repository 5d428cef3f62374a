"""Two recorded nights through the command line, as `make demo` runs them; and a third that only looks different."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from flows.refresh import refresh
from spiders.shared import har
from spiders.shared.source import RECORDED
from storage.lake import Lake
from storage.verify import verify

ROOT = Path(__file__).parents[1]
SECOND = "2026-11-30-night"
# A dozen of all: every kind of trouble and of news, browser, keys and rates; `make demo` runs them all.
SHOWN = (
    *("coreweave", "nebius", "vultr", "vast", "fpt", "hyperbolic", "scaleway", "verda", "voltagepark", "shadeform"),
    *("gpuai", "aws", "linode"),
)
SHUFFLED = ("hyperbolic", "oci", "azure", "scaleway", "verda", "vast", "aws")


def gpufare(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpufare", "--data", str(store), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    store = tmp_path_factory.mktemp("demo") / "demo"
    return store, gpufare(Path("unused"), "demo", *SHOWN, "--into", str(store))


def rows(store: Path, *arguments: str) -> list[dict[str, Any]]:
    done = gpufare(store, *arguments, "-o", "json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["rows"]
    return found


def test_demo_tells_both_nights_then_offers_then_changes(demo: tuple[Path, Any]) -> None:
    _, done = demo
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    first, second = done.stderr.split(SECOND)
    assert "0 failed, 0 quarantined" in first
    lines = {line.split()[0]: line for line in second.splitlines() if line.strip()}
    assert "failed" in lines["coreweave"]
    assert "Blocked" in lines["coreweave"]
    assert "quarantined" in lines["nebius"]
    assert "uniform_shift" in lines["nebius"]
    assert "count_drop" in lines["vultr"]
    assert "done" in lines["vast"]  # a recording asks nobody, so terms restrict nothing
    assert done.stdout.count("SAMPLE, not market prices") == 2
    assert done.stderr.count("SAMPLE") >= 2


def test_the_store_is_whole(demo: tuple[Path, Any]) -> None:
    assert verify(Lake.open(demo[0])).whole


def test_every_kind_of_news_of_the_second_night_is_told(demo: tuple[Path, Any]) -> None:
    kinds = {row["kind"] for row in rows(demo[0], "changes", "--all")}
    assert kinds == {"added", "removed", "price_up", "price_down", "available", "sold_out", "changed"}


def test_C07_failed_and_quarantined_providers_lose_nothing(demo: tuple[Path, Any]) -> None:
    moved = {row["provider"] for row in rows(demo[0], "changes", "--all")}
    assert not moved & {"coreweave", "nebius", "vultr"}


def test_B02_their_last_good_rows_remain_and_show_their_age(demo: tuple[Path, Any]) -> None:
    found = rows(demo[0], "offers", "--provider", "coreweave,nebius,vultr", "--purchase", "all", "--limit", "500")
    assert {row["provider"] for row in found} == {"coreweave", "nebius", "vultr"}
    assert all(row["observed_at"].startswith("2026-11-29") for row in found)
    assert all(row["carried_forward"] for row in found)


def test_B06_review_says_why_and_releases(demo: tuple[Path, Any], tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(demo[0], store)
    why = gpufare(store, "review", "nebius")
    assert "uniform_shift" in why.stdout
    assert "1.16" in why.stdout
    released = gpufare(store, "review", "nebius", "--accept", "--note", "they bill in another currency now")
    assert released.returncode == 0, released.stderr
    found = rows(store, "offers", "--provider", "nebius", "--purchase", "all")
    assert all(row["observed_at"].startswith("2026-11-30") for row in found)
    assert {row["kind"] for row in rows(store, "changes", "--all", "--provider", "nebius")} == {"price_up"}
    assert verify(Lake.open(store)).whole


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same JSON with every list and mapping in another order."""
    if isinstance(value, list):
        items = [shuffled(item, chance) for item in value]
        chance.shuffle(items)
        return items
    if isinstance(value, dict):
        pairs = [(key, shuffled(item, chance)) for key, item in value.items()]
        chance.shuffle(pairs)
        return dict(pairs)
    return value


def renumbered(value: Any) -> Any:
    """The same listings under other numbers."""
    if isinstance(value, list):
        return [renumbered(item) for item in value]
    if isinstance(value, dict):
        ids = {"id", "ask_contract_id", "bundle_id", "rn"}
        return {k: v + 1_000_000 if k in ids and isinstance(v, int) else renumbered(v) for k, v in value.items()}
    return value


def next_night(name: str, into: Path) -> None:
    """The second night's answers a day later, shuffled and renumbered; the exchange rates moved."""
    recorded = har.read(RECORDED / name / SECOND / "answers.har")
    chance = random.Random(7)
    entries = []
    for entry in recorded.entries:
        body = entry.body
        if name == "ecb":
            body = (
                body.replace(b"2026-11-30", b"2026-12-01")
                .replace(b"rate='1.", b"rate='1.0")
                .replace(b'rate="1.', b'rate="1.0')
            )
        elif "json" in entry.mime:
            answer = json.loads(body)
            # Vast.ai is asked for rising prices, so its order is part of the answer; its numbers are not.
            body = json.dumps(renumbered(answer) if name == "vast" else shuffled(answer, chance)).encode()
        started = entry.started + timedelta(days=1) if entry.started else None
        entries.append(
            har.Entry(**{**{f: getattr(entry, f) for f in entry.__slots__}, "content": body, "started": started})
        )
    har.write(into / f"{name}.har", entries)


def test_shuffled_renumbered_and_a_moved_exchange_rate_are_no_change(tmp_path: Path) -> None:
    answers, store = tmp_path / "answers", str(tmp_path / "store")
    for name in (*SHUFFLED, "ecb"):
        next_night(name, answers)
    assert refresh(store, list(SHUFFLED), recorded=SECOND).ok
    before = {row["offer_key"]: row for row in rows(Path(store), "offers", "--provider", "scaleway", "--limit", "500")}
    again = refresh(store, list(SHUFFLED), recorded=str(answers))
    assert again.ok, [outcome for outcome in again.outcomes if outcome.state != "done"]
    assert {outcome.name: outcome.changes for outcome in again.outcomes if outcome.changes} == {}
    assert rows(Path(store), "changes", "--all") == []
    after = {row["offer_key"]: row for row in rows(Path(store), "offers", "--provider", "scaleway", "--limit", "500")}
    assert before.keys() == after.keys()
    assert all(after[key]["usd_per_hour"] != before[key]["usd_per_hour"] for key in before)

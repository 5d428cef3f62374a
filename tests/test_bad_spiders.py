"""Spiders that break, hang or spin are ended and named; the others, and the store, never notice."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from storage.lake import Lake
from storage.verify import verify

ROOT = Path(__file__).parents[1]
PACKAGES = ("gpufare", "flows", "table", "planner", "spiders", "storage", "schemas")
DEADLINE_S = 12

BROKEN = """
raise RuntimeError("this module cannot be imported")
"""
SPIDER = '''
"""A spider that {what}."""
from spiders.shared.base import ProviderSpider


class OddSpider(ProviderSpider):
    name = "{name}"
    start_urls = ["{url}"]

    def reader(self, url):
        return self.parse

    def parse(self, response):
        {body}
'''
SPINNING = """
    async def start(self):
        while True:
            pass
        yield None
"""
FACTS = """
[{name}]
title = "{name}"
homepage = "http://127.0.0.1"
segment = "neocloud"
deadline_s = {deadline}
"""


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Takes a connection and never answers."""
    server = socket.create_server(("127.0.0.1", 0))
    held: list[socket.socket] = []

    def take() -> None:
        while True:
            try:
                held.append(server.accept()[0])
            except OSError:
                return

    threading.Thread(target=take, daemon=True).start()
    yield f"http://127.0.0.1:{server.getsockname()[1]}/prices"
    server.close()
    for connection in held:
        connection.close()


@pytest.fixture
def tree(tmp_path: Path, silent_server: str) -> Path:
    """A copy of the product with three bad spiders in it, and recordings for two of the good ones."""
    root = tmp_path / "tree"
    for package in PACKAGES:
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "spiders" / "broken.py").write_text(BROKEN)
    (root / "spiders" / "hang.py").write_text(
        SPIDER.format(name="hang", url=silent_server, what="waits for ever", body="yield self.batch(response, [])")
    )
    spin = SPIDER.format(name="spin", url=silent_server, what="spins", body="yield self.batch(response, [])")
    (root / "spiders" / "spin.py").write_text(spin + SPINNING)
    facts = root / "schemas" / "providers.toml"
    added = [FACTS.format(name=name, deadline=DEADLINE_S) for name in ("broken", "hang", "spin")]
    facts.write_text(facts.read_text() + "".join(added))
    return root


def run(tree: Path, store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpufare", "--data", str(store), *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree), "MARK_OF_THIS_TEST": str(tree)},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def left_behind(tree: Path) -> list[str]:
    """Command lines of processes that still carry this test's mark in their environment."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("MARK_OF_THIS_TEST") == str(tree):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found


def test_a_module_that_cannot_be_imported_changes_nothing_for_the_others(tree: Path, tmp_path: Path) -> None:
    done = run(tree, tmp_path / "store", "refresh", "hyperbolic", "oci", "--recorded", "2026-11-29-night")
    assert done.returncode == 0, done.stderr
    lake = Lake.open(tmp_path / "store")
    assert sorted(scrape.provider for scrape in lake.visible()) == ["hyperbolic", "oci"]


def test_broken_hanging_and_spinning_spiders_are_ended_and_named(tree: Path, tmp_path: Path) -> None:
    done = run(tree, tmp_path / "store", "refresh", "broken", "hang", "spin", "--jobs", "3")
    assert done.returncode == 1
    lines = {line.split()[0]: line for line in done.stderr.splitlines() if line.strip()}
    assert "SpiderError" in lines["broken"]
    assert "broken.py" in lines["broken"]
    assert "TimedOut" in lines["hang"]
    assert "TimedOut" in lines["spin"]
    assert "Traceback" not in done.stderr
    assert not left_behind(tree)
    lake = Lake.open(tmp_path / "store")
    assert {scrape.provider: scrape.verdict for scrape in lake.scrapes()} == dict.fromkeys(
        ("broken", "hang", "spin"), "failed"
    )
    assert verify(lake).whole

"""Ending every process of a crawl, also those that left its session: Chromium starts in one of its own.

Linux shows in /proc which environment a process was started with and whose child it is; elsewhere only the group of the
child is ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
import uuid
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "GPUFARE_CRAWL"
ROUNDS = 20
PAUSE_S = 0.05


def mark_of(env: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """A mark that no other crawl has, and the environment that bears it to every process below."""
    mark = uuid.uuid4().hex
    return mark, {**env, VARIABLE: mark}


def end_all(mark: str) -> None:
    """KILL all that bear the mark with their descendants, until none is left."""
    for _ in range(ROUNDS):
        left = marked(mark)
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE_S)


def marked(mark: str) -> set[int]:
    """The running processes that were started with the mark, and all below them."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    needle = f"{VARIABLE}={mark}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            stat = (folder / "stat").read_bytes()
            state, parent = stat[stat.rindex(b")") + 2 :].split()[:2]
            if state in {b"Z", b"X"}:
                continue
            parents[int(folder.name)] = int(parent)
            if needle in (folder / "environ").read_bytes():
                found.add(int(folder.name))
    grown = True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in found} - found
        found |= below
        grown = bool(below)
    return found - {os.getpid()}

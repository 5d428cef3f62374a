"""Where a command can be killed, and the killing: `kill_at.py STORE NIGHT PHASE DELAY_MS PROVIDER` kills a refresh.

The points are set from outside by wrapping functions of the product; the product knows nothing of them. A delay counts
from the moment the phase begins, so that repeated kills fall at different places in it.
"""

from __future__ import annotations

import functools
import importlib
import mmap
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import storage.compaction
import storage.imports
from flows import refresh as flow
from flows import replay as replaying
from flows import take_in
from storage import gate, recordings, review
from storage.delta import LedgerTable
from storage.lake import Lake

taking = importlib.import_module("storage.imports.take")


@dataclass(frozen=True)
class Point:
    """A phase of a command: it begins when the function is called, or when it has returned (`end`)."""

    owner: Any
    name: str
    when: str = "begin"


COMMIT = {
    "snapshot": Point(Lake, "append_snapshot"),
    "snapshot-written": Point(Lake, "append_snapshot", "end"),
    "changes": Point(Lake, "append_changes"),
    "changes-written": Point(Lake, "append_changes", "end"),
    "pointer": Point(Lake, "append_scrape"),
    "pointer-written": Point(Lake, "append_scrape", "end"),
}
POINTS: dict[str, dict[str, Point]] = {
    "create": {
        "creating": Point(LedgerTable, "create"),
        "created": Point(LedgerTable, "create", "end"),
    },
    "refresh": {
        "crawling": Point(flow, "crawl"),
        "recording": Point(recordings, "keep"),
        "recorded": Point(recordings, "keep", "end"),
        "normalising": Point(take_in, "normalise"),
        "judging": Point(gate, "judge"),
        "comparing": Point(review, "changes_of"),
        **COMMIT,
        "tidying": Point(Lake, "tidy"),
        "tidied": Point(Lake, "tidy", "end"),
    },
    "compact": {
        "month": Point(storage.compaction, "_rewrite"),
        "sorting": Point(storage.compaction, "_sorted"),
        "writing": Point(storage.compaction, "_sorted", "end"),  # rows flow into the new file from here on
        "month-done": Point(storage.compaction, "_rewrite", "end"),
        "gathering": Point(LedgerTable, "gather"),
        "gathered": Point(LedgerTable, "gather", "end"),
    },
    "sweep": {"sweeping": Point(LedgerTable, "opened", "end")},  # the old files of a table go from here on
    "replay": {
        "unpacking": Point(replaying, "_unpacked"),
        "crawling": Point(replaying, "replay_all"),
        "restating": Point(replaying, "_restate"),
        "judging": Point(gate, "judge"),
        "comparing": Point(review, "changes_of"),
        **COMMIT,
    },
    "import": {
        "reading": Point(storage.imports, "read_plain"),
        "normalising": Point(taking, "normalise"),
        "judging": Point(taking, "judge"),
        "comparing": Point(taking, "compare"),
        **COMMIT,
    },
}
START, END = "starting", "ended"


class Progress:
    """How far a command is, in memory shared with whoever forked it: the phase, and how many pointers landed."""

    def __init__(self, command: str) -> None:
        self.phases = [START, *POINTS[command], END]
        self._shared = mmap.mmap(-1, 2)

    @property
    def phase(self) -> str:
        return self.phases[self._shared[0]]

    @phase.setter
    def phase(self, name: str) -> None:
        self._shared[0] = self.phases.index(name)

    @property
    def pointers(self) -> int:
        return self._shared[1]

    @pointers.setter
    def pointers(self, number: int) -> None:
        self._shared[1] = number


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(seconds: float) -> None:
    def wait() -> None:
        time.sleep(seconds)
        die()

    threading.Thread(target=wait, daemon=True).start()


def watch(
    command: str, progress: Progress, phase: str | None = None, delay_s: float = 0, call: int = 1
) -> Counter[str]:
    """Tell the progress of a command of this process. With a phase, be killed so long after it began the n-th time.

    Gives how often each phase began, kept up to date.
    """
    seen = Counter[str]()

    def enter(name: str) -> None:
        progress.phase = name
        progress.pointers += name == "pointer-written"
        seen[name] += 1
        if name == phase and seen[name] == call:
            die_after(delay_s) if delay_s else die()

    for name, point in POINTS[command].items():
        setattr(point.owner, point.name, _told(getattr(point.owner, point.name), name, point.when, enter))
    return seen


def _told(real: Callable[..., Any], name: str, when: str, enter: Callable[[str], None]) -> Callable[..., Any]:
    @functools.wraps(real)
    def call(*args: Any, **kwargs: Any) -> Any:
        if when == "begin":
            enter(name)
        result = real(*args, **kwargs)
        if when == "end":
            enter(name)
        return result

    return call


def main() -> None:
    store, night, phase, delay_ms, provider = sys.argv[1:]
    watch("refresh", Progress("refresh"), phase, float(delay_ms) / 1000)
    flow.refresh(store, [provider], recorded=night)
    die()  # the phase was shorter than the delay, or never came


if __name__ == "__main__":
    main()

"""Run a refresh and kill its process at a chosen point: `kill_at.py STORE NIGHT PHASE DELAY_MS PROVIDER`.

The points are set from outside by wrapping functions of the product; the product knows nothing of them. DELAY_MS counts
from the moment the phase begins, so that repeated kills fall at different places in it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from flows import refresh as flow
from flows import take_in
from storage.lake import Lake

# Phase: (where the function lies, its name, kill when it begins or when it has returned).
PHASES: dict[str, tuple[Any, str, str]] = {
    "crawling": (flow, "crawl", "begin"),
    "normalising": (take_in, "normalise", "begin"),
    "snapshot": (Lake, "append_snapshot", "begin"),
    "snapshot-written": (Lake, "append_snapshot", "end"),
    "changes": (Lake, "append_changes", "begin"),
    "changes-written": (Lake, "append_changes", "end"),
    "pointer": (Lake, "append_scrape", "begin"),
    "pointer-written": (Lake, "append_scrape", "end"),
}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(seconds: float) -> None:
    def wait() -> None:
        time.sleep(seconds)
        die()

    threading.Thread(target=wait, daemon=True).start()


def wrapped(original: Callable[..., Any], when: str, delay: float, provider: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if original.__name__ == "crawl" and args[0] != provider:
            return original(*args, **kwargs)
        if when == "begin":
            die_after(delay) if delay else die()
        result = original(*args, **kwargs)
        if when == "begin":
            time.sleep(delay)  # the phase was shorter than the delay: die at its end
        die()
        return result

    return call


def main() -> None:
    store, night, phase, delay_ms, provider = sys.argv[1:]
    where, name, when = PHASES[phase]
    setattr(where, name, wrapped(getattr(where, name), when, float(delay_ms) / 1000, provider))
    flow.refresh(store, [provider], recorded=night)


if __name__ == "__main__":
    main()

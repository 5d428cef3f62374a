"""Kills and faults over real stores: `make chaos`, or `python tests/chaos.py --minutes 8 --seed 1`.

Each fault falls on a copy of a store. Afterwards `verify` must call it whole, or name what is damaged and what mends
it; every answer must be that of an undisturbed store (or be refused with one line), and after the next run of the same
command the store must hold all that was accepted. Ends with a count by kind and phase; exit 1 where one is wrong, or
where the time was too short for 200 kills, 30 each of refresh, compact, replay and import.

A killed command is a real process over a real store. It is forked from one that has loaded everything and opened
nothing, so that a fault costs its own work and no start of an interpreter.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import chaos_disk as disk  # noqa: E402
import chaos_faults as faults  # noqa: E402
from chaos_faults import Fault  # noqa: E402
from chaos_fork import Ended, begin, end  # noqa: E402
from chaos_stores import Stores, warm  # noqa: E402
from kill_at import POINTS  # noqa: E402

LONGEST_CASE_S = 180
KILLS = 200
KILLS_EACH = {"refresh": 30, "compact": 30, "replay": 30, "import": 30}
CASES: dict[str, Callable[[Stores, random.Random], list[Fault]]] = {
    **{f"kill {command}": partial(faults.kill, command=command) for command in POINTS},
    "two writers": faults.two_writers,
    "two refreshes": faults.two_refreshes,
    "old reader": faults.old_reader,
    "clock": faults.clock,
    "schema": faults.schema,
    "disk full": disk.disk_full,
    "file limit": disk.file_limit,
    "read-only": disk.read_only,
    "damage": disk.damage,
    "recording": disk.recording,
}  # fmt: skip
KILLED = ("kill refresh", "kill compact", "kill replay", "kill import")
ROUND = (
    *KILLED, "damage", "disk full", "clock", *KILLED, "damage", "schema", "two writers", *KILLED, "damage",
    "kill create", *KILLED, "disk full", "two refreshes", "kill sweep", *KILLED, "damage", "file limit",
    *KILLED, "damage", "recording", *KILLED, "damage", "read-only", "old reader",
)  # fmt: skip


@dataclass
class Lane:
    """A case that runs in a process of its own."""

    number: int
    pid: int
    pipe: int
    began: float

    def done(self) -> list[Fault]:
        """Its faults; a case that broke off, or was ended for taking too long, is a fault of its own."""
        try:
            found: list[Fault] = end(self.pid, self.pipe)
        except Ended as error:
            found = [Fault(name_of(self.number), False, False, False, False, f"broke off: {error}")]
        for fault in found:
            fault.why = f"case {self.number}: {fault.why}"
        return found


def name_of(number: int) -> str:
    return ROUND[number % len(ROUND)]


def case(stores: Stores, seed: int, number: int) -> list[Fault]:
    """One case; everything in it that is random comes out of the seed and its number."""
    os.setsid()
    return CASES[name_of(number)](stores, random.Random(f"{seed} {number}"))


def run(stores: Stores, seed: int, until: float) -> list[Fault]:
    """Case after case, one for each core at a time, until the time is over."""
    found: list[Fault] = []
    lanes: dict[int, Lane] = {}
    number, told = 0, time.monotonic()
    try:
        while lanes or time.monotonic() < until:
            while len(lanes) < (os.cpu_count() or 1) and time.monotonic() < until:
                pid, pipe = begin(case, stores, seed, number)
                lanes[pipe] = Lane(number, pid, pipe, time.monotonic())
                number += 1
            for pipe in select.select(list(lanes), [], [], 1)[0]:
                found += lanes.pop(pipe).done()
            for lane in lanes.values():
                if time.monotonic() - lane.began > LONGEST_CASE_S:
                    os.killpg(lane.pid, signal.SIGKILL)
            if time.monotonic() - told > 20:
                told = time.monotonic()
                print(f"{len(found)} faults, {sum(f.wrong for f in found)} wrong", file=sys.stderr, flush=True)
    finally:
        for lane in lanes.values():
            os.killpg(lane.pid, signal.SIGKILL)
    return found


def main() -> int:
    """Cases until the time is over, or the one that is asked for; print the count."""
    wish = argparse.ArgumentParser(description=__doc__)
    wish.add_argument("--minutes", type=float, default=8)
    wish.add_argument("--seed", type=int, default=20261201)
    wish.add_argument("--case", type=int, help="one case alone, by the number that a wrong one is told with")
    given = wish.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpufare-chaos-") as folder:
        Path(folder).chmod(0o755)
        warm()
        stores = Stores(Path(folder))
        print(f"stores made after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        if given.case is not None:
            found = Lane(given.case, *begin(case, stores, given.seed, given.case), time.monotonic()).done()
            print(*(fault.why for fault in found), sep="\n")
            return summary(found, {})
        found = run(stores, given.seed, began + 60 * given.minutes)
    code = summary(found, {"": KILLS, **KILLS_EACH})
    print(f"seed {given.seed}, {time.monotonic() - began:.0f} s")
    return code


def summary(found: list[Fault], wanted: dict[str, int]) -> int:
    """The count by kind, each wrong one, where there were fewer kills than wanted; 1 where any of these is."""
    kinds = sorted({fault.kind for fault in found})
    print(f"{'fault':<34} {'injected':>8} {'whole':>6} {'named':>6} {'right':>6} {'right after':>12}")
    for kind in [*kinds, None]:
        of = [fault for fault in found if kind in {fault.kind, None}]
        counts = [sum(getattr(f, name) for f in of) for name in ("whole", "named", "between", "after")]
        print(f"{kind or 'all':<34} {len(of):>8} {counts[0]:>6} {counts[1]:>6} {counts[2]:>6} {counts[3]:>12}")
    wrong = [f"WRONG {fault.kind}: {fault.why}" for fault in found if fault.wrong]
    kills = {c: sum(fault.kind.startswith(f"kill {c}") for fault in found) for c in ["", *POINTS]}
    few = [f"FEW {c or 'in all'}: {kills[c]} kills, {n} wanted" for c, n in wanted.items() if kills[c] < n]
    each = ", ".join(f"{command} {kills[command]}" for command in POINTS)
    print("\n".join([*wrong, *few, f"{kills['']} kills ({each}); {len(wrong)} of {len(found)} faults wrong"]))
    return 1 if wrong or few else 0


if __name__ == "__main__":
    sys.exit(main())

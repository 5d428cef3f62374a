"""Kills, and others at work, each on a copy of a store: what is done to it, and what must hold before and after."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chaos_fork import Ended, at_once, begin, end, forked
from chaos_stores import (
    DECEMBER,
    NEXT,
    NIGHTS,
    WORLD,
    Answers,
    Job,
    Said,
    Stores,
    as_older,
    compacted,
    examined,
    night,
    nightly,
    refreshed,
    swept,
    told,
)
from kill_at import END, Progress, die, watch

from storage.compaction import compact, sweep
from storage.filters import Filters
from storage.lake import Lake
from storage.query import offers

ANYWHERE = 0.4
"""share of the kills that come from outside at a random time, not at a point"""
REAL_CRAWL_S = 1.2
LONGEST_S = {"normalising": 0.002, "month": 0.05, "sorting": 0.03, "writing": 0.02}
LONGEST_OTHER_S = 0.012


@dataclass
class Fault:
    """One fault and what came of it; `kind` is its line in the table.

    whole: verify found nothing. named: verify named what is at fault and what mends it. between: every answer was right
    or refused with one line, and nothing accepted was lost. after: so it is once the same command has run again, or
    what was damaged is restored.
    """

    kind: str
    whole: bool
    named: bool
    between: bool
    after: bool
    why: str = ""
    is_damage: bool = False

    @property
    def wrong(self) -> bool:
        sound = self.named if self.is_damage else self.whole
        return not (sound and self.between and self.after)


@contextmanager
def copied(stores: Stores, base: str, place: Path | None = None) -> Iterator[str]:
    """A copy of a store that others may look into; what its commands put aside lies beside it and goes with it."""
    with tempfile.TemporaryDirectory(dir=stores.room) as folder:
        Path(folder).chmod(0o755)
        tempfile.tempdir = folder
        store = (place or Path(folder)) / "store"
        shutil.copytree(stores.path(base), store)
        yield str(store)


def after(stores: Stores, job: Job, store: str, landed: int) -> tuple[bool, str]:
    """Run the same command once more, undisturbed. Is then all as in a store that nobody disturbed?

    landed: pointers that are known to have landed before it.
    """

    def again() -> Said:
        stores.crawls.hand_out()
        job.over(store)
        if job.command in {"compact", "sweep"}:
            nightly(store)
        return examined(store)

    try:
        said = forked(again)
    except Ended as error:
        return False, f"once more: {error}"
    wanted = (job.states[landed + 1 :] if job.lands_again else ()) or job.states[-1:]
    if job.command in {"compact", "sweep"}:
        wanted = (stores.said["grown"],)
    right = said.whole and said.answers in wanted
    return right, "" if right else f"after it: {said.faults or differences(said, *wanted)}"


def differences(said: Said, *wanted: Answers) -> str:
    """For the eye: where the answers differ from each of those that would be right."""
    if said.answers is None:
        return f"refused: {said.refused}"
    found = said.answers
    return "; ".join(
        f"{name}: {len(found[name])} rows, {len(rows)} wanted"
        for answers in wanted
        for name, rows in answers.items()
        if found[name] != rows
    )


# Kills.


def kill(stores: Stores, chance: random.Random, command: str) -> list[Fault]:
    """A command killed once, or several times in a row, each time with another try."""
    job = chance.choice([job for job in stores.jobs if job.command == command])
    faults, landed, began = [], 0, datetime.now(UTC)
    with copied(stores, job.base) as store:
        for _ in range(chance.choice((1, 2, 3, 4))):
            progress = Progress(command)
            code = killed(stores, chance, job, store, progress)
            landed = min(landed + progress.pointers, len(job.states) - 1)
            said = forked(examined, store)
            right = said.answers in job.states[landed : landed + 2]
            why = "" if right else f"{landed} landed: {differences(said, *job.states[landed : landed + 2])}"
            why += "" if code == -signal.SIGKILL else f" exit {code}"
            between = right and code == -signal.SIGKILL
            faults.append(
                Fault(f"kill {command}: {progress.phase}", said.whole, bool(said.faults), between, True, why.strip())
            )
            if progress.phase == END:
                break
        mended, why = after(stores, job, store, landed)
        if mended and command == "replay":
            mended, why = forked(told, store, began) == job.states[0], "what was known before is not as it was"
    for fault in faults:
        fault.after, fault.why = mended, fault.why or ("" if mended else why)
    return faults


def killed(stores: Stores, chance: random.Random, job: Job, store: str, progress: Progress) -> int | str:
    """Kill the command at a point of it, or at a random time from outside. How its process ended."""
    anywhere = chance.random() < ANYWHERE
    phase = None if anywhere else chance.choice(list(job.calls))
    crawling = phase == "crawling"
    longest = REAL_CRAWL_S if crawling else LONGEST_S.get(phase or "", LONGEST_OTHER_S)
    between_two = (phase or "").endswith("-written")
    delay = 0 if between_two or chance.random() < 0.2 else chance.uniform(0, longest)
    call = chance.randint(1, job.calls.get(phase or "", 1))

    def victim() -> None:
        if not crawling:
            stores.crawls.hand_out()
        watch(job.command, progress, phase, delay, call)
        job.over(store)
        progress.phase = END
        if not anywhere:
            die()  # the point was shorter than the delay, or did not come so often
        signal.pause()

    pid, pipe = begin(victim)
    if anywhere:
        time.sleep(chance.uniform(0, job.seconds))
        os.kill(pid, signal.SIGKILL)
    try:
        end(pid, pipe)
    except Ended as error:
        return error.code or str(error)
    return 0


# Others at work.


def two_writers(stores: Stores, chance: random.Random) -> list[Fault]:
    """Two processes append to one store at once, one row of theirs the same; sometimes a third compacts meanwhile."""
    plan = (("lambda", range(1, 5)), ("nebius", range(2, 6)))
    beside = chance.random() < 0.5

    def write(store: str, name: str, days: range) -> None:
        lake = Lake.open(store)
        for day in days:
            put_of(lake, name, day)
            put_of(lake, "vultr", 1)  # both store this one, again and again

    def one_after_the_other() -> Answers:
        with copied(stores, "month") as twin:
            for name, days in plan:
                write(twin, name, days)
            return told(twin)

    with copied(stores, "month") as store:
        works: list[tuple[Any, ...]] = [(write, store, name, days) for name, days in plan]
        if beside:
            works.append((compact, Lake(store), DECEMBER))
        try:
            at_once(*works)
        except Ended as error:
            return [Fault("two writers at once", False, False, False, False, str(error))]
        said, wanted = forked(examined, store), forked(one_after_the_other)
        right = said.answers == wanted
    kind = "two writers at once" + (", a compaction" if beside else "")
    return [Fault(kind, said.whole, False, right, right, differences(said, wanted))]


def put_of(lake: Lake, name: str, day: int) -> None:
    rows = [WORLD.offer(f"{name}{i}", f"{i + day}.5", provider=name) for i in range(5)]
    scrape = WORLD.scrape(day, scrape_id=f"{name}-{day}", provider=name, offers=len(rows))
    lake.commit(scrape, WORLD.stamped(scrape, rows))


def two_refreshes(stores: Stores, chance: random.Random) -> list[Fault]:
    """Two refreshes of the same night at once, one of them killed: the other one lands."""
    job = next(job for job in stores.jobs if job.command == "refresh")

    def run() -> None:
        stores.crawls.hand_out()
        refreshed(store)

    with copied(stores, job.base) as store:
        first, second = begin(run), begin(run)
        time.sleep(chance.uniform(0, 2 * job.seconds))
        os.kill(first[0], signal.SIGKILL)
        ends = []
        for one in (first, second):
            try:
                end(*one)
                ends.append("")
            except Ended as error:
                ends.append(str(error))
        said = forked(examined, store)
        right = said.answers in job.states[1:] and not ends[1]
        mended, why = after(stores, job, store, 1)
    return [Fault("two refreshes, one killed", said.whole, False, right, mended, why or ends[1])]


def old_reader(stores: Stores, chance: random.Random) -> list[Fault]:
    """A reader that opened the store before a compaction, a night and a sweep answers as of then."""

    def read(store: str) -> bool:
        reader = Lake.open(store)
        for name in ("snapshots", "changes", "scrapes"):
            reader.table(name).opened()
        compacted(store)
        nightly(store)
        sweep(Lake.open(store))
        return told(reader) == stores.said["month"]

    with copied(stores, "month") as store:
        right = forked(read, store)
        said = forked(examined, store)
    kind = "old reader, compaction and sweep"
    return [Fault(kind, said.whole, False, right, said.answers == stores.said["grown"])]


def clock(stores: Stores, chance: random.Random) -> list[Fault]:
    """The machine's clock jumps back between two nights, or an older night comes after a newer one."""
    kind = chance.choice(("observed", "recorded"))

    def late(store: str) -> tuple[bool, Said]:
        """A night, then the one before it, as a machine whose clock was set back would store them."""
        lake = Lake.open(store)
        WORLD.put(lake, NEXT + 1, WORLD.offer("tenth"))
        night(lake, NEXT)
        at = WORLD.at(NEXT, 12)
        now, then = (offers(lake, Filters(purchase=()), now=DECEMBER, as_of=as_of).rows for as_of in (DECEMBER, at))
        keys = {row["offer_key"]: row["usd_per_gpu_hour"] for row in then}
        wanted = {row["offer_key"]: row["usd_per_gpu_hour"] for row in stores.said["grown"]["offers"]}
        return [row["offer_key"] for row in now] == ["hyperbolic:tenth"] and keys == wanted, examined(store)

    def back(store: str) -> tuple[bool, Said]:
        night(Lake.open(store), NEXT, recorded_at=WORLD.at(chance.choice(NIGHTS), 1))
        said = examined(store)
        return said.answers == stores.said["grown"], said

    with copied(stores, "month") as store:
        right, said = forked(late if kind == "observed" else back, store)
    return [Fault(f"clock back: {kind}", said.whole, False, right, right, differences(said, stores.said["grown"]))]


def schema(stores: Stores, chance: random.Random) -> list[Fault]:
    """Stores of an older and of a newer gpufare, read, written, compacted and swept; an older one that writes on."""
    kind, base = chance.choice(
        (("one version older", "older"), ("one version newer", "newer"), ("an older writer", "month"))
    )

    def live(store: str) -> tuple[bool, bool, Said]:
        found = [told(store) == stores.said["month"]]
        if base == "month":
            as_older()
        for work in (nightly, compacted, swept):
            work(store)
            found.append(told(store) == stores.said["grown"])
        return all(found[:2]), all(found[2:]), examined(store)

    with copied(stores, base) as store:
        between, late, said = forked(live, store)
    return [Fault(f"schema: {kind}", said.whole, False, between, late, differences(said, stores.said["grown"]))]

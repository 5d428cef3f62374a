"""Kills and faults over real stores: `make chaos`, or `python tests/chaos.py --minutes 8 --seed 1`.

Each fault falls on a copy of a store. Afterwards `verify` must call it whole or name what is at fault, every answer
must be that of an untouched twin (or be refused with one line), and after the next run of the same command the store
must hold all that was accepted. Ends with a count by kind; exit 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import deltalake  # noqa: E402, F401 - what children need stands loaded in the process that they are forked from
import duckdb  # noqa: E402, F401
import kill_at  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.compute  # noqa: E402
import pyarrow.parquet  # noqa: E402

import storage.compaction  # noqa: E402
from flows import replay as replaying  # noqa: E402
from flows.refresh import refresh  # noqa: E402
from storage.compaction import compact, sweep  # noqa: E402
from storage.delta import LedgerTable  # noqa: E402
from storage.filters import Filters  # noqa: E402
from storage.lake import Lake, StoreError  # noqa: E402
from storage.query import offers  # noqa: E402
from storage.recordings import Recordings  # noqa: E402
from storage.verify import Report, verify  # noqa: E402

PROVIDER, FIRST, SECOND = "hyperbolic", "2026-11-29-night", "2026-11-30-night"
DECEMBER = datetime(2026, 12, 5, tzinfo=UTC)
NIGHTS = range(1, 9)
NOBODY = 65534
# Another run of the same command has other ids and another clock.
ITS_OWN = {"scrape_id", "previous_scrape_id", "change_id", "recorded_at", "duration_s", "age_s"}
Answers = dict[str, list[dict[str, Any]]]


def world() -> Any:
    """The records by hand that the tests of storage use."""
    spec = importlib.util.spec_from_file_location("worlds", ROOT / "tests/storage/conftest.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["worlds"] = module
    spec.loader.exec_module(module)
    return module.World()


WORLD = world()


def night(lake: Lake, day: int, **given: Any) -> None:
    """A price that moves, one that does not, one that comes and goes; more rows than fit into one page."""
    comes = [WORLD.offer("comes")] if day % 3 else []
    many = [WORLD.offer(i, f"{1 + i / 100:.2f}") for i in range(40)]
    WORLD.put(
        lake, day, WORLD.offer("moves", f"{2 + day / 10:.2f}"), WORLD.offer("stays", "1.5"), *comes, *many, **given
    )


def told(
    store: str, days: range | list[int] = NIGHTS, *, plain: bool = False, known_at: datetime | None = None
) -> Answers:
    """The table as of every night and all changes; `plain`: without what differs from run to run."""
    lake = Lake.open(store)
    found: Answers = {}
    for day in days:
        at = datetime(2026, 11, day, 12, tzinfo=UTC)
        found[f"{day}"] = offers(lake, Filters(purchase=()), now=DECEMBER, as_of=at, known_at=known_at).rows
    moved = f"SELECT * FROM {lake.relation('changes')} WHERE scrape_id IN $ids ORDER BY observed_at, offer_key, kind"
    found["changes"] = lake.query(moved, ids=[s.scrape_id for s in lake.visible(known_at=known_at)]).to_pylist()
    if plain:
        return {k: [{n: v for n, v in row.items() if n not in ITS_OWN} for row in rows] for k, rows in found.items()}
    return found


def judged(store: str) -> Report | str:
    """What verify says; one line where the store does not even open."""
    try:
        return verify(Lake.open(store))
    except StoreError as error:
        return str(error)


# What runs in a process of its own.

FORKS = multiprocessing.get_context("forkserver")


def forked(work: Callable[..., None], *given: Any) -> int:
    """The exit code of a child that did the work; minus the signal that ended it."""
    process = FORKS.Process(target=work, args=given)
    process.start()
    process.join(90)
    if process.is_alive():
        process.kill()
        process.join()
        return 99
    return process.exitcode or 0


def at_point(owner: Any, name: str, delay_s: float, when: str) -> None:
    """Let this process be killed: so long after the function begins, or as soon as it has returned."""
    real = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if when == "begin":
            kill_at.die_after(delay_s) if delay_s else kill_at.die()
        result = real(*args, **kwargs)
        if when == "begin":
            time.sleep(delay_s)
        kill_at.die()
        return result

    setattr(owner, name, call)


def child_refresh(store: str, phase: str, delay_ms: float) -> None:
    sys.argv = ["kill_at", store, SECOND, phase, str(delay_ms), PROVIDER]
    kill_at.main()


COMPACT = {
    "month": (storage.compaction, "_rewrite", "begin"),
    "sort": (storage.compaction, "_sorted", "begin"),
    "write": (storage.compaction, "_sorted", "end"),
    "month-done": (storage.compaction, "_rewrite", "end"),
    "gather": (LedgerTable, "gather", "begin"),
    "gather-done": (LedgerTable, "gather", "end"),
}


def child_compact(store: str, phase: str, delay_ms: float) -> None:
    owner, name, when = COMPACT[phase]
    if phase == "write":  # the delay counts from when the rows begin to flow into the new file
        real = storage.compaction._sorted

        def flowing(*args: Any) -> Any:
            rows = real(*args)
            kill_at.die_after(delay_ms / 1000)
            return rows

        storage.compaction._sorted = flowing
    else:
        at_point(owner, name, delay_ms / 1000, when)
    compact(Lake.open(store), DECEMBER)
    time.sleep(delay_ms / 1000)
    kill_at.die()


def child_sweep(store: str, phase: str, delay_ms: float) -> None:
    real = LedgerTable.opened
    seen = Counter[str]()

    def opened(self: LedgerTable, *, again: bool = False) -> Any:
        table = real(self, again=again)
        if again and self.name == phase and not seen[phase]:
            seen[phase] += 1
            kill_at.die_after(delay_ms / 1000) if delay_ms else kill_at.die()
        return table

    lake = Lake.open(store)
    LedgerTable.opened = opened  # type: ignore[method-assign]
    sweep(lake, grace=timedelta(0))
    time.sleep(delay_ms / 1000)
    kill_at.die()


REPLAY = {
    "unpacking": (replaying, "_unpacked", "begin"),
    "crawling": (replaying, "replay_all", "begin"),
    "restating": (replaying, "_restate", "begin"),
    "snapshot": (Lake, "append_snapshot", "begin"),
    "snapshot-written": (Lake, "append_snapshot", "end"),
    "changes": (Lake, "append_changes", "begin"),
    "pointer": (Lake, "append_scrape", "begin"),
    "pointer-written": (Lake, "append_scrape", "end"),
}


def other_parser() -> None:
    """Today's spiders read something more than those that filled the store."""
    real = replaying.normalised

    def more(*args: Any) -> Any:
        table, read = real(*args)
        place = table.column_names.index("network_gbps")
        kind = table.schema.field(place)
        return table.set_column(place, kind, pa.array([400] * len(table), kind.type)), read

    replaying.normalised = more
    replaying.parser_version = lambda name: "another"


def child_replay(store: str, phase: str | None, delay_ms: float) -> None:
    other_parser()
    if phase:
        owner, name, when = REPLAY[phase]
        at_point(owner, name, delay_ms / 1000, when)
    replaying.replay(store)


def child_night(store: str, day: int) -> None:
    night(Lake.open(store), day)


def child_full(store: str, day: int, limit: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    refused(store, day)


def child_nobody(store: str, day: int) -> None:
    told(store, [1])  # what a reader loads on use is loaded while it may be
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    told(store)
    refused(store, day)


def refused(store: str, day: int) -> None:
    """Exit 7 where the store refused the night with one line, 0 where it took it."""
    try:
        night(Lake.open(store), day)
    except StoreError as error:
        os._exit(7 if "\n" not in str(error) else 8)


def child_writer(store: str, name: str, days: range, go: Any) -> None:
    lake = Lake.open(store)
    go.wait()
    for day in days:
        put_of(lake, name, day)
        put_of(lake, "vultr", 1)  # both store this one, again and again


def put_of(lake: Lake, name: str, day: int) -> None:
    rows = [WORLD.offer(f"{name}{i}", f"{i + day}.5", provider=name) for i in range(5)]
    scrape = WORLD.scrape(day, scrape_id=f"{name}-{day}", provider=name, offers=len(rows))
    lake.commit(scrape, WORLD.stamped(scrape, rows))


# The count.


@dataclass
class Kind:
    """What came of the faults of one kind."""

    injected: int = 0
    whole: int = 0
    named: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)


class Chaos:
    """The stores that are copied, and the count by kind."""

    def __init__(self, room: Path, seed: int) -> None:
        self.room = room
        self.random = random.Random(seed)
        self.kinds: dict[str, Kind] = {}
        self.month = self._month()
        self.month_said = told(self.month)
        self.grown = self._copy(self.month, "grown")
        night(Lake.open(self.grown), 9)
        self.grown_said = told(self.grown, [*NIGHTS, 9])
        self.first, self.both = str(room / "first"), str(room / "both")
        for store, nights in ((self.first, [FIRST]), (self.both, [FIRST, SECOND])):
            for recorded in nights:
                assert refresh(store, [PROVIDER], recorded=recorded).ok
        self.first_said, self.both_said = (told(s, [29, 30], plain=True) for s in (self.first, self.both))
        self.restated = self._copy(self.both, "restated")
        assert forked(child_replay, self.restated, None, 0) == 0
        self.restated_said = told(self.restated, [29, 30], plain=True)
        assert self.restated_said != self.both_said

    def _month(self) -> str:
        store = str(self.room / "month")
        lake = Lake.open(store, origin="recording", create=True)
        for day in NIGHTS:
            night(lake, day)
        return store

    def _copy(self, store: str, name: str) -> str:
        shutil.copytree(store, self.room / name)
        return str(self.room / name)

    @contextmanager
    def copy(self, of: str) -> Iterator[str]:
        """A copy of a store that others may look into, gone afterwards."""
        with tempfile.TemporaryDirectory(dir=self.room) as folder:
            Path(folder).chmod(0o755)
            store = Path(folder) / "store"
            shutil.copytree(of, store)
            yield str(store)

    def count(self, kind: str, report: Report | str, right: bool, why: str = "", *, whole: bool = True) -> None:
        """One fault more. `whole`: the store must be whole; otherwise verify must name something."""
        entry = self.kinds.setdefault(kind, Kind())
        entry.injected += 1
        sound = isinstance(report, Report) and report.whole
        entry.whole += sound
        said = [report] if isinstance(report, str) else [*report.faults, *report.notes]
        named = bool(said)
        entry.named += named and not sound
        entry.right += right
        if (whole and not sound) or (not whole and not named) or not right:
            verdict = " ".join(said)[:300] or "whole, nothing named"
            entry.wrong.append(f"{why or 'fault'}: verify: {verdict}; answers {'right' if right else 'WRONG'}")

    # Kills.

    def kill_refresh(self) -> None:
        phase = self.random.choice(list(kill_at.PHASES))
        longest = {"crawling": 900, "normalising": 2}.get(phase, 8)
        delay = 0 if phase.endswith("-written") else self.random.uniform(0, longest)
        with self.copy(self.first) as store:
            code = forked(child_refresh, store, phase, delay)
            report, said = judged(store), told(store, [29, 30], plain=True)
            again = refresh(store, [PROVIDER], recorded=SECOND).ok
            right = said in (self.first_said, self.both_said) and again
            right = right and told(store, [29, 30], plain=True) == self.both_said and code == -signal.SIGKILL
            self.count(f"kill refresh {phase}", report, right, f"exit {code} delay {delay:.1f} ms")

    def kill_compact(self) -> None:
        phase = self.random.choice(list(COMPACT))
        delay = 0 if phase.endswith("-done") else self.random.uniform(0, 40)
        with self.copy(self.month) as store:
            code = forked(child_compact, store, phase, delay)
            report, right = judged(store), told(store) == self.month_said
            compact(Lake.open(store), DECEMBER)
            night(Lake.open(store), 9)
            right = right and told(store, [*NIGHTS, 9]) == self.grown_said and judged_whole(store)
            self.count(
                f"kill compact {phase}", report, right and code == -signal.SIGKILL, f"exit {code} {delay:.1f} ms"
            )

    def kill_sweep(self) -> None:
        phase = self.random.choice(["snapshots", "changes", "scrapes", "rates"])
        delay = self.random.uniform(0, 15)
        with self.copy(self.month) as store:
            compact(Lake.open(store), DECEMBER)
            code = forked(child_sweep, store, phase, delay)
            report, right = judged(store), told(store) == self.month_said
            sweep(Lake.open(store), grace=timedelta(0))
            right = right and told(store) == self.month_said and judged_whole(store)
            self.count(f"kill sweep {phase}", report, right and code == -signal.SIGKILL, f"exit {code} {delay:.1f} ms")

    def kill_replay(self) -> None:
        phase = self.random.choice(list(REPLAY))
        delay = self.random.uniform(0, 900 if phase == "crawling" else 8) if not phase.endswith("-written") else 0
        with self.copy(self.both) as store:
            before = datetime.now(UTC)
            code = forked(child_replay, store, phase, delay)
            report, said = judged(store), told(store, [29, 30], plain=True)
            right = all(said[day] in (self.both_said[day], self.restated_said[day]) for day in ("29", "30"))
            right = right and told(store, [29, 30], plain=True, known_at=before) == self.both_said
            right = right and forked(child_replay, store, None, 0) == 0
            now = told(store, [29, 30], plain=True)
            right = right and all(now[day] == self.restated_said[day] for day in ("29", "30")) and judged_whole(store)
            self.count(f"kill replay {phase}", report, right and code == -signal.SIGKILL, f"exit {code} {delay:.1f} ms")

    # Other writers and readers.

    def two_writers(self) -> None:
        with self.copy(self.month) as store, self.copy(self.month) as twin:
            go = FORKS.Barrier(2)
            plan = (("lambda", range(1, 6)), ("nebius", range(3, 8)))
            running = [FORKS.Process(target=child_writer, args=(store, name, days, go)) for name, days in plan]
            for process in running:
                process.start()
            done = 0
            while self.random.random() < 0.7 and done < 2:
                compact(Lake.open(store), DECEMBER)
                done += 1
            for process in running:
                process.join(90)
            lake = Lake.open(twin)
            for name, days in (*plan, ("vultr", range(1, 2))):
                for day in days:
                    put_of(lake, name, day)
            right = told(store) == told(twin) and all(process.exitcode == 0 for process in running)
            self.count("two writers" + (" and a compaction" if done else ""), judged(store), right)

    def old_reader(self) -> None:
        with self.copy(self.month) as store:
            reader = Lake.open(store)
            for name in ("snapshots", "changes", "scrapes"):
                reader.table(name).opened()
            compact(Lake.open(store), DECEMBER)
            night(Lake.open(store), 9)
            sweep(Lake.open(store))
            at = datetime(2026, 11, self.random.choice(NIGHTS), 12, tzinfo=UTC)
            rows = offers(reader, Filters(purchase=()), now=DECEMBER, as_of=at).rows
            right = rows == self.month_said[str(at.day)] and len(reader.scrapes()) == len(NIGHTS)
            right = right and told(store, [*NIGHTS, 9]) == self.grown_said
            self.count("old reader, compaction and sweep", judged(store), right)

    def clock(self) -> None:
        """The machine's clock jumps back between two nights, or an older night comes after a newer one."""
        with self.copy(self.month) as store:
            late = self.random.random() < 0.5
            lake = Lake.open(store)
            if late:  # day 10 first, then day 9, as a machine whose clock was set back would store them
                WORLD.put(lake, 10, WORLD.offer("tenth"))
                night(lake, 9)
                said = told(store, [*NIGHTS, 9])
                newest = offers(lake, Filters(purchase=()), now=DECEMBER).rows
                right = [row["offer_key"] for row in newest] == ["hyperbolic:tenth"]
                right = right and all(said[str(d)] == self.grown_said[str(d)] for d in (*NIGHTS, 9))
            else:
                night(lake, 9, recorded_at=WORLD.at(self.random.choice(NIGHTS), 1))
                said, days = told(store, [*NIGHTS, 9], plain=True), (*NIGHTS, 9)
                wanted = told(self.grown, [*NIGHTS, 9], plain=True)
                right = all(said[str(day)] == wanted[str(day)] for day in days)
            self.count("clock back: " + ("observed" if late else "recorded"), judged(store), right)

    # Disk.

    def full(self) -> None:
        limit = self.random.choice([0, 100, 1000, 3000, 5000, 8000, 12000])
        with self.copy(self.month) as store:
            code = forked(child_full, store, 9, limit)
            report, said = judged(store), told(store, [*NIGHTS, 9])
            wanted = self.grown_said if code == 0 else self.month_said
            right = all(said[day] == rows for day, rows in wanted.items()) and code in {0, 7}
            night(Lake.open(store), 9)
            right = right and told(store, [*NIGHTS, 9]) == self.grown_said and judged_whole(store)
            self.count("disk full", report, right, f"limit {limit} exit {code}")

    def read_only(self) -> None:
        with self.copy(self.month) as store:
            for path in [Path(store), *Path(store).rglob("*")]:
                path.chmod(0o555 if path.is_dir() else 0o444)
            code = forked(child_nobody, store, 9)
            right = told(store) == self.month_said and code == 7
            for path in [Path(store), *Path(store).rglob("*")]:
                path.chmod(0o755)
            self.count("read-only folder", judged(store), right, f"exit {code}")

    # Damage: named, and never a wrong answer.

    def damage(self) -> None:
        what = self.random.choice(["truncated", "garbled", "missing", "empty"])
        sort = self.random.choice(["data file", "log entry", "last log entry"])
        table = self.random.choice(["snapshots", "changes", "scrapes"])
        with self.copy(self.month) as store:
            if self.random.random() < 0.3:
                compact(Lake.open(store), DECEMBER)
            found = self._target(store, table, sort)
            kept = found.read_bytes()
            damage(found, what, self.random)
            report = judged(store)
            try:
                right = told(store) == self.month_said
                answered = "answered"
            except StoreError as error:
                right, answered = "\n" not in str(error), "refused"
            if what == "missing" and sort == "last log entry":
                # The table is then truly as it was before the last commit: right is what it said then. Whether verify
                # tells is what counts.
                right = True
            found.write_bytes(kept)
            right = right and told(store) == self.month_said and judged_whole(store)
            where = f"{found.relative_to(store)} {what}, {answered}"
            self.count(f"{sort} {what}", report, right, where, whole=False)

    def _target(self, store: str, table: str, sort: str) -> Path:
        if sort == "data file":
            return Path(self.random.choice(Lake.open(store).table(table).files()).path)
        entries = sorted(Path(store, table, "_delta_log").glob("*.json"))
        return entries[-1] if sort == "last log entry" else self.random.choice(entries[:-1])

    def recording(self) -> None:
        what = self.random.choice(["truncated", "garbled", "empty", "missing"])
        with self.copy(self.both) as store:
            kept = Recordings.of(Lake.open(store))
            found = Path(kept.where(self.random.choice(list(kept.hashes()))))
            content = found.read_bytes()
            damage(found, what, self.random)
            report, right = judged(store), told(store, [29, 30], plain=True) == self.both_said
            found.write_bytes(content)
            self.count(f"recording {what}", report, right and judged_whole(store), whole=False)


def judged_whole(store: str) -> bool:
    """Does verify call the store whole?"""
    report = judged(store)
    return isinstance(report, Report) and report.whole


def damage(path: Path, what: str, chance: random.Random) -> None:
    """Cut, overwrite in the middle, empty or remove a file."""
    content = path.read_bytes()
    if what == "missing":
        path.unlink()
    elif what == "garbled":
        at = chance.randrange(len(content))
        path.write_bytes(content[:at] + chance.randbytes(min(64, len(content) - at)) + content[at + 64 :])
    else:
        path.write_bytes(content[: 0 if what == "empty" else chance.randrange(1, len(content))])


ROUND = (
    "kill_refresh", "kill_replay",
    *("kill_compact",) * 6, *("kill_sweep",) * 4, *("damage",) * 8,
    "two_writers", "old_reader", "clock", "full", "full", "read_only", "recording", "recording",
)  # fmt: skip


def main() -> int:
    """Run rounds until the time or their number is reached; print the count."""
    wish = argparse.ArgumentParser(description=__doc__)
    wish.add_argument("--minutes", type=float, default=8)
    wish.add_argument("--rounds", type=int, default=10**6)
    wish.add_argument("--seed", type=int, default=20261201)
    wish.add_argument("--only", help="one method, such as damage")
    given = wish.parse_args()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    FORKS.set_forkserver_preload(["__main__"])
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gpufare-chaos-") as folder:
        Path(folder).chmod(0o755)
        chaos = Chaos(Path(folder), given.seed)
        rounds = 0
        while rounds < given.rounds and time.monotonic() - began < 60 * given.minutes:
            for name in ROUND if not given.only else (given.only,):
                if time.monotonic() - began < 60 * given.minutes:
                    getattr(chaos, name)()
            rounds += 1
            wrong = sum(len(kind.wrong) for kind in chaos.kinds.values())
            total = sum(kind.injected for kind in chaos.kinds.values())
            line = f"round {rounds}, {time.monotonic() - began:.0f} s: {total} faults, {wrong} wrong"
            print(line, file=sys.stderr, flush=True)
    return summary(chaos.kinds, given.seed, time.monotonic() - began)


def summary(kinds: dict[str, Kind], seed: int, seconds: float) -> int:
    """The count by kind, then each wrong one; 1 where there is one."""
    print(f"{'kind':<36} {'faults':>6} {'whole':>6} {'named':>6} {'right':>6}")
    rows = [*sorted(kinds.items()), ("all", total(kinds))]
    for name, kind in rows:
        print(f"{name:<36} {kind.injected:>6} {kind.whole:>6} {kind.named:>6} {kind.right:>6}")
    kills = sum(kind.injected for name, kind in kinds.items() if name.startswith("kill"))
    wrong = [f"WRONG {name}: {line}" for name, kind in sorted(kinds.items()) for line in kind.wrong]
    print("\n".join([*wrong, f"{kills} kills; {len(wrong)} wrong; seed {seed}, {seconds:.0f} s"]))
    return 1 if wrong else 0


def total(kinds: dict[str, Kind]) -> Kind:
    """The sum over all kinds."""
    every = list(kinds.values())
    return Kind(*(sum(getattr(kind, name) for kind in every) for name in ("injected", "whole", "named", "right")))


if __name__ == "__main__":
    sys.exit(main())

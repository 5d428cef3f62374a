"""The stores that faults fall on, the commands that run over them, what an undisturbed store answers at each step."""

from __future__ import annotations

import csv
import gc
import importlib.util
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake  # noqa: F401 - what forked processes need stands loaded in the one that they are forked from
import duckdb  # noqa: F401
import pandas  # noqa: F401
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.dataset
import pyarrow.pandas_compat
import pyarrow.parquet
from chaos_fork import at_once, forked
from kill_at import Progress, watch

import storage.data_file
import storage.imports
import storage.lake
from flows import replay as replaying
from flows.refresh import refresh
from schemas.facts import facts_version
from schemas.normalise import normaliser_version
from schemas.providers import providers
from spiders.shared.crawl import CrawlReport, replay_all
from storage.compaction import compact, sweep
from storage.delta import LedgerTable
from storage.filters import Filters
from storage.lake import Lake, NoStore, StoreError
from storage.news import changes
from storage.query import offers
from storage.series import history
from storage.verify import verify

ROOT = Path(__file__).resolve().parent.parent
PROVIDER, FIRST, SECOND = "hyperbolic", "2026-11-29-night", "2026-11-30-night"
DECEMBER = datetime(2026, 12, 5, tzinfo=UTC)
NIGHTS = range(1, 6)
NEXT = 6
EVERY = Filters(purchase=())
# Another run of the same command has other ids and another clock.
ITS_OWN = {"scrape_id", "previous_scrape_id", "change_id", "recorded_at", "duration_s", "age_s", "rate_age_days"}
# What stores of an older gpufare lack. Null in every row here, so that the answers are the same.
LATER_COLUMNS = {"snapshots": ["interruption_rate", "network_gbps"], "scrapes": ["supersedes"], "changes": []}
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


def warm() -> None:
    """Facts are read once, before anything is forked. No store is opened: a thread of its library would not live on."""
    providers()
    facts_version()
    normaliser_version()
    gc.freeze()  # a collection in a forked process would copy all of this


# What a store says.


@dataclass
class Said:
    """What a store says of itself (`faults` and `notes` of verify) and what it answers; None where it refuses to."""

    faults: list[str]
    notes: list[str]
    answers: Answers | None = None
    refused: str = ""

    @property
    def whole(self) -> bool:
        return not self.faults


def told(store: str | Lake, known_at: datetime | None = None) -> Answers:
    """The table today and as of the night before, all changes, the whole history."""
    try:
        lake = store if isinstance(store, Lake) else Lake.open(store)
    except NoStore:
        return {name: [] for name in ("offers", "changes", "history", "before")}
    nights = [scrape.observed_at for scrape in lake.visible(known_at=known_at)]
    before = nights[1] if len(nights) > 1 else datetime.min.replace(tzinfo=UTC)
    found = {
        "offers": offers(lake, EVERY, now=DECEMBER, known_at=known_at).rows,
        "changes": changes(lake, EVERY, all=True, known_at=known_at).table.to_pylist(),
        "history": history(lake, EVERY, known_at=known_at).to_pylist(),
        "before": offers(lake, EVERY, now=DECEMBER, as_of=before, known_at=known_at).rows,
    }
    return {k: [{n: v for n, v in row.items() if n not in ITS_OWN} for row in rows] for k, rows in found.items()}


def examined(store: str, known_at: datetime | None = None) -> Said:
    """What verify says of a store, and what the store answers."""
    try:
        lake = Lake.open(store)
    except NoStore:
        return Said([], [], told(store))
    except StoreError as error:
        return Said([str(error)], [], refused=str(error))
    report = verify(lake)
    said = Said(report.faults, report.notes)
    try:
        said.answers = told(lake, known_at)
    except StoreError as error:
        said.refused = str(error)
    return said


# The commands. Each runs in a process that is forked for it.


def night(lake: Lake, day: int, **given: Any) -> None:
    """A price that moves, one that does not, one that comes and goes; more rows than fit into one page."""
    comes = [WORLD.offer("comes")] if day % 3 else []
    many = [WORLD.offer(i, f"{1 + i / 100:.2f}") for i in range(40)]
    WORLD.put(
        lake, day, WORLD.offer("moves", f"{2 + day / 10:.2f}"), WORLD.offer("stays", "1.5"), *comes, *many, **given
    )


def nightly(store: str) -> None:
    night(Lake.open(store, origin="recording", create=True), NEXT)


def refreshed(store: str) -> None:
    """The second night, of answers that a crawl brought before."""
    storage.lake.TIDY_FROM = 2  # a month of nights would be too many to copy
    assert refresh(store, [PROVIDER], recorded=SECOND).ok


def compacted(store: str) -> None:
    assert all(month.done for month in compact(Lake.open(store), DECEMBER))


def swept(store: str) -> None:
    sweep(Lake.open(store), grace=timedelta(0))


def replayed(store: str) -> None:
    """Today's spiders read something more than those that filled the store."""
    real = replaying.normalised

    def more(*args: Any) -> Any:
        table, read = real(*args)
        place = table.column_names.index("network_gbps")
        kind = table.schema.field(place)
        return table.set_column(place, kind, pa.array([400] * len(table), kind.type)), read

    replaying.normalised = more
    replaying.parser_version = lambda name: "another"
    assert not [one for found in replaying.replay(store) for one in found.failed]


def imported(store: str, table: str) -> None:
    """A price list of four days into a live store."""
    mapping = storage.imports.load_mapping("karpenter-aws")
    lake = Lake.open(store, origin="import", create=True)
    rows = storage.imports.read_plain([Path(table)], mapping)
    storage.imports.take_in(lake, rows, mapping.source, now=datetime.now(UTC))


def price_list(path: Path, *, factor: float) -> str:
    """Four days of prices: one moves, one comes and goes, the others stay."""
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            ["generated_at", "commit_date", "commit", "region", "instance_type", "kind", "usd_per_hour"]
        )  # fmt: skip
        for day in range(1, 5):
            at = f"2026-10-{day:02}T02:00:00Z"
            for region in ("us-east-1", "us-west-2", "eu-west-1", "eu-north-1"):
                for place, machine in enumerate(("p5.48xlarge", "p4d.24xlarge", "g5.xlarge", "g6.xlarge")):
                    if place or day % 3:
                        price = factor * (1 + place) + (day / 10 if place == 1 else 0)
                        out.writerow([at, at, "none", region, machine, "ondemand", f"{price:.2f}"])
    return str(path)


# What came of a crawl before, in the place of another crawl of the same answers.


@dataclass
class Crawls:
    """Crawls of recorded answers, each made once by the real child; `hand_out` gives their files to later commands."""

    room: Path
    reports: dict[Path, CrawlReport] = field(default_factory=dict)

    def make(self, recordings: list[Path]) -> None:
        reports = replay_all(PROVIDER, recordings, self.room / "crawls")
        assert all(report.ok for report in reports), reports
        self.reports = dict(zip(recordings, reports, strict=True))

    def copy(self, report: CrawlReport, workdir: Path, recording: Path) -> CrawlReport:
        shutil.copytree(report.raw_path.parent, workdir, dirs_exist_ok=True, copy_function=os.link)
        mine = {"raw_path": workdir / report.raw_path.name, "log_path": workdir / report.log_path.name}
        return replace(report, **mine, har_path=recording)

    def hand_out(self) -> None:
        """From now on this process crawls no more."""
        from flows import refresh as flow

        def one(name: str, workdir: Path, *, recorded: Path, **_: Any) -> CrawlReport:
            return self.copy(self.reports[recorded], workdir, recorded)

        def many(name: str, recordings: list[Path], workdir: Path, **_: Any) -> list[CrawlReport]:
            by_content = {_answers(path): report for path, report in self.reports.items()}
            return [
                self.copy(by_content[_answers(path)], workdir / str(place), path)
                for place, path in enumerate(recordings)
            ]

        flow.crawl = one
        replaying.replay_all = many


def _answers(path: Path) -> str:
    return json.dumps(json.loads(path.read_bytes()), sort_keys=True)


# Stores of an older and of a newer gpufare.


def as_older() -> None:
    """From now on this process writes as a gpufare that does not know the later columns."""
    real, append = LedgerTable.schema.func, LedgerTable.append

    def schema(self: LedgerTable) -> pa.Schema:
        known = real(self)
        return pa.schema([field for field in known if field.name not in LATER_COLUMNS.get(self.name, [])])

    LedgerTable.schema = property(schema)
    LedgerTable.append = lambda self, app_id, rows: append(self, app_id, rows.select(schema(self).names))


def as_newer() -> None:
    """From now on this process writes as a gpufare that knows a column more."""
    append = LedgerTable.append

    def appended(self: LedgerTable, app_id: str, rows: pa.Table) -> bool:
        return append(self, app_id, rows.append_column("carbon_g_per_kwh", pa.array([41.5] * len(rows))))

    LedgerTable.append = appended


# The stores, and what happens to them undisturbed.


@dataclass(frozen=True)
class Job:
    """A command over a store, and what an undisturbed store answers: before it, and after each pointer that it lands.

    lands_again: run once more, it lands a pointer more (a refresh), else none.
    """

    command: str
    base: str
    run: Callable[..., None]
    given: tuple[str, ...] = ()
    states: tuple[Answers, ...] = ()
    lands_again: bool = False
    seconds: float = 0
    """that it takes here when nobody disturbs it"""
    calls: Mapping[str, int] = field(default_factory=dict)
    """how often each phase of it begins"""

    def over(self, store: str) -> None:
        self.run(store, *self.given)


class Stores:
    """All stores that faults fall on copies of, by name, and the jobs by command. Made in forked processes."""

    def __init__(self, room: Path) -> None:
        self.room = room
        self.crawls = Crawls(room)
        self.crawls.make([ROOT / "spiders/recorded" / PROVIDER / case / "answers.har" for case in (FIRST, SECOND)])
        prices, other_prices = (price_list(room / f"prices-{factor}.csv", factor=factor) for factor in (1, 2))
        (room / "nothing").mkdir()
        at_once(
            (month, self.path("month")),
            (month, self.path("older"), as_older),
            (month, self.path("newer"), as_newer),
            (self._recorded,),
            (imported, self.path("imported"), prices),
        )
        self._compacted()
        jobs = [
            Job("create", "nothing", refreshed, lands_again=True),
            Job("refresh", "first", refreshed, lands_again=True),
            *(Job("compact", base, compacted) for base in ("month", "older", "newer")),
            Job("sweep", "compacted", swept),
            Job("replay", "both", replayed),
            Job("import", "nothing", imported, (prices,)),
            Job("import", "imported", imported, (other_prices,)),
        ]
        states = at_once(*((self._states, job) for job in jobs))
        self.jobs = [
            replace(job, states=tuple(found), seconds=seconds, calls=calls)
            for job, found in zip(jobs, states, strict=True)
            for seconds, calls in [forked(self._pace, job)]
        ]
        self.said = {job.base: job.states[0] for job in self.jobs}
        self.said["grown"] = forked(self._told_after, "month", nightly)

    def path(self, name: str) -> str:
        return str(self.room / name)

    def _compacted(self) -> None:
        shutil.copytree(self.path("month"), self.path("compacted"))
        forked(compacted, self.path("compacted"))

    def _recorded(self) -> None:
        self.crawls.hand_out()
        for name, nights in (("first", [FIRST]), ("both", [FIRST, SECOND])):
            for recorded in nights:
                assert refresh(self.path(name), [PROVIDER], recorded=recorded).ok

    def _pace(self, job: Job) -> tuple[float, dict[str, int]]:
        self.crawls.hand_out()
        calls = watch(job.command, Progress(job.command))
        with tempfile.TemporaryDirectory(dir=self.room) as folder:
            store = str(shutil.copytree(self.path(job.base), Path(folder) / "store"))
            began = time.monotonic()
            job.over(store)
            return time.monotonic() - began, dict(calls)

    def _told_after(self, base: str, work: Callable[[str], None]) -> Answers:
        with tempfile.TemporaryDirectory(dir=self.room) as folder:
            store = shutil.copytree(self.path(base), Path(folder) / "store")
            work(str(store))
            return told(str(store))

    def _states(self, job: Job) -> list[Answers]:
        """What the store answers before the command and after each of its pointers."""
        self.crawls.hand_out()
        found = []
        real = Lake.append_scrape
        with tempfile.TemporaryDirectory(dir=self.room) as folder:
            store = str(shutil.copytree(self.path(job.base), Path(folder) / "store"))

            def append(lake: Lake, scrape: Any) -> bool:
                landed = real(lake, scrape)
                found.append(told(store))
                return landed

            Lake.append_scrape = append
            found.append(told(store))
            job.over(store)
            assert told(store) == found[-1]
            if job.lands_again:
                job.over(store)
        return found


def month(store: str, writer: Callable[[], None] = lambda: None) -> None:
    """Eight nights of one month."""
    writer()
    lake = Lake.open(store, origin="recording", create=True)
    for day in NIGHTS:
        night(lake, day)

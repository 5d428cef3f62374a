"""Refresh: ask providers, believe what passes the gate, keep the rest where a person can look at it.

Plain functions, with values in and values out; `flows.nightly` wraps the same functions as Prefect flow and tasks.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from flows.access import enabled, refusal
from flows.take_in import Outcome, State, Task, record_fault, take_in
from schemas.providers import provider, providers
from schemas.rate import Rate, rate_sources, sources_of
from schemas.record import to_arrow
from spiders.shared.browser import MISSING, chromium
from spiders.shared.crawl import CrawlReport, crawl, stop_crawls
from spiders.shared.har import recorded_at
from spiders.shared.source import RECORDED
from storage.compaction import compact, sweep
from storage.lake import Lake, StoreError, StoreOriginError
from storage.retention import sweep_recordings

__all__ = [
    "Outcome",
    "State",
    "Summary",
    "Task",
    "UnknownRecording",
    "plan",
    "refresh",
    "refresh_provider",
    "retryable",
]


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of a run."""

    run_id: str
    started_at: datetime
    duration_s: float
    outcomes: tuple[Outcome, ...] = field(default_factory=tuple)

    def of(self, state: State) -> list[Outcome]:
        """The outcomes of one state, in the order of the run."""
        return [outcome for outcome in self.outcomes if outcome.state == state]

    @property
    def ok(self) -> bool:
        """Did everything that could run come through?"""
        return not self.of("failed") and not self.of("quarantined")


Spread = Callable[[Callable[[Task], Outcome], Sequence[Task]], list[Outcome]]


class UnknownRecording(ValueError):
    """`--recorded` names neither a recorded case nor a folder of HAR files."""


def new_run_id(now: datetime) -> str:
    """Sortable by time, unique."""
    return f"{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"


def recording_of(name: str, recorded: str | None) -> Path | None:
    """What answers for a provider: `spiders/recorded/<name>/CASE`, or `DIR/<name>.har`; None if neither."""
    if recorded is None:
        return None
    for path in (RECORDED / name / recorded / "answers.har", Path(recorded) / f"{name}.har"):
        if path.exists():
            return path
    return None


def plan(
    names: Sequence[str] | None,
    *,
    recorded: str | None,
    now: datetime,
    run_id: str,
    scheduled_at: datetime | None = None,
    environment: Mapping[str, str] = os.environ,
) -> tuple[list[Task], list[Outcome]]:
    """Who is asked and who is skipped, and why.

    Without names, every active provider; with a recording, every active one that has it. A recording asks nobody, so it
    needs neither key nor consent. Raises UnknownRecording where no provider at all has the recording.
    """
    opted_in = enabled()
    tasks: list[Task] = []
    skipped: list[Outcome] = []
    for name in names or [slug for slug, known in providers().items() if known.status == "active"]:
        recording = recording_of(name, recorded)
        if recorded is not None and recording is None:
            if names:
                skipped.append(Outcome(name, "skipped", f"no recording {recorded}"))
        elif recording is None and (reason := refusal(provider(name), opted_in, environment)):
            skipped.append(Outcome(name, "skipped", reason))
        elif provider(name).browser and chromium() is None:
            skipped.append(Outcome(name, "skipped", MISSING))
        else:
            observed_at = recorded_at(recording) if recording else now
            tasks.append(Task(name, run_id, observed_at, recording, scheduled_at, provider(name).deadline_s))
    if recorded is not None and not tasks and not any((RECORDED / name / recorded).exists() for name in providers()):
        raise UnknownRecording(f"no recording {recorded!r}: no case under spiders/recorded, no folder of HAR files")
    return tasks, skipped


def refresh(
    store: str,
    names: Sequence[str] | None = None,
    *,
    recorded: str | None = None,
    now: datetime | None = None,
    scheduled_at: datetime | None = None,
    jobs: int = 2,
    deadline_s: float | None = None,
    on_start: Callable[[str], None] = lambda name: None,
    on_done: Callable[[Outcome], None] = lambda outcome: None,
    spread: Spread | None = None,
) -> Summary:
    """Ask all providers, or those named, two at once; one that fails does not touch the others.

    `spread` runs the tasks in another way than by `jobs` threads of this process: as Prefect tasks, say.
    Raises storage.lake.StoreOriginError where the store holds the other kind of data, UnknownRecording, and
    storage.lake.StoreError where the store cannot be written.
    """
    now = now or datetime.now(UTC)
    run_id = new_run_id(now)
    tasks, skipped = plan(names, recorded=recorded, now=now, run_id=run_id, scheduled_at=scheduled_at)
    if deadline_s is not None:
        tasks = [replace(task, deadline_s=deadline_s) for task in tasks]
    lake = Lake.open(store, origin="recording" if recorded is not None else "live", create=True)
    for outcome in skipped:
        on_done(outcome)
    sources = list(rate_sources()) if not names else sources_of(c for t in tasks for c in provider(t.name).currencies)
    outcomes = [*skipped, *refresh_rates(lake, sources, recorded, now)]
    for outcome in outcomes[len(skipped) :]:
        on_done(outcome)

    def one(task: Task) -> Outcome:
        on_start(task.name)
        outcome = refresh_provider(store, task)
        on_done(outcome)
        return outcome

    outcomes += (spread or threads(jobs))(one, tasks)
    lake.tidy()
    if not names and lake.origin == "live":
        compact(lake, now)
        sweep(lake)
        sweep_recordings(lake, now)
    return Summary(run_id, now, (datetime.now(UTC) - now).total_seconds(), tuple(outcomes))


def threads(jobs: int) -> Spread:
    """Spread tasks over threads of this process; each waits for a child of its own."""

    def spread(one: Callable[[Task], Outcome], tasks: Sequence[Task]) -> list[Outcome]:
        with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
            try:
                return list(pool.map(one, tasks))
            except KeyboardInterrupt:
                stop_crawls()  # or the pool would wait for children that nobody wants any more
                pool.shutdown(cancel_futures=True)
                raise

    return spread


def refresh_rates(lake: Lake, sources: Iterable[str], recorded: str | None, now: datetime) -> list[Outcome]:
    """Read the exchange rates of the day. Where a source fails, prices keep their published currency."""
    outcomes = []
    for source in sources:
        recording = recording_of(source, recorded)
        if recorded is not None and recording is None:
            continue
        with tempfile.TemporaryDirectory(prefix="gpufare-") as folder:
            report = crawl(source, Path(folder), recorded=recording)
            if not report.ok:
                outcomes.append(Outcome(source, "failed", report.error or "", report.error_class))
                continue
            observed_at = recorded_at(recording) if recording else now
            lines = report.raw_path.read_text().splitlines()
            rates = [
                Rate.from_json(json.loads(line), observed_at=observed_at, origin="recording" if recording else "live")
                for line in lines
            ]
        lake.append_rates(to_arrow(rates, Rate))
        outcomes.append(Outcome(source, "done", "exchange rates", offers=len(rates), duration_s=report.duration_s))
    return outcomes


def refresh_provider(store: str, task: Task) -> Outcome:
    """Crawl, normalise, judge, store: one provider from its answer to the table.

    Raises storage.lake.StoreError, which concerns every provider; whatever else goes wrong is this provider's outcome.
    """
    lake = Lake.open(store)
    with tempfile.TemporaryDirectory(prefix="gpufare-") as folder:
        report = crawl(task.name, Path(folder), recorded=task.recording, deadline_s=task.deadline_s)
        if not report.ok:
            keep_log(store, task, report)
        try:
            return take_in(lake, task, report)
        except (StoreError, StoreOriginError):
            raise
        except Exception as error:  # noqa: BLE001 - a fault of ours in one provider must not stop the others; it is stored
            return record_fault(lake, task, report, error)


def keep_log(store: str, task: Task, report: CrawlReport) -> None:
    """The child's log beside the store, so that a failure can be looked into. An object store keeps none."""
    if "://" not in store and report.log_path.exists():
        kept = Path(store) / "logs" / task.run_id
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(report.log_path, kept / f"{task.name}.log")


def retryable(outcome: Outcome) -> bool:
    """Is it worth asking again? Not where the provider refuses, or where its page is another."""
    return outcome.state == "failed" and outcome.error_class in {"TimedOut", "NetworkError", "HttpError", "Truncated"}

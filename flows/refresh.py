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
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from spiders.shared.crawl import CrawlReport, crawl
from spiders.shared.har import recorded_at
from storage.lake import Lake

import flows
from flows.access import enabled, refusal
from schemas.facts import facts_version
from schemas.normalise import Context, Normalised, Rates, normalise, normaliser_version
from schemas.offer import SCHEMA_VERSION, Offer
from schemas.providers import provider, providers
from schemas.rate import Rate, usd_rates
from schemas.raw_offer import RawOffer
from schemas.record import to_arrow
from schemas.scrape import ACCEPTED, Scrape
from spiders.shared.source import RECORDED, parser_version
from storage import changes, gate, recordings

RATE_SOURCES = ("ecb",)
REJECTS_KEPT = 20

State = Literal["done", "skipped", "failed", "quarantined"]


@dataclass(frozen=True, slots=True)
class Task:
    """One provider to ask. `recording` answers instead of the provider, at the recording's own time."""

    name: str
    run_id: str
    observed_at: datetime
    recording: Path | None = None
    scheduled_at: datetime | None = None
    deadline_s: float | None = None

    @property
    def origin(self) -> str:
        """What rows of this task say of themselves."""
        return "recording" if self.recording else "live"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one provider: a state, and one line that says why where it is not `done`."""

    name: str
    state: State
    detail: str = ""
    error_class: str | None = None
    offers: int = 0
    changes: int = 0
    warnings: tuple[str, ...] = ()
    access: str | None = None
    duration_s: float = 0.0


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
    """Who is asked and who is skipped, and why. Named together with a recording, a provider needs no consent.

    Raises UnknownRecording where no provider at all has the recording.
    """
    opted_in = enabled()
    tasks: list[Task] = []
    skipped: list[Outcome] = []
    for name in names or providers():
        recording = recording_of(name, recorded)
        reason = refusal(provider(name), opted_in, environment)
        if reason and not (recording and names):
            skipped.append(Outcome(name, "skipped", reason))
        elif recorded is not None and recording is None:
            skipped.append(Outcome(name, "skipped", f"no recording {recorded}"))
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
        tasks = [Task(t.name, t.run_id, t.observed_at, t.recording, t.scheduled_at, deadline_s) for t in tasks]
    lake = Lake.open(store, origin="recording" if recorded is not None else "live", create=True)
    for outcome in skipped:
        on_done(outcome)
    outcomes = [*skipped, *refresh_rates(lake, recorded, now)]
    for outcome in outcomes[len(skipped) :]:
        on_done(outcome)

    def one(task: Task) -> Outcome:
        on_start(task.name)
        outcome = refresh_provider(store, task)
        on_done(outcome)
        return outcome

    outcomes += (spread or threads(jobs))(one, tasks)
    return Summary(run_id, now, (datetime.now(UTC) - now).total_seconds(), tuple(outcomes))


def threads(jobs: int) -> Spread:
    """Spread tasks over threads of this process; each waits for a child of its own."""

    def spread(one: Callable[[Task], Outcome], tasks: Sequence[Task]) -> list[Outcome]:
        with ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:
            return list(pool.map(one, tasks))

    return spread


def refresh_rates(lake: Lake, recorded: str | None, now: datetime) -> list[Outcome]:
    """Read the exchange rates of the day. Where a source fails, prices keep their published currency."""
    outcomes = []
    for source in RATE_SOURCES:
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
        lake.append_rates(rates)
        outcomes.append(Outcome(source, "done", "exchange rates", offers=len(rates), duration_s=report.duration_s))
    return outcomes


def refresh_provider(store: str, task: Task) -> Outcome:
    """Crawl, normalise, judge, store: one provider from its answer to the table."""
    lake = Lake.open(store)
    with tempfile.TemporaryDirectory(prefix="gpufare-") as folder:
        report = crawl(task.name, Path(folder), recorded=task.recording, deadline_s=task.deadline_s)
        if not report.ok:
            keep_log(store, task, report)
        return take_in(lake, task, report)


def keep_log(store: str, task: Task, report: CrawlReport) -> None:
    """The child's log beside the store, so that a failure can be looked into. An object store keeps none."""
    log = report.raw_path.with_name("log.txt")
    if "://" not in store and log.exists():
        kept = Path(store) / "logs" / task.run_id
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, kept / f"{task.name}.log")


def take_in(lake: Lake, task: Task, report: CrawlReport) -> Outcome:
    """From what the crawl wrote to the row that makes it visible."""
    facts = provider(task.name)
    sha = recordings.keep(lake, report.har_path) if report.har_path and report.har_path.exists() else None
    scrape_id = f"{task.observed_at:%Y%m%dT%H%M%SZ}-{task.name}-{uuid.uuid4().hex[:8]}"
    rates = Rates(usd_rates(lake.rates()))
    context = Context(facts, scrape_id, task.observed_at, task.origin, sha, rates)
    read = normalise(raw_offers(report.raw_path), context) if report.ok else Normalised()
    offers = to_arrow(read.offers, Offer)
    previous = lake.last_accepted(task.name, before=task.observed_at)
    judgement = gate.judge(
        offers,
        provider=facts,
        crawl=gate.CrawlFacts(
            finished=report.ok,
            error_class=report.error_class,
            error=report.error,
            records=len(read.offers) + len(read.rejects),
            rejects=len(read.rejects),
            unmapped=sum(read.unmapped.values()),
        ),
        history=gate.history(lake, task.name, before=task.observed_at),
    )
    scrape = Scrape(
        scrape_id=scrape_id,
        provider=task.name,
        run_id=task.run_id,
        scheduled_at=task.scheduled_at,
        observed_at=task.observed_at,
        recorded_at=datetime.now(UTC),
        duration_s=report.duration_s,
        origin=task.origin,
        access=report.access,
        verdict=judgement.verdict,
        checks=gate.checks_json(judgement.checks),
        error_class=report.error_class,
        error=report.error,
        offers=judgement.offers.num_rows,
        rejects=len(read.rejects),
        withheld=judgement.withheld,
        unmapped=json.dumps(dict(read.unmapped.most_common()), ensure_ascii=False) if read.unmapped else None,
        rejected=rejected_json(read),
        requests=report.requests,
        response_bytes=report.response_bytes,
        recording_sha256=sha,
        schema_version=SCHEMA_VERSION,
        code_version=flows.code_version(),
        parser_version=parser_version(task.name),
        normaliser_version=normaliser_version(),
        facts_version=facts_version(),
    )
    moved = None
    if scrape.verdict in ACCEPTED and previous is not None and not lake.accepted_after(task.name, task.observed_at):
        moved = changes.compare(
            lake.snapshot(previous.scrape_id),
            judgement.offers,
            previous_scrape=previous,
            scrape=scrape,
            provider=facts,
            recorded_at=scrape.recorded_at,
        )
    lake.commit(scrape, judgement.offers if scrape.verdict != "failed" else None, moved)
    return outcome_of(task, report, scrape, judgement, moved.num_rows if moved is not None else 0)


def outcome_of(task: Task, report: CrawlReport, scrape: Scrape, judgement: gate.Judgement, moved: int) -> Outcome:
    """The scrape as the run's summary tells it."""
    odd = [f"{check.name}: {check.detail}" for check in judgement.checks if check.outcome != "ok"]
    if scrape.verdict == "failed":
        return Outcome(task.name, "failed", report.error or "", report.error_class, duration_s=report.duration_s)
    state: State = "quarantined" if scrape.verdict == "quarantined" else "done"
    return Outcome(
        task.name,
        state,
        detail="; ".join(odd) if state == "quarantined" else "",
        offers=scrape.offers - scrape.withheld,
        changes=moved,
        warnings=tuple(odd) if state == "done" else (),
        access=report.access,
        duration_s=report.duration_s,
    )


def raw_offers(path: Path) -> Iterable[RawOffer]:
    """The records that a crawl wrote, one JSON object a line."""
    with path.open() as lines:
        for line in lines:
            yield RawOffer.from_json(json.loads(line))


def rejected_json(read: Normalised) -> str | None:
    """The first records that could not be read, with their reasons."""
    kept = [{"reason": reject.reason, "record": reject.raw.as_json()} for reject in read.rejects[:REJECTS_KEPT]]
    return json.dumps(kept, ensure_ascii=False) if kept else None


def retryable(outcome: Outcome) -> bool:
    """Is it worth asking again? Not where the provider refuses, or where its page is another."""
    return outcome.state == "failed" and outcome.error_class in {"TimedOut", "NetworkError", "HttpError", "Truncated"}

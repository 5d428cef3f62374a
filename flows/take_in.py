"""What a crawl brought, taken into the store: normalise, judge, compare, and commit with the pointer last."""

from __future__ import annotations

import gc
import json
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import flows
from schemas.facts import facts_version
from schemas.normalise import Context, Normalised, Rates, normalise, normaliser_version
from schemas.offer import SCHEMA_VERSION, Offer
from schemas.providers import provider
from schemas.rate import usd_rates
from schemas.raw_offer import RawOffer
from schemas.record import to_arrow
from schemas.scrape import Scrape
from spiders.shared.crawl import CrawlReport
from spiders.shared.source import parser_version
from storage import gate, recordings, review
from storage.gate_history import history_of
from storage.lake import Lake

if TYPE_CHECKING:
    import pyarrow as pa

REJECTS_KEPT = 20
PORTION = 10_000

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


def take_in(lake: Lake, task: Task, report: CrawlReport) -> Outcome:
    """From what the crawl wrote to the row that makes it visible. Raises storage.lake.StoreError."""
    facts = provider(task.name)
    har = report.har_path if report.har_path and report.har_path.exists() else None
    sha = recordings.keep(lake, har) if har else None
    rates = Rates(usd_rates(lake.rates()))
    scrape_id = new_scrape_id(task.name, task.observed_at)
    context = Context(facts, scrape_id, task.observed_at, task.origin, sha, rates)
    offers, read = normalised(raw_offers(report.raw_path) if report.ok else (), context)
    crawled = crawl_facts(report, offers, read)
    past = history_of(lake, task.name, before=task.observed_at)
    judgement = gate.judge(offers, provider=facts, crawl=crawled, history=past)
    scrape = scrape_of(task, report, scrape_id, sha)
    scrape.verdict = judgement.verdict
    scrape.checks = judgement.checks_json
    scrape.offers = judgement.offers.num_rows
    scrape.rejects = len(read.rejects)
    scrape.withheld = judgement.withheld
    scrape.unmapped = json.dumps(dict(read.unmapped.most_common()), ensure_ascii=False) if read.unmapped else None
    scrape.rejected = rejected_json(read)
    del past, offers  # a big provider's two nights are 200 MB, and comparing needs as much again
    moved = review.changes_of(lake, scrape, judgement.offers, recorded_at=scrape.recorded_at)
    lake.commit(scrape, judgement.offers if scrape.verdict != "failed" else None, moved)
    outcome = outcome_of(report, scrape, judgement, moved.num_rows if moved is not None else 0)
    mended = tuple(f"correction {name} is outlived: drop it from corrections.toml" for name in sorted(read.outlived))
    return replace(outcome, warnings=(*outcome.warnings, *mended))


def new_scrape_id(name: str, observed_at: datetime) -> str:
    """Sortable by time, tells its provider, unique."""
    return f"{observed_at:%Y%m%dT%H%M%SZ}-{name}-{uuid.uuid4().hex[:8]}"


def crawl_facts(report: CrawlReport, offers: pa.Table, read: Normalised) -> gate.CrawlFacts:
    """What the gate hears of a crawl and of what was read from it."""
    return gate.CrawlFacts(
        finished=report.ok,
        error_class=report.error_class,
        error=report.error,
        records=offers.num_rows + len(read.rejects),
        rejects=len(read.rejects),
        unmapped=sum(read.unmapped.values()),
    )


def normalised(records: Iterable[RawOffer], context: Context) -> tuple[pa.Table, Normalised]:
    """The offers as a table in Offer's schema, and what could not be read.

    In portions: 100,000 Offers at once are 100 MB of Python objects, as Arrow they are 30.
    """
    import pyarrow as pa

    whole, tables, remaining = Normalised(), [], iter(records)
    with collector_paused():
        while portion := list(islice(remaining, PORTION)):
            read = normalise(portion, context)
            tables.append(to_arrow(read.offers, Offer))
            whole.rejects += read.rejects
            whole.unmapped += read.unmapped
            whole.outlived |= read.outlived
    return pa.concat_tables(tables) if tables else to_arrow([], Offer), whole


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection while records are made by the thousand: they hold no cycles, and looking costs a third."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def scrape_of(task: Task, report: CrawlReport, scrape_id: str, sha: str | None) -> Scrape:
    """The row of an attempt as far as the crawl knows it; a failed one until a verdict is given."""
    return Scrape(
        scrape_id=scrape_id,
        provider=task.name,
        run_id=task.run_id,
        scheduled_at=task.scheduled_at,
        observed_at=task.observed_at,
        recorded_at=datetime.now(UTC),
        duration_s=report.duration_s,
        origin=task.origin,
        access=report.access,
        verdict="failed",
        error_class=report.error_class,
        error=report.error,
        offers=0,
        rejects=0,
        withheld=0,
        requests=report.requests,
        response_bytes=report.response_bytes,
        recording_sha256=sha,
        schema_version=SCHEMA_VERSION,
        code_version=flows.code_version(),
        parser_version=parser_version(task.name),
        normaliser_version=normaliser_version(),
        facts_version=facts_version(),
    )


def record_fault(lake: Lake, task: Task, report: CrawlReport, error: Exception) -> Outcome:
    """Store an attempt that our own code could not take in, so that `gpufare status` shows it."""
    scrape = scrape_of(task, report, new_scrape_id(task.name, task.observed_at), None)
    scrape.error_class = "InternalError"
    scrape.error = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    lake.commit(scrape)
    return Outcome(task.name, "failed", scrape.error, scrape.error_class, duration_s=report.duration_s)


def outcome_of(report: CrawlReport, scrape: Scrape, judgement: gate.Judgement, moved: int) -> Outcome:
    """The scrape as the run's summary tells it."""
    took = report.duration_s
    if scrape.verdict == "failed":
        return Outcome(scrape.provider, "failed", scrape.error or "", scrape.error_class, duration_s=took)
    if scrape.verdict == "quarantined":
        grave = [check for check in judgement.checks if check.outcome == "quarantine"]
        why = "; ".join(f"{check.name}: {check.detail}" for check in grave)
        return Outcome(scrape.provider, "quarantined", why, offers=scrape.offers, access=report.access, duration_s=took)
    odd = [f"{check.name}: {check.detail}" for check in judgement.checks if check.outcome != "ok"]
    return Outcome(
        scrape.provider,
        "done",
        offers=scrape.offers - scrape.withheld,
        changes=moved,
        warnings=tuple(odd),
        access=report.access,
        duration_s=took,
    )


def raw_offers(path: Path) -> Iterable[RawOffer]:
    """The records that a crawl wrote, one JSON object a line."""
    with path.open() as lines:
        for line in lines:
            yield RawOffer.from_json(json.loads(line))


def rejected_json(read: Normalised) -> str | None:
    """The first records that could not be read, with their reasons."""
    kept = [{"reason": reject.reason, "record": reject.raw.as_json()} for reject in read.rejects[:REJECTS_KEPT]]
    return json.dumps(kept, ensure_ascii=False, default=str) if kept else None

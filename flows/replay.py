"""Today's spiders over the answers that were kept: what comes out otherwise is restated, nothing is overwritten.

A restated snapshot is a scrape of its own with the same `observed_at`, a later `recorded_at`, and the one that it
stands for in `supersedes`. A second replay with the same code adds nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import flows
from flows.take_in import crawl_facts, new_scrape_id, normalised, raw_offers, rejected_json
from schemas.facts import facts_version
from schemas.normalise import Context, Rates, normaliser_version
from schemas.offer import SCHEMA_VERSION
from schemas.providers import provider
from schemas.rate import usd_rates
from schemas.scrape import ACCEPTED, Scrape
from spiders.shared.crawl import CrawlReport, replay_all
from spiders.shared.source import parser_version
from storage import gate, review
from storage.gate_history import history_of
from storage.lake import Lake, NotFound, StoreError
from storage.recordings import Recordings

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 25
"""recordings that one child process replays"""
# What tells which answer a row stands in, or what the gate found odd: no reason to restate it.
NOT_COMPARED = ("scrape_id", "recording_sha256", "flags")


@dataclass(slots=True)
class Replayed:
    """What became of one provider's kept answers.

    same: those that come out as they stand in the store, or that were read by this very code. restated: new scrapes.
    retold: scrapes whose rows stand, but whose changes were told against a snapshot that was restated since.
    failed: scrapes that today's spider cannot read any more, each with why; they stay as they are.
    """

    provider: str
    same: int = 0
    restated: list[Scrape] = field(default_factory=list)
    retold: list[Scrape] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)


def replay(
    store: str,
    names: Sequence[str] | None = None,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    dry_run: bool = False,
    on_done: Callable[[Replayed], None] = lambda one: None,
) -> list[Replayed]:
    """Replay the visible scrapes of all providers, or of those named, observed in the closed span.

    dry_run: say what would be restated, store nothing. Raises storage.lake.StoreError.
    """
    lake = Lake.open(store)
    rates = Rates(usd_rates(lake.rates()))
    found = []
    every = [
        scrape
        for scrape in reversed(lake.visible())  # oldest first: the gate's memory grows in the order of the world
        if scrape.recording_sha256
        and scrape.origin != "import"
        and (since is None or scrape.observed_at >= since)
        and (until is None or scrape.observed_at <= until)
    ]
    for name in names or sorted({scrape.provider for scrape in every}):
        one = Replayed(name)
        waiting = iter([scrape for scrape in every if scrape.provider == name])
        while portion := list(islice(waiting, AT_ONCE)):
            _portion(lake, portion, rates, one, dry_run=dry_run)
        if not dry_run:
            _retell(lake, name, one)
        found.append(one)
        on_done(one)
    return found


def _portion(lake: Lake, scrapes: list[Scrape], rates: Rates, one: Replayed, *, dry_run: bool) -> None:
    """Some scrapes of one provider in one child process."""
    ours = parser_version(one.provider), normaliser_version()
    other = [scrape for scrape in scrapes if (scrape.parser_version, scrape.normaliser_version) != ours]
    one.same += len(scrapes) - len(other)
    with tempfile.TemporaryDirectory(prefix="gpufare-") as folder:
        kept = list(_unpacked(lake, other, Path(folder), one))
        reports = replay_all(one.provider, [path for _, path in kept], Path(folder) / "work", strict=False)
        for (scrape, _), report in zip(kept, reports, strict=True):
            if not report.ok:
                one.failed.append((scrape.scrape_id, f"{report.error_class}: {report.error}"))
            else:
                _restate(lake, scrape, report, rates, one, dry_run=dry_run)


def _unpacked(lake: Lake, scrapes: list[Scrape], folder: Path, one: Replayed) -> Iterator[tuple[Scrape, Path]]:
    recordings = Recordings.of(lake)
    for place, scrape in enumerate(scrapes):
        path = folder / f"{place}.har"
        try:
            path.write_bytes(recordings.open(scrape.recording_sha256 or ""))
        except (NotFound, StoreError) as error:
            one.failed.append((scrape.scrape_id, str(error)))
        else:
            yield scrape, path


def _restate(lake: Lake, old: Scrape, report: CrawlReport, rates: Rates, one: Replayed, *, dry_run: bool) -> None:
    """Compare what the answers say today with what the store says they said; store it where they differ."""
    facts = provider(old.provider)
    scrape_id = new_scrape_id(old.provider, old.observed_at)
    context = Context(facts, scrape_id, old.observed_at, old.origin, old.recording_sha256, rates)
    offers, read = normalised(raw_offers(report.raw_path), context)
    if _alike(lake.snapshot(old.scrape_id), offers):
        one.same += 1
        return
    past = history_of(lake, old.provider, before=old.observed_at)
    judgement = gate.judge(offers, provider=facts, crawl=crawl_facts(report, offers, read), history=past)
    scrape = replace(
        old,
        scrape_id=scrape_id,
        supersedes=old.scrape_id if judgement.verdict in ACCEPTED else None,
        recorded_at=datetime.now(UTC),
        verdict=judgement.verdict,
        checks=judgement.checks_json,
        offers=judgement.offers.num_rows,
        rejects=len(read.rejects),
        rejected=rejected_json(read),
        withheld=judgement.withheld,
        note=f"replayed; stands for {old.scrape_id}",
        schema_version=SCHEMA_VERSION,
        code_version=flows.code_version(),
        parser_version=parser_version(old.provider),
        normaliser_version=normaliser_version(),
        facts_version=facts_version(),
    )
    if not dry_run:
        moved = review.changes_of(lake, scrape, judgement.offers, recorded_at=scrape.recorded_at)
        lake.commit(scrape, judgement.offers, moved)
        lake.refresh()
    one.restated.append(scrape)


def _retell(lake: Lake, name: str, one: Replayed) -> None:
    """Tell anew what moved between a night that was restated and the next one, where that is something else now.

    The next night's rows are stored once more under a scrape of its own, for changes are visible through their scrape.
    Found by the store alone, so a replay that was ended goes on with it.
    """
    visible = [scrape for scrape in reversed(lake.visible(name)) if scrape.origin != "import"]
    for previous, scrape in pairwise(visible):
        if not previous.supersedes or previous.recorded_at <= scrape.recorded_at:
            continue
        offers = lake.snapshot(scrape.scrape_id)
        now = datetime.now(UTC)
        again = replace(
            scrape,
            scrape_id=new_scrape_id(name, scrape.observed_at),
            supersedes=scrape.scrape_id,
            recorded_at=now,
            note=f"told anew after {previous.scrape_id}; stands for {scrape.scrape_id}",
        )
        offers = offers.set_column(
            offers.schema.get_field_index("scrape_id"), offers.schema.field("scrape_id"), _same(again, len(offers))
        )
        moved = review.changes_of(lake, again, offers, recorded_at=now)
        if _ids(moved) != _ids(lake.changes_of(scrape.scrape_id)):
            lake.commit(again, offers, moved)
            lake.refresh()
            one.retold.append(again)


def _same(scrape: Scrape, rows: int) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(scrape.scrape_id, pa.string()), rows)


def _ids(changes: pa.Table | None) -> set[str]:
    return set() if changes is None else set(changes["change_id"].to_pylist())


def _alike(stored: pa.Table, read: pa.Table) -> bool:
    """Do two tables of offers say the same of the same offers? The gate merges rows that stand twice."""
    names = [name for name in stored.column_names if name not in NOT_COMPARED]
    tables = [table.select(names).sort_by([("offer_key", "ascending")]) for table in (stored, read)]
    if tables[0].equals(tables[1]):
        return True
    first, second = ({str(row) for row in table.to_pylist()} for table in tables)
    return first == second

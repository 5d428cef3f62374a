"""A person's word on scrapes that the gate held back. A verdict is a new row in `scrapes`; nothing is overwritten."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from schemas.providers import providers
from schemas.scrape import ACCEPTED, Scrape
from storage.changes import compare
from storage.errors import NotFound, StoreError
from storage.gate_history import reference
from storage.gate_types import CheckResult, checks_from_json
from storage.lake import Lake

if TYPE_CHECKING:
    import pyarrow as pa

INSTANT = timedelta(microseconds=1)
"""the finest step of an instant in the store"""


def pending(lake: Lake, provider: str | None = None) -> list[Scrape]:
    """Quarantined scrapes that nobody decided on, newest first; see `reasons`."""
    verdicts = {scrape.scrape_id: scrape for scrape in lake.scrapes(provider)}  # oldest verdict first, the last stays
    waiting = [scrape for scrape in verdicts.values() if scrape.verdict == "quarantined"]
    return sorted(waiting, key=lambda s: (s.observed_at, s.provider), reverse=True)


def reasons(scrape: Scrape) -> list[CheckResult]:
    """The checks that held a scrape back."""
    return [check for check in checks_from_json(scrape.checks) if check.outcome == "quarantine"]


def overtaken(lake: Lake, scrape: Scrape) -> bool:
    """Was a later scrape of the provider accepted? Then accepting this one fills history and changes nothing today."""
    newest = lake.last_accepted(scrape.provider)
    return newest is not None and newest.observed_at > scrape.observed_at


def accept(
    lake: Lake, provider: str, scrape_id: str | None = None, *, now: datetime, note: str | None = None
) -> Scrape:
    """Take a quarantined scrape (the newest of the provider unless named). Returns the new verdict.

    Its changes against the last accepted scrape are stored first, the verdict last. A scrape that is older than the
    last accepted one fills history and brings no changes. Raises NotFound, and StoreError for a scrape whose rows
    share a key: nobody could say which of them holds.
    """
    held = _pending(lake, provider, scrape_id)
    offers = lake.snapshot(held.scrape_id)
    if len(offers["offer_key"].unique()) != offers.num_rows:
        raise StoreError(
            f"scrape {held.scrape_id} of {provider} cannot be accepted: rows share a key; mend the spider's key, then "
            f"`gpufare refresh {provider}`"
        )
    scrape = replace(held, verdict="accepted_with_warnings", recorded_at=now, note=note or "accepted by a person")
    changes = changes_of(lake, scrape, offers, recorded_at=now)
    if changes is not None and changes.num_rows:
        lake.append_changes(scrape, changes)
    lake.append_scrape(scrape)
    return scrape


def reject(
    lake: Lake, provider: str, scrape_id: str | None = None, *, now: datetime, note: str | None = None
) -> Scrape:
    """Refuse a quarantined scrape (the newest of the provider unless named) for good. Raises NotFound."""
    held = _pending(lake, provider, scrape_id)
    scrape = replace(held, verdict="rejected", recorded_at=now, note=note or "rejected by a person")
    lake.append_scrape(scrape)
    return scrape


def changes_of(lake: Lake, scrape: Scrape, offers: pa.Table, *, recorded_at: datetime) -> pa.Table | None:
    """The changes that an accepted scrape brings, to be stored before its verdict; None where it brings none.

    That is: it was not accepted, nothing was accepted before it, or something later was (then it only fills history).
    A scrape that takes the place of another of the same instant takes its changes away with it: so what moved since the
    instant before is told anew, and for the newest one also what is read otherwise now. What others kept is no earlier
    look of ours: the first scrape after an import is not compared with it.
    """
    if scrape.verdict not in ACCEPTED:
        return None
    compared = [
        previous
        for previous in _before(lake, scrape.provider, scrape.observed_at)
        if (previous.origin == "import") == (scrape.origin == "import")
    ]
    if not compared:
        return None
    facts = providers().get(scrape.provider)
    if facts is None:
        raise StoreError(f"no facts about provider {scrape.provider}; add it to providers.toml, then try again")
    import pyarrow as pa

    return pa.concat_tables(
        compare(
            reference(lake, scrape.provider, before=previous.observed_at + INSTANT),
            offers,
            previous_scrape=previous,
            # Restated or not, the market moved between two instants.
            scrape=scrape if previous.observed_at == scrape.observed_at else replace(scrape, supersedes=None),
            provider=facts,
            recorded_at=recorded_at,
        )
        for previous in compared
    )


def _before(lake: Lake, provider: str, at: datetime) -> list[Scrape]:
    """The visible scrapes that one of the instant is compared with: the newest, where it is older; else the one before
    the instant and the one of the instant itself, the latter only where it is the newest. Empty for a scrape that only
    fills history.
    """
    newest = lake.last_accepted(provider)
    if newest is None or newest.observed_at < at:
        return [] if newest is None else [newest]
    displaced = lake.last_accepted(provider, before=at + INSTANT)
    if displaced is None or displaced.observed_at < at:
        return []
    earlier = lake.last_accepted(provider, before=at)
    return [*([earlier] if earlier else []), *([displaced] if newest.observed_at == at else [])]


def _pending(lake: Lake, provider: str, scrape_id: str | None) -> Scrape:
    waiting = pending(lake, provider)
    for scrape in waiting:
        if scrape_id is None or scrape.scrape_id == scrape_id:
            return scrape
    which = f"scrape {scrape_id} of {provider}" if scrape_id else f"scrape of {provider}"
    known = f"; waiting are {', '.join(s.scrape_id for s in waiting)}" if waiting else ""
    raise NotFound(f"no quarantined {which}{known}; `gpufare review` lists all")

"""How long recordings are kept, by provider: what is past its time goes, unless something still leans on it."""

from __future__ import annotations

from datetime import datetime, timedelta

from schemas.providers import providers
from schemas.scrape import Scrape
from storage.lake import Lake
from storage.recordings import Recordings


def expired(lake: Lake, now: datetime) -> list[str]:
    """Hashes of the kept recordings whose time is over, in order.

    A recording stays while one scrape that names it is younger than its provider's `recordings_days`, is the last that
    was accepted of its provider, or waits for review. Without `recordings_days` it stays for ever. Raises StoreError.
    """
    scrapes = lake.scrapes()
    shown = {scrape.scrape_id for scrape in lake.current(now)[0]}
    verdicts = {scrape.scrape_id: scrape.verdict for scrape in scrapes}  # oldest first: the last word stands
    named = {scrape.recording_sha256 for scrape in scrapes}
    wanted = {
        scrape.recording_sha256
        for scrape in scrapes
        if scrape.scrape_id in shown or verdicts[scrape.scrape_id] == "quarantined" or not is_over(scrape, now)
    }
    return [sha256 for sha256 in Recordings.of(lake).hashes() if sha256 in named - wanted]


def sweep_recordings(lake: Lake, now: datetime) -> list[str]:
    """Delete the recordings whose time is over; gives their hashes. Their rows stay, but cannot be replayed."""
    kept, gone = Recordings.of(lake), expired(lake, now)
    for sha256 in gone:
        kept.delete(sha256)
    return gone


def is_over(scrape: Scrape, now: datetime) -> bool:
    """Is the scrape older than its provider keeps recordings?"""
    known = providers().get(scrape.provider)
    if known is None or known.recordings_days is None:
        return False
    return now - scrape.observed_at > timedelta(days=known.recordings_days)

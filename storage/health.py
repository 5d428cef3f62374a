"""How each provider fares: last success, last attempt, failures in a row, age; and the words that no table knows."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from schemas.providers import Provider, providers
from schemas.scrape import ACCEPTED, Scrape
from storage.gate_types import COUNT_MEMORY
from storage.lake import Lake

State = Literal["fresh", "stale", "failing", "never", "frozen", "off"]
DURATIONS = 30


@dataclass(frozen=True, slots=True)
class Health:
    """One provider. Ages in seconds; null where there was no attempt yet."""

    provider: str
    state: State
    status: str
    access: str
    last_success: datetime | None
    last_attempt: datetime | None
    last_verdict: str | None
    consecutive_failures: int
    error_class: str | None
    error: str | None
    rows: int | None
    rows_vs_median: float | None
    p50_duration_s: float | None
    age_s: float | None
    fresh_for_h: int
    quarantined: int


def status(
    lake: Lake, now: datetime, *, as_of: datetime | None = None, known_at: datetime | None = None
) -> list[Health]:
    """Every provider of providers.toml, and any other that the store holds, in that order; at `as_of`, default `now`.

    `failing`: the last attempt failed or was quarantined; `stale`: the last success is older than the provider's
    window;
    `never`: no success yet. A provider that is frozen, retired or off says so instead. With `known_at` only the
    verdicts count that had been given by then.
    """
    attempts: dict[str, list[Scrape]] = {}
    for scrape in _until(lake.scrapes(), as_of, known_at):
        attempts.setdefault(scrape.provider, []).append(scrape)
    visible: dict[str, list[Scrape]] = {}
    for scrape in lake.visible(None, known_at, before=as_of and as_of + timedelta(microseconds=1)):  # newest first
        visible.setdefault(scrape.provider, []).append(scrape)
    known = providers()
    return [
        _health(slug, known.get(slug), attempts.get(slug, []), visible.get(slug, []), as_of or now)
        for slug in [*known, *sorted(set(attempts) - set(known))]
    ]


def _until(scrapes: Iterable[Scrape], as_of: datetime | None, known_at: datetime | None) -> list[Scrape]:
    return [
        scrape
        for scrape in scrapes
        if (as_of is None or scrape.observed_at <= as_of) and (known_at is None or scrape.recorded_at <= known_at)
    ]


def _health(
    slug: str, facts: Provider | None, rows: Sequence[Scrape], visible: Sequence[Scrape], now: datetime
) -> Health:
    verdicts = {scrape.scrape_id: scrape for scrape in rows}  # oldest verdict first: the last one stays
    attempts = sorted(verdicts.values(), key=lambda scrape: scrape.observed_at)
    failures = 0
    for scrape in reversed(attempts):
        if scrape.verdict in ACCEPTED:
            break
        failures += 1
    last, good = (attempts[-1] if attempts else None), (visible[0] if visible else None)
    fresh_for_h = facts.fresh_for_h if facts else 36
    age = None if good is None else (now - good.observed_at).total_seconds()
    counts = [scrape.offers for scrape in visible[1 : COUNT_MEMORY + 1]]
    usual = statistics.median(counts) if counts else None
    durations = [scrape.duration_s for scrape in attempts[-DURATIONS:] if scrape.duration_s is not None]
    failed = last if failures else None
    return Health(
        provider=slug,
        state=_state(facts, last, age, failures, fresh_for_h),
        status=facts.status if facts else "unknown",
        access=facts.access if facts else "unknown",
        last_success=good.observed_at if good else None,
        last_attempt=last.observed_at if last else None,
        last_verdict=last.verdict if last else None,
        consecutive_failures=failures,
        error_class=failed.error_class if failed else None,
        error=(failed.error or failed.note) if failed else None,
        rows=good.offers if good else None,
        rows_vs_median=round(good.offers / usual, 4) if good and usual else None,
        p50_duration_s=statistics.median(durations) if durations else None,
        age_s=age,
        fresh_for_h=fresh_for_h,
        quarantined=sum(1 for scrape in attempts if scrape.verdict == "quarantined"),
    )


def _state(facts: Provider | None, last: Scrape | None, age: float | None, failures: int, fresh_for_h: int) -> State:
    if facts is not None and facts.status == "frozen":
        return "frozen"
    if facts is not None and facts.status != "active":
        return "off"
    if last is None:
        return "never"
    if failures:
        return "failing"
    if age is None:
        return "never"
    return "stale" if age > fresh_for_h * 3600 else "fresh"


@dataclass(frozen=True, slots=True)
class Unmapped:
    """Words for an accelerator that no table knows: how often they came, from whom, since when they are seen last."""

    words: str
    offers: int
    providers: tuple[str, ...]
    last_seen: datetime


def unmapped(lake: Lake, *, as_of: datetime | None = None, known_at: datetime | None = None) -> list[Unmapped]:
    """Unknown accelerator words of every provider's last attempt that brought rows, most frequent first.

    `as_of`: of the attempts up to then; `known_at`: of the verdicts given by then.
    """
    last: dict[str, Scrape] = {}
    for scrape in sorted(_until(lake.scrapes(), as_of, known_at), key=lambda scrape: scrape.observed_at):
        if scrape.offers:
            last[scrape.provider] = scrape
    found: dict[str, list[tuple[str, int, datetime]]] = {}
    for scrape in last.values():
        for words, count in json.loads(scrape.unmapped or "{}").items():
            found.setdefault(words, []).append((scrape.provider, int(count), scrape.observed_at))
    rows = [
        Unmapped(words, sum(n for _, n, _ in seen), tuple(sorted(p for p, _, _ in seen)), max(at for _, _, at in seen))
        for words, seen in found.items()
    ]
    return sorted(rows, key=lambda row: (-row.offers, row.words))

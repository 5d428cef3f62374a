"""How each provider fares, and words that no table knows."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from schemas.providers import providers
from storage.health import status, unmapped


def health(lake, now, provider="hyperbolic"):
    return next(row for row in status(lake, now) if row.provider == provider)


def test_B15_every_provider_of_the_table_has_a_row(world, lake):
    rows = status(lake, world.at(1))
    assert [row.provider for row in rows] == list(providers())
    assert {row.state for row in rows} <= {"never", "frozen", "off"}
    row = health(lake, world.at(1))
    assert (row.last_success, row.last_attempt, row.rows, row.age_s, row.p50_duration_s) == (None,) * 5


def test_B15_numbers_of_a_provider(world, lake):
    for day, (rows, took) in enumerate([(4, 2.0), (6, 9.0), (4, 1.0), (3, 3.0)], start=1):
        world.put(lake, day, *[world.offer(i) for i in range(rows)], duration_s=took)
    row = health(lake, world.at(4) + timedelta(hours=2))
    assert (row.state, row.last_success, row.last_attempt) == ("fresh", world.at(4), world.at(4))
    assert (row.rows, row.rows_vs_median, row.age_s, row.fresh_for_h) == (3, 0.75, 7200.0, 36)
    assert row.p50_duration_s == 2.5
    assert (row.consecutive_failures, row.error_class, row.quarantined) == (0, None, 0)


def test_B15_B18_failures_in_a_row_and_their_class(world, lake):
    world.put(lake, 1, world.offer(1))
    world.put(lake, 2, verdict="failed", error_class="Blocked", error="403 from the provider")
    world.put(lake, 3, world.offer(1), verdict="quarantined")
    world.put(lake, 4, verdict="failed", error_class="LayoutChanged", error="no table of prices")
    row = health(lake, world.at(4))
    assert (row.state, row.consecutive_failures, row.quarantined) == ("failing", 3, 1)
    assert (row.last_success, row.last_attempt, row.last_verdict) == (world.at(1), world.at(4), "failed")
    assert (row.error_class, row.error) == ("LayoutChanged", "no table of prices")
    world.put(lake, 5, world.offer(1))
    row = health(lake, world.at(5))
    assert (row.state, row.consecutive_failures, row.error_class) == ("fresh", 0, None)


def test_a_verdict_that_was_revised_counts_as_revised(world, lake):
    held = world.put(lake, 1, world.offer(1), verdict="quarantined")
    assert health(lake, world.at(1)).state == "failing"
    lake.append_scrape(replace(held, verdict="accepted_with_warnings", recorded_at=world.at(2)))
    assert health(lake, world.at(2)).state == "fresh"


@pytest.mark.parametrize(("hours", "state"), [(36, "fresh"), (37, "stale")])
def test_B16_past_its_window_a_provider_is_stale(world, lake, hours, state):
    world.put(lake, 1, world.offer(1))
    assert health(lake, world.at(1) + timedelta(hours=hours)).state == state


def test_a_provider_that_the_table_no_longer_has_is_still_told(world, lake):
    world.put(lake, 1, world.offer(1, provider="bygone"), provider="bygone")
    assert health(lake, world.at(1), "bygone").status == "unknown"


def test_B22_what_is_not_collected_says_so(world, lake):
    frozen = replace(providers()["hyperbolic"], status="frozen", status_reason="terms")
    from storage.health import _state

    assert _state(frozen, None, None, 0, 36) == "frozen"
    assert _state(replace(frozen, status="retired"), None, None, 3, 36) == "off"


def test_B12_unknown_words_with_counts_and_where(world, lake):
    world.put(lake, 1, world.offer(1), unmapped=json.dumps({"Old Words": 9}))
    world.put(lake, 2, world.offer(1), unmapped=json.dumps({"Brand New 9000": 2, "Odd": 1}))
    world.put(lake, 1, world.offer(1, provider="lambda"), provider="lambda", unmapped=json.dumps({"Brand New 9000": 5}))
    world.put(lake, 3, verdict="failed")
    rows = [(row.words, row.offers, row.providers, row.last_seen.day) for row in unmapped(lake)]
    assert rows == [("Brand New 9000", 7, ("hyperbolic", "lambda"), 2), ("Odd", 1, ("hyperbolic",), 2)]

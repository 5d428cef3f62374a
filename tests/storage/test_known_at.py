"""What was believed at a moment, of diff, status and the views of SQL."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from storage.filters import Filters
from storage.health import status, unmapped
from storage.news import changes
from storage.series import diff
from storage.views import sql


@pytest.fixture
def corrected(world, lake):
    """Two nights; on the 9th the second one is restated, and a quarantined third one is accepted."""
    world.put(lake, 1, world.offer(1, "2"))
    world.put(lake, 2, world.offer(1, "3"))
    fixed = {"scrape_id": "fix", "supersedes": "hyperbolic-2", "recorded_at": world.at(9)}
    world.put(lake, 2, world.offer(1, "4"), **fixed)
    held = world.put(lake, 3, world.offer(1, "5"), verdict="quarantined")
    lake.append_scrape(replace(held, verdict="accepted", recorded_at=world.at(9)))
    return lake


def test_C2_diff_as_believed_then(world, corrected):
    def new(**when):
        table = diff(corrected, date(2026, 11, 1), date(2026, 11, 2), **when).table
        return [float(row["new_price"]) for row in table.to_pylist()]

    assert new() == [4.0]
    assert new(known_at=world.at(8)) == [3.0]
    assert new(known_at=world.at(2, 2)) == []  # the second night was not known yet


def test_C2_status_as_of_a_day_and_as_believed_then(world, corrected):
    def health(**when):
        (row,) = [h for h in status(corrected, world.at(20), **when) if h.provider == "hyperbolic"]
        return row.state, row.consecutive_failures, row.last_success

    assert health() == ("stale", 0, world.at(3))
    assert health(as_of=world.at(3, 5)) == ("fresh", 0, world.at(3))
    assert health(as_of=world.at(3, 5), known_at=world.at(4)) == ("failing", 1, world.at(2))
    assert health(as_of=world.at(1, 5)) == ("fresh", 0, world.at(1))
    assert health(as_of=world.at(1, 1)) == ("never", 0, None)


def test_C2_sql_as_believed_then(world, corrected):
    def asked(text, now=None, known_at=None):
        return sql(corrected, text, now or world.at(20), known_at).to_pylist()

    price = "SELECT price::DOUBLE AS p FROM {}"
    assert asked(price.format("offers_now")) == [{"p": 5}]
    assert asked(price.format("offers_now"), world.at(2, 5), world.at(8)) == [{"p": 3}]
    assert asked(price.format("offers_asof('2026-11-02')")) == [{"p": 4}]
    assert asked(price.format("offers_asof('2026-11-02', known_at := '2026-11-08')")) == [{"p": 3}]
    assert asked(price.format("offers_asof('2026-11-02')"), known_at=world.at(8)) == [{"p": 3}]
    assert asked("SELECT count(*) AS n FROM snapshots", known_at=world.at(8)) == [{"n": 2}]
    assert asked("SELECT count(*) AS n FROM snapshots") == [{"n": 3}]
    assert asked("SELECT count(*) AS n FROM scrapes", known_at=world.at(8)) == [{"n": 3}]
    assert asked("SELECT new_price::DOUBLE AS p FROM changes", known_at=world.at(8)) == [{"p": 3}]


def test_C2_unmapped_words_as_of_a_day_and_as_believed_then(world, lake):
    for day, words in ((1, '{"Zeta": 1}'), (2, '{"Eta": 2}')):
        world.put(lake, day, world.offer(1), unmapped=words)
    assert [u.words for u in unmapped(lake)] == ["Eta"]
    assert [u.words for u in unmapped(lake, as_of=world.at(1, 5))] == ["Zeta"]
    assert [u.words for u in unmapped(lake, known_at=world.at(1, 5))] == ["Zeta"]
    assert unmapped(lake, as_of=world.at(1, 1)) == []


def moves(lake, **when):
    """Day, cause, old and new price of every change that a reader sees."""
    rows = changes(lake, Filters(purchase=()), all=True, **when).table.to_pylist()
    return sorted((row["observed_at"].day, row["cause"], row["old"], row["new"]) for row in rows)


def test_C2_the_same_night_taken_once_more_keeps_what_moved_in_it(world, lake):
    for day, price in ((1, "2"), (2, "3")):
        world.put(lake, day, world.offer(1, price))
    before = moves(lake)
    assert before == [(2, "market", "2", "3")]
    for again in ("again", "and again"):
        world.put(lake, 2, world.offer(1, "3"), scrape_id=again, recorded_at=world.at(4))
        assert moves(lake) == before
    world.put(lake, 3, world.offer(1, "4"))
    assert moves(lake) == [*before, (3, "market", "3", "4")]


def test_C2_restated_nights_keep_what_moved_in_them(world, lake):
    """As a replay does it, oldest first; only of the newest night it is told what is read otherwise."""
    for day, price in ((1, "2"), (2, "3"), (3, "4")):
        world.put(lake, day, world.offer(1, price))
    believed = moves(lake)
    for day, price in ((1, "12"), (2, "13"), (3, "14")):
        fixed = {"scrape_id": f"fix-{day}", "supersedes": f"hyperbolic-{day}", "recorded_at": world.at(9, day)}
        world.put(lake, day, world.offer(1, price), **fixed)
    assert moves(lake) == [(2, "market", "12", "13"), (3, "correction", "4", "14"), (3, "market", "13", "14")]
    assert moves(lake, known_at=world.at(8)) == believed == [(2, "market", "2", "3"), (3, "market", "3", "4")]


def test_a_night_that_fills_history_moves_nothing(world, lake):
    for day, price in ((1, "2"), (3, "4"), (2, "3")):
        world.put(lake, day, world.offer(1, price))
    assert moves(lake) == [(3, "market", "2", "4")]

"""Change rows as readers see them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from storage.filters import Filters, Gpu
from storage.news import changes

ALL = Filters(purchase=())


def told(answer):
    return [(r["offer_key"].split(":")[-1], r["kind"], r["observed_at"].day) for r in answer.table.to_pylist()]


def test_changes_come_newest_first_with_their_size(world, lake):
    world.put(lake, 1, world.offer(1, "2"), world.offer(2))
    world.put(lake, 2, world.offer(1, "2.5"), world.offer(2))
    world.put(lake, 3, world.offer(1, "2.5"))
    answer = changes(lake, ALL)
    assert told(answer) == [("2", "removed", 3), ("1", "price_up", 2)]
    row = answer.table.to_pylist()[1]
    assert (float(row["absolute"]), row["relative"]) == (0.5, pytest.approx(0.25))
    assert (answer.total, answer.hidden, answer.origin) == (2, 0, "recording")
    assert told(changes(lake, ALL, limit=1)) == [("2", "removed", 3)]
    assert changes(lake, ALL, limit=1).total == 2


def test_span_and_filters(world, lake):
    world.put(lake, 1, world.offer(1, "2"), world.offer("a", "1", gpu="A100"))
    world.put(lake, 2, world.offer(1, "2.5"), world.offer("a", "1.5", gpu="A100"))
    world.put(lake, 3, world.offer(1, "3"), world.offer("a", "1.5", gpu="A100"))
    assert told(changes(lake, ALL, since=world.at(3))) == [("1", "price_up", 3)]
    assert told(changes(lake, Filters(gpus=(Gpu("A100"),)))) == [("a", "price_up", 2)]
    assert told(changes(lake, ALL, until=world.at(2), since=world.at(2))) == [
        ("a", "price_up", 2),
        ("1", "price_up", 2),
    ]
    assert changes(lake, Filters(providers=("lambda",))).total == 0


def test_D08_C8_moves_under_one_percent_are_hidden_unless_asked_for(world, lake):
    world.put(lake, 1, world.offer(1, "2.939"))
    world.put(lake, 2, world.offer(1, "2.934"))
    assert (changes(lake, ALL).total, changes(lake, ALL).hidden) == (0, 1)
    assert told(changes(lake, ALL, all=True)) == [("1", "price_down", 2)]
    assert told(changes(lake, ALL, deadband=0.0)) == [("1", "price_down", 2)]


def test_C8_what_returns_within_the_window_is_hidden_both_ways(world, lake):
    for day, price, stock in [
        (1, "2", "available"),
        (2, "3", "sold_out"),
        (3, "2", "available"),
        (4, "3", "available"),
    ]:
        world.put(lake, day, world.offer(1, price, availability=stock))
    assert len(told(changes(lake, ALL, all=True))) == 5
    assert told(changes(lake, ALL, flap=timedelta(hours=1))) == told(changes(lake, ALL, all=True))
    assert told(changes(lake, ALL)) == []
    world.put(lake, 9, world.offer(1, "2", availability="available"))  # back, but days later
    assert told(changes(lake, ALL)) == [("1", "price_down", 9)]


def test_C7_a_failed_or_quarantined_night_yields_no_removed(world, lake):
    world.put(lake, 1, *[world.offer(i) for i in range(6)])
    world.put(lake, 2, verdict="failed")
    world.put(lake, 3, world.offer(0), verdict="quarantined")
    assert changes(lake, ALL, all=True).total == 0
    world.put(lake, 4, *[world.offer(i, availability="sold_out" if i == 5 else "available") for i in range(1, 6)])
    assert sorted(told(changes(lake, ALL))) == [("0", "removed", 4), ("5", "sold_out", 4)]


def test_changes_of_a_scrape_that_loses_its_verdict_are_hidden(world, lake):
    world.put(lake, 1, world.offer(1, "2"))
    second = world.put(lake, 2, world.offer(1, "3"))
    assert changes(lake, ALL).total == 1
    lake.append_scrape(replace(second, verdict="rejected", recorded_at=world.at(3)))
    assert changes(lake, ALL).total == 0
    assert changes(lake, ALL, known_at=world.at(2, 12)).total == 1


def test_C9_a_reader_that_starts_again_sees_each_change_once(world, lake):
    for day in range(1, 8):
        world.put(lake, day, world.offer(1, str(day)), world.offer(2, str(day * 2)))
    seen, after = [], ""
    for _ in range(20):
        answer = changes(lake, ALL, after=after, limit=5)
        if answer.table.num_rows == 0:
            break
        seen += answer.table["change_id"].to_pylist()
        after = answer.last
    assert answer.last == after
    assert len(seen) == len(set(seen)) == 12
    everything = changes(lake, ALL, all=True).table
    assert seen == list(reversed(everything["change_id"].to_pylist()))


def test_the_number_of_a_marketplaces_listings_is_news_only_when_it_halves(world, lake):
    def night(day, listings):
        rows = [world.offer(i, "1", provider="vast", tier="verified") for i in range(listings)]
        world.put(lake, day, *rows, provider="vast")

    night(1, 10)
    night(2, 7)
    night(3, 3)
    answer = changes(lake, ALL)
    assert [(r["column"], r["old"], r["new"]) for r in answer.table.to_pylist()] == [("listings", "7", "3")]
    assert answer.hidden == 1

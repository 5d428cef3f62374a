"""The past of an offer, and two days side by side."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime

import pytest

from schemas.providers import providers
from storage.changes import compare
from storage.filters import Filters, Gpu
from storage.gate_history import reference
from storage.series import diff, end_of, history

ANY = Filters(purchase=())


def steps(table, key="1"):
    return [
        (r["observed_at"].day, r["event"], r["price"] and float(r["price"]), r["until"] and r["until"].day)
        for r in table.to_pylist()
        if r["offer_key"].endswith(f":{key}")
    ]


def test_one_row_for_each_step(world, lake):
    nights = [("2", "available"), ("2", "available"), ("1.9", "available"), ("1.9", "sold_out"), ("1.9", "sold_out")]
    for day, (price, stock) in enumerate(nights, start=1):
        world.put(lake, day, world.offer(1, price, availability=stock))
    assert steps(history(lake, ANY)) == [
        (1, "first", 2.0, 3),
        (3, "price", 1.9, 4),
        (4, "availability", 1.9, None),
    ]


def test_D01_a_gap_is_not_observed_and_no_change(world, lake):
    for day, price in enumerate(["100", None, "100"], start=1):
        world.put(lake, day, world.offer(1, price))
    assert steps(history(lake, ANY)) == [(1, "first", 100.0, 2), (2, "not_observed", None, None)]
    world.put(lake, 4, world.offer(1, None))
    world.put(lake, 5, world.offer(1, "120"))
    assert steps(history(lake, ANY))[2:] == [(4, "not_observed", None, 5), (5, "price", 120.0, None)]


def test_D01_a_price_that_is_held_back_is_not_observed(world, lake):
    world.put(lake, 1, world.offer(1, "2"))
    world.put(lake, 2, world.offer(1, "200", flags=["price_out_of_range", "withheld"]))
    assert steps(history(lake, ANY)) == [(1, "first", 2.0, 2), (2, "not_observed", None, None)]


def test_C7_gone_sold_out_and_not_fetched_are_three_things(world, lake):
    world.put(lake, 1, world.offer(1), world.offer(2))
    world.put(lake, 2, world.offer(1, availability="sold_out"), world.offer(2))
    world.put(lake, 3, verdict="failed")
    world.put(lake, 4, world.offer(2), verdict="quarantined")
    world.put(lake, 5, world.offer(2))
    world.put(lake, 6, world.offer(1), world.offer(2))
    assert steps(history(lake, ANY)) == [
        (1, "first", 2.5, 2),
        (2, "availability", 2.5, 5),
        (5, "gone", None, 6),
        (6, "back", 2.5, None),
    ]
    assert steps(history(lake, ANY), "2") == [(1, "first", 2.5, None)]


def test_span_and_filters(world, lake):
    for day in range(1, 6):
        world.put(lake, day, world.offer(1, str(day)), world.offer("a", gpu="A100", vram_gib=40.0))
    assert [d for d, *_ in steps(history(lake, ANY, since=world.at(2), until=world.at(4)))] == [2, 3, 4]
    assert set(history(lake, Filters(gpus=(Gpu("A100"),)))["offer_key"].to_pylist()) == {"hyperbolic:a"}
    assert set(history(lake, Filters(vram=(None, 40)))["offer_key"].to_pylist()) == {"hyperbolic:a"}
    assert history(lake, Filters(providers=("lambda",))).num_rows == 0


def test_an_edge_of_the_span_is_no_end_of_an_offer(world, lake):
    world.put(lake, 1, world.offer(1))
    world.put(lake, 5, world.offer(2))
    assert steps(history(lake, ANY, until=world.at(4))) == [(1, "first", 2.5, None)]


def test_C5_two_days_side_by_side(world, lake):
    before = {
        "up": world.offer("up", "2"),
        "down": world.offer("down", "2"),
        "gone": world.offer("gone"),
        "out": world.offer("out"),
        "disk": world.offer("disk", disk_gib=1.0),
        "same": world.offer("same"),
    }
    world.put(lake, 1, *before.values())
    world.put(lake, 2, *before.values())
    world.put(
        lake,
        3,
        world.offer("up", "3"),
        world.offer("down", "1"),
        world.offer("out", availability="sold_out"),
        world.offer("disk", disk_gib=2.0),
        world.offer("same"),
        world.offer("new"),
    )
    answer = diff(lake, date(2026, 11, 1), date(2026, 11, 3))
    assert {(r["offer_key"].split(":")[1], r["what"]) for r in answer.table.to_pylist()} == {
        ("up", "price_up"),
        ("down", "price_down"),
        ("gone", "gone"),
        ("out", "stock"),
        ("disk", "attribute"),
        ("new", "new"),
    }
    assert (answer.not_fetched, answer.first_seen, answer.no_longer) == ([], [], [])
    assert diff(lake, date(2026, 11, 1), date(2026, 11, 2)).table.num_rows == 0
    assert diff(lake, date(2026, 11, 1), date(2026, 11, 3), Filters(gpus=(Gpu("A100"),))).table.num_rows == 0
    back = diff(lake, date(2026, 11, 3), date(2026, 11, 1))
    assert {r["what"] for r in back.table.to_pylist() if r["offer_key"].endswith("gone")} == {"new"}


def test_C5_C7_providers_that_were_not_fetched_or_first_seen_are_named(world, lake):
    world.put(lake, 1, world.offer(1))
    world.put(lake, 1, world.offer(1, provider="lambda"), provider="lambda")
    world.put(lake, 2, world.offer(1, "3"))
    world.put(lake, 2, world.offer(1, provider="nebius"), provider="nebius")
    world.put(lake, 2, world.offer(1, provider="lambda"), provider="lambda", verdict="failed")
    answer = diff(lake, date(2026, 11, 1), date(2026, 11, 2))
    assert [r["provider"] for r in answer.table.to_pylist()] == ["hyperbolic"]
    assert (answer.not_fetched, answer.first_seen) == (["lambda"], ["nebius"])
    assert diff(lake, date(2026, 11, 2), date(2026, 11, 1)).no_longer == ["nebius"]
    only = diff(lake, date(2026, 11, 1), date(2026, 11, 2), Filters(providers=("lambda",), purchase=()))
    assert (only.table.num_rows, only.not_fetched, only.first_seen) == (0, ["lambda"], [])


@pytest.mark.parametrize(
    ("moment", "end"),
    [
        (date(2026, 11, 1), datetime(2026, 11, 1, 23, 59, 59, 999999, UTC)),
        (datetime(2026, 11, 1, 5, tzinfo=UTC), datetime(2026, 11, 1, 5, tzinfo=UTC)),
    ],
)
def test_a_day_stands_for_its_end(moment, end):
    assert end_of(moment) == end


def random_offers(chance: random.Random, world, provider: str) -> list:
    """Twenty offers or so, most of them as on any other day."""
    found = []
    for number in range(22):
        if chance.random() < 0.1:
            continue
        flags = ["withheld"] if chance.random() < 0.05 else None
        found.append(
            world.offer(
                number,
                None if chance.random() < 0.05 else chance.choice(["2", "2", "2", "2.5"]),
                provider=provider,
                availability=chance.choice(["available", "available", "available", "sold_out"]),
                vcpus=chance.choice([None, 8.0, 8.0, 8.0, 8.000000001, 16.0]),
                region=chance.choice(["us", "us", "us", "eu"]),
                flags=flags,
            )
        )
    return found


@pytest.mark.parametrize("seed", range(4))
def test_diff_tells_what_a_comparison_of_whole_snapshots_tells(world, lake, seed):
    """Although it reads only what differs, and all providers at once; vast is compared by group."""
    chance = random.Random(seed)
    names = ("hyperbolic", "lambda", "nebius", "vast")
    for day in range(1, 5):
        for name in names:
            world.put(lake, day, *random_offers(chance, world, name), provider=name)
    told = []
    for name in names:
        old, new = (next(s for s in lake.visible(name) if s.observed_at == world.at(day)) for day in (3, 4))
        before = reference(lake, name, before=world.at(4))
        after = lake.snapshot(new.scrape_id)
        moved = compare(
            before, after, previous_scrape=old, scrape=new, provider=providers()[name], recorded_at=new.recorded_at
        )
        told += moved.to_pylist()
    found = diff(lake, world.at(3), world.at(4)).table.drop_columns(["what"]).to_pylist()
    assert len(found) > 20
    assert sorted(found, key=by_id) == sorted(told, key=by_id)


def by_id(row: dict) -> str:
    return row["change_id"]

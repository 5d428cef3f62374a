"""The past at even steps: what was observed, carried, missing, failed; nothing in between is made up."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from storage import filled as module
from storage.filled import TooManyPoints, filled
from storage.filters import Filters, Gpu

ANY = Filters(purchase=())


def days(table, key="1"):
    """Day, state, reason, price of one offer."""
    return [
        (r["period_start"].day, r["state"], r["reason"], r["usd_per_gpu_hour"] and float(r["usd_per_gpu_hour"]))
        for r in table.to_pylist()
        if r["offer_key"].endswith(f":{key}")
    ]


def per_offer(lake, now, **asked):
    return filled(lake, ANY, every=asked.pop("every", "day"), now=now, per="offer", **asked)


def test_C4_observed_carried_missing_and_failed_are_told_apart(world, lake):
    """A window of 36 hours: a night that was left out is carried, the next one is missing."""
    world.put(lake, 1, world.offer(1, "2"))
    world.put(lake, 4, world.offer(1, "3"))
    world.put(lake, 5, verdict="failed", error_class="Blocked")
    world.put(lake, 6, verdict="failed", error_class="TimedOut")
    world.put(lake, 7, world.offer(1, "4"))
    table = per_offer(lake, world.at(7, 9))
    assert days(table) == [
        (1, "observed", None, 2.0),
        (2, "carried", "not_fetched", 2.0),
        (3, "missing", "not_fetched", None),
        (4, "observed", None, 3.0),
        (5, "failed", "Blocked", 3.0),
        (6, "failed", "TimedOut", None),
        (7, "observed", None, 4.0),
    ]
    assert table["failures"].to_pylist() == [0, 0, 0, 0, 1, 1, 0]
    row = table.to_pylist()[1]
    assert (row["observed_at"], row["scrape_id"]) == (world.at(1), "hyperbolic-1")  # as old as it is
    assert row["usd_per_gpu_hour"] == Decimal(2)
    assert table.schema.field("usd_per_gpu_hour").type == pa.decimal128(24, 10)


def test_C4_nothing_is_interpolated(world, lake):
    world.put(lake, 1, world.offer(1, "2"))
    world.put(lake, 9, world.offer(1, "10"))
    prices = {price for *_, price in days(per_offer(lake, world.at(9, 9)))}
    assert prices == {2.0, None, 10.0}


def test_gone_sold_out_and_held_back_are_three_things(world, lake):
    world.put(lake, 1, world.offer(1, "2"), world.offer(2, "2"), world.offer(3, "2"))
    world.put(lake, 2, world.offer(2, availability="sold_out", price="2"), world.offer(3, None))
    world.put(lake, 3, world.offer(2, "2"), world.offer(3, "2"), verdict="quarantined")
    world.put(lake, 4, world.offer(1, "5"), world.offer(2, "2"), world.offer(3, None))
    world.put(lake, 5, world.offer(2, "2"), world.offer(3, "2.1"))
    world.put(lake, 6, world.offer(2, "2"), world.offer(3, "2.1"))
    table = per_offer(lake, world.at(6, 9))
    assert days(table, "1") == [
        (1, "observed", None, 2.0),
        (2, "missing", "gone", None),
        (3, "missing", "gone", None),
        (4, "observed", None, 5.0),
        (5, "missing", "gone", None),  # and no further: a dead listing is told once
    ]
    assert [state for _, state, *_ in days(table, "2")] == ["observed", "observed", "failed", "observed"] + [
        "observed"
    ] * 2
    assert table.to_pylist()[6]["availability"] == "sold_out"
    assert days(table, "3") == [
        (1, "observed", None, 2.0),
        (2, "carried", "no_price", 2.0),
        (3, "failed", "quarantined", None),
        (4, "missing", "no_price", None),
        (5, "observed", None, 2.1),
        (6, "observed", None, 2.1),
    ]


def test_hours_weeks_and_months(world, lake):
    for day in (1, 2, 20):
        world.put(lake, day, world.offer(1, str(day)))
    hours = per_offer(lake, world.at(3, 20), every="hour", until=world.at(4))
    states = [r["state"] for r in hours.to_pylist()]
    assert len(states) == 24 * 2 + 1 + 18
    assert (states[0], states[24], states[1], states[23]) == ("observed", "observed", "carried", "carried")
    assert states[24 + 35 : 24 + 38] == ["carried", "missing", "missing"]  # 36 hours and half of one more
    weeks = per_offer(lake, world.at(22), every="week").to_pylist()
    assert [w["period_start"].date().isoformat() for w in weeks] == [
        "2026-10-26",
        "2026-11-02",
        "2026-11-09",
        "2026-11-16",
    ]
    assert [w["state"] for w in weeks] == ["observed", "observed", "missing", "observed"]
    assert weeks[0]["period_end"] == datetime(2026, 11, 2, tzinfo=UTC)
    (month,) = per_offer(lake, world.at(22), every="month").to_pylist()
    assert (month["period_start"].day, month["period_end"]) == (1, world.at(22))  # a month that still runs
    assert (month["state"], month["usd_per_gpu_hour"], month["observed_at"]) == ("observed", 20, world.at(20))


def test_a_span_knows_what_stood_before_it(world, lake):
    world.put(lake, 1, world.offer(1, "2"))
    table = per_offer(lake, world.at(4), since=world.at(2, 0), until=world.at(3))
    assert days(table) == [(2, "carried", "not_fetched", 2.0), (3, "missing", "not_fetched", None)]
    assert per_offer(lake, world.at(4), since=world.at(9)).num_rows == 0


def test_both_clocks(world, lake):
    old = world.put(lake, 1, world.offer(1, "2.5"))
    world.put(lake, 1, world.offer(1, "2.6"), scrape_id="fix", supersedes=old.scrape_id, recorded_at=world.at(5))
    assert days(per_offer(lake, world.at(1, 9)))[0][3] == 2.6
    assert days(per_offer(lake, world.at(1, 9), known_at=world.at(4)))[0][3] == 2.5
    held = world.put(lake, 2, world.offer(1, "3"), verdict="quarantined")
    assert days(per_offer(lake, world.at(2, 9)))[1][1:3] == ("failed", "quarantined")
    lake.append_scrape(replace(held, verdict="accepted", recorded_at=world.at(6)))
    assert days(per_offer(lake, world.at(2, 9)))[1][1:] == ("observed", None, 3.0)
    assert days(per_offer(lake, world.at(2, 9), known_at=world.at(4)))[1][1:3] == ("failed", "quarantined")


def test_a_card_has_one_series_for_each_form_and_purchase(world, lake):
    for slug, price in (("hyperbolic", "2"), ("lambda", "3"), ("nebius", "4")):
        world.put(lake, 1, world.offer(1, price, provider=slug), provider=slug)
    world.put(lake, 1, world.offer("sp", "1", provider="oci", purchase="spot"),
              world.offer("nvl", "9", provider="oci", form_factor="NVL"), provider="oci")  # fmt: skip
    world.put(lake, 2, provider="hyperbolic", verdict="failed", error_class="Blocked")
    world.put(lake, 2, world.offer(2, "5", provider="lambda"), provider="lambda")
    world.put(lake, 2, world.offer(1, "4", provider="nebius"), provider="nebius")
    rows = filled(lake, ANY, every="day", now=world.at(3, 9)).to_pylist()
    kinds = [(r["form_factor"], r["purchase"]) for r in rows]
    assert list(dict.fromkeys(kinds)) == [("NVL", "on_demand"), ("SXM", "on_demand"), ("SXM", "spot")]
    first, second, third = [r for r in rows if (r["form_factor"], r["purchase"]) == ("SXM", "on_demand")]
    assert (first["state"], first["usd_per_gpu_hour"], first["median_usd_per_gpu_hour"]) == ("observed", 2, 3)
    assert (first["offers"], first["providers"], first["offer_key"]) == (3, 3, "hyperbolic:1")
    # hyperbolic was blocked: its price still stands, and the point says from what it is
    assert (second["state"], second["reason"], second["usd_per_gpu_hour"]) == ("failed", "Blocked", 2)
    assert (second["offers"], second["median_usd_per_gpu_hour"]) == (3, 4)
    assert [second[n] for n in ("observed", "carried", "missing", "failed", "gone")] == [2, 0, 0, 1, 1]
    assert (third["state"], third["usd_per_gpu_hour"], third["offer_key"]) == ("carried", 4, "nebius:1")
    assert [third[n] for n in ("observed", "carried", "missing", "failed", "gone")] == [0, 2, 1, 0, 0]


def test_the_series_of_a_card_goes_on_when_all_offers_are_gone(world, lake):
    world.put(lake, 1, world.offer(1), world.offer("a", gpu="A100"))
    for day in (2, 3, 4):
        world.put(lake, day, world.offer("a", gpu="A100"))
    wanted = Filters(gpus=(Gpu("H100"), Gpu("A100")), purchase=())
    rows = [r for r in filled(lake, wanted, every="day", now=world.at(4, 9)).to_pylist() if r["gpu"] == "H100"]
    assert [(r["state"], r["reason"], r["offers"]) for r in rows] == [("observed", None, 1)] + [
        ("missing", "gone", 0)
    ] * 3


def test_nothing_seen_is_an_empty_answer_and_too_much_is_refused(world, lake, monkeypatch):
    assert filled(lake, ANY, every="day", now=world.at(1)).num_rows == 0
    assert per_offer(lake, world.at(1)).column_names[:2] == ["period_start", "period_end"]
    world.put(lake, 1, world.offer(1), world.offer(2))
    monkeypatch.setattr(module, "MOST_POINTS", 10)
    with pytest.raises(TooManyPoints, match="2 offers at 241 steps"):
        per_offer(lake, world.at(1) + timedelta(days=10), every="hour")


def told_by_hand(nights, steps, end, window):
    """What `filled` should say of one offer, worked out step by step. A night: instant, verdict, price (None: no price,
    "gone": not in the snapshot).
    """
    found = []
    # The state at the end of a step counts: gone for some hours of a week is not told.
    closing = [[n[0] for n in nights if n[1] == "accepted" and a <= n[0] < b][-1:] for a, b in steps]
    closing = [at for last in closing for at in last]
    for start, next_start in steps:
        stop = min(next_start, end)
        accepted = [n for n in nights if n[1] == "accepted" and n[0] < next_start]
        here = [n for n in nights if start <= n[0] < next_start]
        if not any(price != "gone" for *_, price in accepted):
            continue  # not seen yet
        at, _, price = accepted[-1]
        since_back = []
        for night in reversed(accepted):
            if night[2] == "gone" and night[0] in closing:
                break
            since_back += [night] if night[2] != "gone" else []
        priced = next((n for n in since_back if n[2] is not None), None)
        stands = priced and start + (stop - start) / 2 - priced[0] <= window
        value = priced[2] if priced and stands else None
        failures = [n for n in here if n[1] != "accepted"]
        if price == "gone":
            found.append((start, "missing", "gone", None))
        elif at >= start and price is not None:
            found.append((start, "observed", None, price))
        elif at >= start:
            found.append((start, "carried" if stands else "missing", "no_price", value))
        elif failures:
            found.append((start, "failed", failures[-1][1].replace("failed", "Blocked"), value))
        else:
            found.append((start, "carried" if stands else "missing", "not_fetched", value))
    while len(found) > 1 and found[-1][2] == found[-2][2] == "gone":
        found.pop()
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("every", ["hour", "day", "week"])
def test_C4_as_worked_out_by_hand_for_nights_at_random(world, lake, seed, every):
    chance = random.Random(seed)
    nights, at = [], world.at(1, 0)
    for n in range(14):
        at += timedelta(hours=chance.choice([1, 7, 20, 24, 24, 30, 60]), minutes=chance.randrange(60))
        verdict = chance.choice(["accepted"] * 4 + ["failed", "quarantined"])
        price = chance.choice(["1", "2", "3", "4", None, "gone"])
        rows = [world.offer("other")] if price == "gone" else [world.offer(1, price), world.offer("other")]
        facts = {"error_class": "Blocked"} if verdict == "failed" else {}
        world.put(lake, n + 1, *rows, observed_at=at, recorded_at=at, verdict=verdict, **facts)
        nights.append((at, verdict, price))
    end = at + timedelta(hours=chance.choice([0, 5, 50]))
    length = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7)}[every]
    start = datetime(2026, 10, 26, tzinfo=UTC)
    steps = [(start + n * length, start + (n + 1) * length) for n in range(int((end - start) / length) + 1)]
    table = per_offer(lake, end, every=every)
    got = [
        (r["period_start"], r["state"], r["reason"], r["price"] and f"{r['price']:f}".rstrip("0").rstrip("."))
        for r in table.to_pylist()
        if r["offer_key"].endswith(":1")
    ]
    assert got == told_by_hand(nights, steps, end, timedelta(hours=36))

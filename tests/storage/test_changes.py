"""What counts as a change, and why it came."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from schemas.change import Change
from schemas.record import arrow_schema
from storage.changes import ATTRIBUTES, compare


@pytest.fixture
def diff(world) -> Callable:
    def run(before, after, listings=False, old=None, new=None):
        first, second = world.scrape(1, **(old or {})), world.scrape(2, **(new or {}))
        table = compare(
            None if before is None else world.stamped(first, before),
            world.stamped(second, after),
            previous_scrape=None if before is None else first,
            scrape=second,
            provider=replace(world.provider, listings=listings),
            recorded_at=world.at(2, 5),
        )
        assert table.schema.equals(arrow_schema(Change))
        return table.to_pylist()

    return run


def told(rows):
    return [(r["offer_key"].split(":")[-1], r["kind"], r["column"], r["old"], r["new"]) for r in rows]


def test_each_kind_of_change(world, diff):
    before = [
        world.offer("up", "2"),
        world.offer("down", "2.50"),
        world.offer("out", availability="limited"),
        world.offer("in", availability="sold_out"),
        world.offer("gone"),
        world.offer("disk", disk_gib=100.0),
        world.offer("stock", availability="unknown"),
        world.offer("same"),
    ]
    after = [
        world.offer("up", "2.2"),
        world.offer("down", "2.25"),
        world.offer("out", availability="sold_out"),
        world.offer("in", availability="available"),
        world.offer("disk", disk_gib=200.0),
        world.offer("stock", availability="available"),
        world.offer("same"),
        world.offer("new"),
    ]
    rows = diff(before, after)
    assert told(rows) == [
        ("disk", "changed", "disk_gib", "100", "200"),
        ("down", "price_down", "price", "2.5", "2.25"),
        ("gone", "removed", None, None, None),
        ("in", "available", "availability", "sold_out", "available"),
        ("new", "added", None, None, None),
        ("out", "sold_out", "availability", "limited", "sold_out"),
        ("stock", "changed", "availability", "unknown", "available"),
        ("up", "price_up", "price", "2", "2.2"),
    ]
    by_key = {r["offer_key"].split(":")[-1]: r for r in rows}
    assert by_key["down"]["relative"] == pytest.approx(-0.1)
    assert (by_key["down"]["old_price"], by_key["down"]["new_price"]) == (Decimal("2.5"), Decimal("2.25"))
    assert (by_key["new"]["old_price"], by_key["new"]["new_price"]) == (None, Decimal("2.5"))
    assert (by_key["gone"]["old_price"], by_key["gone"]["new_price"]) == (Decimal("2.5"), None)
    assert by_key["gone"]["gpu"] == by_key["new"]["gpu"] == "H100"
    assert by_key["gone"]["usd_per_gpu_hour"] is None
    assert {r["cause"] for r in rows} == {"market"}
    assert {(r["observed_at"], r["previous_observed_at"]) for r in rows} == {(world.at(2), world.at(1))}
    assert {r["recorded_at"] for r in rows} == {world.at(2, 5)}
    assert len({r["change_id"] for r in rows}) == len(rows)


def test_D11_the_first_snapshot_brings_no_changes(world, diff):
    assert diff(None, [world.offer(i) for i in range(5)]) == []


def test_D10_an_offer_that_is_gone_is_told_for_its_provider(world, diff):
    assert told(diff([world.offer("A"), world.offer("B")], [world.offer("A")])) == [("B", "removed", None, None, None)]


def test_A02_regions_come_from_the_answer(world, diff):
    before = [world.offer(r, region=r) for r in ("FIN-01", "ICE-01")]
    after = [world.offer(r, region=r) for r in ("FIN-01", "FIN-02")]
    assert told(diff(before, after)) == [("FIN-02", "added", *[None] * 3), ("ICE-01", "removed", *[None] * 3)]


def test_H01_noise_in_the_last_digit_is_no_change(world, diff):
    before = [world.offer(1, ram_gib=5599.99, network_gbps=3200.0)]
    assert diff(before, [world.offer(1, ram_gib=5599.99 * (1 + 1e-7), network_gbps=3200.0 - 1e-6)]) == []
    assert told(diff(before, [world.offer(1, ram_gib=5610.0, network_gbps=3200.0)])) == [
        ("1", "changed", "ram_gib", "5599.99", "5610")
    ]


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("2.5", "2.50004", 0),  # below what a table shows
        ("2.5", "2.4999", 1),
        ("2.939", "2.934", 1),
        ("0.0041", "0.0042", 1),
        ("1", None, 0),
        (None, "1", 0),
    ],
)
def test_D08_how_small_a_price_move_counts(world, diff, old, new, changes):
    rows = diff([world.offer(1, old)], [world.offer(1, new)])
    assert len(rows) == changes
    if old == "2.939":
        assert rows[0]["relative"] == pytest.approx(-0.0017, abs=1e-4)


def test_display_precision_is_that_of_one_gpu_hour(world, diff):
    """Eight cards for a month at 14,600 USD: 10 cents more are nothing for one card and hour, 100 USD are not."""
    month = {"price_unit": "instance-month", "gpu_count": 8.0}

    def offer(price):
        return world.offer(1, price, **month, usd_per_gpu_hour=round(Decimal(price) / 5840, 10))

    assert diff([offer("14600")], [offer("14600.1")]) == []
    assert [k for _, k, *_ in told(diff([offer("14600")], [offer("14700")]))] == ["price_up"]


def test_a_moved_exchange_rate_is_no_change(world, diff):
    before = [world.offer(i, "2", currency="EUR", usd_per_gpu_hour=Decimal("2.30")) for i in range(5)]
    after = [replace(o, usd_per_gpu_hour=Decimal("2.36"), usd_per_hour=Decimal("2.36")) for o in before]
    assert diff(before, after) == []


def test_a_price_without_a_rate_still_moves(world, diff):
    quiet = {"currency": "INR", "usd_per_gpu_hour": None, "usd_per_hour": None}
    rows = diff([world.offer(1, "200", **quiet)], [world.offer(1, "180", **quiet)])
    assert told(rows) == [("1", "price_down", "price", "200", "180")]


def test_D05_another_currency_or_unit_is_no_price_move(world, diff):
    rows = diff([world.offer(1, "300", currency="SEK")], [world.offer(1, "290", currency="EUR")])
    assert told(rows) == [("1", "changed", "currency", "300 SEK/gpu-hour", "290 EUR/gpu-hour")]
    rows = diff([world.offer(1, "2")], [world.offer(1, "1460", price_unit="gpu-month")])
    assert told(rows) == [("1", "changed", "price_unit", "2 USD/gpu-hour", "1460 USD/gpu-month")]
    both = diff([world.offer(1, "2")], [world.offer(1, "1460", currency="EUR", price_unit="gpu-month")])
    assert [column for _, _, column, *_ in told(both)] == ["currency"]


def test_rows_that_the_gate_holds_back_are_not_compared(world, diff):
    held = ["price_out_of_range", "withheld"]
    assert diff([world.offer(1, "2")], [world.offer(1, "200", flags=held)]) == []
    assert diff([world.offer(1, "200", flags=held)], [world.offer(1, "2")]) == []
    assert diff([world.offer(1)], [world.offer(1), world.offer(2, "200", flags=held)]) == []


def test_D06_a_shuffled_answer_gives_no_change_and_the_same_ids(world, diff):
    random.seed(1)
    before = [world.offer(i, f"{random.uniform(1, 9):.3f}") for i in range(40)]
    after = [replace(o, price=o.price + 1) if i % 3 == 0 else o for i, o in enumerate(before)]
    ids = set()
    for _ in range(20):
        random.shuffle(before)
        random.shuffle(after)
        assert diff(before, random.sample(before, 40)) == []
        ids.add(tuple(r["change_id"] for r in diff(before, after)))
    assert len(ids) == 1
    assert len(next(iter(ids))) == 14


def test_change_ids_tell_apart_what_differs(world, diff):
    one = diff([world.offer(1, "2")], [world.offer(1, "3")])[0]["change_id"]
    assert one != diff([world.offer(1, "2")], [world.offer(1, "4")])[0]["change_id"]
    assert one != diff([world.offer(2, "2")], [world.offer(2, "3")])[0]["change_id"]
    later = diff([world.offer(1, "2")], [world.offer(1, "3")], new={"observed_at": world.at(3)})
    assert one != later[0]["change_id"]
    renamed = diff(
        [world.offer(1, "2")], [world.offer(1, "3")], new={"scrape_id": "another", "recorded_at": world.at(9)}
    )
    assert one == renamed[0]["change_id"]


# Why.


@pytest.mark.parametrize(
    ("old", "new", "causes"),
    [
        ({}, {}, {"market"}),
        ({"parser_version": "1"}, {"parser_version": "1"}, {"market"}),
        ({"parser_version": "1"}, {"parser_version": "2"}, {"parser", "coverage"}),
        ({"access": "open"}, {"access": "LAMBDA_API_KEY"}, {"market", "coverage"}),
        ({}, {"supersedes": "hyperbolic-1"}, {"correction"}),
        ({"normaliser_version": "1"}, {"normaliser_version": "2"}, {"market", "normaliser"}),
    ],
)
def test_cause_of_a_change(world, diff, old, new, causes):
    before = [world.offer(1, "2"), world.offer(2), world.offer(3, gpu=None, vendor=None)]
    after = [world.offer(1, "3"), world.offer(3), world.offer(4)]
    assert {r["cause"] for r in diff(before, after, old=old, new=new)} == causes


def test_a_new_normaliser_explains_only_what_it_derives(world, diff):
    versions = {"old": {"normaliser_version": "1"}, "new": {"normaliser_version": "2"}}
    derived = diff([world.offer(1, form_factor=None)], [world.offer(1)], **versions)
    assert [(r["column"], r["cause"]) for r in derived] == [("form_factor", "normaliser")]
    both = diff([world.offer(1, form_factor=None)], [world.offer(1, accelerator_raw="H100 SXM5")], **versions)
    assert {(r["column"], r["cause"]) for r in both} == {("form_factor", "market"), ("accelerator_raw", "market")}


# Every attribute is compared: a value in each, by type.

OTHER = {
    "tier": "secure",
    "vcpus": 26.0,
    "term_months": 12,
    "tax_included": True,
    "upfront": Decimal("100.5"),
    "interruption_rate": "<5%",
}


@pytest.mark.parametrize("column", sorted(OTHER))
def test_attributes_that_become_known_are_changes(world, diff, column):
    assert column in ATTRIBUTES
    rows = diff([world.offer(1)], [world.offer(1, **{column: OTHER[column]})])
    assert told(rows)[0][1:4] == ("changed", column, None)
    assert told(diff([world.offer(1, **{column: OTHER[column]})], [world.offer(1)]))[0][4] is None


def test_values_as_text(world, diff):
    rows = diff(
        [world.offer(1, tax_included=True, block_start=world.at(3), upfront=Decimal("100.00"), region="a")],
        [world.offer(1, tax_included=False, block_start=world.at(4), upfront=Decimal("0.05"), region="b")],
    )
    assert {(r["column"], r["old"], r["new"]) for r in rows} == {
        ("tax_included", "yes", "no"),
        ("block_start", "2026-11-03T02:03:04.567890Z", "2026-11-04T02:03:04.567890Z"),
        ("upfront", "100", "0.05"),
        ("region", "a", "b"),
    }


# Marketplaces.


def listing(world, key, price, **given):
    return world.offer(key, price, price_unit="instance-hour", tier="verified", **given)


def test_renumbered_and_shuffled_listings_give_no_change(world, diff):
    random.seed(2)
    before = [listing(world, f"l{i}", f"{1 + i % 7 / 10:.2f}", gpu_count=float(1 + i % 2)) for i in range(50)]
    after = [replace(o, offer_key=f"hyperbolic:m{random.random()}", instance_type=None) for o in before]
    random.shuffle(after)
    assert diff(before, after, listings=True) == []


def test_a_group_of_listings_tells_lowest_median_and_number(world, diff):
    before = [listing(world, i, p) for i, p in enumerate(["1.00", "1.50", "2.00", "2.50", None])]
    after = [listing(world, i, p) for i, p in enumerate(["0.90", "1.40", "1.50", None])]
    rows = diff(before, after, listings=True)
    assert [r[1:] for r in told(rows)] == [
        ("changed", "listings", "5", "4"),
        ("changed", "median_price", "1.5", "1.4"),
        ("price_down", "price", "1", "0.9"),
    ]
    assert len({r["offer_key"] for r in rows}) == 1
    assert [r["relative"] for r in rows] == pytest.approx([-0.2, -0.0666667, -0.1], abs=1e-6)
    assert rows[0]["offer_key"].startswith("hyperbolic:group:")


def test_groups_part_by_card_count_country_tier_and_purchase(world, diff):
    one = listing(world, 1, "1")
    others = [{"gpu": "A100"}, {"gpu_count": 2.0}, {"country": "FR"}, {"purchase": "spot"}, {"form_factor": None}]
    before = [one, *(replace(one, offer_key=f"hyperbolic:{i + 2}", **part) for i, part in enumerate(others))]
    rows = diff(before, [one], listings=True)
    assert [r[1] for r in told(rows)] == ["removed"] * 5
    unknown = [replace(one, gpu=None, accelerator_raw=words) for words in ("New A", "New B")]
    assert [r[1] for r in told(diff(unknown[:1], unknown[1:], listings=True))] in (
        ["added", "removed"],
        ["removed", "added"],
    )


def test_a_group_is_sold_out_when_its_last_free_listing_is(world, diff):
    free = [listing(world, i, "1", availability=a) for i, a in enumerate(["available", "sold_out", "limited"])]
    gone = [replace(o, availability="sold_out") for o in free]
    assert diff(free, [free[2], gone[1]], listings=True)[0]["column"] == "listings"
    assert [r[1] for r in told(diff(free, gone, listings=True))] == ["sold_out"]
    assert [r[1] for r in told(diff(gone, free, listings=True))] == ["available"]


def test_an_empty_marketplace(world, diff):
    rows = diff([listing(world, 1, "1")], [], listings=True)
    assert [r[1] for r in told(rows)] == ["removed"]
    assert diff([], [], listings=True) == []


def test_a_group_of_which_a_listing_is_held_back_is_not_told(world, diff):
    before = [listing(world, "a", "1.00"), listing(world, "b", "2.00", gpu="V100")]
    now = [
        listing(world, "c", "1.00"),
        listing(world, "d", "2.00", gpu="V100", flags=["price_out_of_range", "withheld"]),
    ]
    assert diff(before, now, listings=True) == []
    assert [row["kind"] for row in diff(before, now[:1], listings=True)] == ["removed"]

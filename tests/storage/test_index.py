"""The index of a day, the ratio of spot to on demand, and how often a card was in stock."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest

from storage.filters import Filters, Gpu
from storage.index import INDEX_VERSION, LEFT_OUT, index, ratio
from storage.stock import stock

ANY = Filters(purchase=())
H100 = Filters(gpus=(Gpu("H100", "SXM"),))
FOUR = ("hyperbolic", "lambda", "nebius", "oci")


@pytest.fixture
def night(world, lake):
    """A night in which each provider sells one H100 SXM at the price given."""

    def put(day, prices, **facts):
        for slug, price in zip(FOUR, prices, strict=False):
            rows = [world.offer(i, p, provider=slug, **facts) for i, p in enumerate(price.split())]
            world.put(lake, day, *rows, provider=slug)

    return put


def only(table):
    (row,) = table.to_pylist()
    return row


def test_C14_median_quartiles_lowest_and_how_many_stand_behind_them(world, lake, night):
    night(1, ["2 4", "3", "5"])
    answer = index(lake, H100, now=world.at(1, 9))
    row = only(answer.table)
    prices = [2, 3, 4, 5]
    low, middle, high = statistics.quantiles(prices, n=4, method="inclusive")
    assert row["median_usd_per_gpu_hour"] == Decimal(str(middle))
    assert (float(row["p25_usd_per_gpu_hour"]), float(row["p75_usd_per_gpu_hour"])) == (low, high)
    assert (row["lowest_usd_per_gpu_hour"], row["providers"], row["offers"]) == (2, 3, 4)
    assert (row["day"], row["reason"], row["index_version"]) == (date(2026, 11, 1), None, INDEX_VERSION)


def test_C14_under_three_providers_there_is_no_figure_but_the_reason(world, lake, night):
    night(1, ["2 3 4 5", "3 4"])
    row = only(index(lake, H100, now=world.at(1, 9)).table)
    figures = [row[f"{name}_usd_per_gpu_hour"] for name in ("median", "p25", "p75", "lowest")]
    assert figures == [None] * 4
    assert (row["providers"], row["offers"], row["reason"]) == (2, 6, "2 providers; 3 are needed")


def test_C14_what_was_left_out_is_counted_by_reason(world, lake, night):
    night(1, ["2", "3", "4"])
    odd = [
        world.offer("none", None, provider="oci"),
        world.offer("held", "0.01", provider="oci", flags=["price_out_of_range", "withheld"]),
        world.offer("mig", "1", provider="oci", gpu_count=0.125),
        world.offer("fn", "9", provider="oci", kind="serverless"),
    ]
    world.put(lake, 1, *odd, provider="oci")
    row = only(index(lake, H100, now=world.at(1, 9)).table)
    assert {n: row[n] for n in LEFT_OUT} == {
        "outlier": 0, "stale": 0, "no_price": 1, "withheld": 1, "share_of_gpu": 1, "serverless": 1,
    }  # fmt: skip
    assert (row["providers"], row["median_usd_per_gpu_hour"]) == (3, 3)
    with_shares = only(index(lake, replace(H100, fractional=True), now=world.at(1, 9)).table)
    assert (with_shares["providers"], with_shares["share_of_gpu"]) == (4, 0)


def test_C15_outliers_by_mad_are_named_and_left_out(world, lake, night):
    prices = [2.0, 2.1, 2.2, 2.3, 2.4, 9.0]
    night(1, ["2.0 2.1", "2.2 2.3", "2.4 9.0"])
    answer = index(lake, H100, now=world.at(1, 9))
    row = only(answer.table)
    assert (row["outlier"], row["offers"]) == (1, 5)
    assert row["median_usd_per_gpu_hour"] == Decimal("2.2")
    (named,) = [r for r in answer.rows.to_pylist() if r["left_out"]]
    middle = statistics.median(prices)
    mad = statistics.median(abs(p - middle) for p in prices)
    assert (named["offer_key"], named["left_out"]) == ("nebius:1", "outlier")
    assert named["deviations"] == pytest.approx((9.0 - middle) / (1.4826 * mad))


def test_C15_where_most_cost_the_same_a_bargain_is_no_outlier_and_ten_times_the_price_is(world, lake, night):
    night(1, ["2 2 2", "2 2 1.3", "2 20"])
    rows = index(lake, H100, now=world.at(1, 9)).rows.to_pylist()
    assert [float(r["usd_per_gpu_hour"]) for r in rows if r["left_out"] == "outlier"] == [20.0]
    night(2, ["2 2", "2", "2"])
    assert {r["deviations"] for r in index(lake, H100, now=world.at(2, 9), since=world.at(2)).rows.to_pylist()} == {0}


def test_C15_form_factor_segment_and_purchase_are_never_mixed(world, lake):
    for i, slug in enumerate(("hyperbolic", "lambda", "nebius")):
        kinds = [
            world.offer("sxm", str(2 + i), provider=slug),
            world.offer("pcie", str(12 + i), provider=slug, form_factor="PCIe"),
            world.offer("unsaid", str(22 + i), provider=slug, form_factor=None),
            world.offer("neo", str(32 + i), provider=slug, segment="neocloud"),
            world.offer("spot", str(42 + i), provider=slug, purchase="spot"),
            world.offer("a100", str(52 + i), provider=slug, gpu="A100"),
        ]
        world.put(lake, 1, *kinds, provider=slug)
    table = index(lake, ANY, now=world.at(1, 9)).table
    found = {
        (r["gpu"], r["form_factor"], r["segment"], r["purchase"]): float(r["median_usd_per_gpu_hour"])
        for r in table.to_pylist()
    }
    assert found == {
        ("H100", "SXM", "reseller", "on_demand"): 3,
        ("H100", "PCIe", "reseller", "on_demand"): 13,
        ("H100", None, "reseller", "on_demand"): 23,
        ("H100", "SXM", "neocloud", "on_demand"): 33,
        ("H100", "SXM", "reseller", "spot"): 43,
        ("A100", "SXM", "reseller", "on_demand"): 53,
    }
    assert index(lake, Filters(segments=("neocloud",)), now=world.at(1, 9)).table.num_rows == 1


def test_C16_a_figure_is_provisional_for_three_days_and_a_correction_is_appended(world, lake, night):
    night(1, ["2", "3", "4"])

    def status(now, **asked):
        row = index(lake, H100, now=now, until=world.at(1), **asked).table.to_pylist()[-1]
        return row["status"], float(row["median_usd_per_gpu_hour"])

    end = datetime(2026, 11, 2, tzinfo=UTC)
    assert status(end + timedelta(days=3, seconds=-1)) == ("provisional", 3)
    assert status(end + timedelta(days=3)) == ("final", 3)
    fixed = world.offer(0, "7", provider="lambda")
    world.put(lake, 1, fixed, provider="lambda", scrape_id="fix", supersedes="lambda-1", recorded_at=world.at(9))
    assert status(world.at(20)) == ("final", 4)
    assert status(world.at(20), known_at=world.at(8)) == ("final", 3)  # what was believed before is still there
    assert status(world.at(20), known_at=world.at(2)) == ("provisional", 3)


def test_C20_a_figure_opens_to_the_rows_and_the_bytes_behind_it(world, lake, night):
    night(1, ["2 9", "2.1", "2.2"], recording_sha256="c" * 64, source_url="https://example.test/prices")
    answer = index(lake, H100, now=world.at(1, 9))
    row, rows = only(answer.table), answer.rows.to_pylist()
    used = [r for r in rows if r["left_out"] is None]
    assert len(used) == row["offers"]
    assert statistics.median(r["usd_per_gpu_hour"] for r in used) == row["median_usd_per_gpu_hour"]
    stored = {r["offer_key"]: r for slug in FOUR[:3] for r in lake.snapshot(f"{slug}-1").to_pylist()}
    for r in rows:
        for name in ("scrape_id", "recording_sha256", "source_url", "usd_per_gpu_hour", "observed_at"):
            assert r[name] == stored[r["offer_key"]][name]


def test_a_provider_that_was_not_read_is_carried_within_its_window_and_then_left_out(world, lake, night):
    night(1, ["2", "3", "4"])
    for day in (2, 3):
        world.put(lake, day, world.offer(0, "5"))
        world.put(lake, day, world.offer(0, "5", provider="lambda"), provider="lambda")
        world.put(lake, day, provider="nebius", verdict="failed")
    rows = index(lake, H100, now=world.at(3, 23)).table.to_pylist()
    assert [(r["day"].day, r["providers"], r["carried"], r["stale"]) for r in rows] == [
        (3, 2, 0, 1),
        (2, 3, 1, 0),
        (1, 3, 0, 0),
    ]
    assert rows[0]["reason"] == "2 providers; 3 are needed"
    assert rows[1]["median_usd_per_gpu_hour"] == 5
    second = index(lake, H100, now=world.at(3), since=world.at(2), until=world.at(2))
    assert only(second.table)["day"].day == 2


def test_in_stock_counts_what_is_to_be_had(world, lake, night):
    night(1, ["2", "3", "4"])
    world.put(lake, 1, world.offer(0, "1", provider="oci", availability="sold_out"), provider="oci")
    assert only(index(lake, H100, now=world.at(1, 9)).table)["offers"] == 4
    assert only(index(lake, replace(H100, in_stock=True), now=world.at(1, 9)).table)["offers"] == 3


def test_C18_spot_over_on_demand_and_its_volatility(world, lake):
    spots = {1: "1", 2: "1.2", 3: "0.9", 4: "1.1"}
    for day, spot in spots.items():
        rows = [
            world.offer("od", "4"),
            world.offer("sp", spot, purchase="spot"),
            world.offer("sp2", "3", purchase="spot"),
        ]
        alone = world.offer("x", "1", instance_type="other", purchase="spot")
        rows = [replace(r, instance_type="one") for r in rows]
        world.put(lake, day, *rows, alone)
    answer = ratio(lake, H100, now=world.at(4, 9))
    row = only(answer.table)
    ratios = [float(p) / 4 for p in spots.values()]
    assert (row["provider"], row["instance_type"], row["days"]) == ("hyperbolic", "one", 4)
    assert row["ratio"] == ratios[-1]
    assert (row["lowest_ratio"], row["highest_ratio"]) == (min(ratios), max(ratios))
    assert row["median_ratio"] == pytest.approx(statistics.median(ratios))
    moves = [math.log(b / a) for a, b in pairwise(ratios)]
    assert row["volatility"] == pytest.approx(statistics.stdev(moves))
    newest = answer.rows.to_pylist()[0]
    assert (newest["spot_offer_key"], newest["on_demand_offer_key"]) == ("hyperbolic:sp", "hyperbolic:od")
    assert newest["spot_scrape_id"] == "hyperbolic-4"
    assert only(ratio(lake, H100, now=world.at(4, 9), until=world.at(2)).table)["volatility"] is None
    assert ratio(lake, Filters(gpus=(Gpu("A100"),)), now=world.at(4, 9)).table.num_rows == 0


def test_C17_share_of_scrapes_in_stock_with_the_number_behind_it(world, lake):
    words = ["available", "limited", "sold_out", "unknown", "available"]
    for day, word in enumerate(words, start=1):
        elsewhere = world.offer("eu", region="eu-1", country="FI", availability="sold_out")
        world.put(lake, day, world.offer(1, availability=word), elsewhere)
    world.put(lake, 6, world.offer("eu", region="eu-1", country="FI", availability="unknown"))
    world.put(lake, 7, verdict="failed")
    answer = stock(lake, H100, now=world.at(9))
    rows = {r["region"]: r for r in answer.table.to_pylist()}
    here, there = rows["us-east-1"], rows["eu-1"]
    assert here["in_stock_share"] == 3 / 4
    names = ("told", "in_stock", "sold_out", "unknown", "absent", "scrapes")
    assert [here[n] for n in names] == [4, 3, 1, 1, 1, 6]
    assert [there[n] for n in names] == [5, 0, 5, 1, 0, 6]
    assert (there["in_stock_share"], here["last_seen"]) == (0, world.at(5))
    behind = [r for r in answer.rows.to_pylist() if r["region"] == "us-east-1"]
    assert [r["stock"] for r in behind] == ["in_stock", "unknown", "sold_out", "in_stock", "in_stock"]
    assert (behind[0]["offer_keys"], behind[0]["scrape_id"]) == (["hyperbolic:1"], "hyperbolic-5")
    short = stock(lake, H100, now=world.at(9), since=world.at(3, 0), until=world.at(4)).table.to_pylist()
    assert {r["region"]: r["scrapes"] for r in short} == {"us-east-1": 2, "eu-1": 2}


def test_C17_one_offer_in_stock_is_enough_and_an_open_one_leaves_it_open(world, lake):
    def put(day, *words):
        world.put(lake, day, *[world.offer(i, availability=word) for i, word in enumerate(words)])

    put(1, "sold_out", "unknown", "limited")
    put(2, "sold_out", "unknown")
    put(3, "sold_out", "sold_out")
    world.put(lake, 4, world.offer(1, "0.001", flags=["withheld"]))
    row = only(stock(lake, H100, now=world.at(9)).table)
    assert [row[n] for n in ("in_stock", "unknown", "sold_out", "told")] == [1, 2, 1, 2]
    world.put(lake, 5, world.offer(1, gpu="A100", availability="unknown"))
    assert only(stock(lake, Filters(gpus=(Gpu("A100"),)), now=world.at(9)).table)["in_stock_share"] is None


def test_stock_as_believed_then(world, lake):
    old = world.put(lake, 1, world.offer(1, availability="sold_out"))
    world.put(lake, 1, world.offer(1), scrape_id="fix", supersedes=old.scrape_id, recorded_at=world.at(5))
    assert only(stock(lake, H100, now=world.at(9)).table)["in_stock_share"] == 1
    assert only(stock(lake, H100, now=world.at(9), known_at=world.at(4)).table)["in_stock_share"] == 0


def test_an_empty_store_has_no_index(world, lake):
    assert index(lake, ANY, now=world.at(1)).table.num_rows == 0
    assert ratio(lake, ANY, now=world.at(1)).table.num_rows == 0
    assert stock(lake, ANY, now=world.at(1)).table.num_rows == 0

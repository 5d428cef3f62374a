"""From a need to where to rent, on a real store of one recorded night; needs are made up, prices are its own."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from flows.refresh import refresh
from planner.cards import BRIDGED, LINKED, Demand, Need
from planner.job_cost import Rate, Work
from planner.plan import Choice, Plan, plan
from storage.lake import Lake
from storage.query import Filters, offers

NIGHT = "2026-11-30-night"
NOW = datetime(2026, 11, 30, 3, tzinfo=UTC)
HOUR = 3600
SIX_HOURS = Work(run_s=6 * HOUR)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    store = tmp_path_factory.mktemp("store") / "s"
    refresh(str(store), ["aws", "hyperbolic", "verda", "vultr"], recorded=NIGHT)
    return Lake.open(store)


@pytest.fixture(scope="module")
def rows(lake: Lake) -> list[dict[str, Any]]:
    found = offers(lake, Filters(purchase=()), now=NOW).rows
    assert {row["purchase"] for row in found} >= {"on_demand", "spot", "capacity_block"}
    return found


def demand(gib: float, **given: Any) -> Demand:
    """A LoRA job of so many GiB in all, spread evenly."""
    plain: dict[str, Any] = {
        "need_of": lambda gpus: Need(0.8 * gib / gpus, gib / gpus, 1.2 * gib / gpus),
        "technique": "lora",
        "formats": ("bf16",),
    }
    return Demand(**(plain | given))


def english(texts: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(text) for text in texts)


def reasons_of(made: Plan) -> dict[str, tuple[str, ...]]:
    return {one.offer["offer_key"]: english(one.reasons) for one in made.left_out}


def group(choice: Choice) -> tuple[bool, bool]:
    return choice.offer["availability"] == "unknown", choice.fit.link >= BRIDGED


def test_every_offer_is_chosen_or_left_out_with_a_reason(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(60), SIX_HOURS)
    keys = [choice.offer["offer_key"] for choice in made.choices] + [one.offer["offer_key"] for one in made.left_out]
    assert sorted(keys) == sorted(row["offer_key"] for row in rows)
    assert made.choices
    assert all(one.reasons for one in made.left_out)


def test_A3_what_is_offered_holds_the_job_and_is_in_order(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(60), SIX_HOURS)
    for choice in made.choices:
        row = choice.offer
        assert row["vram_gib"] * row["gpu_count"] >= 60
        assert 0 <= choice.fit.headroom_pct < 100
        assert choice.fit.headroom_pct == pytest.approx(100 * (1 - 60 / row["gpu_count"] / choice.fit.usable_gib))
    groups = [group(choice) for choice in made.choices]
    assert groups == sorted(groups)
    for each in set(groups):
        totals = [choice.cost.total.expected for choice in made.choices if group(choice) == each]
        assert totals == sorted(totals)


def test_the_order_does_not_hang_on_that_of_the_rows(rows: list[dict[str, Any]]) -> None:
    shuffled = list(rows)
    random.Random(7).shuffle(shuffled)
    assert plan(shuffled, demand(60), SIX_HOURS) == plan(rows, demand(60), SIX_HOURS)


def test_A4_nodes_with_links_go_before_pcie_nodes_and_say_why(rows: list[dict[str, Any]]) -> None:
    plain = [row for row in rows if row["provider"] == "aws" and row["purchase"] == "on_demand"]
    made = plan(plain, demand(150), SIX_HOURS)
    links = [choice.fit.link for choice in made.choices]
    assert links == sorted(links)
    assert links[0] == LINKED
    slow = next(choice for choice in made.choices if choice.offer["gpu"] == "L40S")
    assert any("by PCIe" in note for note in english(slow.notes))
    told = {one.offer["offer_key"]: english(one.reasons) for one in made.cheaper()}
    assert told[slow.offer["offer_key"]][0].startswith("PCIe node not preferred: ")


def test_A5_cards_without_bf16_are_left_out_and_say_so(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(10), SIX_HOURS)
    assert not {"V100", "T4"} & {choice.offer["gpu"] for choice in made.choices}
    told = reasons_of(made)
    v100 = [row["offer_key"] for row in rows if row["gpu"] == "V100"]
    assert v100
    assert all("no BF16: Volta, compute capability 7.0" in told[key] for key in v100)
    assert {"T4"} <= {choice.offer["gpu"] for choice in plan(rows, demand(10, formats=()), SIX_HOURS).choices}


def test_A6_the_rank_follows_the_whole_job(rows: list[dict[str, Any]]) -> None:
    one = next(row for row in rows if row["provider"] == "hyperbolic" and row["availability"] == "available")
    by_hour = one | {"offer_key": "a", "usd_per_hour": Decimal("2.00"), "billing_increment_s": HOUR}
    by_minute = one | {"offer_key": "b", "usd_per_hour": Decimal("2.50"), "billing_increment_s": 60}
    short = plan([by_hour, by_minute], demand(60), Work(run_s=20 * 60, runs=10))
    assert [choice.offer["offer_key"] for choice in short.choices] == ["b", "a"]
    assert short.choices[1].cost.total.expected == Decimal("20.00")
    (behind,) = short.cheaper()
    assert english(behind.reasons) == ("the whole job costs more: 20.00 USD in the place of 8.33",)
    long = plan([by_hour, by_minute], demand(60), SIX_HOURS)
    assert [choice.offer["offer_key"] for choice in long.choices] == ["a", "b"]


def test_A6_every_choice_has_its_terms(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(60), Work(run_s=6 * HOUR, storage_gib=200, egress_gib=50, stopped_s=HOUR))
    for choice in made.choices:
        cost = choice.cost
        terms = (cost.compute, cost.rounding, cost.interruptions, cost.storage, cost.stopped, cost.egress)
        assert cost.total.expected == sum(term.expected for term in terms)
        assert cost.compute.expected == 6 * choice.offer["usd_per_hour"]
    assert any("egress_usd_per_gib" in choice.cost.unknown for choice in made.choices)


def test_A7_spot_tells_lost_work_and_on_demand_none(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(60), Work(run_s=6 * HOUR, checkpoint_every_s=900))
    for choice in made.choices:
        low, middle, high = choice.cost.lost_h
        if choice.offer["purchase"] == "spot":
            assert 0 < low < middle < high
        else:
            assert low == middle == high == 0


def test_A8_interruption_is_the_providers_band_or_unknown_never_0(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(60), SIX_HOURS)
    seen = {(c.offer["provider"], c.offer["purchase"]): set() for c in made.choices}
    for choice in made.choices:
        seen[choice.offer["provider"], choice.offer["purchase"]].add(choice.interruption)
        kind = choice.cost.rate.kind if choice.cost.rate else None
        assert kind == ("assumed" if choice.offer["purchase"] == "spot" else None)
    assert seen["verda", "spot"] == {"unknown"}
    assert seen["hyperbolic", "on_demand"] == {None}
    assert seen["aws", "spot"] & {"<5%", "5-10%", "10-15%", "15-20%", ">20%"}
    assert not {"0", "", "0%"} & set().union(*seen.values())


def test_A8_a_rate_that_is_given_takes_the_place_of_the_assumption(rows: list[dict[str, Any]]) -> None:
    calm = Rate("given", 0.0, 0.001, 0.002, "a test")
    given, assumed = (
        {c.offer["offer_key"]: c.cost for c in plan(rows, demand(60), SIX_HOURS, rate=rate).choices}
        for rate in (calm, None)
    )
    spot = [key for key, cost in given.items() if cost.rate is not None and key in assumed]
    assert spot
    assert all(given[key].total.expected < assumed[key].total.expected for key in spot)


def test_spot_says_what_happens_when_it_is_taken_back(rows: list[dict[str, Any]]) -> None:
    told = {
        (c.offer["provider"], c.offer["purchase"]): english(c.notes)
        for c in plan(rows, demand(60), SIX_HOURS).choices
        if c.offer["provider"] in {"aws", "vultr"}
    }
    assert "taken back 120 s after a notice" in told["aws", "spot"]
    assert any(note.startswith("then the instance is terminated") for note in told["aws", "spot"])
    assert "notice before it is taken back not known" in told["vultr", "spot"]
    assert not any("taken back" in note for note in told["aws", "on_demand"])


def test_break_even_is_told_against_on_demand_of_the_same_shape(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(60), SIX_HOURS)
    spot = [choice for choice in made.choices if choice.offer["provider"] == "verda" and choice.price_ratio is not None]
    assert spot
    for choice in spot:
        twin = next(
            row
            for row in rows
            if row["purchase"] == "on_demand" and row["instance_type"] == choice.offer["instance_type"]
        )
        assert choice.price_ratio == pytest.approx(float(choice.offer["usd_per_hour"] / twin["usd_per_hour"]))
        assert choice.break_even_rate is not None
        assert choice.break_even_rate > 0
    assert all(c.price_ratio is None for c in made.choices if c.offer["purchase"] == "on_demand")


def test_A10_in_stock_keeps_only_what_is_seen_in_stock(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(60), SIX_HOURS, in_stock=True)
    assert made.choices
    assert {choice.offer["availability"] for choice in made.choices} <= {"available", "limited"}
    told = reasons_of(made)
    assert all("stock unknown" in told[row["offer_key"]] for row in rows if row["availability"] == "unknown")


def test_A10_what_is_stale_or_sold_out_is_left_out(lake: Lake, rows: list[dict[str, Any]]) -> None:
    told = reasons_of(plan(rows, demand(60), SIX_HOURS))
    sold_out = [row["offer_key"] for row in rows if row["availability"] == "sold_out"]
    assert sold_out
    assert all("sold out" in told[key] for key in sold_out)
    late = plan(offers(lake, Filters(purchase=()), now=NOW + timedelta(days=30)).rows, demand(60), SIX_HOURS)
    assert late.choices == ()
    assert all(str(one.reasons[0]).startswith("stale: 7") for one in late.left_out)
    assert late.cheaper() == late.left_out


def test_unknown_stock_is_kept_behind_what_is_in_stock_and_says_so(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(60), SIX_HOURS)
    stock = [choice.offer["availability"] == "unknown" for choice in made.choices]
    assert stock == sorted(stock)
    assert {True, False} == set(stock)
    for choice in made.choices:
        assert ("nobody tells whether it is in stock" in english(choice.notes)) is (
            choice.offer["availability"] == "unknown"
        )


def test_commitments_shares_and_rows_without_a_price_are_left_out(rows: list[dict[str, Any]]) -> None:
    one = next(row for row in rows if row["provider"] == "hyperbolic" and row["availability"] == "available")
    reserved = one | {"offer_key": "r", "purchase": "reserved", "term_months": 12}
    dear = one | {"offer_key": "p", "usd_per_hour": None}
    many = one | {"offer_key": "m", "min_gpu_count": 8}
    functions = one | {"offer_key": "s", "kind": "serverless"}
    told = reasons_of(plan([*rows, reserved, dear, many, functions], demand(60), SIX_HOURS))
    assert told["r"] == ("reserved: a commitment of 12 months",)
    assert told["p"] == ("no price",)
    assert told["m"] == ("sold from 8 GPUs on",)
    assert told["s"] == ("serverless: no machine of your own",)
    blocks = [row["offer_key"] for row in rows if row["purchase"] == "capacity_block"]
    assert all(told[key][0].startswith("capacity block: ") for key in blocks)
    shares = [row["offer_key"] for row in rows if row["gpu_count"] is not None and row["gpu_count"] < 1]
    assert shares
    assert all("a share of a GPU" in told[key] for key in shares)


def test_a_node_larger_than_needed_is_left_out_unless_it_costs_less(rows: list[dict[str, Any]]) -> None:
    one = next(row for row in rows if row["provider"] == "hyperbolic" and row["availability"] == "available")
    single = one | {"offer_key": "1", "gpu_count": 1.0, "usd_per_hour": Decimal("3")}
    double = one | {"offer_key": "2", "gpu_count": 2.0, "usd_per_hour": Decimal("6")}
    bargain = one | {"offer_key": "4", "gpu_count": 4.0, "usd_per_hour": Decimal("2")}
    made = plan([single, double, bargain], demand(60), SIX_HOURS)
    assert [choice.offer["offer_key"] for choice in made.choices] == ["4", "1"]
    assert reasons_of(made) == {"2": ("more GPUs than needed: 1 of them holds the job for no more",)}


def test_A27_every_cheaper_row_says_what_kept_it_out(rows: list[dict[str, Any]]) -> None:
    made = plan(rows, demand(60), SIX_HOURS)
    best = made.choices[0].offer
    cheaper = {row["offer_key"] for row in rows if row["usd_per_hour"] and row["usd_per_hour"] < best["usd_per_hour"]}
    told = {one.offer["offer_key"]: english(one.reasons) for one in made.cheaper()}
    assert set(told) == cheaper
    assert all(told.values())
    kinds = {reason.split(":")[0] for reasons in told.values() for reason in reasons}
    assert {"no BF16", "too little memory", "a share of a GPU", "stock unknown"} <= kinds
    prices = [one.offer["usd_per_hour"] for one in made.cheaper()]
    assert prices == sorted(prices)


def test_a_job_that_would_not_end_on_spot_stands_last(rows: list[dict[str, Any]]) -> None:
    made = plan(
        [row for row in rows if row["provider"] == "verda"], demand(60), Work(run_s=2000 * HOUR, checkpoints=False)
    )
    endless = [choice.cost.total.expected is None for choice in made.choices]
    assert True in endless
    assert endless == sorted(endless)


def test_what_the_reader_did_not_ask_for_says_so_and_still_tells_the_on_demand_price(
    rows: list[dict[str, Any]],
) -> None:
    def spot_only(row: Any) -> list[str]:
        return [] if row["purchase"] == "spot" else ["not asked for"]

    made = plan(rows, demand(60), SIX_HOURS, why_not=spot_only)
    assert {choice.offer["purchase"] for choice in made.choices} == {"spot"}
    assert any(choice.price_ratio is not None for choice in made.choices)
    others = [one for one in made.left_out if one.offer["purchase"] != "spot"]
    assert others
    assert all("not asked for" in one.reasons for one in others)

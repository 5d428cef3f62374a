"""The gate: each check finds its fault, and leaves alone what is none."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import pytest

from storage.gate import CHECKS, CrawlFacts, Evidence, History, Quarantined, judge
from storage.gate_types import checks_from_json

FINE = CrawlFacts(finished=True)
NOTHING = History()


@pytest.fixture
def gate(world, sizes) -> Callable:
    def run(*offers, history=NOTHING, crawl=FINE, **facts):
        provider = replace(world.provider, **facts)
        return judge(world.table(*offers), provider=provider, crawl=crawl, history=history, known_vram=sizes)

    return run


@pytest.fixture
def past(world) -> Callable:
    def of(*offers, **more):
        table = world.table(*offers)
        return History(row_counts=(len(offers),), last=table, reference=table, **more)

    return of


def check(judged, name):
    return next(c for c in judged.checks if c.name == name)


def flags(judged, key):
    row = next(r for r in judged.offers.to_pylist() if r["offer_key"].endswith(f":{key}"))
    return row["flags"] or []


def test_a_night_without_news_is_accepted(world, gate, past):
    night = [world.offer(i, "2.5") for i in range(10)]
    judged = gate(*night, history=past(*night))
    assert (judged.verdict, judged.withheld) == ("accepted", 0)
    assert [c.name for c in judged.checks] == [c.name for c in CHECKS]
    assert {c.outcome for c in judged.checks} == {"ok"}
    assert judged.offers.equals(world.table(*night))
    assert checks_from_json(judged.checks_json) == judged.checks


@pytest.mark.parametrize(
    "crawl",
    [CrawlFacts(finished=False), CrawlFacts(finished=True, error_class="Truncated", error="page 3 of 5 answered 500")],
)
def test_F15_a_crawl_that_did_not_end_well_fails_whatever_it_brought(world, gate, crawl):
    judged = gate(*[world.offer(i) for i in range(19)], crawl=crawl)
    assert (judged.verdict, judged.offers.num_rows) == ("failed", 0)
    assert judged.checks[0].name == "finished"
    assert (crawl.error or "not finished") in judged.checks[0].detail


def test_B05_no_rows_is_never_published(gate):
    assert gate().verdict == "quarantined"
    assert check(gate(), "not_empty").outcome == "quarantine"
    assert gate(allow_empty=True).verdict == "accepted"


def test_count_in_limits(world, gate):
    night = [world.offer(i) for i in range(5)]
    assert gate(*night, offers_min=5, offers_max=5).verdict == "accepted"
    assert check(gate(*night, offers_min=6), "count_in_limits").outcome == "quarantine"
    assert check(gate(*night, offers_max=4), "count_in_limits").outcome == "quarantine"


@pytest.mark.parametrize(
    ("counts", "rows", "verdict"),
    [
        ((10, 10, 10), 6, "accepted"),
        ((10, 10, 10), 5, "quarantined"),
        ((10, 10, 10), 14, "accepted"),
        ((10, 10, 10), 15, "quarantined"),
        ((10, 100, 10, 10, 100, 10, 10), 10, "accepted"),  # the median, not the mean
        ((2,), 1, "accepted"),  # one row more or less is no fault of a tiny table
        ((4,), 2, "quarantined"),
        ((), 3, "accepted"),
    ],
)
def test_B06_number_of_rows_against_the_median_of_seven_runs(world, gate, counts, rows, verdict):
    judged = gate(*[world.offer(i) for i in range(rows)], history=History(row_counts=counts))
    assert judged.verdict == verdict
    assert check(judged, "count_drop").outcome == ("quarantine" if verdict == "quarantined" else "ok")


def test_F18_loss_of_a_family_of_machines_is_held_back(world, gate, past):
    before = [world.offer(f"{family}{i}") for family in ("c3", "c4", "p3") for i in range(4)]
    judged = gate(*before[8:], history=past(*before))
    assert judged.verdict == "quarantined"
    assert check(judged, "count_drop").value == pytest.approx(0.333333)


def test_B07_a_price_that_doubles_is_flagged_and_stays(world, gate, past):
    before = [world.offer(i, "2") for i in range(10)]
    now = [world.offer(0, "4.1"), world.offer(1, "0.9"), world.offer(2, "4"), *before[3:]]
    judged = gate(*now, history=past(*before))
    assert (judged.verdict, judged.withheld) == ("accepted_with_warnings", 0)
    assert flags(judged, 0) == ["price_jump"]
    assert flags(judged, 1) == ["price_jump"]
    assert flags(judged, 2) == []
    assert check(judged, "price_jump").value == 2


def test_U18_cents_read_as_dollars_are_held_back_by_the_cards_own_band(world, gate):
    known = History(evidence={"H100": Evidence(2.49, 40)})
    judged = gate(*[world.offer(i, p) for i, p in enumerate(["2.10", "1.99", "199", "2.49", "0.39"])], history=known)
    assert judged.withheld == 1
    assert flags(judged, 2) == ["price_out_of_range", "withheld"]
    assert flags(judged, 4) == []
    assert judged.verdict == "accepted_with_warnings"
    assert judged.offers.num_rows == 5


def test_a_bid_is_held_against_bids(world, gate):
    medians = {"H100 at a reseller": Evidence(2.49, 40), "H100 interruptible at a reseller": Evidence(0.30, 40)}
    offers = world.offer(1, "0.2", purchase="bid"), world.offer(2, "0.2"), world.offer(3, "2.5")
    judged = gate(*offers, history=History(evidence=medians))
    assert flags(judged, 1) == []
    assert flags(judged, 2) == ["price_out_of_range", "withheld"]


def test_a_marketplace_may_be_a_tenth_of_a_hyperscaler_but_not_a_hundredth(world, gate):
    known = History(evidence={"H100": Evidence(3.0, 40), "H100 at a hyperscaler": Evidence(9.0, 40)})
    judged = gate(world.offer(1, "0.2"), world.offer(2, "0.03"), world.offer(3, "0.25"), history=known)
    assert [flags(judged, key) for key in (1, 3)] == [[], []]
    assert flags(judged, 2) == ["price_out_of_range", "withheld"]


def test_U18_a_whole_table_in_cents_is_quarantined(world, gate):
    known = History(evidence={"H100": Evidence(2.49, 40)})
    judged = gate(*[world.offer(i, "249") for i in range(20)], history=known)
    assert (judged.verdict, judged.withheld) == ("quarantined", 20)
    assert "20 of 20 rows withheld" in check(judged, "price_range").detail


def test_the_band_comes_from_the_table_itself_where_nothing_else_is_known(world, gate):
    judged = gate(*[world.offer(i, "2.5") for i in range(9)], world.offer("x", "0.2"))
    assert flags(judged, "x") == ["price_out_of_range", "withheld"]
    few = gate(world.offer(1, "2.5"), world.offer(2, "2.5"), world.offer("x", "0.2"))
    assert few.withheld == 0  # three offers say nothing about the card


@pytest.mark.parametrize(("price", "held"), [("0.0009", True), ("0.001", False), ("200", False), ("200.01", True)])
def test_what_an_hour_can_cost_at_all(world, gate, price, held):
    odd = world.offer("x", price, gpu=None, accelerator_raw="Something New")
    judged = gate(*[world.offer(i) for i in range(9)], odd)
    assert ("withheld" in flags(judged, "x")) is held


@pytest.mark.parametrize(
    ("rows", "bad", "verdict"),
    [
        (10, 1, "accepted_with_warnings"),
        (10, 2, "quarantined"),
        (3, 1, "accepted_with_warnings"),
        (2, 1, "quarantined"),
        (1, 1, "quarantined"),
        (200, 4, "accepted_with_warnings"),
        (200, 5, "quarantined"),
    ],
)
def test_how_many_rows_may_be_held_back(world, gate, rows, bad, verdict):
    judged = gate(*[world.offer(i, "500" if i < bad else "2.5") for i in range(rows)])
    assert (judged.withheld, judged.verdict) == (bad, verdict)


def test_B08_a_sliver_that_is_sold_as_a_whole_card_is_held_back(world, gate):
    """A quarter of an H100 listed as one H100 would lead the table at a quarter of its price."""
    judged = gate(
        *(world.offer(i) for i in range(60)),
        world.offer("sliver", vram_gib=19.625),
        world.offer("share", vram_gib=19.625, gpu_count=0.25),
    )
    assert flags(judged, "sliver") == ["vram_unknown_for_card", "withheld"]
    assert "withheld" not in flags(judged, "share")
    assert check(judged, "vram_known").outcome == "withhold"


def test_B08_memory_that_no_such_card_has_is_flagged_and_kept(world, gate):
    judged = gate(
        world.offer("near", vram_gib=84.0),
        world.offer("odd", vram_gib=640.0),
        world.offer("none", vram_gib=None),
        world.offer("unknown", gpu=None, vram_gib=17.0),
    )
    assert flags(judged, "odd") == ["vram_unknown_for_card"]
    assert [flags(judged, key) for key in ("near", "none", "unknown")] == [[], [], []]
    assert 640.0 in judged.offers["vram_gib"].to_pylist()
    assert check(judged, "vram_known").detail == "H100 with 640 GiB"


@pytest.mark.parametrize(("vram", "odd"), [(22.4, False), (23.8, False), (183.1, True), (12.0, True)])
def test_U03_U17_nominal_sizes_within_seven_percent(world, gate, vram, odd):
    judged = gate(world.offer("x", "0.8", gpu="L4", vram_gib=vram))
    assert (flags(judged, "x") == ["vram_unknown_for_card"]) is odd


def test_U07_total_memory_read_as_memory_per_card(world, gate):
    judged = gate(*[world.offer(n, gpu_count=float(n), vram_gib=80.0 * n) for n in (1, 2, 4, 8)])
    assert [flags(judged, n) for n in (1, 2, 4, 8)] == [[], *[["vram_unknown_for_card"]] * 3]


def test_B09_a_node_priced_like_one_card_is_flagged(world, gate):
    judged = gate(
        world.offer(1, "2.5"),
        world.offer("node", "0.31", gpu_count=8.0),
        world.offer("good", "2.3", gpu_count=8.0, purchase="on_demand"),
        world.offer("elsewhere", "0.31", gpu_count=8.0, region="eu"),
        world.offer("reserved", "1.2", gpu_count=8.0, purchase="reserved", term_months=12),
    )
    assert flags(judged, "node") == ["per_gpu_inconsistent"]
    assert [flags(judged, k) for k in (1, "good", "elsewhere", "reserved")] == [[], [], [], []]
    assert check(judged, "per_gpu_consistency").outcome == "warn"


def test_S04_spot_above_on_demand_is_flagged(world, gate):
    shape = {"instance_type": "gpu.8x"}
    judged = gate(
        world.offer(1, "2.5", **shape),
        world.offer("high", "2.6", purchase="spot", **shape),
        world.offer("low", "1.1", purchase="spot", **shape),
        world.offer("alone", "9", purchase="spot", instance_type="other"),
    )
    assert flags(judged, "high") == ["spot_above_on_demand"]
    assert flags(judged, "low") == flags(judged, "alone") == []


def test_T09_B10_identical_rows_are_merged(world, gate):
    row = world.offer("a", "0.178")
    judged = gate(row, replace(row, source_url="https://example.test/page/2"), world.offer("b"))
    assert judged.verdict == "accepted"
    assert judged.offers["offer_key"].to_pylist() == ["hyperbolic:a", "hyperbolic:b"]
    assert check(judged, "unique_keys").detail == "1 identical rows merged"


def test_T09_B10_rows_that_share_a_key_and_differ_are_an_error_that_names_both(world, gate):
    judged = gate(world.offer("a", "0.178", region="westus3"), world.offer("a", "0.086", region="westus3"))
    assert judged.verdict == "quarantined"
    said = check(judged, "unique_keys").detail
    for word in ("hyperbolic:a", "westus3", "0.178", "0.086"):
        assert word in said
    assert judged.offers.num_rows == 2


def test_B11_a_value_that_breaks_the_declaration_is_held_back(world, gate):
    rows = [world.offer(i) for i in range(10)]
    rows[0] = world.offer(0, "2.5", ram_gib=float("nan"))
    judged = gate(*rows)
    assert flags(judged, 0) == ["ram_gib_out_of_bounds", "withheld"]
    for price in ("0", "-1"):
        rows[0] = world.offer(0, price)
        assert "withheld" in flags(gate(*rows), 0)
    with pytest.raises(ValueError, match="offers without currency"):
        gate(world.offer(1, currency=None))


def test_field_coverage_against_the_providers_limits(world, gate):
    rows = [world.offer(i, region=None if i < 3 else "r") for i in range(10)]
    assert gate(*rows, coverage={"region": 0.7}).verdict == "accepted"
    judged = gate(*rows, coverage={"region": 0.8, "gpu": 1.0})
    assert judged.verdict == "quarantined"
    assert check(judged, "field_coverage").detail == "region 0.70 < 0.8"


def test_F12_a_column_that_is_lost_from_one_night_to_the_next_is_told(world, gate, past):
    before = [world.offer(i) for i in range(10)]
    after = [replace(offer, region=None) for offer in before]
    judged = gate(*after, history=past(*before))
    assert judged.verdict == "accepted_with_warnings"
    assert check(judged, "field_coverage").detail == "region 1.00 before, 0.00 now"


def test_known_gpus_and_rejects(world, gate):
    crawl = CrawlFacts(finished=True, records=10, rejects=1, unmapped=1)
    rows = [world.offer(i) for i in range(8)]
    judged = gate(*rows, world.offer("n", gpu=None, vram_gib=None, accelerator_raw="Brand New 9000"), crawl=crawl)
    assert "Brand New 9000" in check(judged, "known_gpus").detail
    assert check(judged, "few_rejects").outcome == "warn"
    bad = CrawlFacts(finished=True, records=10, rejects=3)
    assert gate(*rows[:7], crawl=bad).verdict == "quarantined"


def test_U26_U30_prices_in_another_currency(world, gate, past):
    before = [world.offer(i, "2.99") for i in range(10)]
    after = [replace(offer, currency="EUR", usd_per_gpu_hour=Decimal("3.47")) for offer in before]
    judged = gate(*after, history=past(*before))
    assert judged.verdict == "quarantined"
    assert check(judged, "currency_changed").detail == "10 of 10: USD to EUR"
    one = gate(after[0], *before[1:], history=past(*before))
    assert one.verdict == "accepted_with_warnings"
    assert flags(one, 0) == ["currency_changed"]


@pytest.mark.parametrize("factor", ["0.8", "100", "8", "0.01", "1.19"])
def test_prices_that_all_move_by_one_factor(world, gate, past, factor):
    random.seed(7)
    before = [world.offer(i, f"{random.uniform(1, 1.9):.2f}") for i in range(20)]
    after = [replace(o, price=p, usd_per_gpu_hour=p) for o in before for p in [round(o.price * Decimal(factor), 4)]]
    judged = gate(*after, history=past(*before))
    assert judged.verdict == "quarantined"
    assert check(judged, "uniform_shift").value == pytest.approx(float(factor), rel=0.01)


def test_prices_that_move_each_by_itself_are_no_shift(world, gate, past):
    before = [world.offer(i, "2.00") for i in range(10)]
    after = [world.offer(i, f"{2 - i * 0.1:.2f}") for i in range(10)]
    assert check(gate(*after, history=past(*before)), "uniform_shift").outcome == "ok"
    some = [world.offer(i, "1.60" if i < 8 else "2.00") for i in range(10)]
    assert check(gate(*some, history=past(*before)), "uniform_shift").outcome == "ok"  # 80 %, not more
    most = [world.offer(i, "1.60" if i < 9 else "2.00") for i in range(10)]
    assert check(gate(*most, history=past(*before)), "uniform_shift").outcome == "quarantine"


def test_a_moved_exchange_rate_is_no_shift(world, gate, past):
    before = [world.offer(i, "2.00", currency="EUR") for i in range(10)]
    after = [replace(offer, usd_per_gpu_hour=offer.price * Decimal("1.16")) for offer in before]
    judged = gate(*after, history=past(*before))
    assert judged.verdict == "accepted"


def waiting(name, *values):
    return tuple(
        Quarantined(f"q{i}", None, {name: value})
        for i, value in enumerate(values)  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("factor", "held", "verdict"),
    [
        ("0.9", (), "quarantined"),
        ("0.9", (0.9,), "quarantined"),
        ("0.9", (0.9, 0.9), "accepted_with_warnings"),
        ("0.9", (0.7, 0.9, 0.9), "accepted_with_warnings"),
        ("0.9", (0.9, 0.7), "quarantined"),
        ("0.5", (0.5, 0.5), "quarantined"),
        ("2.0", (2.0, 2.0), "quarantined"),
        ("1.16", (1.16, 1.16), "quarantined"),  # the rate of the euro
        ("0.862", (0.862, 0.862), "quarantined"),  # and its inverse
        ("0.1", (0.1, 0.1), "quarantined"),
    ],
)
def test_a_real_cut_of_all_prices_is_taken_when_two_more_nights_confirm_it(world, gate, past, factor, held, verdict):
    before = [world.offer(i, f"{2 + i / 10:.2f}") for i in range(10)]
    after = [replace(o, price=p, usd_per_gpu_hour=p) for o in before for p in [o.price * Decimal(factor)]]
    known = past(*before, quarantined=waiting("uniform_shift", *held), rates={"EUR": Decimal("1.16")})
    known = replace(known, evidence={"H100": Evidence(2.0, 0)})
    judged = gate(*after, history=known)
    assert judged.verdict == verdict
    if verdict != "quarantined":
        assert "taken as real" in check(judged, "uniform_shift").detail


def test_what_was_held_back_for_another_reason_confirms_nothing(world, gate, past):
    before = [world.offer(i, "2") for i in range(10)]
    after = [world.offer(i, "1.8") for i in range(10)]
    known = past(*before, quarantined=waiting("count_drop", 0.55, 0.55))
    assert gate(*after, history=known).verdict == "quarantined"


def test_a_smaller_range_of_machines_is_taken_when_two_more_nights_confirm_it(world, gate):
    night = [world.offer(i) for i in range(55)]
    known = History(row_counts=(100,) * 7, quarantined=waiting("count_drop", 0.55, 0.54))
    assert gate(*night, history=known).verdict == "accepted_with_warnings"
    lost = History(row_counts=(200,) * 7, quarantined=waiting("count_drop", 0.275, 0.275))
    assert gate(*night, history=lost).verdict == "quarantined"


def test_D04_a_spike_is_held_back_until_it_is_seen_twice(world, lake):
    others = [world.offer(i) for i in range(9)]
    world.night(lake, 1, world.offer("x", "2.49"), *others)
    spike = world.night(lake, 2, world.offer("x", "0.26"), *others)
    assert (spike.judged.withheld, spike.moves()) == (1, [])
    back = world.night(lake, 3, world.offer("x", "2.49"), *others)
    assert (back.judged.withheld, back.moves()) == (0, [])
    world.night(lake, 4, world.offer("x", "0.26"), *others)
    twice = world.night(lake, 5, world.offer("x", "0.26"), *others)
    assert twice.judged.withheld == 0
    assert twice.moves() == [("hyperbolic:x", "price_down", "price")]
    row = twice.changes.to_pylist()[0]
    assert (float(row["old_price"]), float(row["new_price"])) == (2.49, 0.26)
    assert row["previous_observed_at"] == world.at(3)


def test_D04_a_row_that_was_held_back_from_the_start_is_new_when_it_is_good(world, lake):
    others = [world.offer(i) for i in range(9)]
    world.night(lake, 1, *others)
    first = world.night(lake, 2, world.offer("x", "249"), *others)
    assert first.moves() == []
    good = world.night(lake, 3, world.offer("x", "2.49"), *others)
    assert good.moves() == [("hyperbolic:x", "added", None)]


def test_three_nights_of_one_cut_end_in_its_acceptance(world, lake):
    night = [world.offer(i, f"{2 + i / 10:.2f}") for i in range(10)]
    cut = [replace(o, price=p, usd_per_gpu_hour=p) for o in night for p in [o.price * Decimal("0.9")]]
    assert world.night(lake, 1, *night).judged.verdict == "accepted"
    assert [world.night(lake, day, *cut).judged.verdict for day in (2, 3)] == ["quarantined"] * 2
    world.night(lake, 4, crawl=CrawlFacts(finished=False, error_class="TimedOut"))
    third = world.night(lake, 5, *cut)
    assert third.judged.verdict == "accepted_with_warnings"
    assert {kind for _, kind, _ in third.moves()} == {"price_down"}
    assert world.night(lake, 6, *cut).judged.verdict == "accepted"


def test_D06_the_order_of_rows_does_not_matter(world, gate, past):
    random.seed(3)
    rows = [world.offer(i, f"{random.uniform(0.5, 6):.2f}", gpu_count=float(1 + i % 3)) for i in range(60)]
    before = past(*[replace(o, price=o.price + 1) for o in rows])
    outcomes = set()
    for _ in range(20):
        random.shuffle(rows)
        judged = gate(*rows, history=before)
        outcomes.add((judged.verdict, judged.withheld, tuple((c.name, c.value, c.outcome) for c in judged.checks)))
    assert len(outcomes) == 1


def test_flags_of_the_normaliser_stay_and_none_stands_twice(world, gate, past):
    before = [world.offer(i, "2") for i in range(10)]
    rows = [world.offer(0, "5", flags=["kind_word_unknown", "price_jump"]), *before[1:]]
    judged = gate(*rows, history=past(*before))
    assert flags(judged, 0) == ["kind_word_unknown", "price_jump"]
    again = judge(
        judged.offers, provider=world.provider, crawl=FINE, history=past(*before), known_vram=lambda _: (80.0,)
    )
    assert again.offers.equals(judged.offers)


def test_the_gate_asks_the_table_of_cards_by_itself(world):
    judged = judge(
        world.table(world.offer(1), world.offer(2, vram_gib=640.0)),
        provider=world.provider,
        crawl=FINE,
        history=History(),
    )
    assert check(judged, "vram_known").value == 1

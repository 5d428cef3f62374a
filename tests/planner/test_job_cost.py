"""The cost of a whole job, term by term. Amounts are worked out by hand; bounds of the unknown come from the facts."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.job_cost import Rate, Span, Terms, Work, assumed_rate, job_cost, terms_of, told_by_providers
from schemas.providers import providers

HOUR = 3600
KNOWN = Terms(
    usd_per_hour=Decimal("2.49"),
    billing_increment_s=60,
    minimum_billing_s=60,
    storage_usd_per_gib_month=Decimal("0.10"),
    egress_usd_per_gib=Decimal("0.01"),
    charged_while_stopped=False,
)
A_RATE = Rate("given", 0.05, 0.2, 0.5, "a test")
NOTHING = Decimal(0)


def usd(text: str) -> Span:
    amount = Decimal(text)
    return Span(amount, amount, amount)


def is_sure(span: Span) -> bool:
    return span.low == span.expected == span.high


def test_A6_ten_runs_of_20_minutes_cost_three_times_as_much_by_the_hour() -> None:
    work = Work(run_s=20 * 60, runs=10)
    by_minute = job_cost(work, KNOWN)
    by_hour = job_cost(work, replace(KNOWN, billing_increment_s=HOUR))
    assert by_minute.total == usd("8.30")
    assert by_hour.total == usd("24.90")
    assert by_hour.total.expected == 3 * by_minute.total.expected
    assert by_hour.rounding == usd("16.60")
    assert by_hour.compute == by_minute.compute == usd("8.30")


def test_A6_every_term_of_a_plain_job() -> None:
    # Six hours, a 200 GiB disk, 50 GiB out: 6 * 2.49; 200 * 0.10 * 6 / 730; 50 * 0.01.
    cost = job_cost(Work(run_s=6 * HOUR, storage_gib=200, egress_gib=50), KNOWN)
    assert cost.compute == usd("14.94")
    assert cost.rounding == cost.interruptions == cost.stopped == usd("0")
    assert cost.storage == usd("0.1643835616")
    assert cost.egress == usd("0.50")
    assert cost.total == usd("15.6043835616")
    assert cost.unknown == ()
    assert cost.billed_h == cost.elapsed_h == (6.0, 6.0, 6.0)


def test_A6_a_minimum_is_charged_for_a_short_run() -> None:
    terms = replace(KNOWN, billing_increment_s=1, minimum_billing_s=HOUR)
    assert job_cost(Work(run_s=60), terms).total == usd("2.49")
    assert job_cost(Work(run_s=2 * HOUR), terms).total == usd("4.98")


def test_A6_a_stopped_instance_that_is_charged_on_shows_it() -> None:
    work = Work(run_s=HOUR, stopped_s=10 * HOUR, storage_gib=73)
    free, charged = (job_cost(work, replace(KNOWN, charged_while_stopped=is_so)) for is_so in (False, True))
    assert free.stopped == usd("0.10")  # 73 GiB for 10 of 730 hours
    assert charged.stopped == usd("25.00")
    assert free.unknown == charged.unknown == ()


def test_A6_whether_a_stopped_instance_is_charged_may_be_unknown() -> None:
    cost = job_cost(Work(run_s=HOUR, stopped_s=10 * HOUR), replace(KNOWN, charged_while_stopped=None))
    assert cost.stopped == Span(NOTHING, Decimal("12.45"), Decimal("24.90"))
    assert cost.unknown == ("charged_while_stopped",)


def test_A6_a_disk_that_comes_with_the_machine_is_free_while_it_runs() -> None:
    terms = replace(KNOWN, included_gib=500.0)
    cost = job_cost(Work(run_s=10 * HOUR, stopped_s=10 * HOUR, storage_gib=73), terms)
    assert cost.storage == usd("0")
    assert cost.stopped == Span(NOTHING, Decimal("0.10"), Decimal("0.10"))


def test_A6_an_unknown_step_is_bounded_by_what_providers_tell() -> None:
    assert told_by_providers("billing_increment_s")[2] == HOUR
    cost = job_cost(Work(run_s=20 * 60), replace(KNOWN, billing_increment_s=None, minimum_billing_s=0))
    assert cost.total.low == Decimal("0.83")
    assert cost.total.high == Decimal("2.49")
    assert cost.unknown == ("billing_increment_s",)


def test_A6_unknown_prices_are_bounded_and_named() -> None:
    bare = Terms(usd_per_hour=Decimal("2.49"))
    cost = job_cost(Work(run_s=7 * HOUR, storage_gib=100, egress_gib=10), bare)
    dearest = told_by_providers("storage_usd_per_gib_month")[2]
    assert cost.storage.low == cost.egress.low == NOTHING
    assert cost.storage.high == pytest.approx(100 * dearest * 7 / 730)
    assert cost.egress.high == 10 * told_by_providers("egress_usd_per_gib")[2]
    # Seven whole hours cost the same by any step that is known, so the step is of no account.
    assert cost.unknown == ("storage_usd_per_gib_month", "egress_usd_per_gib")


def test_A6_what_a_job_does_not_touch_widens_nothing() -> None:
    cost = job_cost(Work(run_s=7 * HOUR), Terms(usd_per_hour=Decimal("2.49")))
    assert cost.total == usd("17.43")
    assert cost.unknown == ()


def test_A7_lost_work_is_told_low_and_high() -> None:
    work = Work(run_s=24 * HOUR, checkpoint_every_s=15 * 60, save_s=60, restart_s=600, wait_s=900)
    cost = job_cost(work, replace(KNOWN, rate=A_RATE))
    assert cost.interval_h == 0.25
    low, middle, high = cost.lost_h
    # About half an interval is lost each time, 0.125 h and half a save: some 25 h * rate * 0.133.
    assert low == pytest.approx(26.0 * 0.05 * 0.133, rel=0.1)
    assert middle == pytest.approx(27.0 * 0.2 * 0.133, rel=0.1)
    assert high == pytest.approx(30.0 * 0.5 * 0.133, rel=0.15)
    assert cost.compute == usd("59.76")
    assert cost.interruptions.low < cost.interruptions.expected < cost.interruptions.high
    assert all(billed > 24 for billed in cost.billed_h)


def test_A7_rarer_saves_lose_more_and_none_lose_most() -> None:
    spot = replace(KNOWN, rate=A_RATE)
    losses = [
        job_cost(Work(run_s=12 * HOUR, checkpoint_every_s=minutes * 60), spot).lost_h[1] for minutes in (5, 15, 60, 240)
    ]
    losses.append(job_cost(Work(run_s=12 * HOUR, checkpoints=False), spot).lost_h[1])
    assert losses == sorted(losses)


def test_A7_the_interval_that_nobody_gave_is_the_best_for_the_expected_rate() -> None:
    spot = replace(KNOWN, rate=A_RATE)
    best = job_cost(Work(run_s=24 * HOUR), spot)
    assert best.interval_h is not None
    for minutes in (5, 10, 60):
        other = job_cost(Work(run_s=24 * HOUR, checkpoint_every_s=minutes * 60), spot)
        assert best.interruptions.expected <= other.interruptions.expected


def test_A7_a_job_that_would_not_end_has_no_bound() -> None:
    cost = job_cost(Work(run_s=1000 * HOUR, checkpoints=False), replace(KNOWN, rate=A_RATE))
    assert cost.total.high is None
    assert cost.total.expected is None
    assert cost.total.low is None


def test_A8_capacity_that_stays_has_no_rate_and_spot_without_a_figure_an_assumed_one() -> None:
    offer = offer_row(purchase="spot")
    assert terms_of(offer_row()).rate is None
    rate = terms_of(offer).rate
    assert rate is not None
    assert rate.kind == "assumed"
    assert 0 < rate.low < rate.expected < rate.high
    assert terms_of(offer, A_RATE).rate is A_RATE


def test_A8_a_band_of_the_provider_is_no_rate() -> None:
    assert terms_of(offer_row(purchase="spot", interruption_rate="<5%")).rate == assumed_rate()


def test_terms_come_from_the_offer_before_the_facts_of_its_provider() -> None:
    facts = providers()["vultr"]
    told = terms_of(offer_row(provider="vultr"))
    assert told.billing_increment_s == facts.fact("billing_increment_s") == HOUR
    assert told.charged_while_stopped is True
    assert terms_of(offer_row(provider="vultr", billing_increment_s=1)).billing_increment_s == 1
    own = terms_of(offer_row(provider="vast", storage_usd_per_gib_month=Decimal("0.2"), disk_gib=900.0))
    assert (own.storage_usd_per_gib_month, own.included_gib) == (Decimal("0.2"), 0.0)
    assert terms_of(offer_row(provider="nobody")).billing_increment_s is None


def test_a_row_without_a_price_has_no_terms() -> None:
    with pytest.raises(ValueError, match="some:key"):
        terms_of(offer_row(usd_per_hour=None))


@pytest.mark.parametrize(
    "wrong", [{"run_s": 0}, {"runs": 0}, {"storage_gib": -1.0}, {"checkpoint_every_s": 0}, {"save_s": 0.0}]
)
def test_what_is_no_work_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Work(**{"run_s": 60, **wrong})


works = st.builds(
    Work,
    run_s=st.integers(1, 20 * HOUR),
    runs=st.integers(1, 5),
    stopped_s=st.integers(0, 100 * HOUR),
    storage_gib=st.floats(0, 2000),
    egress_gib=st.floats(0, 2000),
    checkpoint_every_s=st.integers(60, 4 * HOUR),
    nodes=st.integers(1, 4),
)
maybe_money = st.none() | st.decimals("0", "0.5", places=4)
terms = st.builds(
    Terms,
    usd_per_hour=st.decimals("0.01", "100", places=4),
    billing_increment_s=st.none() | st.sampled_from([1, 6, 60, 900, HOUR]),
    minimum_billing_s=st.none() | st.sampled_from([0, 60, 1200, HOUR]),
    storage_usd_per_gib_month=maybe_money,
    included_gib=st.floats(0, 500),
    egress_usd_per_gib=maybe_money,
    charged_while_stopped=st.none() | st.booleans(),
    rate=st.none() | st.just(A_RATE) | st.just(assumed_rate()),
)


@given(work=works, at=terms)
def test_low_expected_and_high_are_in_order_and_the_terms_add_up(work: Work, at: Terms) -> None:
    cost = job_cost(work, at)
    spans = (cost.compute, cost.rounding, cost.interruptions, cost.storage, cost.stopped, cost.egress)
    assume(cost.total.high is not None)
    for span in (*spans, cost.total):
        assert NOTHING <= span.low <= span.expected <= span.high
    assert cost.total.expected == sum(span.expected for span in spans)
    assert is_sure(cost.compute)


@given(
    work=works,
    at=terms,
    more=st.sampled_from(["run_s", "runs", "stopped_s", "storage_gib", "egress_gib", "nodes"]),
    by=st.integers(1, 5000),
)
def test_more_of_a_job_never_costs_less(work: Work, at: Terms, more: str, by: int) -> None:
    larger = replace(work, **{more: getattr(work, more) + (1 if more in {"runs", "nodes"} else by)})
    less, much = job_cost(work, at).total, job_cost(larger, at).total
    slack = Decimal("1e-8")  # terms are rounded one by one
    assert much.low is None or less.low <= much.low + slack
    assert much.expected is None or less.expected <= much.expected + slack
    assert much.high is None or less.high <= much.high + slack


@given(work=works, at=terms, times=st.integers(2, 9))
def test_a_dearer_offer_never_costs_less(work: Work, at: Terms, times: int) -> None:
    less = job_cost(work, at).total
    much = job_cost(work, replace(at, usd_per_hour=times * at.usd_per_hour)).total
    assume(much.high is not None)
    assert less.low <= much.low
    assert less.expected <= much.expected
    assert less.high <= much.high


@given(work=works, at=terms)
def test_more_interruptions_never_cost_less_at_one_interval(work: Work, at: Terms) -> None:
    calm, rough = Rate("given", 0.01, 0.05, 0.1, "a test"), Rate("given", 0.02, 0.1, 0.3, "a test")
    less, much = (job_cost(work, replace(at, rate=rate)).total for rate in (calm, rough))
    slack = Decimal("1e-8")
    assume(much.high is not None)
    assert less.low <= much.low + slack
    assert less.expected <= much.expected + slack
    assert less.high <= much.high + slack


def offer_row(**given: Any) -> dict[str, Any]:
    """The columns of an offer that its terms are read from."""
    row: dict[str, Any] = {
        "offer_key": "some:key",
        "provider": "hyperbolic",
        "purchase": "on_demand",
        "usd_per_hour": Decimal("2.49"),
        "billing_increment_s": None,
        "minimum_billing_s": None,
        "storage_usd_per_gib_month": None,
        "disk_gib": None,
        "interruption_rate": None,
    }
    return row | given

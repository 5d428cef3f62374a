"""Interruptions: the closed form against a simulation of jobs, its limits, and the best time between saves."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.interruption import (
    Interruptible,
    best_interval,
    billed_hours,
    break_even_price_ratio,
    break_even_rate,
    daly_interval,
    expected,
    young_interval,
)

MINUTE = 1 / 60
JOBS = 4000
# Rates, saves, restarts and waits of our notes on checkpointed jobs, with what a simulation done there gave.
CASES = [
    (0.05, 1, 10, 15, 25.19, 25.50),
    (0.20, 1, 10, 15, 26.96, 28.33),
    (0.50, 1, 10, 30, 29.75, 37.18),
    (1.00, 2, 15, 30, 40.32, 60.45),
]

jobs = st.builds(
    Interruptible,
    work_h=st.floats(0.1, 200),
    node_rate=st.floats(0, 1),
    save_h=st.floats(0.001, 0.2),
    restart_h=st.floats(0, 1),
    wait_h=st.floats(0, 5),
    nodes=st.integers(1, 4),
)
intervals = st.floats(0.05, 20)


def a_job(rate: float, save_min: float = 1, restart_min: float = 10, wait_min: float = 15) -> Interruptible:
    return Interruptible(
        work_h=24.0,
        node_rate=rate,
        save_h=save_min * MINUTE,
        restart_h=restart_min * MINUTE,
        wait_h=wait_min * MINUTE,
    )


def one_run(chance: random.Random, job: Interruptible, interval_h: float, saves: int) -> tuple[float, float, int]:
    """Live through one job event by event: billed hours, elapsed hours, interruptions."""
    billed = elapsed = 0.0
    hits = done = 0
    restarting = False
    until = chance.expovariate(job.rate)  # running hours until the next interruption
    while done < saves:
        step = job.restart_h if restarting else interval_h + job.save_h
        ran = min(step, until)
        billed += ran
        elapsed += ran
        until -= ran
        if ran < step:
            hits += 1
            elapsed += job.wait_h
            restarting = True
            until = chance.expovariate(job.rate)
        elif restarting:
            restarting = False
        else:
            done += 1
    return billed, elapsed, hits


@pytest.mark.parametrize(("rate", "save", "restart", "wait", "noted_billed", "noted_elapsed"), CASES)
def test_4000_simulated_jobs_agree_within_1_percent(rate, save, restart, wait, noted_billed, noted_elapsed) -> None:
    job = a_job(rate, save, restart, wait)
    saves = round(job.work_h / young_interval(job))
    interval_h = job.work_h / saves
    chance = random.Random(20261201)
    runs = [one_run(chance, job, interval_h, saves) for _ in range(JOBS)]
    billed, elapsed, hits = (sum(column) / JOBS for column in zip(*runs, strict=True))
    told = expected(job, interval_h)
    assert told.billed_h == pytest.approx(billed, rel=0.01)
    assert told.elapsed_h == pytest.approx(elapsed, rel=0.01)
    assert told.interruptions == pytest.approx(hits, rel=0.02)
    assert told.billed_h == pytest.approx(noted_billed, rel=0.01)
    assert told.elapsed_h == pytest.approx(noted_elapsed, rel=0.01)


def test_the_known_overheads_at_three_rates() -> None:
    # One minute for a save, ten for a restart, Young's interval.
    overheads = [billed_hours(job, young_interval(job)) / 24 for job in map(a_job, (0.02, 0.1, 0.5))]
    assert overheads == [pytest.approx(1.03, abs=0.005), pytest.approx(1.08, abs=0.02), pytest.approx(1.24, abs=0.005)]


def test_without_saves_a_day_becomes_a_month() -> None:
    job = Interruptible(work_h=24.0, node_rate=0.2)
    assert billed_hours(job, None) == pytest.approx(602, abs=1)
    assert break_even_price_ratio(job, None) == pytest.approx(24 / 602, rel=0.01)
    assert billed_hours(replace(job, work_h=2000.0), None) == math.inf
    assert expected(replace(job, work_h=2000.0), None).elapsed_h == math.inf


def test_the_limit_without_interruptions() -> None:
    job = a_job(0.0)
    assert billed_hours(job, None) == 24.0
    assert billed_hours(job, 1.0) == pytest.approx(24 * (1 + 1 / 60))
    assert expected(job, 1.0).interruptions == 0
    assert expected(job, 1.0).elapsed_h == billed_hours(job, 1.0)
    assert young_interval(job) == daly_interval(job) == math.inf
    assert best_interval(job) == 24.0
    assert billed_hours(a_job(1e-12), 1.0) == pytest.approx(billed_hours(job, 1.0), rel=1e-9)


def test_intervals_of_the_notes() -> None:
    for rate, save, minutes in ((0.05, 1, 49), (0.2, 1, 24), (0.5, 1, 15), (1.0, 2, 15)):
        assert young_interval(a_job(rate, save)) * 60 == pytest.approx(minutes, abs=0.6)


def test_daly_lies_by_the_best_interval_where_a_restart_takes_no_time() -> None:
    job = a_job(0.2, restart_min=0)
    assert daly_interval(job) == pytest.approx(best_interval(job), rel=0.05)


def test_n_nodes_are_interrupted_n_times_as_often() -> None:
    eight = replace(a_job(0.05), nodes=8)
    assert billed_hours(eight, 0.5) == billed_hours(a_job(0.4), 0.5)


def test_what_is_no_job_is_refused() -> None:
    with pytest.raises(ValueError):
        Interruptible(work_h=0.0, node_rate=0.1)
    with pytest.raises(ValueError):
        Interruptible(work_h=1.0, node_rate=-0.1)
    with pytest.raises(ValueError):
        billed_hours(a_job(0.1), 0.0)
    with pytest.raises(ValueError):
        best_interval(a_job(0.1, save_min=0))


@given(job=jobs, interval_h=intervals)
def test_the_best_interval_is_the_best(job: Interruptible, interval_h: float) -> None:
    assert billed_hours(job, best_interval(job)) <= billed_hours(job, interval_h) * (1 + 1e-9)


@given(job=jobs, interval_h=intervals)
def test_the_parts_add_up_to_what_is_billed(job: Interruptible, interval_h: float) -> None:
    told = expected(job, interval_h)
    if told.billed_h < 1e6:
        assert job.work_h + told.lost_h + told.saving_h + told.restarting_h == pytest.approx(told.billed_h, rel=1e-6)
        assert told.lost_h >= 0


@given(job=jobs, interval_h=intervals, more=st.floats(1, 3))
def test_nothing_gets_cheaper_by_more_interruptions(job: Interruptible, interval_h: float, more: float) -> None:
    worse = replace(job, node_rate=job.node_rate * more)
    for interval in (interval_h, None):
        assert billed_hours(worse, interval) >= billed_hours(job, interval) * (1 - 1e-12)
        assert billed_hours(job, interval) >= job.work_h * (1 - 1e-12)


@pytest.mark.parametrize("ratio", [0.3, 0.5, 0.8])
def test_at_the_break_even_rate_both_cost_the_same(ratio: float) -> None:
    rate = break_even_rate(a_job(0.0), ratio)
    assert rate is not None
    there = a_job(rate)
    assert break_even_price_ratio(there, best_interval(there)) == pytest.approx(ratio, rel=1e-6)


def test_where_there_is_no_break_even() -> None:
    assert break_even_rate(a_job(0.0), 1.2) is None
    assert break_even_rate(a_job(0.0), 0.0) == math.inf
    assert break_even_rate(a_job(0.0), 1.0, lambda _: None) == pytest.approx(0.0, abs=1e-9)

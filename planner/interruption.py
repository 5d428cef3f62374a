"""What interruptions do to a checkpointed job: hours that are billed, hours that pass, the best time between saves.

The model: interruptions come at a constant rate (memoryless); a job saves its state every `interval_h` hours of work,
each save stops the work for `save_h`; an interruption loses what was done since the last save, then `restart_h` hours
are billed (boot, pull, load) in which the next interruption may come. Between the two, `wait_h` hours pass until there
is capacity again; these are not billed as compute. Real lifetimes are no memoryless ones (arXiv 1911.05160: preemptible
VMs fail more often in their first hours and shortly before their 24 hours end), so a figure is an expectation, not a
promise.

All times are hours, all rates interruptions per running hour. Nothing here knows of money.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

WIDEST = 1e9
"""a factor by which no time of use grows; beyond it the job is said not to end: infinity"""
EXACT = 1e-9
"""how near a break-even rate is told"""
SLIGHT = 1e-12
"""expected interruptions within a time that are too few to change it in a floating-point number"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interruptible:
    """A job on interruptible capacity.

    work_h: useful hours wanted, above 0. node_rate: interruptions of one node per running hour, 0 for none.
    nodes: a synchronous job stops when any of its nodes does, so its rate is nodes * node_rate; where nodes are taken
    back together that is too many. save_h: hours for which one save stops the work. restart_h: billed hours from new
    capacity to the next useful step. wait_h: hours until there is new capacity.
    """

    work_h: float
    node_rate: float
    save_h: float = 0.0
    restart_h: float = 0.0
    wait_h: float = 0.0
    nodes: int = 1

    def __post_init__(self) -> None:
        """Raises ValueError for what is no job: no work, or a negative time or rate."""
        if self.work_h <= 0 or self.nodes < 1:
            raise ValueError(f"a job has work and nodes, not {self.work_h} h on {self.nodes}")
        if min(self.node_rate, self.save_h, self.restart_h, self.wait_h) < 0:
            raise ValueError("times and rates are 0 or more")

    @property
    def rate(self) -> float:
        """Interruptions of the whole job per running hour."""
        return self.nodes * self.node_rate


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to be expected of a job, in hours; `math.inf` where it would not end.

    billed_h: compute that is paid for. elapsed_h: from start to end. interruptions: how many. lost_h: work that is done
    again. saving_h and restarting_h: the rest of what is billed beyond the useful work.
    """

    billed_h: float
    elapsed_h: float
    interruptions: float
    lost_h: float
    saving_h: float
    restarting_h: float


def billed_hours(job: Interruptible, interval_h: float | None) -> float:
    """Expected hours that are billed; `interval_h` None is no save at all.

    B = (T / tau) * (exp(rate * (tau + C)) - 1) / rate * exp(rate * R), exact for a constant rate; T work, tau interval,
    C save, R restart (J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps",
    Future Generation Computer Systems 22, 2006). Without a save tau is T and C is 0. The limit for rate to 0
    is T * (1 + C / tau). An interval longer than the work is the work: one save, at its end.
    """
    tau, save_h = _stretch(job, interval_h)
    stretch, rate = tau + save_h, job.rate
    if rate * stretch < SLIGHT:
        return job.work_h / tau * stretch
    if rate * (stretch + job.restart_h) > math.log(WIDEST):
        return math.inf
    return job.work_h / tau * math.expm1(rate * stretch) / rate * math.exp(rate * job.restart_h)


def expected(job: Interruptible, interval_h: float | None) -> Expected:
    """Everything that is expected of the job with this interval between saves, in hours; None is no save at all.

    Interruptions are rate * billed hours, for billed hours are the running ones. Elapsed is billed plus one wait for
    each interruption.
    """
    billed = billed_hours(job, interval_h)
    if billed == math.inf:
        return Expected(math.inf, math.inf, math.inf, math.inf, math.inf, math.inf)
    tau, save_h = _stretch(job, interval_h)
    saving = job.work_h / tau * save_h
    interruptions = job.rate * billed
    # A restart that is itself interrupted has run for less than restart_h: on average (1 - exp(-rate R)) / rate of it.
    restarting = interruptions * _spent(job.rate, job.restart_h)
    lost = max(0.0, billed - job.work_h - saving - restarting)
    return Expected(billed, billed + interruptions * job.wait_h, interruptions, lost, saving, restarting)


def young_interval(job: Interruptible) -> float:
    """The interval of least cost to first order, sqrt(2 C / rate) hours; infinite at rate 0, 0 where saves are free.

    J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17 (9), 1974.
    """
    return math.inf if job.rate == 0 else math.sqrt(2 * job.save_h / job.rate)


def daly_interval(job: Interruptible) -> float:
    """The refined interval sqrt(2 C (1 / rate + R)) - C hours, never below C (Daly 2006, lower-order form)."""
    if job.rate == 0:
        return math.inf
    return max(job.save_h, math.sqrt(2 * job.save_h * (1 / job.rate + job.restart_h)) - job.save_h)


def best_interval(job: Interruptible) -> float:
    """The interval with the fewest billed hours, at most `work_h`. Raises ValueError for saves that take no time.

    Found as the root of the derivative: with x = rate * tau and c = rate * C, exp(x + c) * (x - 1) + 1 = 0. R only
    scales the cost, so it does not move the optimum. The left side grows with x and changes sign within 0 < x < 1.
    """
    if job.rate == 0:
        return job.work_h
    if job.save_h == 0:
        raise ValueError("saves that take no time have no best interval: the shorter the better")
    c = job.rate * job.save_h
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        # The same sign as above, without the overflow of exp for a long save.
        if (middle - 1) + math.exp(-(middle + c)) < 0:
            low = middle
        else:
            high = middle
    return min(job.work_h, high / job.rate)


def break_even_price_ratio(job: Interruptible, interval_h: float | None) -> float:
    """The highest price, as a share of the on-demand price, at which interruptible capacity still costs no more: T / B.

    0 where the job would not end. Storage and egress aside.
    """
    return job.work_h / billed_hours(job, interval_h)


def break_even_rate(
    job: Interruptible, price_ratio: float, interval_of: Callable[[Interruptible], float | None] = best_interval
) -> float | None:
    """The interruptions per hour of one node up to which capacity at `price_ratio` of the on-demand price is worth it.

    `job.node_rate` is not looked at; `interval_of` tells the interval between saves that goes with a rate. None where
    even an uninterrupted job costs more (the ratio, with the saves, is above 1); infinite for a ratio of 0. The billed
    hours grow with the rate, so there is one such rate at most.
    """
    if price_ratio <= 0:
        return math.inf

    def worth_it(rate: float) -> bool:
        at = replace(job, node_rate=rate)
        return price_ratio * billed_hours(at, interval_of(at)) <= job.work_h

    if not worth_it(0.0):
        return None
    low, high = 0.0, 1.0
    while worth_it(high):
        low, high = high, high * 2
    while high - low > EXACT * high and high > EXACT:
        middle = (low + high) / 2
        low, high = (middle, high) if worth_it(middle) else (low, middle)
    return low


def _stretch(job: Interruptible, interval_h: float | None) -> tuple[float, float]:
    """The useful hours and the saving hours of one stretch between two saves."""
    if interval_h is None:
        return job.work_h, 0.0
    if interval_h <= 0:
        raise ValueError(f"an interval between saves is above 0 hours, not {interval_h}")
    return min(interval_h, job.work_h), job.save_h


def _spent(rate: float, hours: float) -> float:
    """Expected running time of something that takes `hours` and may be interrupted."""
    return hours if rate * hours < SLIGHT else -math.expm1(-rate * hours) / rate

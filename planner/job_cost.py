"""What a whole job costs at one offer: compute, rounding, interruptions, storage, egress. Pure: no clock, no store.

Every term is a span (low, expected, high). A fact that nobody tells widens the term by what the known providers do:
from the least to the most of them, expected what their lower median does; where a job does not touch a fact, it widens
nothing. Which facts these are stands in `JobCost.unknown`. The terms add up to the total, to the tenth decimal.

Hours of useful work count alike on every card: who compares cards of different speed asks once for each.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

from planner.interruption import Expected, Interruptible, best_interval, expected
from schemas.assumptions import assumption
from schemas.providers import providers
from schemas.units import MONEY_STEP

RateKind = Literal["given", "measured here", "assumed"]
INTERRUPTIBLE = ("spot", "bid")
ZERO = Decimal(0).quantize(MONEY_STEP)


@dataclass(frozen=True, slots=True)
class Span:
    """USD, low <= expected <= high. None is no bound: at such a rate of interruptions the job would not end."""

    low: Decimal | None
    expected: Decimal | None
    high: Decimal | None

    def __add__(self, other: Span) -> Span:
        return Span(_sum(self.low, other.low), _sum(self.expected, other.expected), _sum(self.high, other.high))


NOTHING = Span(ZERO, ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class Rate:
    """Interruptions of one node per running hour, low <= expected <= high, and what kind of figure that is.

    A band that a provider publishes by the month is no such rate: it counts instances that ran, not hours.
    """

    kind: RateKind
    low: float
    expected: float
    high: float
    source: str


def assumed_rate() -> Rate:
    """The span to plan with where there is no figure."""
    row = assumption("interruptions_per_hour")
    return Rate("assumed", row.low, row.expected, row.high, row.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be done. Raises ValueError for what is no work.

    runs: how many, each of run_s useful seconds. stopped_s: seconds in all in which the instance is stopped and its
    disk is kept. storage_gib: disk. egress_gib: what leaves the provider, once. checkpoints: is the state saved while
    it runs; checkpoint_every_s: useful seconds between two saves, None is the best for the expected rate. save_s,
    restart_s, wait_s: as in `planner.interruption`, None is what is assumed. nodes: that run together.
    """

    run_s: int
    runs: int = 1
    stopped_s: int = 0
    storage_gib: float = 0.0
    egress_gib: float = 0.0
    checkpoints: bool = True
    checkpoint_every_s: int | None = None
    save_s: float | None = None
    restart_s: float | None = None
    wait_s: float | None = None
    nodes: int = 1

    def __post_init__(self) -> None:
        if min(self.run_s, self.runs, self.nodes) < 1:
            raise ValueError("a job has at least one run of one second on one node")
        if min(self.stopped_s, self.storage_gib, self.egress_gib) < 0:
            raise ValueError("time stopped, storage and egress are 0 or more")
        if self.checkpoint_every_s is not None and self.checkpoint_every_s < 1:
            raise ValueError("a checkpoint is written every second at most")
        if self.save_s is not None and self.save_s <= 0:
            raise ValueError("to write a checkpoint takes some time")
        if min(self.restart_s or 0, self.wait_s or 0) < 0:
            raise ValueError("a restart and the wait for capacity take 0 seconds or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What an offer charges, per node; None where it is not known.

    included_gib: disk that comes with the machine and costs nothing while it runs. rate: of interruptions, None for
    capacity that is not taken back.
    """

    usd_per_hour: Decimal
    billing_increment_s: int | None = None
    minimum_billing_s: int | None = None
    storage_usd_per_gib_month: Decimal | None = None
    included_gib: float = 0.0
    egress_usd_per_gib: Decimal | None = None
    charged_while_stopped: bool | None = None
    hours_per_month: float | None = None
    rate: Rate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCost:
    """The terms in USD and what they rest on. Tuples are (low, expected, high); hours may be infinite.

    compute: the useful hours. rounding: what billing steps and minimum add. interruptions: saves, lost work and
    restarts. storage: while it runs or waits. stopped: disk, and the instance where it is charged on. egress.
    total: their sum. lost_h: work that is done twice. interval_h: useful hours between two saves, None without any.
    """

    compute: Span
    rounding: Span
    interruptions: Span
    storage: Span
    stopped: Span
    egress: Span
    total: Span
    billed_h: tuple[float, float, float]
    elapsed_h: tuple[float, float, float]
    interrupted: tuple[float, float, float]
    lost_h: tuple[float, float, float]
    interval_h: float | None
    rate: Rate | None
    unknown: tuple[str, ...]


def terms_of(offer: Mapping[str, Any], rate: Rate | None = None) -> Terms:
    """The terms of one row of the comparison table: what the offer says itself, else the facts of its provider.

    rate: of interruptions, where there is a better one than the assumed; only for what can be interrupted. A listing
    that names its own price of storage charges all of it; else what the machine brings is free. Raises ValueError for
    a row without a price in USD.
    """
    if offer["usd_per_hour"] is None:
        raise ValueError(f"{offer['offer_key']} has no price per hour in USD")
    known = providers().get(offer["provider"])

    def fact(name: str) -> Any:
        return known.fact(name) if known else None

    own_storage = offer["storage_usd_per_gib_month"]
    increment, minimum = offer["billing_increment_s"], offer["minimum_billing_s"]
    return Terms(
        usd_per_hour=offer["usd_per_hour"],
        billing_increment_s=fact("billing_increment_s") if increment is None else increment,
        minimum_billing_s=fact("minimum_billing_s") if minimum is None else minimum,
        storage_usd_per_gib_month=_money(fact("storage_usd_per_gib_month")) if own_storage is None else own_storage,
        included_gib=(offer["disk_gib"] or 0.0) if own_storage is None else 0.0,
        egress_usd_per_gib=_money(fact("egress_usd_per_gib")),
        charged_while_stopped=fact("charged_while_stopped"),
        hours_per_month=fact("hours_per_month"),
        rate=(rate or assumed_rate()) if offer["purchase"] in INTERRUPTIBLE else None,
    )


def job_cost(work: Work, terms: Terms) -> JobCost:
    """What the work costs under these terms.

    More work, disk, egress, a higher price, and at one interval more interruptions never cost less.
    Billed time of an uninterrupted run is max(minimum, run rounded up to the increment). Each interruption ends a run
    early, which adds half an increment on average, a whole one at most. The interval between saves is one for low,
    expected and high, for nobody knows the rate while he trains.
    """
    interval_h, runs = _runs(work, terms.rate)
    usd_per_s = Fraction(terms.usd_per_hour) * work.nodes / 3600
    added_s, steps_unknown = _added(work, terms.billing_increment_s, terms.minimum_billing_s, terms.rate)
    month_h = terms.hours_per_month or assumption("hours_per_month").expected
    storage, kept, disk_unknown = _disk(work, terms.storage_usd_per_gib_month, terms.included_gib, month_h, terms.rate)
    stopped, stop_unknown = _stopped(work, terms, usd_per_s)
    egress, egress_unknown = _egress(work.egress_gib, terms.egress_usd_per_gib)
    more_s = [_times(3600 * work.runs * (one.billed_h - work.run_s / 3600), Fraction(1)) for one in runs]
    compute = _span([Fraction(work.runs * work.run_s)] * 3, usd_per_s)
    rounding = _span(added_s, usd_per_s)
    interruptions = NOTHING if terms.rate is None else _span(more_s, usd_per_s)
    stopped += kept
    return JobCost(
        compute=compute,
        rounding=rounding,
        interruptions=interruptions,
        storage=storage,
        stopped=stopped,
        egress=egress,
        total=compute + rounding + interruptions + storage + stopped + egress,
        billed_h=_three(work.runs * one.billed_h for one in runs),
        elapsed_h=_three(work.runs * one.elapsed_h for one in runs),
        interrupted=_three(work.runs * one.interruptions for one in runs),
        lost_h=_three(work.runs * one.lost_h for one in runs),
        interval_h=interval_h,
        rate=terms.rate,
        unknown=(*steps_unknown, *disk_unknown, *stop_unknown, *egress_unknown),
    )


def one_run(work: Work, node_rate: float) -> Interruptible:
    """One run of the work, when a node is interrupted so often in an hour."""
    return Interruptible(
        work_h=work.run_s / 3600,
        node_rate=node_rate,
        save_h=_assumed(work.save_s, "save_s") / 3600,
        restart_h=_assumed(work.restart_s, "restart_s") / 3600,
        wait_h=_assumed(work.wait_s, "wait_s") / 3600,
        nodes=work.nodes,
    )


def interval_between_saves(work: Work, run: Interruptible) -> float | None:
    """Useful hours between two saves of this run: what the work says, else the best; None without saves."""
    if not work.checkpoints:
        return None
    return best_interval(run) if work.checkpoint_every_s is None else work.checkpoint_every_s / 3600


@lru_cache(maxsize=None)
def told_by_providers(name: str) -> tuple[Decimal, Decimal, Decimal]:
    """The least, the lower median and the most that providers tell of a fact that is a number."""
    told = [Decimal(str(value)) for p in providers().values() if (value := p.fact(name)) is not None]
    return min(told), statistics.median_low(told), max(told)


@lru_cache(maxsize=64)
def _runs(work: Work, rate: Rate | None) -> tuple[float | None, tuple[Expected, Expected, Expected]]:
    """The interval between saves in hours, and one run at the low, the expected and the high rate."""
    if rate is None:
        calm = expected(one_run(work, 0.0), None)
        return None, (calm, calm, calm)
    interval_h = interval_between_saves(work, one_run(work, rate.expected))
    low, middle, high = (expected(one_run(work, value), interval_h) for value in (rate.low, rate.expected, rate.high))
    return interval_h, (low, middle, high)


@lru_cache(maxsize=1024)
def _added(
    work: Work, increment_s: int | None, minimum_s: int | None, rate: Rate | None
) -> tuple[list[Fraction | None], tuple[str, ...]]:
    """Seconds that billing steps and the minimum add in all runs, and which of the two is unknown and matters."""
    increments = _known_or_told(increment_s, "billing_increment_s", low=1)
    minima = _known_or_told(minimum_s, "minimum_billing_s", low=0)
    runs = _runs(work, rate)[1]

    def added(increment: Fraction, minimum: Fraction) -> Fraction:
        return max(minimum, math.ceil(work.run_s / increment) * increment) - work.run_s

    # A longer step is not always the dearer one: 90 s are 120 s by 60, and 90 s by 90.
    every = [added(increment, minimum) for increment in increments for minimum in minima]
    broken_off = [_times(runs[1].interruptions / 2, increments[1]), _times(runs[2].interruptions, increments[2])]
    unknown = []
    if len({added(increment, minima[0]) for increment in increments}) > 1 or (
        increments[0] != increments[2] and broken_off[1] != 0
    ):
        unknown.append("billing_increment_s")
    if len({added(increments[0], minimum) for minimum in minima}) > 1:
        unknown.append("minimum_billing_s")
    each = (min(every), _plus(added(increments[1], minima[1]), broken_off[0]), _plus(max(every), broken_off[1]))
    return [None if one is None else work.runs * one for one in each], tuple(unknown)


@lru_cache(maxsize=1024)
def _disk(
    work: Work, usd_per_gib_month: Decimal | None, included_gib: float, month_h: float, rate: Rate | None
) -> tuple[Span, Span, tuple[str, ...]]:
    """Disk while the job runs or waits, disk while the instance is stopped, and whether its price is unknown.

    A disk that comes with the machine may not stay when it is stopped: then all of it has to be bought.
    """
    bought_gib = Fraction(max(0.0, work.storage_gib - included_gib))
    prices = _known_or_told(usd_per_gib_month, "storage_usd_per_gib_month", low=0)
    elapsed = [_times(work.runs * one.elapsed_h, Fraction(1)) for one in _runs(work, rate)[1]]
    running = [
        Fraction(0) if not bought_gib else None if hours is None else bought_gib * hours * price
        for hours, price in zip(elapsed, prices, strict=True)
    ]
    stopped_h = Fraction(work.stopped_s, 3600)
    sizes = (bought_gib, Fraction(work.storage_gib), Fraction(work.storage_gib))
    kept: list[Fraction | None] = [stopped_h * gib * price for gib, price in zip(sizes, prices, strict=True)]
    matters = bought_gib or (work.stopped_s and work.storage_gib)
    unknown = ("storage_usd_per_gib_month",) if usd_per_gib_month is None and matters else ()
    return _span(running, 1 / Fraction(month_h)), _span(kept, 1 / Fraction(month_h)), unknown


def _stopped(work: Work, terms: Terms, usd_per_s: Fraction) -> tuple[Span, tuple[str, ...]]:
    """The instance itself while it is stopped: at its full price, or not at all; half of that where nobody tells."""
    if not work.stopped_s or terms.charged_while_stopped is False:
        return NOTHING, ()
    full = Fraction(work.stopped_s)
    if terms.charged_while_stopped is None:
        return _span([Fraction(0), full / 2, full], usd_per_s), ("charged_while_stopped",)
    return _span([full] * 3, usd_per_s), ()


@lru_cache(maxsize=1024)
def _egress(gib: float, usd_per_gib: Decimal | None) -> tuple[Span, tuple[str, ...]]:
    if not gib:
        return NOTHING, ()
    prices = _known_or_told(usd_per_gib, "egress_usd_per_gib", low=0)
    return _span(prices, Fraction(gib)), ("egress_usd_per_gib",) if usd_per_gib is None else ()


def _known_or_told(known: Decimal | int | None, name: str, low: int) -> tuple[Fraction, Fraction, Fraction]:
    """The known value three times, else `low` and what providers tell: their lower median and their highest."""
    if known is not None:
        return Fraction(known), Fraction(known), Fraction(known)
    _, median, most = told_by_providers(name)
    return Fraction(low), Fraction(median), Fraction(most)


def _assumed(given: float | None, name: str) -> float:
    return assumption(name).expected if given is None else given


def _times(hours: float, factor: Fraction) -> Fraction | None:
    """The product; None where the hours have no end."""
    return None if hours == math.inf else Fraction(hours) * factor


def _plus(first: Fraction, second: Fraction | None) -> Fraction | None:
    return None if second is None else first + second


def _three(values: Iterable[float]) -> tuple[float, float, float]:
    low, middle, high = values
    return low, middle, high


def _span(amounts: Sequence[Fraction | None], usd: Fraction) -> Span:
    """Low, expected and high amount, each times `usd`: money to ten decimals, half-even."""
    steps = usd / Fraction(MONEY_STEP)
    low, middle, high = (None if one is None else round(one * steps) * MONEY_STEP for one in amounts)
    return Span(low, middle, high)


def _money(value: Any) -> Decimal | None:
    return None if value is None else Decimal(value)


def _sum(first: Decimal | None, second: Decimal | None) -> Decimal | None:
    return None if first is None or second is None else first + second

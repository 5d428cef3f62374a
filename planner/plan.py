"""From what a job needs to where to rent: offers joined with fit and cost, ranked; and why the others are left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from planner.cards import BRIDGED, Demand, Fit, Judged, Shape, judge
from planner.interruption import break_even_rate
from planner.job_cost import INTERRUPTIBLE, JobCost, Rate, Work, interval_between_saves, job_cost, one_run, terms_of
from schemas.messages import Said, said
from schemas.providers import providers

Offer = Mapping[str, Any]
IN_STOCK = ("available", "limited")
PLANNED = ("on_demand", *INTERRUPTIBLE)
"""ways to buy that a job of some hours can use; commitments and fixed blocks of time it cannot"""
SHAPE = ("provider", "gpu", "form_factor", "gpu_count", "region", "tier", "os")
"""what two offers of one machine in one place have in common, besides its name"""
CARD = ("provider", "gpu", "form_factor", "vram_gib", "purchase")
"""what a node and a larger one of the same card have in common"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An offer that holds the job.

    interruption: None for capacity that stays; else the provider's own band as published, `unknown` where it has none;
    the rates that the cost is worked out with stand in `cost.rate`. price_ratio: to the cheapest on-demand offer of the
    same shape and place, None without one. break_even_rate: interruptions of a node per hour up to which the lower
    price pays, storage aside; None where it never does or there is no on-demand price. notes: what is to be known.
    """

    offer: Offer
    fit: Fit
    cost: JobCost
    interruption: str | None
    price_ratio: float | None
    break_even_rate: float | None
    notes: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """An offer that is not in the answer, or stands behind the best although its hour is cheaper; with every reason."""

    offer: Offer
    reasons: tuple[Said | str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """choices: best first. left_out: by price per hour, without a price last."""

    choices: tuple[Choice, ...]
    left_out: tuple[LeftOut, ...]

    def cheaper(self) -> tuple[LeftOut, ...]:
        """Every offer whose hour costs less than that of the best choice, and why it is not the best, cheapest first.

        Where there is no choice, every offer that is left out.
        """
        if not self.choices:
            return self.left_out
        best = self.choices[0]
        behind = [LeftOut(offer=one.offer, reasons=_why_behind(one, best)) for one in self.choices[1:]]
        return tuple(sorted((one for one in (*behind, *self.left_out) if _is_cheaper(one, best)), key=_by_price))


def plan(
    offers: Iterable[Offer],
    demand: Demand,
    work: Work,
    *,
    in_stock: bool = False,
    rate: Rate | None = None,
    why_not: Callable[[Offer], Sequence[Said | str]] = lambda row: (),
) -> Plan:
    """Where the job can run and what it costs there, and why every other offer is left out.

    offers: rows of `storage.query.offers`, asked for without `disk_gib` (the disk is priced here) and without
    `in_stock`, for what is not given cannot be explained. in_stock: leave out what may not be to be had. rate: of
    interruptions, where somebody knows better than the assumption. why_not: what else speaks against an offer, such as
    what the reader asked for; an offer that is not asked for still tells its on-demand price.

    Order: offers in stock before those whose stock nobody tells; one GPU, or GPUs joined by a fast link, before nodes
    with bridges or PCIe, where hours would not hold; then the expected cost of the whole job. Stale and sold-out
    offers are left out, as are commitments, and nodes larger than another of the same card, provider and purchase that
    holds the job for no more.
    """
    rows = list(offers)
    fits: dict[Shape, Judged] = {}
    on_demand = _on_demand_prices(rows)
    choices: list[Choice] = []
    left_out: list[LeftOut] = []
    for row in rows:
        shape = Shape.of(row)
        if shape not in fits:
            fits[shape] = judge(shape, demand)
        judged = fits[shape]
        reasons = [*_reasons(row, in_stock), *why_not(row), *judged.reasons]
        if reasons or judged.fit is None:
            left_out.append(LeftOut(offer=row, reasons=tuple(reasons)))
        else:
            choices.append(_choice(row, judged.fit, work, rate, on_demand.get(_shape(row))))
    choices, larger = _smallest_nodes(sorted(choices, key=_order))
    return Plan(choices=tuple(choices), left_out=tuple(sorted((*left_out, *larger), key=_by_price)))


def _smallest_nodes(choices: list[Choice]) -> tuple[list[Choice], list[LeftOut]]:
    """The choices without nodes that are larger than needed, and these. One that costs less than a smaller is kept."""
    kept: list[Choice] = []
    larger: list[LeftOut] = []
    smallest: dict[tuple[Any, ...], tuple[int, Decimal | None]] = {}
    for choice in sorted(choices, key=lambda one: one.fit.gpu_count):
        row, total = choice.offer, choice.cost.total.expected
        kind = (*_group(choice)[:1], *(row[name] for name in CARD))
        count, least = smallest.setdefault(kind, (choice.fit.gpu_count, total))
        if choice.fit.gpu_count > count and least is not None and (total is None or total >= least):
            reason = said("why.one_would_do") if count == 1 else said("why.fewer_would_do", count=count)
            larger.append(LeftOut(offer=row, reasons=(reason,)))
        else:
            kept.append(choice)
    return sorted(kept, key=_order), larger


def _choice(row: Offer, fit: Fit, work: Work, rate: Rate | None, on_demand: Decimal | None) -> Choice:
    interruptible = row["purchase"] in INTERRUPTIBLE
    ratio = float(row["usd_per_hour"] / on_demand) if interruptible and on_demand else None
    return Choice(
        offer=row,
        fit=fit,
        cost=job_cost(work, terms_of(row, rate)),
        interruption=(row["interruption_rate"] or "unknown") if interruptible else None,
        price_ratio=ratio,
        break_even_rate=None if ratio is None else _worth_until(work, ratio),
        notes=(*fit.notes, *_notes(row)),
    )


@lru_cache(maxsize=4096)
def _worth_until(work: Work, price_ratio: float) -> float | None:
    return break_even_rate(one_run(work, 0.0), price_ratio, lambda run: interval_between_saves(work, run))


def _reasons(row: Offer, in_stock: bool) -> list[Said]:
    """Everything but the card that speaks against an offer."""
    reasons = []
    sold_from = row["min_gpu_count"]
    if row["stale"]:
        reasons.append(said("why.stale", hours=row["age_s"] / 3600))
    if row["availability"] == "sold_out":
        reasons.append(said("why.sold_out"))
    if in_stock and row["availability"] == "unknown":
        reasons.append(said("why.stock_not_known"))
    if row["usd_per_hour"] is None:
        reasons.append(said("why.no_price"))
    if row["kind"] == "serverless":
        reasons.append(said("why.serverless"))
    if row["purchase"] not in PLANNED:
        reasons.append(_commitment(row))
    if sold_from is not None and (row["gpu_count"] or 0) < sold_from:
        reasons.append(said("why.sold_from", count=sold_from))
    return reasons


def _commitment(row: Offer) -> Said:
    kind = row["purchase"].replace("_", " ")
    if row["term_months"] is not None:
        return said("why.committed", purchase=kind, months=row["term_months"])
    return said("why.not_by_the_hour", purchase=kind)


def _notes(row: Offer) -> list[Said]:
    notes = _when_taken_back(row["provider"]) if row["purchase"] in INTERRUPTIBLE else []
    if row["availability"] not in IN_STOCK:
        notes.append(said("why.stock_not_told"))
    if row["region"] is None and row["country"] is None:
        notes.append(said("why.place_not_told"))
    return notes


def _when_taken_back(provider: str) -> list[Said]:
    """What the provider tells of the end of interruptible capacity."""
    known = providers().get(provider)
    notice, disk = (known.fact(name) if known else None for name in ("interruption_notice_s", "interruption_disk"))
    return [
        said("why.notice_not_known") if notice is None else said("why.notice", seconds=notice),
        said("why.disk_then_not_known") if disk is None else said("why.disk_then", disk=disk),
    ]


def _order(choice: Choice) -> tuple[Any, ...]:
    row, expected = choice.offer, choice.cost.total.expected
    return (
        *_group(choice),
        expected is None,
        expected,
        row["usd_per_hour"],
        row["provider"],
        row["region"] or "",
        row["offer_key"],
    )


def _group(choice: Choice) -> tuple[bool, bool]:
    """Offers of one group are compared by their cost; the lower group stands before."""
    return choice.offer["availability"] not in IN_STOCK, choice.fit.link >= BRIDGED


def _why_behind(choice: Choice, best: Choice) -> tuple[Said, ...]:
    (unsure, slow), (best_unsure, best_slow) = _group(choice), _group(best)
    reasons = []
    if unsure and not best_unsure:
        reasons.append(said("why.behind_what_is_in_stock"))
    if slow and not best_slow:
        reasons.append(said("why.behind_linked_nodes", link=choice.fit.notes[-1]))
    mine, least = choice.cost.total.expected, best.cost.total.expected
    if mine is None:
        reasons.append(said("why.would_not_end"))
    elif least is not None and mine >= least:
        reasons.append(said("why.dearer", mine=mine, least=least))
    return tuple(reasons)


def _is_cheaper(one: LeftOut, best: Choice) -> bool:
    price = one.offer["usd_per_hour"]
    return price is not None and bool(price < best.offer["usd_per_hour"])


def _by_price(one: LeftOut) -> tuple[Any, ...]:
    price = one.offer["usd_per_hour"]
    return price is None, price or 0, one.offer["provider"], one.offer["offer_key"]


def _on_demand_prices(rows: Sequence[Offer]) -> dict[tuple[Any, ...], Decimal]:
    """Shape and place to the lowest on-demand price of an hour, in stock or not."""
    prices: dict[tuple[Any, ...], Decimal] = {}
    for row in rows:
        if row["purchase"] == "on_demand" and row["usd_per_hour"] is not None:
            shape = _shape(row)
            prices[shape] = min(row["usd_per_hour"], prices.get(shape, row["usd_per_hour"]))
    return prices


def _shape(row: Offer) -> tuple[Any, ...]:
    return (row["instance_type"] or row["accelerator_raw"], *(row[name] for name in SHAPE))

"""Where a job can run and what it costs there: the offers that hold it, by the cost of the whole job."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gpufare.commands.fit_words import NO_BOUND, Footnotes, any_of, gib, price, shown, spread
from table import cells
from table import offers as shown_offers
from table.view import Row, Shown, View

if TYPE_CHECKING:
    from planner.cards import Demand
    from planner.job_cost import JobCost, Rate, Work
    from planner.plan import Choice, LeftOut, Plan
    from schemas.messages import Messages, Said
    from storage.filters import Filters
    from storage.lake import Lake
    from storage.query import OffersAnswer

TERMS = ("compute", "rounding", "interruptions", "storage", "stopped", "egress")
HOURS = ("billed_h", "elapsed_h", "interrupted", "lost_h")
OFFER = (
    "offer_key", "provider", "tier", "region", "zone", "country", "instance_type", "gpu", "form_factor", "gpu_count",
    "vram_gib", "purchase", "availability", "available_count", "age_s", "stale", "usd_per_hour", "usd_per_gpu_hour",
    "usd_per_gib_hour", "usd_per_bf16_tflop_hour", "usd_per_gbs_hour", "observed_at", "source_url",
)  # fmt: skip
BRIEF = ("offer_key", "provider", "gpu", "form_factor", "gpu_count", "purchase", "region", "usd_per_hour")
ENDS = ("low", "expected", "high")


@dataclass(frozen=True, slots=True)
class Found:
    """What the store answers: the plan, and what it was asked."""

    plan: Plan
    answer: OffersAnswer
    filters: Filters


def find(
    lake: Lake,
    demand: Demand,
    work: Work,
    filters: Filters,
    *,
    rate: Rate | None,
    now: datetime,
    as_of: datetime | None,
    known_at: datetime | None,
    explain: bool,
) -> Found:
    """Offers joined with fit and cost. With `explain` those that the filters or the gate keep out are looked at too."""
    from gpufare.commands.explain import why_not, withheld
    from planner.plan import plan
    from storage.figures import UNIT_PRICES
    from storage.filters import Filters
    from storage.query import offers

    # Another purchase tells the on-demand price beside a spot one; what is out of stock, why it is not in the answer.
    wide = dataclasses.replace(filters, purchase=(), in_stock=False, serverless=True)
    asked = Filters(purchase=(), serverless=True) if explain else wide
    answer = offers(lake, asked, now=now, as_of=as_of, known_at=known_at, unit_prices=tuple(UNIT_PRICES))
    rows = list(answer.rows)
    if explain:
        rows += withheld(lake, asked, answer.as_of, known_at)
    wanted = dataclasses.replace(wide, purchase=filters.purchase)
    made = plan(
        rows, demand, work, in_stock=filters.in_stock, rate=rate, why_not=lambda row: why_not(row, wanted)
    )  # fmt: skip
    return Found(made, answer, filters)


def rows_of(choices: Sequence[Choice], batches: Sequence[int | None]) -> list[dict[str, Any]]:
    """A row for each choice: the offer, how it holds the job, every term of its cost in USD, what is not known.

    A sum without a bound is null in `..._usd_high`, hours without an end are null.
    """
    return [_row(choice, batch) for choice, batch in zip(choices, batches, strict=True)]


def _row(choice: Choice, batch: int | None) -> dict[str, Any]:
    fit, cost, rate = choice.fit, choice.cost, choice.cost.rate
    return {
        **{name: choice.offer.get(name) for name in OFFER},
        "usable_gib": fit.usable_gib,
        "low_gib": fit.need.low_gib,
        "expected_gib": fit.need.expected_gib,
        "high_gib": fit.need.high_gib,
        "headroom_pct": round(fit.headroom_pct, 1),
        "certainty": fit.certainty,
        "micro_batch": batch,
        **_sums(cost),
        **{f"{name}_{end}": value for name in HOURS for end, value in zip(ENDS, getattr(cost, name), strict=True)},
        "checkpoint_interval_h": cost.interval_h,
        "interruption": choice.interruption,
        "interruption_rate_kind": rate.kind if rate else None,
        **{f"interruptions_per_hour_{end}": getattr(rate, end) if rate else None for end in ENDS},
        "price_ratio_to_on_demand": choice.price_ratio,
        "break_even_interruptions_per_hour": choice.break_even_rate,
        "not_told": list(cost.unknown),
        "notes": [str(note) for note in choice.notes],
    }


def _sums(cost: JobCost) -> dict[str, Any]:
    return {f"{name}_usd_{end}": getattr(getattr(cost, name), end) for name in (*TERMS, "total") for end in ENDS}


def offers_view(
    words: Messages,
    found: Found,
    rows: Sequence[Row],
    *,
    work: Work,
    query: dict[str, Any],
    header: Sequence[str],
    usual_purchase: bool,
    most: int | None,
) -> View:
    """The offers, best first; `rows` as `rows_of` makes them of all choices, or of the first `most`."""
    from gpufare.commands.filters import described

    kept = found.plan.choices[: len(rows)]
    notes = {choice.offer["offer_key"]: (*choice.notes, *_not_told(choice.cost)) for choice in kept}
    foot = Footnotes(words, notes.values())
    total = len(found.plan.choices)
    below = foot.lines()
    if len(rows) < total:
        below.append(words.say("fit.more", shown=len(rows), total=total))
    if total == 0:
        below.append(_nothing(words, found))
    answer = found.answer
    lines = [*header, work_line(words, work), *_rate_lines(words, kept)]
    usual = words.say("fit.usual_purchase") if usual_purchase else ""
    lines.append(words.say("fit.filters", what=f"{described(found.filters, False)}{usual}"))
    if answer.newest is not None:
        lines.append(words.say("fit.data", newest=answer.newest, as_of=answer.as_of))
    if answer.stale:
        lines.append(words.say("fit.stale", providers=", ".join(answer.stale)))
    if answer.carried_forward:
        lines.append(words.say("fit.carried_forward", providers=", ".join(answer.carried_forward)))
    return View(
        "fit_offers",
        list(rows),
        _columns(words, {choice.offer["offer_key"]: choice for choice in kept}, foot, notes),
        answer.as_of,
        query,
        {"rows": len(rows), "total": total},
        {"newest": answer.newest, "stale": answer.stale, "carried_forward": answer.carried_forward},
        sample=answer.origin != "live",
        header=lines,
        notes=below,
        most=most,
    )


def _columns(
    words: Messages, choices: dict[str, Choice], foot: Footnotes, notes: dict[str, tuple[Said, ...]]
) -> list[Shown]:
    def cost_of(row: Row) -> JobCost:
        return choices[row["offer_key"]].cost

    def term(name: str) -> Shown:
        return shown(
            words,
            name,
            lambda row: spread(words, getattr(cost_of(row), name)),
            "right",
            drop=6,
            when=lambda rows: any(row[f"{name}_usd_{end}"] != 0 for row in rows for end in ENDS),
        )

    return [
        shown(words, "rank", lambda row: str(row["rank"]), "right"),
        shown(words, "gpu", shown_offers.gpu_name, shrink=True),
        shown(words, "n", lambda row: cells.share(row["gpu_count"]), "right"),
        shown(words, "vram", lambda row: gib(words, row["vram_gib"], "0.##"), "right", drop=7),
        shown(words, "need", lambda row: gib(words, row["expected_gib"]), "right", drop=8),
        shown(words, "headroom", lambda row: words.number(row["headroom_pct"] / 100, "0%"), "right"),
        shown(words, "batch", lambda row: cells.text_of(row["micro_batch"]), "right", drop=9),
        shown(words, "usd_per_hour", lambda row: price(words, row["usd_per_hour"]), "point"),
        shown(words, "total", lambda row: spread(words, cost_of(row).total), "right"),
        *(term(name) for name in TERMS),
        shown(words, "interruption", lambda row: _interruption(words, row), drop=4, when=any_of("interruption")),
        shown(words, "to_on_demand", lambda row: _ratio(words, row), "right", drop=10, when=any_of("interruption")),
        shown(words, "break_even", lambda row: _break_even(words, row), "right", drop=11, when=any_of("interruption")),
        shown(words, "purchase", lambda row: cells.text_of(row["purchase"]), drop=1),
        shown(words, "provider", lambda row: cells.text_of(row["provider"])),
        shown(words, "tier", lambda row: cells.text_of(row["tier"]) if row["tier"] else "-", drop=12, shrink=True,
              when=any_of("tier")),
        shown(words, "region", shown_offers.region_name, drop=2, shrink=True),
        shown(words, "stock", lambda row: words.say(f"fit.stock.{row['availability']}")),
        shown(words, "age", lambda row: cells.age(row["age_s"], bool(row["stale"])), "right"),
        shown(words, "note", lambda row: foot.marks(notes[row["offer_key"]]), drop=3),
    ]  # fmt: skip


def _interruption(words: Messages, row: Row) -> str:
    known = row["interruption"]
    return "-" if known is None else words.say("fit.not_known") if known == "unknown" else str(known)


def _ratio(words: Messages, row: Row) -> str:
    if row["interruption"] is None:
        return "-"
    ratio = row["price_ratio_to_on_demand"]
    return cells.UNKNOWN if ratio is None else words.number(ratio, "0%")


def _break_even(words: Messages, row: Row) -> str:
    if row["interruption"] is None:
        return "-"
    if row["price_ratio_to_on_demand"] is None:
        return cells.UNKNOWN
    rate = row["break_even_interruptions_per_hour"]
    return words.say("fit.never") if rate is None else NO_BOUND if rate == float("inf") else words.number(rate, "0.0##")


def work_line(words: Messages, work: Work) -> str:
    """The work in one line: runs and their time, disk, egress, time stopped, saves."""
    if work.run_s < 3600:
        parts = [words.say("fit.work.runs_of_minutes", runs=work.runs, minutes=work.run_s / 60)]
    else:
        parts = [words.say("fit.work.runs_of_hours", runs=work.runs, hours=work.run_s / 3600)]
    if work.storage_gib:
        parts.append(words.say("fit.work.disk", gib=work.storage_gib))
    if work.egress_gib:
        parts.append(words.say("fit.work.egress", gib=work.egress_gib))
    if work.stopped_s:
        parts.append(words.say("fit.work.stopped", hours=work.stopped_s / 3600))
    return words.say("fit.work.line", what=", ".join(parts))


def _rate_lines(words: Messages, choices: Sequence[Choice]) -> list[str]:
    """What interruptions the cost of interruptible offers rests on, and how often the state is saved."""
    costs = {(one.cost.rate, one.cost.interval_h) for one in choices if one.cost.rate is not None}
    lines = []
    for rate, interval_h in sorted(costs, key=str):
        if rate is None:
            continue
        saves = (
            words.say("fit.saves.none") if interval_h is None else words.say("fit.saves.every", minutes=interval_h * 60)
        )
        kind = words.say(f"fit.rate_kind.{rate.kind.replace(' ', '_')}")
        low, high, expected = rate.low, rate.high, rate.expected
        lines.append(words.say("fit.rate", kind=kind, expected=expected, low=low, high=high, saves=saves))
    return lines


def _not_told(cost: JobCost) -> list[Said]:
    from schemas.messages import said

    return [said("fit.not_told", fact=name) for name in cost.unknown]


def _nothing(words: Messages, found: Found) -> str:
    if found.answer.newest is None:
        return words.say("fit.no_data")
    return words.say("fit.no_offer")


def left_out_view(words: Messages, cheaper: Sequence[LeftOut], now: datetime, most: int | None) -> View:
    """Every offer whose hour is cheaper than that of the best choice, and why it is not the best."""
    rows: list[Row] = [{**one.offer, "why": one.reasons} for one in cheaper]
    columns = [
        shown(words, "gpu", shown_offers.gpu_name, shrink=True),
        shown(words, "n", lambda row: cells.share(row["gpu_count"]), "right"),
        shown(words, "usd_per_hour", lambda row: price(words, row["usd_per_hour"]), "point"),
        shown(words, "purchase", lambda row: cells.text_of(row["purchase"])),
        shown(words, "provider", lambda row: cells.text_of(row["provider"])),
        shown(words, "region", shown_offers.region_name, shrink=True),
        shown(words, "why", lambda row: "; ".join(words.tell(reason) for reason in row["why"])),
    ]
    notes = [words.say("fit.more", shown=most, total=len(rows))] if most is not None and most < len(rows) else []
    head = [words.say("fit.cheaper", count=len(rows))]
    return View("fit_left_out", rows, columns, now, header=head, notes=notes, most=most)


def cheaper_told(cheaper: Sequence[LeftOut]) -> dict[str, Any]:
    """The same for machines, and how often each kind of reason was given."""
    kinds = Counter(_kind(reason) for one in cheaper for reason in one.reasons)
    return {
        "cheaper": [
            {**{name: one.offer[name] for name in BRIEF}, "reasons": [str(reason) for reason in one.reasons]}
            for one in cheaper
        ],
        "cheaper_by": dict(kinds.most_common()),
    }


def _kind(reason: Said | str) -> str:
    """What kind of reason it is: its name in the catalogue, or the words before the first colon."""
    return reason.partition(":")[0] if isinstance(reason, str) else reason.key.rpartition(".")[2]


def work_query(work: Work, rate: Rate | None) -> dict[str, Any]:
    """The work as it is understood, for machines."""
    return {"work": asdict(work), "interruptions_per_hour": rate.expected if rate else None}

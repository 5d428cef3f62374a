"""What a page without Python needs to plan a job: memory as lines, what each node is, what makes up the cost of hours.

All of it is worked out by the planner itself. The page interpolates, compares and multiplies: memory by `planner.grid`,
billed hours of interruptible capacity along `hours`, rounding as `planner.job_cost` documents it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from planner.cards import BRIDGED, Demand, Need, Shape, judge
from planner.grid import METHODS, MOST_TOKENS, SIZES, Lines, grid, grid_tokens
from planner.job_cost import INTERRUPTIBLE, Terms, Work, assumed_rate, job_cost, told_by_providers
from planner.plan import PLANNED
from planner.terms import NAMES
from schemas.messages import Said
from schemas.models import find_model
from schemas.providers import providers
from schemas.training import Technique

TECHNIQUES: tuple[Technique, ...] = ("full", "lora", "nf4")
BILLING = ("billing_increment_s", "minimum_billing_s")
MOST_HOURS = 10_000
COLUMNS = ("provider", "gpu", "form_factor", "vram_gib", "gpu_count", "interconnect", "min_gpu_count")
"""columns of an offer that `page` reads"""
_FIRST_HOURS = 1 / 60
_HOURS_BELOW = 24


class Page(NamedTuple):
    """`told` is for the script, plain lists and dictionaries; in it a text is its place in `texts`."""

    told: dict[str, Any]
    texts: list[Said | str]


class _Texts:
    """Texts in the order of their first use, each once."""

    def __init__(self) -> None:
        self.places: dict[Said | str, int] = {}

    def at(self, texts: Iterable[Said | str]) -> list[int]:
        return [self.places.setdefault(text, len(self.places)) for text in texts]


def page(rows: Iterable[Mapping[str, Any]]) -> Page:
    """Everything for the page of these offers, of which COLUMNS are read; `rows` of `told` is in their order.

    series: model, then method: `c` confidence, `w` texts, `t` technique, `l` for each of `sizes` the lines of low, high
    and every term of `terms`. shapes: usable GiB, is it slower for want of a link, and for each of `techniques` the
    reasons against it and the notes. told_by_providers: least, lower median and most, in seconds.
    """
    texts = _Texts()
    shapes: dict[Shape, int] = {}
    placed = [(shapes.setdefault(Shape.of(row), len(shapes)), row) for row in rows]
    series: dict[str, dict[str, Any]] = {}
    for one in grid():
        series.setdefault(one.model.name, {})[one.method] = {
            "c": one.confidence,
            "w": texts.at(one.reasons),
            "t": TECHNIQUES.index(one.technique) if one.technique in TECHNIQUES else None,
            "l": [_listed(one.lines.get(size)) for size in SIZES],
        }
        series[one.model.name]["context"] = one.model.context
    rate = assumed_rate()
    told = {
        "usual": {"model": find_model("8b").name, "method": "lora", "seq": 2048, "batch": 1, "hours": 6},
        "methods": list(METHODS),
        "sizes": list(SIZES),
        "terms": list(NAMES),
        "tokens": grid_tokens(),
        "most_tokens": MOST_TOKENS,
        "most_hours": MOST_HOURS,
        "purchases": list(PLANNED),
        "interruptible": list(INTERRUPTIBLE),
        "techniques": list(TECHNIQUES),
        "series": series,
        "shapes": [_shape(shape, texts) for shape in shapes],
        "rows": [place for place, _ in placed],
        "sold_from": {str(n): row["min_gpu_count"] for n, (_, row) in enumerate(placed) if row["min_gpu_count"]},
        "billing": _billing({row["provider"] for _, row in placed}),
        "told_by_providers": {name: [int(value) for value in told_by_providers(name)] for name in BILLING},
        "rate": [rate.low, rate.expected, rate.high],
        "hours": _hours(),
    }
    return Page(told, list(texts.places))


def _listed(lines: Lines | None) -> list[Any] | None:
    if lines is None:
        return None
    return [line if isinstance(line, int) else list(line) for line in (lines.low, lines.high, *lines.terms)]


def _shape(shape: Shape, texts: _Texts) -> list[Any]:
    """A node that needs no memory: all that is to be said of it but whether the job's memory fits."""
    answers = [
        judge(shape, Demand(need_of=lambda gpus: Need(0.0, 0.0, 0.0), technique=one, formats=("bf16",)))
        for one in TECHNIQUES
    ]
    fit = next((answer.fit for answer in answers if answer.fit), None)
    return [
        round(fit.usable_gib, 4) if fit else None,
        int(fit is not None and fit.link >= BRIDGED),
        [texts.at(answer.reasons) for answer in answers],
        [texts.at(answer.fit.notes) if answer.fit else [] for answer in answers],
    ]


def _billing(slugs: Iterable[str]) -> dict[str, list[int | None]]:
    """Of each provider the facts BILLING, for offers that do not tell them themselves."""
    known = {slug: facts for slug in sorted(slugs) if (facts := providers().get(slug))}
    return {slug: [facts.fact(name) for name in BILLING] for slug, facts in known.items()}


def _hours() -> list[list[float]]:
    """Useful hours of one interruptible run; its billed hours and interruptions, each low, expected and high.

    Saves come at the interval that is best for the expected rate. A run longer than that is so many like stretches,
    hence a straight line; below it the lines bend.
    """
    terms = Terms(usd_per_hour=Decimal(1), billing_increment_s=1, minimum_billing_s=0, rate=assumed_rate())
    longest = job_cost(Work(run_s=3600 * MOST_HOURS), terms)
    bend = longest.interval_h or 1.0
    below = [_FIRST_HOURS * (bend / _FIRST_HOURS) ** (place / _HOURS_BELOW) for place in range(_HOURS_BELOW + 1)]
    points = []
    for hours in (*below, MOST_HOURS):
        run_s = round(3600 * hours)
        cost = job_cost(Work(run_s=run_s), terms)
        points.append([run_s / 3600, *cost.billed_h, *cost.interrupted])
    return points

"""Peak memory of usual jobs, worked out beforehand for a page that can run no Python: lines to interpolate along.

With checkpointing and a fused attention kernel every term of a stack is a straight line over tokens (length x batch),
but for a kink where the optimizer's own step stops being the peak. So each stack is counted at two or three numbers of
tokens; what `planner.fit` makes of all stacks is told at GRID numbers of tokens, of which only those are kept that a
straight line between its neighbours would miss. TOLERANCE is what a test holds the page to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from planner.demand import on_node, technique_of
from planner.fit import Job, estimate, range_about
from planner.stack import Candidate, candidates
from planner.terms import GIB, NAMES, counting
from schemas.messages import Said
from schemas.models import Model, models

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

METHODS = ("full", "lora", "qlora", "dora")
SIZES = (1, 2, 4, 8)
"""GPUs of a node that are worked out"""
MOST_TOKENS = 2**20
"""of a micro batch; a page answers for no more"""
GRID = 161
"""numbers of tokens from 1 to MOST_TOKENS, each about 9 % above the one before"""
TOLERANCE = 0.01
"""share of the peak by which interpolated memory may differ from `planner.fit`"""
_OF_RANGE, _OF_TERM = 0.003, 0.0008
_SMALL_GIB = 0.006
"""shares of the peak that dropping a point may cost"""

Line = int | tuple[int, ...]
"""hundredths of GiB over the grid: one number where they are all the same, else place, value, place, value ..."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Memory of each GPU of a node: both ends of the range, and every expected term in the order of NAMES.

    The expected peak is the sum of its terms.
    """

    low: Line
    high: Line
    terms: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """A model trained by a method: its lines by number of GPUs, how sure they are, and what makes them wide."""

    model: Model
    method: str
    technique: str | None
    lines: dict[int, Lines]
    confidence: str
    reasons: tuple[Said | str, ...]


def grid_tokens() -> list[int]:
    """The numbers of tokens of the grid, ascending, each once."""
    return sorted({round(MOST_TOKENS ** (place / (GRID - 1))) for place in range(GRID)})


def grid() -> list[Series]:
    """Every model by every method on nodes as `planner.demand` spreads it."""
    import numpy as np

    tokens = np.array(grid_tokens(), dtype=float)
    found = []
    for model in models().values():
        for method in METHODS:
            job = Job(model=model, method=method)
            told = estimate(job)
            spread = {size: on_node(job, size) for size in SIZES}
            lines = {size: _lines(one, tokens, told.confidence == "low") for size, one in spread.items() if one}
            found.append(Series(model, method, technique_of(job), lines, told.confidence, told.reasons))
    return found


def _lines(job: Job, tokens: Floats, is_doubtful: bool) -> Lines:
    import numpy as np

    @cache
    def of_length(number: int) -> Job:
        return replace(job, seq_len=number)

    @cache
    def on(candidate: Candidate, adapter_dtype: str) -> Floats:
        return _terms(of_length, candidate, adapter_dtype, tokens)

    likely = candidates(job)
    own = [on(one, one.stack.adapter_dtype) for one in likely]
    mean = np.sum([one.share * terms for one, terms in zip(likely, own, strict=True)], axis=0)
    leanest, hungriest = own, own
    if job.way.frozen_base:  # only adapters can be of either type
        leanest, hungriest = ([on(one, dtype) for one in likely] for dtype in ("bf16", "fp32"))
    expected = mean.sum(axis=0)
    least = np.min([terms.sum(axis=0) for terms in leanest], axis=0)
    most = np.max([terms.sum(axis=0) for terms in hungriest], axis=0)
    ends = np.array([range_about(*each, is_doubtful) for each in zip(least, expected, most, strict=True)])
    return Lines(
        low=_line(ends[:, 0], ends[:, 0] * _OF_RANGE, tokens),
        high=_line(ends[:, 1], ends[:, 1] * _OF_RANGE, tokens),
        terms=tuple(_line(term, expected * _OF_TERM, tokens) for term in mean),
    )


def _terms(of_length: Callable[[int], Job], candidate: Candidate, adapter_dtype: str | None, tokens: Floats) -> Floats:
    """GiB of each term of NAMES on one stack at each number of tokens; `of_length` is the job with texts so long."""
    import numpy as np

    def at(number: int) -> list[float]:
        terms = counting(of_length(number), candidate.stack, adapter_dtype).terms()
        return [terms[name] / GIB for name in NAMES]

    points = {1: at(1), MOST_TOKENS: at(MOST_TOKENS)}
    first, last = (dict(zip(NAMES, points[number], strict=True)) for number in (1, MOST_TOKENS))
    if first["temporary"] > last["temporary"]:
        # The optimizer's step takes the place of what a step added before it: it matters until that is as much.
        added = sum(last[name] - first[name] for name in ("activations", "logits", "gathered"))
        kink = round(1 + first["temporary"] / added * (MOST_TOKENS - 1))
        points |= {number: at(number) for number in (kink - 1, kink + 1) if 1 < number < MOST_TOKENS}
    known = sorted(points)
    return np.array([np.interp(tokens, known, values) for values in zip(*(points[k] for k in known), strict=True)])


def _line(values: Floats, error: Floats, tokens: Floats) -> Line:
    """The points that are needed to come within `error` of the values, in hundredths."""
    hundredths = [round(100 * float(value)) for value in values]
    if max(hundredths) - min(hundredths) <= 1:
        return hundredths[0]
    kept = _kept(values, error, tokens, 0, len(tokens) - 1)
    return tuple(number for place in [*kept, len(tokens) - 1] for number in (place, hundredths[place]))


def _kept(values: Floats, error: Floats, tokens: Floats, first: int, last: int) -> list[int]:
    """Places to keep from `first` up to but not including `last`: where the straight line misses most, it is broken."""
    import numpy as np

    within = slice(first, last + 1)
    straight = np.interp(tokens[within], tokens[[first, last]], values[[first, last]])
    missed: Any = np.abs(straight - values[within]) - np.maximum(error[within], _SMALL_GIB)
    worst = first + int(np.argmax(missed))
    if last - first < 2 or missed.max() <= 0:
        return [first]
    return [*_kept(values, error, tokens, first, worst), *_kept(values, error, tokens, worst, last)]

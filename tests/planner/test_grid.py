"""The lines that a page interpolates along keep to the planner for every model; what it is told of nodes."""

from __future__ import annotations

import bisect
import gzip
import random
from typing import Any

import pytest

from planner.demand import on_node
from planner.fit import Job, estimate
from planner.grid import METHODS, MOST_TOKENS, SIZES, TOLERANCE, grid_tokens
from planner.page import Page, page
from planner.terms import NAMES
from schemas.models import find_model, models
from table.site.columns import script

HUNDREDTHS_GIB = 0.05
"""what rounding nine terms to hundredths may make, once stretched to the high end; 1 % of 5 GiB"""


NODE = {"provider": "lambda", "form_factor": None, "interconnect": None, "min_gpu_count": None}
ROWS: list[dict[str, Any]] = [
    NODE | {"gpu": "H100", "form_factor": "SXM", "vram_gib": 80.0, "gpu_count": 8.0},
    NODE | {"gpu": "T4", "vram_gib": 16.0, "gpu_count": 1.0},
    NODE | {"gpu": "RTX 4090", "form_factor": "PCIe", "vram_gib": 24.0, "gpu_count": 2.0, "min_gpu_count": 2},
    NODE | {"gpu": "H100", "form_factor": "SXM", "vram_gib": 80.0, "gpu_count": 0.5},
    NODE | {"gpu": "H100", "form_factor": "SXM", "vram_gib": 80.0, "gpu_count": 8.0},
]


@pytest.fixture(scope="module")
def found() -> Page:
    """What the page is told of these offers."""
    return page(ROWS)


def at(line: int | list[int], tokens: int) -> float:
    """GiB on a line, as the page reads it."""
    if isinstance(line, int):
        return line / 100
    known = [grid_tokens()[place] for place in line[::2]]
    values = line[1::2]
    right = max(1, min(len(known) - 1, bisect.bisect_left(known, tokens)))
    share = (tokens - known[right - 1]) / (known[right] - known[right - 1])
    return (values[right - 1] + share * (values[right] - values[right - 1])) / 100


def test_every_model_by_every_method_is_there(found: Page) -> None:
    told = found.told["series"]
    assert {name: set(METHODS) & set(told[name]) for name in told} == {name: set(METHODS) for name in models()}
    assert all(None not in told[name][method]["l"] for name in told for method in METHODS)
    assert grid_tokens()[0] == 1
    assert grid_tokens()[-1] == MOST_TOKENS


def test_random_jobs_on_the_lines_are_those_of_the_planner(found: Page) -> None:
    chance = random.Random(7)
    for _ in range(800):
        name, method, size = chance.choice(list(models())), chance.choice(METHODS), chance.choice(SIZES)
        tokens = round(2 ** chance.uniform(0, 20))
        spread = on_node(Job(model=models()[name], method=method, seq_len=tokens), size)
        assert spread is not None
        true = estimate(spread)
        told = found.told["series"][name][method]
        low, high, *lines = told["l"][SIZES.index(size)]
        terms = [at(term, tokens) for term in lines]
        for end, value in (("low", at(low, tokens)), ("expected", sum(terms)), ("high", at(high, tokens))):
            wanted = getattr(true, f"{end}_gib")
            assert value == pytest.approx(wanted, rel=TOLERANCE, abs=HUNDREDTHS_GIB), (name, method, tokens, size)
        by_name = {term.name: term.expected_gib for term in true.terms}
        for term, value in zip(NAMES, terms, strict=True):
            assert abs(value - by_name[term]) <= max(TOLERANCE * true.expected_gib, HUNDREDTHS_GIB), term
        assert told["c"] == true.confidence


def test_texts_of_a_micro_batch_count_as_one_long_text() -> None:
    """The page multiplies length and batch; so must the planner."""
    model = find_model("8b")
    for method in METHODS:
        long = estimate(Job(model=model, method=method, seq_len=8192))
        many = estimate(Job(model=model, method=method, seq_len=1024, micro_batch=8))
        assert (long.low_gib, long.expected_gib, long.high_gib) == (many.low_gib, many.expected_gib, many.high_gib)


def test_the_page_is_told_what_nodes_are_and_stays_small(found: Page) -> None:
    assert found.told["rows"] == [0, 1, 2, 3, 0]
    assert found.told["sold_from"] == {"2": 2}
    linked, old, slow, share = found.told["shapes"]
    texts = [str(text) for text in found.texts]
    assert linked[1:3] == [0, [[], [], []]]
    assert linked[0] == pytest.approx(0.94 * 80, abs=0.01)
    assert slow[1] == 1, "no link but PCIe"
    assert [texts[place] for place in old[2][1]] == ["no BF16: Turing, compute capability 7.5"]
    assert [texts[place] for place in share[2][0]] == ["a share of a GPU"]
    assert len(gzip.compress(script("FIT", found.told).encode())) < 150_000

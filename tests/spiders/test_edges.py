"""Every provider and every source of rates has its edges recorded, and each ends in the error that it is known by.

A folder of a recorded case says in its words which edge it is; its `error.json` says how the crawl must end. What is
wrong with one record among good ones may be a test instead, for it ends in a reject: its name holds "malformed".
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from schemas.facts import load_toml
from schemas.providers import Provider, provider, providers
from spiders.shared.source import RECORDED

TESTS = Path(__file__).parent
REFUSED = ("Blocked", "LoginWall", "AuthMissing")
CHANGED = ("LayoutChanged", "SchemaDrift")
NEVER_EMPTY = {"sfcompute": "asked type by type, and no quote is a row that says sold out"}


@dataclass(frozen=True)
class Edge:
    """An edge: what it is, the words that a folder of it may hold, the errors that it may end in."""

    what: str
    words: str
    classes: tuple[str, ...]

    def of(self, name: str) -> list[Path]:
        """The recorded cases of this edge, whatever they end in."""
        return [case for case in sorted((RECORDED / name).glob("*/")) if re.search(self.words, case.name[11:])]

    def missing(self, name: str) -> str | None:
        """What is missing for a provider, in one line; None where nothing is."""
        ends = {case.name: ended(case) for case in self.of(name)}
        if any(end in self.classes for end in ends.values()):
            return None
        found = ", ".join(f"{case} ({end})" for case, end in ends.items()) or "none"
        return f"{name}: no recorded case of {self.what} that ends in {' or '.join(self.classes)}; found: {found}"


EMPTY = Edge("an empty answer", r"empty|on-request", ("Empty",))
REFUSAL = Edge("a refusal", r"challenge|wall|refused|demanded|forbidden|too-many", REFUSED)
LAYOUT = Edge("a changed answer", r"layout|renamed", CHANGED)
MALFORMED = Edge("a malformed record", r"malformed", (*CHANGED, "Truncated"))
SECOND = Edge(
    "a second document that fails",
    r"fail|second|missing|gone|half|partial",
    (*REFUSED, "HttpError", "Truncated", "NetworkError"),
)
SOLD_OUT = Edge("everything sold out", r"sold-out", ("no error",))
MISREAD = Edge("a rate that is none", r"zero|comma|layout|maintenance", ("SchemaDrift",))


def ended(case: Path) -> str:
    """The error that a case must end in, `no error` for one that is read."""
    path = case / "error.json"
    return str(json.loads(path.read_text())["error_class"]) if path.exists() else "no error"


def has_test(name: str, word: str) -> bool:
    """Is there a test of the provider whose name holds the word?"""
    path = TESTS / f"test_{name}.py"
    return path.exists() and re.search(rf"^def test_\w*{word}", path.read_text(), re.MULTILINE) is not None


def documents(name: str) -> int:
    """The most documents that a night of the provider was read from; scripts and pictures of a page are none."""
    return max(
        sum(
            entry["request"]["url"].endswith("/robots.txt") is False
            for entry in json.loads(path.read_text())["log"]["entries"]
        )
        for path in (RECORDED / name).glob("*-night/answers.har")
    )


def edges_of(known: Provider) -> list[Edge]:
    """The edges that the provider must have on record."""
    several = documents(known.slug) > 1 and not known.browser
    empty = SOLD_OUT if known.slug in NEVER_EMPTY else EMPTY
    return [*([] if known.allow_empty else [empty]), REFUSAL, LAYOUT, *([SECOND] if several else [])]


@pytest.mark.parametrize("name", sorted(slug for slug, known in providers().items() if known.status == "active"))
def test_every_provider_has_its_edges(name: str) -> None:
    missing = [line for edge in edges_of(provider(name)) if (line := edge.missing(name))]
    if not has_test(name, "malformed") and (line := MALFORMED.missing(name)):
        missing.append(f"{line}; nor does tests/spiders/test_{name}.py hold a test with malformed in its name")
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("name", sorted(load_toml("rate_sources.toml")))
def test_every_source_of_rates_has_its_edges(name: str) -> None:
    edges = [EMPTY, REFUSAL, MISREAD, *([SECOND] if documents(name) > 1 else [])]
    missing = [line for edge in edges if (line := edge.missing(name))]
    assert not missing, "\n".join(missing)

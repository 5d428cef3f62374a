"""Recorded cases, as they are or with an answer changed, through the real spider: read in this process, or crawled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from schemas.normalise import Context, Reject, normalise
from schemas.offer import Offer
from schemas.providers import provider
from schemas.raw_offer import RawOffer
from spiders.shared import har
from spiders.shared.crawl import CrawlReport, crawl
from spiders.shared.offline import read_answers
from spiders.shared.secrets import REMOVED
from spiders.shared.source import RECORDED

Change = Callable[[str, Any], Any]


@dataclass(frozen=True)
class Replayed:
    """What the real spider made of a recording, and the normaliser of that."""

    raw: list[RawOffer]
    offers: list[Offer]
    rejects: list[Reject]


@pytest.fixture
def replay(tmp_path: Path) -> Callable[..., Replayed]:
    """`replay(name, case, change=None)` reads the answers in this process; every one must be asked for and be right.

    `change(url, body)` gives the body that stands there instead; a JSON body comes and goes as a document.
    """

    def run(name: str, case: str, change: Change | None = None) -> Replayed:
        recorded = har.read(RECORDED / name / case if change is None else changed(name, case, tmp_path, change))
        read = read_answers(name, recorded.entries, {**dict.fromkeys(recorded.keys, REMOVED), **recorded.options})
        assert (read.errors, read.notes) == ([], [])
        context = Context(provider(name), "test", datetime(2026, 11, 29, 2, tzinfo=UTC), "recording")
        normalised = normalise(read.offers, context)
        return Replayed(read.offers, normalised.offers, normalised.rejects)

    return run


@pytest.fixture
def failing(tmp_path: Path) -> Callable[..., CrawlReport]:
    """`failing(name, case, change)`: the report of a crawl that must fail on a changed answer."""

    def run(name: str, case: str, change: Change) -> CrawlReport:
        report = crawl(name, tmp_path / "crawl", recorded=changed(name, case, tmp_path, change))
        assert not report.ok
        return report

    return run


def changed(name: str, case: str, folder: Path, change: Change) -> Path:
    """A copy of a recorded case with its bodies changed."""
    source = RECORDED / name / case
    document = json.loads((source / "answers.har").read_text())
    for entry in document["log"]["entries"]:
        content = entry["response"]["content"]
        text = (source / content.pop("_file")).read_text() if "_file" in content else content["text"]
        is_json = "json" in content["mimeType"]
        body = change(entry["request"]["url"], json.loads(text) if is_json else text)
        content["text"] = json.dumps(body) if is_json else body
    copy = folder / "answers.har"
    copy.write_text(json.dumps(document))
    return copy

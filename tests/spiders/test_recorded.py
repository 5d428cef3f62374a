"""Every recorded case of every provider: the real spider, real crawl and replay, against what a person read.

A case holds `answers.har` and what is expected of it: `offers.jsonl` (or `rates.jsonl`), or `error.json` where the
crawl must fail. A case without expectation gets one written beside it and then fails: read it against the answer, then
commit.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from schemas.normalise import Context, Rates, normalise
from schemas.offer import Offer
from schemas.providers import provider, providers
from schemas.rate import Rate, usd_rates
from schemas.raw_offer import RawOffer
from schemas.record import columns, to_arrow
from schemas.scrape import ACCEPTED
from spiders.shared.browser import chromium
from spiders.shared.crawl import CrawlReport, replay_all
from spiders.shared.har import recorded_at
from spiders.shared.source import RECORDED
from storage import gate

CASES = sorted(path.parent for path in RECORDED.glob("*/*/answers.har"))
NIGHTS = ("2026-11-29-night", "2026-11-30-night")
SCRAPE_ID = "recorded"
# What the crawl knows rather than the answer says.
OURS = {"scrape_id", "recording_sha256", "origin", "observed_at"}


def case_id(case: Path) -> str:
    return f"{case.parent.name}-{case.name}"


def rates_of(night: str) -> Rates:
    """The rates that all sources published on the night, each read from its own expected rates."""
    at = datetime.fromisoformat(f"{night[:10]}T02:00:00+00:00")
    lines = [line for path in sorted(RECORDED.glob(f"*/{night}/rates.jsonl")) for line in path.read_text().splitlines()]
    return Rates(usd_rates(Rate.from_json(json.loads(line), observed_at=at, origin="recording") for line in lines))


def offer_json(offer: Offer) -> dict[str, Any]:
    """An offer as it stands in offers.jsonl: only what is known, money as text so that no digit is lost."""
    values = {name: getattr(offer, name) for name in columns(Offer) if name not in OURS}
    return {
        name: str(value.normalize())
        if isinstance(value, Decimal)
        else value.isoformat()
        if hasattr(value, "isoformat")
        else value
        for name, value in values.items()
        if value is not None
    }


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], CrawlReport]:
    """`crawled(case)`: the report of its replay. All cases of one provider are replayed in one child process."""
    reports: dict[Path, CrawlReport] = {}

    def report_of(case: Path) -> CrawlReport:
        if case not in reports:
            cases = sorted(case.parent.glob("*/answers.har"))
            folder = tmp_path_factory.mktemp(case.parent.name)
            found = replay_all(case.parent.name, cases, folder)
            reports.update(zip((path.parent for path in cases), found, strict=True))
        return reports[case]

    return report_of


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_recorded_case(case: Path, crawled: Callable[[Path], CrawlReport]) -> None:
    name = case.parent.name
    if name in providers() and provider(name).browser and chromium() is None:
        pytest.skip("no Chromium on this machine; make chromium installs it")
    report = crawled(case)
    if (case / "error.json").exists():
        expected = json.loads((case / "error.json").read_text())
        assert not report.ok
        assert report.error_class == expected["error_class"], report.error
        assert expected["contains"] in (report.error or "")
        return
    assert report.ok, f"{report.error_class}: {report.error}"
    lines = [json.loads(line) for line in report.raw_path.read_text().splitlines()]
    if name not in providers():
        assert_as_expected(case / "rates.jsonl", lines)
        return
    context = Context(
        provider(name),
        SCRAPE_ID,
        recorded_at(case / "answers.har"),
        "recording",
        rates=rates_of(case.name[:10] + "-night"),
    )
    read = normalise([RawOffer.from_json(line) for line in lines], context)
    assert not read.rejects, [reject.reason for reject in read.rejects]
    assert_as_expected(case / "offers.jsonl", [offer_json(offer) for offer in read.offers])
    if case.name in NIGHTS:
        crawled_well = gate.CrawlFacts(finished=True, records=len(read.offers))
        offers = to_arrow(read.offers, Offer)
        judged = gate.judge(offers, provider=provider(name), crawl=crawled_well, history=gate.History())
        assert judged.verdict in ACCEPTED, [check for check in judged.checks if check.outcome != "ok"]


def assert_as_expected(path: Path, rows: list[dict[str, Any]]) -> None:
    """Compare as sets of rows: an answer's order says nothing."""
    have = sorted(json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)
    if not path.exists():
        path.write_text("".join(line + "\n" for line in have))
        pytest.fail(f"{path.relative_to(RECORDED)} was written: read it against the answer, then commit it")
    want = sorted(
        json.dumps(json.loads(line), sort_keys=True, ensure_ascii=False) for line in path.read_text().splitlines()
    )
    assert have == want


@pytest.mark.parametrize("name", sorted(n for n, p in providers().items() if p.status == "active"))
def test_every_provider_has_both_nights(name: str) -> None:
    missing = [night for night in NIGHTS if not (RECORDED / name / night / "answers.har").exists()]
    assert not missing


def test_recordings_are_dated_by_their_folder() -> None:
    for case in CASES:
        at = recorded_at(case / "answers.har")
        assert at.tzinfo is not None
        assert f"{at.astimezone(UTC):%Y-%m-%d}" == case.name[:10], case

"""Kept answers read again: what comes out otherwise is restated, and both answers stay reproducible."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import flows.replay as module
from flows.refresh import refresh
from flows.replay import replay
from schemas.corrections import Correction
from storage.filters import Filters
from storage.lake import Lake
from storage.news import changes
from storage.query import offers

FIRST, SECOND = "2026-11-29-night", "2026-11-30-night"
NOW = datetime(2026, 11, 30, 3, tzinfo=UTC)
ERRATUM = Correction(
    name="hyperbolic_h200",
    provider="hyperbolic",
    reason="Its H200 price was a cent too high.",
    source="https://hyperbolic.example",
    checked_on=date(2026, 12, 1),
    match={"accelerator": "h200"},
    expect={},
    set={"price": Decimal(200)},
)


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("replay") / "store"
    for night in (FIRST, SECOND):
        assert refresh(str(store), ["hyperbolic", "civo"], recorded=night).ok
    return store


@pytest.fixture
def store(nights: Path, tmp_path: Path) -> str:
    import shutil

    return str(shutil.copytree(nights, tmp_path / "store"))


@pytest.fixture
def other_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our reading of Hyperbolic's H200 is another since."""
    monkeypatch.setattr(module, "normaliser_version", lambda: "another")
    monkeypatch.setattr(
        "schemas.normalise.corrections", lambda provider: (ERRATUM,) if provider == "hyperbolic" else ()
    )


def counts(done: list[module.Replayed]) -> dict[str, tuple[int, int, int]]:
    return {one.provider: (one.same, len(one.restated), len(one.failed)) for one in done}


def table(store: str, known_at: datetime | None = None) -> list[dict[str, Any]]:
    return offers(Lake.open(store), Filters(purchase=()), now=NOW, known_at=known_at).rows


def test_the_same_code_restates_nothing(store: str) -> None:
    before = table(store)
    assert counts(replay(store)) == {"civo": (2, 0, 0), "hyperbolic": (2, 0, 0)}
    assert table(store) == before


def test_another_version_that_reads_the_same_restates_nothing(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "parser_version", lambda name: "another")
    assert counts(replay(store)) == {"civo": (2, 0, 0), "hyperbolic": (2, 0, 0)}


@pytest.mark.usefixtures("other_reading")
def test_what_comes_out_otherwise_is_restated_once_and_the_old_answer_stays(store: str) -> None:
    before, believed = table(store), datetime.now(UTC)
    dry = replay(store, ["hyperbolic"], dry_run=True)
    assert counts(dry) == {"hyperbolic": (0, 2, 0)}
    assert table(store) == before
    assert counts(replay(store)) == {"civo": (2, 0, 0), "hyperbolic": (0, 2, 0)}
    after = table(store)
    h200 = [row for row in after if row["provider"] == "hyperbolic" and row["gpu"] == "H200"]
    assert h200
    assert {row["price"] for row in h200} == {Decimal(200)}
    assert {row["offer_key"] for row in after} == {
        row["offer_key"] for row in before
    }  # identity is the provider's word
    assert table(store, known_at=believed) == before
    assert counts(replay(store)) == {"civo": (2, 0, 0), "hyperbolic": (2, 0, 0)}
    causes = {
        row["cause"]
        for row in changes(Lake.open(store), Filters(purchase=()), all=True).table.to_pylist()
        if row["column"] == "price"
    }
    assert "correction" in causes


@pytest.mark.usefixtures("other_reading")
def test_what_moved_after_a_restated_night_is_told_anew(store: str) -> None:
    """The second night reads the same; its price moved from another one than was thought."""

    def moves() -> list[tuple[Any, ...]]:
        rows = changes(Lake.open(store), Filters(purchase=()), all=True).table.to_pylist()
        return sorted(
            (row["offer_key"], row["old_price"], row["new_price"], row["cause"])
            for row in rows
            if row["gpu"] == "H200" and row["kind"].startswith("price")
        )

    before = moves()
    at_night = datetime(2026, 11, 29, 12, tzinfo=UTC)
    (done,) = replay(store, ["hyperbolic"], until=at_night)
    assert (len(done.restated), len(done.retold)) == (1, 1)
    now = table(store)
    h200 = {row["offer_key"]: row["price"] for row in now if row["provider"] == "hyperbolic" and row["gpu"] == "H200"}
    told = moves()
    assert told != before
    assert {(key, new) for key, old, new, _ in told if old == 200} == set(h200.items())
    (again,) = replay(store, ["hyperbolic"], until=at_night)
    assert (again.restated, again.retold) == ([], [])
    assert moves() == told


@pytest.mark.usefixtures("other_reading")
def test_a_span_narrows_it(store: str) -> None:
    assert counts(replay(store, ["hyperbolic"], until=NOW - timedelta(days=1))) == {"hyperbolic": (0, 1, 0)}


@pytest.mark.usefixtures("other_reading")
def test_an_answer_that_can_no_longer_be_read_stays_as_it_is(store: str) -> None:
    lost = next(
        scrape for scrape in Lake.open(store).visible("hyperbolic") if scrape.observed_at < NOW - timedelta(hours=9)
    )
    from storage.recordings import Recordings

    Path(Recordings.of(Lake.open(store)).where(lost.recording_sha256 or "")).unlink()
    (one,) = replay(store, ["hyperbolic"])
    assert (len(one.restated), [scrape_id for scrape_id, _ in one.failed]) == (1, [lost.scrape_id])
    assert "gpufare verify" in one.failed[0][1]

"""The state of a store for whoever keeps answers: another one after each commit, the same one without."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from schemas.scrape import Scrape
from storage.lake import Lake
from storage.stamp import stamp

AT = datetime(2026, 11, 30, 2, tzinfo=UTC)


def attempt(lake: Lake, hour: int) -> None:
    at = AT + timedelta(hours=hour)
    lake.commit(
        Scrape(
            scrape_id=f"{at:%Y%m%dT%H%M%SZ}-lambda", provider="lambda", observed_at=at, recorded_at=at,
            origin="recording", verdict="failed", offers=0, rejects=0, withheld=0, schema_version=1,
        )
    )  # fmt: skip


def test_every_commit_and_every_store_has_a_state_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "data"
    seen = [stamp(str(path))]
    for _ in range(2):
        lake = Lake.open(path, origin="recording", create=True)
        seen.append(stamp(str(path)))
        for hour in range(3):
            attempt(lake, hour)
            seen.append(stamp(str(path)))
            assert lake.scrapes()  # to read changes nothing
            assert stamp(str(path)) == seen[-1]
        lake.tidy()
        shutil.rmtree(path)
        assert stamp(str(path)) == seen[0]
    assert len(set(seen)) == len(seen)

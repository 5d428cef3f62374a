"""Months rewritten: the same answers from fewer files, whatever readers and writers do meanwhile."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from storage.compaction import compact, sweep
from storage.errors import StoreError
from storage.filters import Filters
from storage.lake import Lake
from storage.query import offers
from storage.verify import verify

DECEMBER = datetime(2026, 12, 5, tzinfo=UTC)
NIGHTS = range(1, 9)


@pytest.fixture
def month(world: Any, lake: Lake) -> Lake:
    """Eight nights of November: a price that moves, one that does not, one that comes and goes."""
    for day in NIGHTS:
        rows = [world.offer("moves", f"{2 + day / 10:.2f}"), world.offer("stays", "1.5", gpu=None)]
        world.night(lake, day, *rows, *([world.offer("comes")] if day % 3 else []))
    return lake


def answers(lake: Lake) -> list[list[dict[str, Any]]]:
    """The table as of every night, and all changes."""
    nights = [
        offers(lake, Filters(purchase=()), now=DECEMBER, as_of=datetime(2026, 11, day, 12, tzinfo=UTC)).rows
        for day in NIGHTS
    ]
    changes = lake.query(f"SELECT * FROM {lake.relation('changes')} ORDER BY ALL")
    return [*nights, changes.to_pylist()]


def test_a_closed_month_becomes_one_file_and_every_answer_stays(month: Lake) -> None:
    before = answers(month)
    assert len(month.files("snapshots")) == len(NIGHTS)
    done = compact(month, DECEMBER)
    assert [(c.table, c.month, c.files_after, c.done) for c in done] == [
        ("snapshots", "2026-11", 1, True), ("changes", "2026-11", 1, True),
    ]  # fmt: skip
    again = Lake.open(month.path)
    assert answers(again) == before
    assert len(again.files("snapshots")) == 1
    assert verify(again).whole
    assert compact(again, DECEMBER) == []


def test_rows_lie_by_card_offer_and_time(month: Lake) -> None:
    compact(month, DECEMBER)
    (file,) = Lake.open(month.path).files("snapshots")
    import pyarrow.parquet as pq

    rows = pq.read_table(file.path, columns=["gpu", "offer_key", "observed_at"]).to_pylist()
    order = [(row["gpu"] is None, row["gpu"] or "", row["offer_key"], row["observed_at"]) for row in rows]
    assert order == sorted(order)


def test_the_open_month_is_left_alone_unless_asked(month: Lake) -> None:
    november = datetime(2026, 11, 30, tzinfo=UTC)
    assert compact(month, november) == []
    assert [c.done for c in compact(month, november, everything=True)] == [True, True]


def test_a_reader_that_opened_the_store_before_reads_on(month: Lake) -> None:
    reader = Lake.open(month.path)
    before = answers(reader)
    compact(month, DECEMBER)
    assert answers(reader) == before


def test_a_night_that_lands_while_a_month_is_rewritten_is_not_lost(
    month: Lake, world: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import storage.compaction as module

    sorted_rows = module._sorted

    def slow(*given: Any) -> pa.RecordBatchReader:
        other = Lake.open(month.path)
        world.put(other, 9, world.offer("late", "9"))
        return sorted_rows(*given)

    monkeypatch.setattr(module, "_sorted", slow)
    (snapshots, *_) = compact(month, DECEMBER)
    monkeypatch.undo()
    again = Lake.open(month.path)
    late = offers(again, Filters(purchase=()), now=DECEMBER, as_of=datetime(2026, 11, 9, 12, tzinfo=UTC)).rows
    assert [row["offer_key"] for row in late] == ["hyperbolic:late"]
    assert snapshots.done
    assert len(again.files("snapshots")) == 2
    assert all(c.done for c in compact(again, DECEMBER))
    assert verify(Lake.open(month.path)).whole


def test_of_two_rewrites_at_once_one_stands_and_the_other_says_so(month: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    import storage.compaction as module

    sorted_rows, before = module._sorted, answers(month)

    def slow(*given: Any) -> pa.RecordBatchReader:
        monkeypatch.undo()
        assert all(c.done for c in compact(Lake.open(month.path), DECEMBER))
        return sorted_rows(*given)

    monkeypatch.setattr(module, "_sorted", slow)
    (snapshots,) = compact(month, DECEMBER)
    assert not snapshots.done
    again = Lake.open(month.path)
    assert answers(again) == before
    assert verify(again).whole
    assert verify(again).notes == []


def test_the_log_tells_what_a_rewritten_file_can_hold(month: Lake, world: Any) -> None:
    """So a reader leaves it alone where it asks for another provider, card or day."""
    compact(month, DECEMBER)
    again = Lake.open(month.path)
    (file,) = again.files("snapshots")
    assert [file.low["observed_at"], file.high["observed_at"]] == [world.at(1), world.at(8)]
    assert (file.low["gpu"], file.high["gpu"]) == ("H100", "H100")
    assert again.files("snapshots", gpus=["B200"]) == []
    assert again.files("snapshots", since=datetime(2026, 11, 9, tzinfo=UTC)) == []
    import pyarrow.parquet as pq

    about = pq.ParquetFile(file.path).metadata.row_group(0)
    price = next(c for c in map(about.column, range(about.num_columns)) if c.path_in_schema == "price")
    assert "RLE_DICTIONARY" in price.encodings


def test_a_rewrite_that_would_lose_rows_is_not_committed(month: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    import storage.compaction as module

    sorted_rows = module._sorted

    def forgetful(*given: Any) -> pa.RecordBatchReader:
        rows = sorted_rows(*given)
        whole = rows.read_all()
        return pa.RecordBatchReader.from_batches(rows.schema, whole.slice(1).to_batches())

    before = answers(month)
    monkeypatch.setattr(module, "_sorted", forgetful)
    with pytest.raises(StoreError, match=r"expected \d+ rows, read \d+; nothing was changed"):
        compact(month, DECEMBER)
    assert answers(Lake.open(month.path)) == before


def test_what_landed_before_lands_no_second_time_after_a_rewrite(month: Lake, world: Any) -> None:
    scrape = world.scrape(8)
    compact(month, DECEMBER)
    again = Lake.open(month.path)
    assert again.append_snapshot(scrape, world.stamped(scrape, [world.offer("moves")])) is False


def test_old_files_are_swept_after_the_grace_alone(month: Lake) -> None:
    def on_disk() -> int:
        return len(list(Path(month.path, "snapshots").rglob("*.parquet")))

    compact(month, DECEMBER)
    assert on_disk() == len(NIGHTS) + 1
    assert sweep(Lake.open(month.path)) == []
    named = sweep(Lake.open(month.path), grace=timedelta(0), dry_run=True)
    assert len([path for path in named if path.startswith("snapshots/")]) == len(NIGHTS)
    assert on_disk() == len(NIGHTS) + 1
    sweep(Lake.open(month.path), grace=timedelta(0))
    assert on_disk() == 1
    assert verify(Lake.open(month.path)).whole


def test_a_file_that_no_entry_names_is_noted_and_swept_after_the_grace(month: Lake) -> None:
    """A write that lost a race, or ended before its commit, leaves one."""
    there = next(Path(month.path, "snapshots").rglob("*.parquet"))
    left = there.with_name("part-00000-left.zstd.parquet")
    shutil.copyfile(there, left)
    assert [str(left) in note for note in verify(month).notes] == [True]
    assert sweep(month) == []
    assert left.exists()
    sweep(month, grace=timedelta(0))
    assert not left.exists()
    assert there.exists()
    assert verify(Lake.open(month.path)).notes == []

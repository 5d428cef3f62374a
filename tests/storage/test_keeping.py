"""Recordings, integrity of the store, and a person's word on what was held back."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import shutil
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from storage.compaction import compact
from storage.filters import Filters
from storage.gate import CrawlFacts
from storage.lake import Lake, NotFound, StoreError
from storage.news import changes
from storage.query import offers, show
from storage.recordings import Recordings, keep
from storage.retention import expired, sweep_recordings
from storage.review import accept, overtaken, pending, reasons, reject
from storage.verify import verify

HAR = {
    "log": {
        "entries": [
            {
                "request": {
                    "url": "https://example.test/a",
                    "postData": {"mimeType": "text/plain", "_file": "ask.txt"},
                },
                "response": {"content": {"mimeType": "application/json", "_file": "bodies/a.json"}},
            },
            {
                "request": {"url": "https://example.test/b"},
                "response": {"content": {"mimeType": "image/png", "_file": "bodies/b.png"}},
            },
            {"request": {"url": "https://example.test/c"}, "response": {"content": {"text": "plain"}}},
        ]
    }
}


@pytest.fixture
def har(tmp_path) -> Path:
    folder = tmp_path / "recorded"
    (folder / "bodies").mkdir(parents=True)
    (folder / "ask.txt").write_text("query")
    (folder / "bodies" / "a.json").write_text('{"price": "2,49 €"}', encoding="utf-8")
    (folder / "bodies" / "b.png").write_bytes(b"\x89PNG\xff\x00")
    (folder / "answers.har").write_text(json.dumps(HAR))
    return folder / "answers.har"


def test_B04_a_recording_is_kept_by_its_content_with_its_bodies(lake, har):
    kept = Recordings.of(lake)
    sha256 = kept.keep(har)
    content = kept.open(sha256)
    assert hashlib.sha256(content).hexdigest() == sha256
    path = Path(lake.path) / "recordings" / sha256[:2] / f"{sha256}.har.gz"
    assert gzip.decompress(path.read_bytes()) == content
    entries = json.loads(content)["log"]["entries"]
    assert entries[0]["response"]["content"]["text"] == '{"price": "2,49 €"}'
    assert entries[0]["request"]["postData"]["text"] == "query"
    assert entries[1]["response"]["content"] == {"mimeType": "image/png", "text": "iVBOR/8A", "encoding": "base64"}
    shutil.rmtree(har.parent / "bodies")  # a copy for itself
    assert kept.open(sha256) == content
    assert list(kept.hashes()) == [sha256]


def test_the_same_recording_is_one_file_and_the_same_bytes_anywhere(lake, har, tmp_path):
    first = keep(lake, har)
    path = Path(Recordings.of(lake).where(first))
    stamp = path.stat().st_mtime_ns
    assert keep(lake, har) == first
    assert path.stat().st_mtime_ns == stamp
    other = Recordings(str(tmp_path / "elsewhere"))
    assert other.keep(har) == first
    assert Path(other.where(first)).read_bytes() == path.read_bytes()
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name]


def test_a_har_without_bodies_beside_it_is_kept_as_it_is(lake):
    content = b'{ "log": {"entries": []} }\n'
    assert Recordings.of(lake).open(Recordings.of(lake).keep_bytes(content)) == content


def test_recordings_that_are_missing_or_damaged_are_named(lake, har):
    kept = Recordings.of(lake)
    with pytest.raises(NotFound, match="no recording " + "0" * 64):
        kept.open("0" * 64)
    with pytest.raises(StoreError, match="no-such"):
        kept.keep(har.parent / "no-such.har")
    sha256 = kept.keep(har)
    path = Path(kept.where(sha256))
    path.write_bytes(gzip.compress(b"something else"))
    with pytest.raises(StoreError, match="not what its name says"):
        kept.open(sha256)
    assert kept.verify()[0].startswith(f"recording {path} holds")
    path.write_bytes(b"no gzip")
    assert "cannot be unpacked" in kept.verify()[0]


def test_recordings_behind_a_url(tmp_path, har):
    (tmp_path / "bucket").mkdir()
    kept = Recordings((tmp_path / "bucket").as_uri())
    assert list(kept.hashes()) == []
    sha256 = kept.keep(har)
    assert kept.keep(har) == sha256
    assert kept.has(sha256)
    assert list(kept.hashes()) == [sha256]
    assert json.loads(kept.open(sha256))["log"]["entries"][2]["response"]["content"]["text"] == "plain"
    assert kept.verify() == []
    large = json.dumps({"log": {"entries": [], "noise": random.Random(5).randbytes(3_000_000).hex()}}).encode()
    assert kept.open(kept.keep_bytes(large)) == large


def test_show_names_the_recording(world, lake, har):
    sha256 = keep(lake, har)
    world.put(lake, 1, world.offer(1), recording_sha256=sha256)
    assert show(lake, "hyperbolic:1", now=world.at(2)).recording == Recordings.of(lake).where(sha256)


# verify


def test_a_whole_store_is_whole(world, lake, har):
    sha256 = keep(lake, har)
    world.put(lake, 1, world.offer(1, "2"), recording_sha256=sha256)
    world.put(lake, 2, world.offer(1, "3"), verdict="quarantined", recording_sha256="f" * 64)
    world.put(lake, 3, verdict="failed")
    world.put(lake, 4, world.offer(1, "3"))
    report = verify(lake)
    assert report.whole
    assert (report.tables, report.scrapes, report.recordings) == (4, 4, 1)
    assert report.rows == 3 + 4 + 1
    assert report.notes == [f"1 recordings that scrapes name are not kept here, such as {'f' * 64}"]
    assert report.lines()[-1].endswith("8 rows, 4 scrapes, 1 recordings: whole")


def fault(lake) -> str:
    report = verify(Lake.open(lake.path))
    assert not report.whole
    assert all("\n" not in line for line in report.lines())
    assert report.lines()[0].startswith("FAULT ")
    return report.faults[0]


def test_a_damaged_file_is_found(world, lake):
    world.put(lake, 1, *[world.offer(i) for i in range(500)])
    (file,) = lake.files("snapshots")
    content = Path(file.path).read_bytes()
    Path(file.path).write_bytes(content[:400] + bytes(200) + content[600:])
    assert Path(file.path).name in fault(lake)
    Path(file.path).write_bytes(content[:-7])
    assert f"has {len(content) - 7} bytes, the log says {len(content)}" in fault(lake)
    Path(file.path).unlink()
    assert "is missing" in fault(lake)
    Path(file.path).write_bytes(content)
    assert verify(lake).whole


def test_a_damaged_log_and_a_missing_table_are_found(world, lake):
    world.put(lake, 1, world.offer(1))
    for entry in (Path(lake.path) / "rates" / "_delta_log").iterdir():
        entry.write_text("{")
    assert "table rates" in fault(lake)
    shutil.rmtree(Path(lake.path) / "rates")
    assert "table rates is missing" in fault(lake)


def test_tables_of_two_kinds_are_found(world, lake, tmp_path):
    other = Lake.open(tmp_path / "live", origin="live", create=True)
    shutil.rmtree(Path(lake.path) / "changes")
    shutil.copytree(Path(other.path) / "changes", Path(lake.path) / "changes")
    assert "table changes says live, the store recording" in fault(lake)


def test_a_verdict_without_its_rows_is_found(world, lake):
    world.put(lake, 1, world.offer(1))
    lake.append_scrape(world.scrape(2, offers=3))
    assert "scrape hyperbolic-2 of hyperbolic (accepted) has 0 rows, the verdict says 3" in fault(lake)


def test_rows_under_one_key_are_found(world, lake):
    scrape = world.scrape(1, offers=2)
    lake.commit(scrape, world.stamped(scrape, [world.offer(1), world.offer(1)]))
    assert "2 rows under 1 keys" in fault(lake)


def test_doubled_rows_are_found(world, lake):
    """What could only come from a writer that does not look for its own transaction."""
    world.put(lake, 1, world.offer(1, "2"))
    scrape = world.put(lake, 2, world.offer(1, "3"))
    for name in ("changes", "scrapes"):
        rows = lake.query(f"SELECT * FROM {lake.relation(name)}")
        rows = rows.append_column("month", rows["scrape_id"]) if name == "changes" else rows
        lake.table(name).append("again", rows)
    report = verify(lake)
    assert any(f"scrape {scrape.scrape_id}" in line and "2 times" in line for line in report.faults)
    assert any(line.startswith("change ") for line in report.faults)


def test_rows_that_a_killed_run_left_are_no_fault(world, lake):
    scrape = world.scrape(2, offers=2)
    lake.append_snapshot(scrape, world.stamped(scrape, [world.offer(1), world.offer(2)]))
    report = verify(lake)
    assert report.whole
    assert report.notes == ["snapshots: 2 rows of scrape hyperbolic-2 are unfinished, invisible"]


# review


def test_B06_a_person_releases_what_was_held_back(world, lake):
    night = [world.offer(i, "2") for i in range(10)]
    world.night(lake, 1, *night)
    held = world.night(lake, 2, *night[:4], world.offer(4, "1.5"))
    assert held.judged.verdict == "quarantined"
    (waiting,) = pending(lake)
    assert [check.name for check in reasons(waiting)] == ["count_drop"]
    assert not overtaken(lake, waiting)
    assert changes(lake, Filters(), all=True).total == 0
    taken = accept(lake, "hyperbolic", now=world.at(3), note="they said so")
    assert (taken.verdict, taken.note, taken.recorded_at) == ("accepted_with_warnings", "they said so", world.at(3))
    assert pending(lake) == []
    assert offers(lake, Filters(), now=world.at(3)).total == 5
    kinds = sorted(r["kind"] for r in changes(lake, Filters()).table.to_pylist())
    assert kinds == ["price_down"] + ["removed"] * 5
    assert offers(lake, Filters(), now=world.at(3), known_at=world.at(2, 12)).total == 10
    assert verify(lake).whole
    with pytest.raises(NotFound, match="no quarantined scrape of hyperbolic"):
        accept(lake, "hyperbolic", now=world.at(4))


def test_accepting_an_older_scrape_fills_history_and_changes_nothing(world, lake):
    world.put(lake, 1, world.offer(1, "2"))
    world.put(lake, 2, world.offer(1, "9"), verdict="quarantined")
    world.put(lake, 3, world.offer(1, "3"))
    before = changes(lake, Filters(), all=True).table["change_id"].to_pylist()
    (waiting,) = pending(lake, "hyperbolic")
    assert overtaken(lake, waiting)
    accept(lake, "hyperbolic", now=world.at(4))
    assert changes(lake, Filters(), all=True).table["change_id"].to_pylist() == before
    assert float(offers(lake, Filters(), now=world.at(4)).table["price"][0].as_py()) == 3
    assert float(offers(lake, Filters(), now=world.at(4), as_of=world.at(2)).table["price"][0].as_py()) == 9


def test_one_of_several_is_named(world, lake):
    for day in (1, 2, 3):
        world.put(lake, day, world.offer(1, str(day)), verdict="quarantined")
    assert [scrape.observed_at.day for scrape in pending(lake)] == [3, 2, 1]
    with pytest.raises(NotFound, match="waiting are hyperbolic-3, hyperbolic-2, hyperbolic-1"):
        reject(lake, "hyperbolic", "no-such", now=world.at(4))
    assert reject(lake, "hyperbolic", "hyperbolic-2", now=world.at(4)).verdict == "rejected"
    assert accept(lake, "hyperbolic", now=world.at(4)).scrape_id == "hyperbolic-3"
    assert [scrape.scrape_id for scrape in pending(lake)] == ["hyperbolic-1"]
    assert verify(lake).whole


def test_rows_that_share_a_key_cannot_be_accepted(world, lake):
    world.night(lake, 1, world.offer(1, "2"), world.offer(1, "3"))
    with pytest.raises(StoreError, match="rows share a key"):
        accept(lake, "hyperbolic", now=world.at(2))


def test_a_provider_without_facts_cannot_be_compared(world, lake):
    for day, verdict in ((1, "accepted"), (2, "quarantined")):
        world.put(lake, day, world.offer(1, provider="bygone"), provider="bygone", verdict=verdict)
    with pytest.raises(StoreError, match=r"providers\.toml"):
        accept(lake, "bygone", now=world.at(3))


def test_what_a_person_rejects_confirms_no_cut(world, lake):
    night = [world.offer(i, f"{2 + i / 10:.2f}") for i in range(10)]
    cut = [replace(o, price=p, usd_per_gpu_hour=p) for o in night for p in [round(o.price * 9 / 10, 4)]]
    world.night(lake, 1, *night)
    world.night(lake, 2, *cut)
    reject(lake, "hyperbolic", now=world.at(2, 12))
    world.night(lake, 3, *cut)
    assert world.night(lake, 4, *cut).judged.verdict == "quarantined"
    assert world.night(lake, 5, *cut).judged.verdict == "accepted_with_warnings"


def test_F10_a_failed_night_is_nothing_to_review(world, lake):
    world.night(lake, 1, world.offer(1))
    world.night(lake, 2, crawl=CrawlFacts(finished=True, error_class="Blocked", error="a challenge page"))
    assert pending(lake) == []
    assert changes(lake, Filters(), all=True).total == 0
    assert offers(lake, Filters(), now=world.at(2)).carried_forward == ["hyperbolic"]


@pytest.mark.parametrize("table", ["snapshots", "changes", "scrapes"])
def test_a_last_log_entry_that_is_empty_is_refused_and_can_be_mended(world, lake, table):
    """deltalake takes it for none: the last night would be missing without a word."""
    for day in (1, 2):
        world.put(lake, day, world.offer(1, f"{day}.5"))
    entry = max(Path(lake.path, table, "_delta_log").glob("*.json"))
    entry.write_bytes(b"")
    with pytest.raises(StoreError, match="has an empty entry"):
        Lake.open(lake.path).table(table).opened()
    entry.unlink()
    again = Lake.open(lake.path)
    assert any("no log entry names" in note and f"table {table}" in note for note in verify(again).notes)
    world.put(again, 2, world.offer(1, "2.5"))
    assert verify(Lake.open(lake.path)).whole
    assert offers(Lake.open(lake.path), Filters(), now=world.at(3)).rows[0]["price"] == Decimal("2.5")


def test_what_compaction_left_is_no_lost_entry(world, lake):
    for day in (1, 2, 3):
        world.put(lake, day, world.offer(1, f"{day}.5"))
    compact(lake, world.at(4), everything=True)
    assert verify(Lake.open(lake.path)).notes == []


# retention


def har_of(number: int) -> bytes:
    return json.dumps({"log": {"entries": [], "comment": str(number)}}).encode()


def test_recordings_go_when_their_providers_time_is_over(world, lake):
    """hyperbolic keeps 90 days, lambda for ever; the last accepted one stays, and so does what waits for review."""
    kept = Recordings.of(lake)
    hashes = [kept.keep_bytes(har_of(number)) for number in range(6)]
    world.put(lake, 1, world.offer(1), recording_sha256=hashes[0])
    world.put(lake, 2, world.offer(1), verdict="quarantined", recording_sha256=hashes[1])
    world.put(lake, 3, world.offer(1), recording_sha256=hashes[2])
    world.put(lake, 1, world.offer(1, provider="lambda"), provider="lambda", recording_sha256=hashes[3])
    world.put(lake, 2, world.offer(1, provider="lambda"), provider="lambda", recording_sha256=hashes[4])
    late = world.at(3) + timedelta(days=91)
    assert expired(lake, world.at(4)) == []
    assert expired(lake, late) == [hashes[0]]
    assert sweep_recordings(lake, late) == [hashes[0]]
    assert sorted(kept.hashes()) == sorted(hashes[1:])  # the last is named by no scrape: a run may be about to store it
    assert sweep_recordings(lake, late) == []
    assert verify(lake).whole
    assert show(lake, "hyperbolic:1", now=late).recording == kept.where(hashes[2])


def test_an_answer_that_a_younger_scrape_names_too_stays(world, lake):
    kept = Recordings.of(lake)
    same = kept.keep_bytes(har_of(1))
    world.put(lake, 1, world.offer(1), recording_sha256=same)
    world.put(lake, 2, world.offer(1), recording_sha256=same)
    world.put(lake, 3, world.offer(1))
    assert expired(lake, world.at(2) + timedelta(days=90)) == []
    assert expired(lake, world.at(2) + timedelta(days=91)) == [same]

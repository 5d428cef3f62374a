"""The store: what lands, what is visible, and what is said when something is in the way."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from schemas.change import Change
from schemas.offer import Offer
from schemas.rate import Rate
from schemas.record import arrow_schema, to_arrow
from storage.compaction import sweep
from storage.gate_history import history_of
from storage.lake import Lake, NoStore, StoreError, StoreOriginError
from storage.query import Filters, offers
from storage.verify import verify

ROOT = Path(__file__).resolve().parents[2]


PRELUDE = f"""
import sys, importlib.util
sys.path.insert(0, {str(ROOT)!r})
spec = importlib.util.spec_from_file_location("worlds", {str(Path(__file__).parent / "conftest.py")!r})
worlds = importlib.util.module_from_spec(spec)
sys.modules["worlds"] = worlds
spec.loader.exec_module(worlds)
world = worlds.World()
from storage.lake import Lake
"""


def child(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, with this folder's World at hand."""
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + code, *arguments], capture_output=True, text=True, timeout=120, **options
    )


def test_a_snapshot_comes_back_as_it_was_stored(world, lake):
    offer = replace(world.offer(1, "2.5", flags=["vram_unknown_for_card"], term_months=12), block_start=world.at(9))
    scrape = world.put(lake, 1, offer, world.offer(2, None))
    stored = lake.snapshot(scrape.scrape_id)
    assert stored.schema.equals(arrow_schema(Offer))
    assert stored.equals(world.stamped(scrape, [offer, world.offer(2, None)]))
    assert lake.scrapes() == [scrape]
    assert lake.last_accepted("hyperbolic") == scrape
    assert lake.last_accepted("lambda") is None


def test_U21_a_bid_of_a_fraction_of_a_cent_keeps_all_its_digits(world, lake):
    scrape = world.put(lake, 1, world.offer(1, "0.0041"), world.offer(2, "0.0340000001"))
    assert lake.snapshot(scrape.scrape_id)["price"].to_pylist() == [Decimal("0.0041"), Decimal("0.0340000001")]


def test_U28_decimals_add_up_exactly(world, lake):
    world.put(lake, 1, world.offer(1, "1.6468"), world.offer(2, "0.01"))
    total = lake.query(f"SELECT sum(price) AS total FROM {lake.relation('snapshots')}")["total"][0].as_py()
    assert total == Decimal("1.6568")


def test_T05_the_month_is_a_text_in_the_log_and_the_days_keep_their_types(world, lake):
    scrape = world.put(lake, 9, replace(world.offer(1), rate_date=world.at(8).date()))
    table = DeltaTable(lake.table("snapshots").uri)
    assert table.partitions() == [{"month": "2026-11"}]
    row = lake.snapshot(scrape.scrape_id).to_pylist()[0]
    assert (row["rate_date"], row["observed_at"]) == (world.at(8).date(), world.at(9))


def test_committing_twice_stores_once(world, lake):
    scrape = world.scrape(2, offers=2)
    rows = world.stamped(scrape, [world.offer(1), world.offer(2)])
    world.put(lake, 1, world.offer(1, "3"))
    change = to_arrow([], Change)
    for _ in range(3):
        lake.commit(scrape, rows, change)
    assert lake.snapshot(scrape.scrape_id).num_rows == 2
    assert len(lake.scrapes()) == 2
    assert lake.append_snapshot(scrape, rows) is False
    assert verify(lake).whole


def test_only_matching_rows_are_taken(world, lake):
    scrape = world.scrape(1, offers=1)
    rows = world.stamped(scrape, [world.offer(1)])
    with pytest.raises(ValueError, match="says 2 offers, 1 came"):
        lake.commit(replace(scrape, offers=2), rows)
    with pytest.raises(ValueError, match="differ from it in provider"):
        lake.commit(replace(scrape, provider="lambda"), rows)
    with pytest.raises(StoreOriginError):
        lake.commit(scrape, rows.set_column(rows.column_names.index("origin"), "origin", pa.array(["live"])))
    assert lake.scrapes() == []


def test_no_store_names_the_next_command(store):
    with pytest.raises(NoStore, match=r"gpufare refresh.*gpufare demo"):
        Lake.open(store)
    assert not Path(store).exists()


@pytest.mark.parametrize(("first", "second"), [("live", "recording"), ("recording", "live"), ("recording", "import")])
def test_a_store_is_live_or_sample_never_both(store, first, second):
    Lake.open(store, origin=first, create=True)
    with pytest.raises(StoreOriginError, match="never both"):
        Lake.open(store, origin=second, create=True)
    assert Lake.open(store).origin == first
    described = DeltaTable(str(Path(store) / "scrapes")).metadata().description
    assert ("SAMPLE, not market prices" in described) == (first == "recording")


def test_imported_history_lies_beside_live_rows(store):
    Lake.open(store, origin="live", create=True)
    assert Lake.open(store, origin="import", create=True).origin == "live"


def test_a_store_whose_maker_was_killed_is_made_whole(world, lake, store):
    shutil.rmtree(Path(store) / "rates")
    shutil.rmtree(Path(store) / "changes")
    assert Lake.open(store).rates() == []
    begun = verify(Lake.open(store))
    assert begun.whole
    assert [note.partition(" is ")[0] for note in begun.notes] == ["table changes", "table rates"]
    mended = Lake.open(store, origin="recording", create=True)
    world.put(mended, 1, world.offer(1))
    assert verify(mended).whole
    shutil.rmtree(Path(store) / "changes")  # now something was there
    assert [fault.partition(" is ")[0] for fault in verify(Lake.open(store)).faults] == ["table changes"]


@pytest.mark.parametrize("table", ["snapshots", "changes", "scrapes"])
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda entry: entry.unlink(), "lacks an entry"),
        (lambda entry: entry.write_bytes(b""), "has an empty entry"),
        (lambda entry: entry.write_bytes(entry.read_bytes()[:-9]), "has a damaged entry"),
        (lambda entry: entry.write_bytes(b"\xff\x00" * 40), "has a damaged entry"),
    ],
)
def test_a_damaged_log_entry_is_named(world, lake, table, harm, said):
    for day in (1, 2, 3, 4):
        world.put(lake, day, world.offer(1, f"{day}.5"))
    entry = Path(lake.path, table, "_delta_log", "00000000000000000002.json")
    kept = entry.read_bytes()
    harm(entry)
    with pytest.raises(StoreError) as told:
        Lake.open(lake.path).table(table).opened()
    text = str(told.value)
    assert said in text
    assert str(entry) in text
    assert f"table {table}" in text
    assert "restore it from a copy" in text
    assert "\n" not in text
    entry.write_bytes(kept)
    assert verify(Lake.open(lake.path)).whole


def test_rates_are_kept_once_and_the_last_word_counts(world, lake):
    def rate(value, hour):
        return Rate(
            source="ecb",
            day=world.at(1).date(),
            base="EUR",
            currency="USD",
            rate=Decimal(value),
            kind="mid",
            observed_at=world.at(1, hour),
            origin="recording",
        )

    assert lake.append_rates(to_arrow([rate("1.16", 4)], Rate))
    assert not lake.append_rates(to_arrow([rate("1.16", 4)], Rate))
    assert lake.append_rates(to_arrow([rate("1.17", 5)], Rate))
    assert not lake.append_rates(to_arrow([], Rate))
    assert [r.rate for r in lake.rates()] == [Decimal("1.17")]
    assert history_of(lake, "hyperbolic").rates["EUR"] == Decimal("1.17")


# What is visible.


def test_H05_as_of_answers_from_the_last_snapshot_at_or_before(world, lake):
    for day in (5, 10):
        world.put(lake, day, world.offer(1, str(day)))

    def price(moment):
        rows = offers(lake, Filters(), now=world.at(30), as_of=moment).table["price"].to_pylist()
        return [int(p) for p in rows]

    assert price(world.at(4)) == []
    assert price(world.at(5)) == [5]
    assert price(world.at(5) - timedelta(microseconds=1)) == []
    assert price(world.at(7)) == [5]
    assert price(world.at(10)) == [10]
    assert price(world.at(29)) == [10]


def test_a_later_verdict_decides_from_when_it_was_given(world, lake):
    held = world.put(lake, 1, world.offer(1), verdict="quarantined")
    assert lake.visible() == []
    lake.append_scrape(replace(held, verdict="accepted_with_warnings", recorded_at=world.at(4)))
    assert [s.scrape_id for s in lake.visible()] == [held.scrape_id]
    assert lake.visible(known_at=world.at(3)) == []
    lake.append_scrape(replace(held, verdict="rejected", recorded_at=world.at(5)))
    assert lake.visible() == []
    assert [s.scrape_id for s in lake.visible(known_at=world.at(4, 12))] == [held.scrape_id]
    assert len(lake.scrapes()) == 3


def test_a_restated_snapshot_hides_the_one_it_supersedes(world, lake):
    old = world.put(lake, 1, world.offer(1, "2.5"))
    new = world.put(
        lake, 1, world.offer(1, "2.6"), scrape_id="restated", supersedes=old.scrape_id, recorded_at=world.at(8)
    )
    assert [s.scrape_id for s in lake.visible()] == [new.scrape_id]
    assert [s.scrape_id for s in lake.visible(known_at=world.at(7))] == [old.scrape_id]


def test_a_second_answer_of_the_same_moment_counts_by_when_it_was_recorded(world, lake):
    world.put(lake, 1, world.offer(1, "2.5"))
    world.put(lake, 1, world.offer(1, "2.6"), scrape_id="again", recorded_at=world.at(2))
    assert [s.scrape_id for s in lake.visible("hyperbolic", before=world.at(3))] == ["again"]
    assert lake.visible(before=world.at(1)) == []


def test_a_reader_opens_only_the_files_that_can_hold_the_snapshot(world, lake):
    for day in range(1, 9):
        world.put(lake, day, world.offer(1))
    assert len(lake.files("snapshots")) == 8
    assert len(lake.files("snapshots", scrape_ids=["hyperbolic-3"])) == 1
    assert len(lake.files("snapshots", since=world.at(3), until=world.at(4))) == 2
    assert lake.files("snapshots", providers=["lambda"]) == []
    assert lake.files("snapshots", gpus=["L4"]) == []
    assert len(lake.files("snapshots", gpus=["H100", "L4"])) == 8
    for file in lake.files("snapshots"):
        if "hyperbolic-3" not in file.low["scrape_id"]:
            Path(file.path).unlink()
    assert lake.snapshot("hyperbolic-3", ["offer_key", "price"]).column_names == ["offer_key", "price"]


def test_what_another_process_committed_is_seen_before_a_scrape_is_judged(world, lake):
    other = Lake.open(lake.path)
    assert lake.visible() == other.visible() == []
    world.put(other, 1, world.offer(1))
    assert lake.visible() == []  # an opened store answers from one state
    assert history_of(lake, "hyperbolic").row_counts == (1,)
    assert len(lake.visible()) == 1


# Schema evolution.


def test_H02_an_old_store_is_read_and_written_by_new_code(world, store):
    """The store was made before `interruption_rate`, `segment` and `supersedes` existed."""
    for name, record, lost in (
        ("snapshots", Offer, ["interruption_rate", "segment"]),
        ("scrapes", world.scrape(1).__class__, ["supersedes"]),
    ):
        schema = arrow_schema(record)
        for column in lost:
            schema = schema.remove(schema.get_field_index(column))
        partition = ["month"] if name == "snapshots" else None
        if partition:
            schema = schema.append(pa.field("month", pa.string(), nullable=False))
        DeltaTable.create(
            str(Path(store) / name),
            schema,
            partition_by=partition,
            name=name,
            configuration={"gpufare.origin": "recording"},
            raise_if_key_not_exists=False,
        )
    old = world.scrape(1, offers=1)
    rows = world.stamped(old, [world.offer(1)]).append_column("month", pa.array(["2026-11"]))
    write_deltalake(str(Path(store) / "snapshots"), rows.drop_columns(["interruption_rate", "segment"]), mode="append")
    write_deltalake(
        str(Path(store) / "scrapes"), to_arrow([old], type(old)).drop_columns(["supersedes"]), mode="append"
    )
    lake = Lake.open(store, origin="recording", create=True)
    assert lake.scrapes() == [old]
    assert lake.snapshot(old.scrape_id).to_pylist()[0]["interruption_rate"] is None
    new = world.put(lake, 2, world.offer(1, interruption_rate="<5%"))
    assert lake.snapshot(new.scrape_id).to_pylist()[0]["interruption_rate"] == "<5%"
    assert lake.snapshot(old.scrape_id).schema.equals(arrow_schema(Offer))
    assert verify(lake).whole


def test_B25_old_code_reads_and_writes_a_store_that_newer_code_extended(world, lake):
    world.put(lake, 1, world.offer(1))
    newer = world.scrape(2, offers=1)
    rows = world.stamped(newer, [world.offer(1)]).append_column("month", pa.array(["2026-11"]))
    rows = rows.append_column("carbon_g_per_kwh", pa.array([41.5]))
    write_deltalake(lake.table("snapshots").uri, rows, mode="append", schema_mode="merge")
    lake.append_scrape(newer)
    lake = Lake.open(lake.path)
    assert lake.snapshot(newer.scrape_id).schema.equals(arrow_schema(Offer))
    assert offers(lake, Filters(), now=world.at(3)).total == 1
    third = world.put(lake, 3, world.offer(1))
    assert lake.snapshot(third.scrape_id).num_rows == 1
    raw = DeltaTable(lake.table("snapshots").uri).to_pyarrow_table(columns=["carbon_g_per_kwh"])
    assert sorted(raw["carbon_g_per_kwh"].to_pylist(), key=str) == [41.5, None, None]


# Several processes, ends at any point.

WRITER = """
import os
store, name, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True); sys.stdin.readline()
lake = Lake.open(store, origin="recording", create=True)
for day in range(first, first + 8):
    world.put(lake, day, *(world.offer(f"{name}{i}") for i in range(5)), scrape_id=f"{name}-{day}", provider=name)
    once = {"observed_at": world.at(1), "recorded_at": world.at(1)}
    same = world.scrape(day, scrape_id="both", provider="vultr", offers=1, **once)
    lake.commit(same, world.stamped(same, [world.offer("x", provider="vultr")]))
"""


def test_two_processes_make_and_fill_one_store_at_once(world, store):
    """Both land, nothing twice; each also tries to store the same scrape as the other, eight times."""
    runs = []
    for name, first in (("lambda", 1), ("nebius", 11)):
        runs.append(
            subprocess.Popen(
                [sys.executable, "-c", PRELUDE + WRITER, store, name, str(first)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    for run in runs:
        assert run.stdout.readline() == "ready\n"
    for run in runs:  # both are past their imports: let them go at once
        run.stdin.write("\n")
        run.stdin.flush()
    for run in runs:
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
    lake = Lake.open(store)
    assert len([s for s in lake.scrapes() if s.scrape_id != "both"]) == 16
    assert [s.scrape_id for s in lake.scrapes("vultr")] == ["both"]
    assert lake.snapshot("both").num_rows == 1
    assert offers(lake, Filters(), now=world.at(30)).total == 11
    report = verify(lake)
    assert report.whole, report.faults
    # Whoever comes second with the same scrape may have written its file before it lost the commit.
    assert all("no log entry names" in note for note in report.notes), report.notes
    sweep(lake, grace=timedelta(0))
    assert verify(lake).notes == []
    assert lake.snapshot("both").num_rows == 1


def test_a_writer_whose_table_was_deleted_meanwhile_says_so(world, lake):
    """And makes no table without a beginning."""
    world.put(lake, 1, world.offer(1))
    shutil.rmtree(Path(lake.path, "snapshots"))
    scrape = world.scrape(2, offers=1)
    with pytest.raises(StoreError, match=r"table snapshots .* is missing; run `gpufare verify`"):
        lake.append_snapshot(scrape, world.stamped(scrape, [world.offer(1)]))
    assert not Path(lake.path, "snapshots").exists()


KILLED = """
import os, signal
store, step = sys.argv[1], sys.argv[2]
lake = Lake.open(store)
real = getattr(Lake, step)
def killed(self, *args):
    real(self, *args)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(Lake, step, killed)
world.put(lake, 2, world.offer(1, "9"), world.offer(2))
"""


@pytest.mark.parametrize("step", ["append_snapshot", "append_changes", "append_scrape"])
def test_a_kill_after_any_step_leaves_nothing_half_visible(world, lake, store, step):
    world.put(lake, 1, world.offer(1, "2.5"))
    ended = child(KILLED, store, step)
    assert ended.returncode == -9, ended.stderr
    again = Lake.open(store)
    report = verify(again)
    assert report.whole, report.faults
    prices = [float(p) for p in offers(again, Filters(), now=world.at(3)).table["price"].to_pylist()]
    landed = step == "append_scrape"
    assert prices == ([2.5, 9.0] if landed else [2.5])
    assert any("unfinished, invisible" in note for note in report.notes) is not landed
    world.put(
        again, 2, world.offer(1, "9"), world.offer(2)
    )  # the same attempt again: what landed stays, the rest comes
    assert [float(p) for p in offers(again, Filters(), now=world.at(3)).table["price"].to_pylist()] == [2.5, 9.0]
    assert verify(again).whole
    assert verify(again).notes == []


@pytest.mark.parametrize("zone", ["Asia/Kolkata", "America/New_York", "UTC"])
def test_H07_instants_are_the_same_in_every_time_zone(world, store, zone):
    code = """
lake = Lake.open(sys.argv[1], origin="recording", create=True)
scrape = world.put(lake, 1, world.offer(1), scheduled_at=world.at(1, 0))
from storage.query import offers, Filters
row = lake.snapshot(scrape.scrape_id).to_pylist()[0]
said = lake.scrapes()[0]
import json; from storage.views import sql
text = "select strftime(observed_at, '%Y-%m-%d %H:%M') d from offers_asof('2026-11-01')"
day = sql(lake, text, world.at(2)).to_pylist()
print(row["observed_at"].isoformat(), said.scheduled_at.isoformat(), said.recorded_at.isoformat(), day)
"""
    said = child(code, store, env={**os.environ, "TZ": zone})
    assert said.stdout.split("[")[0].split() == [
        "2026-11-01T02:03:04.567890+00:00",
        "2026-11-01T00:03:04.567890+00:00",
        "2026-11-01T03:03:04.567890+00:00",
    ], said.stderr
    assert "2026-11-01 02:03" in said.stdout


# What is in the way is told in one line.


def one_line(error) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


def test_a_corrupt_file_is_named(world, lake):
    world.put(lake, 1, world.offer(1))
    (file,) = lake.files("snapshots")
    Path(file.path).write_bytes(b"no parquet at all")
    with pytest.raises(StoreError) as error:
        lake.snapshot("hyperbolic-1")
    assert Path(file.path).name in one_line(error)
    assert "gpufare verify" in one_line(error)


def test_a_missing_file_is_named(world, lake):
    world.put(lake, 1, world.offer(1))
    (file,) = lake.files("scrapes")
    Path(file.path).unlink()
    with pytest.raises(StoreError) as error:
        Lake.open(lake.path).scrapes()
    assert Path(file.path).name in one_line(error)


def test_a_corrupt_log_names_the_table(world, lake):
    world.put(lake, 1, world.offer(1))
    for entry in (Path(lake.path) / "scrapes" / "_delta_log").iterdir():
        entry.write_text("{")
    with pytest.raises(StoreError) as error:
        Lake.open(lake.path)
    assert "table scrapes" in one_line(error)


def test_a_path_that_is_a_file(store):
    Path(store).parent.mkdir(exist_ok=True)
    Path(store).write_text("no folder")
    with pytest.raises(StoreError) as error:
        Lake.open(store, origin="live", create=True)
    assert store in one_line(error)


def test_a_store_that_does_not_say_what_it_is(world, store):
    DeltaTable.create(str(Path(store) / "scrapes"), arrow_schema(type(world.scrape(1))))
    with pytest.raises(StoreError, match="whether it is live or sample"):
        _ = Lake.open(store).origin


def test_a_table_that_is_gone_is_named_when_written(world, lake):
    shutil.rmtree(lake.table("changes").uri)
    lake.table("changes").opened(again=True)
    with pytest.raises(StoreError, match="table changes"):
        lake.append_changes(world.scrape(1), arrow_schema(Change).empty_table())


FULL = """
import resource, signal
lake = Lake.open(sys.argv[1])
from storage.lake import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    world.put(lake, 2, *(world.offer(i) for i in range(2000)))
except StoreError as error:
    print(error)
"""


def test_a_disk_that_takes_no_more(world, lake, store):
    world.put(lake, 1, world.offer(1))
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY
    said = child(FULL, store)
    assert said.returncode == 0, said.stderr
    assert "table snapshots" in said.stdout
    assert "may not grow that large" in said.stdout
    assert said.stdout.count("\n") == 1
    again = Lake.open(store)
    assert verify(again).whole
    assert offers(again, Filters(), now=world.at(3)).total == 1
    world.put(again, 2, world.offer(1, "3"))
    assert offers(again, Filters(), now=world.at(3)).total == 1


READ_ONLY = """
import os
from storage.lake import StoreError
from storage.query import offers, Filters
import storage.gate_history, deltalake.exceptions, pyarrow.compute
warm = Lake.open(sys.argv[2], origin="recording", create=True)  # nobody may not read the interpreter's own files
world.put(warm, 1, world.offer(1)); world.put(warm, 2, world.offer(1, "3")); offers(warm, Filters(), now=world.at(3))
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
lake = Lake.open(sys.argv[1])
print(offers(lake, Filters(), now=world.at(3)).total)
try:
    world.put(lake, 2, world.offer(1, "3"))
except StoreError as error:
    print(error)
"""


def test_a_read_only_store_can_be_read_and_says_so_when_written(world):
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to others, and root is not stopped
        Path(folder).chmod(0o755)
        store = str(Path(folder) / "store")
        lake = Lake.open(store, origin="recording", create=True)
        world.put(lake, 1, world.offer(1))
        for path in [Path(store), *Path(store).rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        said = child(READ_ONLY, store, str(Path(folder) / "warm"))
        for path in [Path(store), *Path(store).rglob("*")]:
            path.chmod(0o755)
    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert lines[0] == "1"
    assert "table snapshots" in lines[1]
    assert "--data DIR" in lines[1]
    assert len(lines) == 2


def test_a_store_behind_a_url_is_read_through_a_cache(world, tmp_path, monkeypatch):
    monkeypatch.setenv("GPUFARE_CACHE", str(tmp_path / "cache"))
    url = (tmp_path / "bucket").as_uri()
    (tmp_path / "bucket").mkdir()
    lake = Lake.open(url, origin="recording", create=True)
    world.put(lake, 1, world.offer(1))
    assert offers(Lake.open(url), Filters(), now=world.at(2)).total == 1
    copies = sorted((tmp_path / "cache").rglob("*.parquet"))
    assert len(copies) == 2
    for file in lake.files("snapshots"):
        Path(file.path.removeprefix("file://")).unlink()  # what was copied is not fetched again
    assert lake.snapshot("hyperbolic-1").num_rows == 1
    assert sorted((tmp_path / "cache").rglob("*.parquet")) == copies


def test_a_path_with_signs_that_look_like_a_pattern(world, tmp_path):
    lake = Lake.open(tmp_path / "a {b} *c? 'd' é#", origin="recording", create=True)
    world.put(lake, 1, world.offer(1))
    assert Lake.open(lake.path).snapshot("hyperbolic-1").num_rows == 1
    assert verify(lake).whole


@pytest.mark.parametrize("sign", "[]|^%\\")
def test_a_path_that_the_table_format_cannot_hold(tmp_path, sign):
    with pytest.raises(StoreError, match="--data"):
        Lake.open(tmp_path / f"a{sign}b", origin="recording", create=True)
    assert list(tmp_path.iterdir()) == []


def test_a_tidied_store_says_the_same_to_old_and_new_readers(world, lake, store):
    for day in range(1, 21):
        world.put(lake, day, world.offer(1, str(day)))
    before, old_reader = [s.scrape_id for s in lake.visible()], Lake.open(store)
    assert len(old_reader.visible()) == 20
    assert lake.tidy()
    assert len(lake.table("scrapes").opened(again=True).file_uris()) == 1
    assert [s.scrape_id for s in old_reader.visible()] == before
    assert [s.scrape_id for s in Lake.open(store).visible()] == before
    assert verify(Lake.open(store)).whole
    assert not lake.tidy()  # one file is nothing to gather
    world.put(lake, 21, world.offer(1, "21"))
    assert lake.append_scrape(lake.scrapes()[0]) is False  # what landed before is still known
    assert len(Lake.open(store).visible()) == 21


def test_a_lost_last_log_entry_is_an_error_not_an_answer_with_fewer_offers(world, lake):
    world.put(lake, 1, world.offer(1))
    world.put(lake, 2, world.offer(1), world.offer(2))
    log = Path(lake.path, "snapshots", "_delta_log")
    max(log.glob("*.json")).unlink()
    again = Lake.open(lake.path)
    with pytest.raises(StoreError, match=r"the 2 offers of scrape hyperbolic-2 are in no file.*`gpufare verify`"):
        offers(again, Filters(), now=world.at(3))
    assert offers(again, Filters(), now=world.at(3), as_of=world.at(1, 12)).total == 1
    assert not verify(again).whole

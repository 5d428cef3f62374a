"""SQL that reads the documented views and can do nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from schemas.change import Change
from schemas.offer import Offer
from schemas.record import columns
from schemas.scrape import Scrape
from storage.views import VIEWS, SqlError, sql


@pytest.fixture
def filled(world, lake):
    for day in (1, 2, 3):
        world.put(lake, day, world.offer(1, str(day)), world.offer("bad", "9", flags=["withheld"]))
    world.put(lake, 4, world.offer(1, "99"), verdict="quarantined")
    return lake


def one(lake, world, text):
    rows = sql(lake, text, world.at(5)).to_pylist()
    assert len(rows) == 1
    return next(iter(rows[0].values())) if len(rows[0]) == 1 else rows[0]


def test_C12_the_documented_views(world, filled):
    assert float(one(filled, world, "SELECT price FROM offers_now")) == 3
    assert one(filled, world, "SELECT age_s FROM offers_now") == 2 * 86400
    assert one(filled, world, "SELECT count(*) FROM snapshots") == 3
    assert one(filled, world, "SELECT count(*) FROM changes WHERE kind = 'price_up'") == 2
    assert one(filled, world, "SELECT count(*) FROM scrapes WHERE verdict = 'quarantined'") == 1
    assert one(filled, world, "SELECT count(*) FROM rates") == 0
    assert one(filled, world, "SELECT max(vram_gib) FROM gpus WHERE gpu = 'H100'") >= 80
    assert one(filled, world, "SELECT fresh_for_h FROM providers WHERE slug = 'hyperbolic'") == 36


@pytest.mark.parametrize(
    ("when", "price"),
    [
        ("'2026-11-02'", 2),
        ("DATE '2026-11-02'", 2),
        ("date '2026-11-02' + 1", 3),
        ("'2026-11-02 02:00:00+00'", 1),
        ("TIMESTAMPTZ '2026-11-02 02:30:00+00'", 2),
        ("'2027-01-01'", 3),
    ],
)
def test_C12_offers_as_of_a_day_or_a_moment(world, filled, when, price):
    assert float(one(filled, world, f"SELECT price FROM offers_asof({when})")) == price


def test_C12_two_days_in_one_statement(world, filled):
    text = """WITH a AS (SELECT offer_key, price FROM offers_asof('2026-11-01'))
        SELECT b.price - a.price FROM a JOIN offers_asof('2026-11-03') b USING (offer_key)"""
    assert float(one(filled, world, text)) == 2
    assert one(filled, world, "SELECT count(*) FROM offers_asof('2026-10-01')") == 0


def test_only_the_files_that_a_day_needs_are_read(world, filled):
    for file in filled.files("snapshots"):
        if file.low["scrape_id"] != "hyperbolic-2":
            Path(file.path).write_bytes(b"not read")
    assert float(one(filled, world, "SELECT price FROM offers_asof('2026-11-02')")) == 2


@pytest.mark.parametrize(("view", "record"), [("offers_now", Offer), ("changes", Change), ("scrapes", Scrape)])
def test_describe(world, filled, view, record):
    rows = sql(filled, f"DESCRIBE {view}", world.at(5)).to_pylist()
    assert [row["column_name"] for row in rows][: len(columns(record))] == list(columns(record))


def test_show_tables_names_the_views(world, filled):
    names = {row["name"] for row in sql(filled, "SHOW TABLES", world.at(5)).to_pylist()}
    assert names == set(VIEWS) - {"offers_asof"}


@pytest.mark.parametrize("text", ["VALUES (1)", "FROM scrapes LIMIT 1", "EXPLAIN SELECT * FROM scrapes", "SELECT 1;"])
def test_other_reading_statements(world, filled, text):
    assert sql(filled, text, world.at(5)).num_rows == 1


@pytest.mark.parametrize(
    "text",
    [
        "COPY scrapes TO '{out}'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}'",
        "/* a */ explain analyze copy (SELECT 1) to '{out}'",
        "ATTACH '{out}' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "CREATE TABLE t AS SELECT 1",
        "DELETE FROM scrapes",
        "INSERT INTO scrapes SELECT * FROM scrapes",
        "DROP VIEW scrapes",
        "PRAGMA database_list",
        "CALL pragma_version()",
        "SELECT 1; COPY (SELECT 1) TO '{out}'",
        "SELECT 1; SELECT 2",
        "",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_parquet('{other}')",
        "SELECT * FROM lake",
        "SELECT * FROM files",
        "SELEC 1",
        "SELECT nope FROM scrapes",
    ],
)
def test_what_is_refused_in_one_line(world, filled, tmp_path, text):
    out, other = tmp_path / "out", tmp_path / "other.parquet"
    shutil.copy(filled.files("scrapes")[0].path, other)
    with pytest.raises(SqlError) as error:
        sql(filled, text.format(out=out, other=other), world.at(5))
    assert "\n" not in str(error.value)
    assert not out.exists()


def test_an_empty_store(world, lake):
    for view in set(VIEWS) - {"offers_asof", "gpus", "providers"}:
        assert one(lake, world, f"SELECT count(*) FROM {view}") == 0
    assert one(lake, world, "SELECT count(*) FROM offers_asof('2026-11-01')") == 0

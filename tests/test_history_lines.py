"""Lines of features.md about history that no other test carries by its number."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.refresh import refresh
from flows.replay import replay
from gpufare import docs
from schemas.change import CAUSES
from schemas.offer import SCHEMA_VERSION, Offer
from schemas.providers import Provider
from schemas.record import columns, to_arrow
from schemas.scrape import Scrape
from storage.changes import compare
from storage.imports import read_gpuhunt, source_of, take_in
from storage.lake import Lake
from storage.recordings import Recordings
from storage.series import history

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("night") / "store"
    assert refresh(str(store), ["hyperbolic"], recorded="2026-11-29-night").ok
    return store


def test_B03_replay_with_the_same_code_gives_row_for_row_what_is_stored_and_adds_nothing(night: Path) -> None:
    def stored() -> dict[str, list[dict[str, Any]]]:
        lake = Lake.open(night)
        return {name: lake.query(f"SELECT * FROM {lake.relation(name)} ORDER BY ALL").to_pylist() for name in
                ("snapshots", "changes", "scrapes")}  # fmt: skip

    before = stored()
    assert before["snapshots"]
    (done,) = replay(str(night))
    assert (done.provider, done.same, done.restated, done.failed) == ("hyperbolic", 1, [], [])
    assert stored() == before


def test_B24_the_row_of_a_scrape_holds_every_version_and_the_hash_of_its_bytes(night: Path) -> None:
    lake = Lake.open(night)
    (scrape,) = lake.visible()
    assert scrape.offers == lake.snapshot(scrape.scrape_id).num_rows > 0
    assert scrape.schema_version == SCHEMA_VERSION
    for name in ("code_version", "parser_version", "normaliser_version", "facts_version"):
        assert getattr(scrape, name), name
    kept = Recordings.of(lake).open(scrape.recording_sha256 or "")
    assert sha256(kept).hexdigest() == scrape.recording_sha256


def _offer(key: str, price: str, **facts: Any) -> Offer:
    told: dict[str, Any] = {
        "provider": "hyperbolic", "offer_key": f"hyperbolic:{key}", "observed_at": NOW, "scrape_id": "s1",
        "origin": "live", "accelerator_raw": "H100", "vendor": "nvidia", "gpu": "H100", "gpu_count": 1.0,
        "purchase": "on_demand", "currency": "USD", "price_unit": "gpu-hour", "availability": "available",
        "price": Decimal(price), "usd_per_gpu_hour": Decimal(price), "usd_per_hour": Decimal(price),
    }  # fmt: skip
    return Offer(**(told | facts))


def _scrape(number: int, rows: int, **facts: Any) -> Scrape:
    told: dict[str, Any] = {
        "scrape_id": f"s{number}", "provider": "hyperbolic", "observed_at": NOW + timedelta(days=number - 1),
        "recorded_at": NOW + timedelta(days=number - 1), "origin": "live", "verdict": "accepted", "offers": rows,
        "rejects": 0, "withheld": 0, "schema_version": 1, "parser_version": "p1", "normaliser_version": "n1",
    }  # fmt: skip
    return Scrape(**(told | facts))


@pytest.mark.parametrize(
    ("versions", "after", "cause"),
    [
        ({}, _offer("a", "3"), "market"),
        ({"access": "SOME_KEY"}, _offer("b", "2"), "coverage"),
        ({"normaliser_version": "n2"}, _offer("a", "2", form_factor="SXM"), "normaliser"),
        ({"parser_version": "p2"}, _offer("a", "3"), "parser"),
        ({"supersedes": "s1"}, _offer("a", "3"), "correction"),
    ],
)
def test_C06_each_change_names_its_cause(versions: dict[str, Any], after: Offer, cause: str) -> None:
    before = [_offer("a", "2")]
    now = [after] if after.offer_key.endswith(":a") else [*before, after]
    moved = compare(
        to_arrow(before, Offer),
        to_arrow([replace(offer, scrape_id="s2") for offer in now], Offer),
        previous_scrape=_scrape(1, 1, access="open"),
        scrape=_scrape(2, len(now), **({"access": "open"} | versions)),
        provider=Provider(
            slug="hyperbolic", title="Hyperbolic", homepage="https://hyperbolic.example", segment="reseller"
        ),
        recorded_at=NOW,
    )
    assert moved["cause"].to_pylist() == [cause]
    assert cause in CAUSES


def test_C13_the_parquet_opens_without_our_code_and_its_columns_are_told(night: Path) -> None:
    files = [str(path) for path in (night / "snapshots").rglob("*.parquet")]
    assert files
    rows = sum(pq.read_metadata(file).num_rows for file in files)
    frame = pd.concat(pd.read_parquet(file) for file in files)
    (counted,) = duckdb.sql(f"SELECT count(*), min(usd_per_gpu_hour) FROM read_parquet({files})").fetchall()
    assert (len(frame), counted[0]) == (rows, rows)
    assert counted[1] == frame["usd_per_gpu_hour"].min() > 0
    polars = pytest.importorskip("polars", reason="polars is not installed here") if _has("polars") else None
    if polars is not None:
        assert polars.read_parquet(files).height == rows
    dictionary = docs.BLOCKS["offer-columns"]()
    for name, column in columns(Offer).items():
        line = next(line for line in dictionary.splitlines() if line.startswith(f"| `{name}` |"))
        assert column.doc.replace("|", "\\|") in line
        assert column.unit in line


def _has(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None


GPUHUNT = """instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags
p5.48xlarge,us-east-1,{price},192,2048.0,8,H100,80.0,False,,nvidia,
"""


def test_C25_history_that_others_kept_comes_into_the_same_tables(tmp_path: Path) -> None:
    for version, price in (("20260810-4711", "98.32"), ("20260811-4712", "55.04")):
        folder = tmp_path / "aws" / version
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / "catalog.zip", "w") as whole:
            whole.writestr("aws.csv", GPUHUNT.format(price=price))
    lake = Lake.open(tmp_path / "store", origin="import", create=True)
    result = take_in(lake, read_gpuhunt([tmp_path / "aws"]), source_of("gpuhunt"), now=NOW)
    assert (result.providers, result.snapshots) == (["aws"], 2)
    lake.refresh()
    rows = history(lake, _everything()).to_pylist()
    assert [(row["event"], float(row["usd_per_gpu_hour"]), row["origin"]) for row in rows] == [
        ("first", 12.29, "import"),
        ("price", 6.88, "import"),
    ]
    assert "MPL-2.0" in (lake.visible()[0].note or "")
    again = take_in(lake, read_gpuhunt([tmp_path / "aws"]), source_of("gpuhunt"), now=NOW + timedelta(days=1))
    assert (again.snapshots, again.known) == (0, 2)


def _everything() -> Any:
    from storage.filters import Filters

    return Filters(purchase=())


def test_C26_a_question_about_one_card_opens_only_what_can_hold_it(tmp_path: Path) -> None:
    """The time is printed by `make bench`; here: the files and row groups that a year's question touches."""
    from storage.compaction import compact

    lake = Lake.open(tmp_path / "store", origin="live", create=True)
    cards = [f"GPU{n:02}" for n in range(40)]
    for day in range(60):
        at = datetime(2026, 9, 1, 2, tzinfo=UTC) + timedelta(days=day)
        scrape = _scrape(day, len(cards), observed_at=at, recorded_at=at)
        rows = [_offer(card, str(day + 1), gpu=card, observed_at=at, scrape_id=scrape.scrape_id) for card in cards]
        lake.commit(scrape, to_arrow(rows, Offer))
    before = len(lake.files("snapshots", gpus=["GPU07"]))
    compact(lake, NOW)
    lake = Lake.open(tmp_path / "store")
    after = lake.files("snapshots", gpus=["GPU07"])
    assert (before, len(after)) == (60, 2)  # a file for each night became one for each month
    assert lake.files("snapshots", gpus=["GPU99"]) == []
    rows = history(lake, replace(_everything(), gpus=(_card("GPU07"),)))
    assert rows["event"].to_pylist() == ["first", *["price"] * 59]
    assert isinstance(rows, pa.Table)


def _card(name: str) -> Any:
    from storage.filters import Gpu

    return Gpu(name)

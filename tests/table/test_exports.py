"""Exports are read by those they are for: gpuhunt and SkyPilot themselves, pandas and DuckDB."""

from __future__ import annotations

import ast
import csv
import json
import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow.parquet as pq
import pytest

from flows.refresh import refresh
from schemas.offer import Offer
from schemas.peers import peers
from schemas.providers import providers
from schemas.record import columns, to_arrow
from schemas.scrape import Scrape
from storage.imports import read_gpuhunt, source_of, take_in
from storage.lake import Lake
from storage.query import Filters, Gpu, offers
from table import exports
from table.exports import GPUHUNT_COLUMNS, SKYPILOT_FOLDER, SOURCES, NotOurs, export_catalogue, export_days, number
from table.view import SAMPLE

NIGHT = "2026-11-30-night"
NOW = datetime(2026, 11, 30, 3, tzinfo=UTC)
OPEN = ["aws", "azure", "gcp", "cloudrift", "hyperbolic", "nebius", "cudo"]
KEYED = ["lambda", "verda", "runpod"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """A real night of the providers that gpuhunt and SkyPilot know, from recorded answers."""
    store = tmp_path_factory.mktemp("store") / "s"
    refresh(str(store), OPEN, recorded=NIGHT)
    refresh(str(store), KEYED, recorded="2026-11-30-keyed")
    return Lake.open(store)


@pytest.fixture
def gpuhunt(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """gpuhunt's own catalogue over our export, and what was told of the export."""
    pytest.importorskip("gpuhunt")
    from gpuhunt import Catalog

    result = export_catalogue(lake, "gpuhunt", tmp_path / "c", now=NOW)
    monkeypatch.setenv("GPUHUNT_CATALOG_DIR", str(tmp_path / "c"))
    return Catalog(auto_reload=False), result, tmp_path / "c"


def cheapest(lake: Lake, slugs: list[str], purchase: tuple[str, ...], needed: tuple[str, ...]) -> dict[str, Any]:
    """What gpufare names first of those that tell what the peer needs."""
    wanted = Filters(gpus=(Gpu("H100"),), providers=tuple(slugs), purchase=purchase)
    rows: list[dict[str, Any]] = offers(lake, wanted, now=NOW).table.to_pylist()
    return next(row for row in rows if all(row[name] is not None for name in needed))


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("spot", [False, True])
def test_gpuhunt_finds_the_h100_that_gpufare_names(lake: Lake, gpuhunt: Any, spot: bool) -> None:
    catalog, result, folder = gpuhunt
    peer = peers()["gpuhunt"]
    from gpuhunt._internal.catalog import OFFLINE_PROVIDERS

    assert set(peer.exported) == set(OFFLINE_PROVIDERS)
    assert {path.name for path in folder.iterdir()} == {f"{name}.csv" for name in OFFLINE_PROVIDERS} | {SOURCES}
    found = catalog.query(gpu_name=["H100", "H100NVL"], spot=spot, provider=OFFLINE_PROVIDERS)
    best = min(found, key=lambda item: (item.price / item.gpu_count, item.price))
    slugs = [peer.clouds[cloud] for cloud in peer.exported if exports.passed_on(providers()[peer.clouds[cloud]])]
    if spot:  # Azure's spot list names no CPUs anywhere, so gpuhunt cannot hold its H100; all others are there
        slugs.remove("azure")
        assert result.left_out["unknown CPU"] > 0
    needed = ("instance_type", "region") if spot else ("instance_type", "region", "vcpus")
    ours = cheapest(lake, slugs, ("spot",) if spot else ("on_demand",), needed)
    assert (peer.clouds[best.provider], best.instance_name) == (ours["provider"], ours["instance_type"])
    assert Decimal(str(best.price)) == ours["usd_per_hour"].normalize()
    assert (best.gpu_count, best.gpu_memory) == (ours["gpu_count"], ours["vram_gib"])
    assert best.gpu_vendor.value == "nvidia"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_gpuhunt_reads_every_row(gpuhunt: Any, caplog: pytest.LogCaptureFixture) -> None:
    catalog, result, folder = gpuhunt
    assert len(catalog.query()) == sum(result.rows.values()) > 50
    assert "malformed" not in caplog.text
    with (folder / "aws.csv").open() as lines:
        assert tuple(next(csv.reader(lines))) == GPUHUNT_COLUMNS
    from gpuhunt._internal.storage import CATALOG_V2_FIELDS

    assert list(GPUHUNT_COLUMNS) == CATALOG_V2_FIELDS
    # An instance type is one machine: its spot row tells CPUs that its on-demand row told.
    assert any(item.spot and item.cpu for item in catalog.query(provider="aws"))
    # Memory of the host, not of the card; an ARM host is told as one.
    assert {item.cpu_arch.value for item in catalog.query(gpu_name="T4G")} <= {"arm"}


def test_what_gpuhunt_cannot_say_is_counted(lake: Lake, gpuhunt: Any) -> None:
    _, result, folder = gpuhunt
    every = offers(lake, Filters(purchase=(), serverless=True), now=NOW).table.num_rows
    told = sum(result.rows.values()) + sum(result.left_out.values()) + sum(result.unknown.values())
    assert told + sum(result.kept_back.values()) == every
    assert {"unknown CPU", "no region", "share of a card", "unknown card"} <= set(result.left_out)
    assert set(result.kept_back) == {"runpod"}
    assert set(result.unknown) == {"hyperbolic", "cudo"}
    assert (folder / "runpod.csv").read_text().count("\n") == 1  # the header alone: gpuhunt opens the file
    assert SAMPLE in (folder / SOURCES).read_text()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_there_and_back(lake: Lake, gpuhunt: Any, tmp_path: Path) -> None:
    """What was exported comes back through the import with the same prices, cards and places."""
    _, result, folder = gpuhunt
    back = Lake.open(tmp_path / "back", origin="import", create=True)
    told = read_gpuhunt([folder], observed_at=NOW)
    imported = take_in(back, told, source_of("gpuhunt"), now=NOW)
    back.refresh()
    assert (imported.offers, imported.withheld) == (sum(result.rows.values()), 0)

    def rows(of: Lake) -> set[tuple[Any, ...]]:
        table = offers(of, Filters(purchase=("on_demand", "spot")), now=NOW).table.to_pylist()
        names = ("provider", "instance_type", "region", "purchase", "gpu", "gpu_count", "vram_gib", "usd_per_hour")
        return {tuple(row[name] for name in names) for row in table}

    assert rows(back) <= rows(lake)
    assert len(rows(back)) == sum(result.rows.values())


def test_skypilot_columns(lake: Lake, tmp_path: Path) -> None:
    """Against what SkyPilot documents of v8, and what its reader takes the card's memory from."""
    result = export_catalogue(lake, "skypilot", tmp_path / "sky", now=NOW)
    files = sorted((tmp_path / "sky" / SKYPILOT_FOLDER).glob("*/vms.csv"))
    assert {file.parent.name for file in files} == {"aws", "azure", "cudo", "lambda", "verda"}
    assert result.unknown["gcp"] > 0
    for file in files:
        frame = pd.read_csv(file)
        needed = {"InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo", "Price"}
        assert needed | {"SpotPrice", "Region", "AvailabilityZone"} <= set(frame.columns)
        assert frame[["Price", "SpotPrice"]].notna().any(axis=1).all()
        memory = [ast.literal_eval(text)["Gpus"][0]["MemoryInfo"]["SizeInMiB"] / 1024 for text in frame["GpuInfo"]]
        assert all(1 <= gib <= 300 for gib in memory)
        one_price = frame.dropna(subset=["Price"]).groupby(["InstanceType", "Region"])["Price"].nunique()
        assert (one_price == 1).all()  # SkyPilot asserts it
    aws = pd.read_csv(tmp_path / "sky" / SKYPILOT_FOLDER / "aws" / "vms.csv")
    p5 = aws[(aws["InstanceType"] == "p5.48xlarge") & (aws["Region"] == "us-east-1")].iloc[0]
    assert (p5["AcceleratorName"], p5["AcceleratorCount"], p5["Price"]) == ("H100", 8, 55.04)
    assert p5["SpotPrice"] < p5["Price"]


@pytest.mark.skipif("SKYPILOT_PYTHON" not in os.environ, reason="SKYPILOT_PYTHON names no Python that has skypilot")
def test_skypilot_reads_it(lake: Lake, tmp_path: Path) -> None:
    export_catalogue(lake, "skypilot", tmp_path / "sky", now=NOW)
    script = """
import json
from sky import catalog
found = {}
for cloud in ("aws", "azure", "cudo", "lambda", "verda"):
    cards = catalog.list_accelerators(gpus_only=True, clouds=cloud, all_regions=True)
    prices = [one.price / one.accelerator_count for one in cards.get("H100", []) if one.price == one.price]
    found[cloud] = min(prices, default=None)
print(json.dumps(found))
"""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "SKY_RUNTIME_DIR": str(tmp_path / "sky")}
    done = subprocess.run(
        [os.environ["SKYPILOT_PYTHON"], "-c", script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    for slug, price in found.items():
        ours = cheapest(lake, [slug], ("on_demand",), ("instance_type", "region", "vram_gib"))
        assert price == pytest.approx(float(ours["usd_per_gpu_hour"]), rel=1e-9), slug


def test_days_open_in_pandas_and_duckdb(lake: Lake, tmp_path: Path) -> None:
    days = []
    result = export_days(lake, "parquet", tmp_path / "d", now=NOW, on_day=days.append)
    assert list(result.rows) == ["day=2026-11-30/offers.parquet"]
    assert [f"{day}" for day in days] == ["2026-11-30"]
    total = sum(result.rows.values())
    assert total == offers(lake, Filters(purchase=(), serverless=True), now=NOW).table.num_rows - sum(
        result.kept_back.values()
    )
    path = next((tmp_path / "d").glob("*/*.parquet"))
    assert str(pq.read_schema(path).field("price").type) == "decimal128(24, 10)"
    frame = pd.read_parquet(tmp_path / "d")
    assert len(frame) == total
    assert set(columns(Offer)) <= set(frame.columns)
    assert "runpod" not in set(frame["provider"])
    (counted,) = duckdb.sql(
        f"SELECT count(*) FROM read_parquet('{tmp_path}/d/*/*.parquet', hive_partitioning = true)"
        " WHERE day = '2026-11-30'"
    ).fetchall()
    assert counted == (total,)

    export_days(lake, "csv", tmp_path / "c", now=NOW)
    with (tmp_path / "c" / "offers-2026-11-30.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == total
    assert list(rows[0]) == [*columns(Offer), "notice"]  # of a sample, every row says so


def test_spans_and_providers(lake: Lake, tmp_path: Path) -> None:
    none = export_days(lake, "csv", tmp_path / "a", now=NOW, since=datetime(2026, 12, 1, tzinfo=UTC))
    assert none.rows == {}
    some = export_days(lake, "csv", tmp_path / "b", now=NOW, only=["aws"])
    assert (
        sum(some.rows.values())
        == offers(lake, Filters(purchase=(), providers=("aws",), serverless=True), now=NOW).table.num_rows
    )


# The folder.


def test_an_export_takes_the_place_of_one_and_of_nothing_else(lake: Lake, tmp_path: Path) -> None:
    folder = tmp_path / "e"
    export_days(lake, "csv", folder, now=NOW)
    (folder / "of an earlier run.csv").write_text("old")
    export_catalogue(lake, "gpuhunt", folder, now=NOW)
    assert not list(folder.glob("*earlier*"))
    assert (folder / "aws.csv").exists()
    mine = tmp_path / "mine"
    mine.mkdir()
    export_catalogue(lake, "gpuhunt", mine, now=NOW)  # an empty folder is free
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(NotOurs, match="stays as it is"):
        export_catalogue(lake, "gpuhunt", other, now=NOW)
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotOurs):
        export_days(lake, "csv", tmp_path / "file", now=NOW)
    assert [path.name for path in other.iterdir()] == ["thesis.txt"]
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("dies", ["write", "swap"])
def test_what_fails_leaves_the_old_export(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dies: str
) -> None:
    folder = tmp_path / "e"
    export_catalogue(lake, "gpuhunt", folder, now=NOW)
    before = {path.name: path.read_text() for path in folder.iterdir()}

    def full(*args: Any) -> Iterator[Any]:
        raise OSError(28, "No space left on device")

    real = Path.rename

    def renamed(self: Path, target: Path) -> Path:
        if self.name.endswith(".new"):
            raise OSError(28, "No space left on device")
        return real(self, target)

    if dies == "write":
        monkeypatch.setattr(exports, "_sources", full)
    else:
        monkeypatch.setattr(Path, "rename", renamed)
    with pytest.raises(OSError, match="No space"):
        export_catalogue(lake, "gpuhunt", folder, now=NOW)
    assert {path.name: path.read_text() for path in folder.iterdir()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["e"]


# What may be passed on, whose it is.


def test_imports_keep_their_credit(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "s", origin="import", create=True)
    (tmp_path / "aws.csv").write_text(
        "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot\n"
        "p5.48xlarge,us-east-1,55.04,192,2048,8,H100,80,False\n"
    )
    take_in(lake, read_gpuhunt([tmp_path / "aws.csv"], observed_at=NOW), source_of("gpuhunt"), now=NOW)
    lake.refresh()
    export_catalogue(lake, "skypilot", tmp_path / "e", now=NOW)
    told = (tmp_path / "e" / SOURCES).read_text()
    assert "licence: MPL-2.0" in told
    assert SAMPLE not in told


def test_unknown_terms_count_as_no_where_they_restrict() -> None:
    from dataclasses import replace

    facts = providers()["hyperbolic"]
    assert exports.passed_on(replace(facts, redistribute=None, access="open"))
    assert not exports.passed_on(replace(facts, redistribute=None, access="opt_in"))
    assert exports.passed_on(replace(facts, redistribute=True, access="opt_in"))
    assert not exports.passed_on(replace(facts, redistribute=False))
    kept_back = {slug for slug, known in providers().items() if not exports.passed_on(known)}
    assert {"runpod", "vast"} <= kept_back


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("98.3200000000"), "98.32"),
        (Decimal("0.0041000000"), "0.0041"),
        (Decimal("100.0000000000"), "100"),
        (1e-7, "0.0000001"),
        (80.0, "80"),
        (0.125, "0.125"),
        (None, ""),
    ],
)
def test_numbers(value: Any, text: str) -> None:
    assert number(value) == text


def test_a_dearer_tier_of_the_same_machine(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "s", origin="live", create=True)
    scrape = Scrape(
        scrape_id="one",
        provider="aws",
        observed_at=NOW,
        recorded_at=NOW,
        origin="live",
        verdict="accepted",
        offers=5,
        rejects=0,
        withheld=0,
        schema_version=1,
    )

    def row(key: str, price: str | None, **given: Any) -> Offer:
        amount = None if price is None else Decimal(price)
        fields: dict[str, Any] = {
            "provider": "aws",
            "offer_key": f"aws:{key}",
            "observed_at": NOW,
            "scrape_id": "one",
            "origin": "live",
            "instance_type": "p5.48xlarge",
            "region": "us-east-1",
            "vendor": "nvidia",
            "gpu": "H100",
            "form_factor": "NVL",
            "gpu_count": 8.0,
            "vram_gib": 94.0,
            "vcpus": 192.0,
            "ram_gib": 2048.0,
            "purchase": "on_demand",
            "currency": "USD",
            "price_unit": "instance-hour",
            "price": amount,
            "usd_per_hour": amount,
            "usd_per_gpu_hour": None if amount is None else amount / 8,
            "availability": "sold_out",
        }
        return Offer(**{**fields, **given})

    rows = [row("a", "60"), row("b", "50", tier="plain"), row("c", None, region="x"), row("d", "9", purchase="bid")]
    rows.append(row("e", "8", kind="serverless"))
    lake.commit(scrape, to_arrow(rows, Offer))
    lake.refresh()
    result = export_catalogue(lake, "gpuhunt", tmp_path / "e", now=NOW)
    assert result.left_out == {
        "dearer tier of the same machine": 1,
        "unknown price": 1,
        "bought as bid": 1,
        "serverless, no machine": 1,
    }
    assert result.sold_out == 1
    with (tmp_path / "e" / "aws.csv").open() as lines:
        (only,) = csv.DictReader(lines)
    assert (only["price"], only["gpu_name"], only["gpu_memory"], only["spot"]) == ("50", "H100NVL", "94", "False")

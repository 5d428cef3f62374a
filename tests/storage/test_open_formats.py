"""A month of a store opens in pandas, polars and DuckDB with no code of ours: the same rows, and money exact."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from storage.compaction import compact
from storage.lake import Lake

COLUMNS = ["offer_key", "observed_at", "price", "usd_per_gpu_hour", "currency", "gpu", "gpu_count", "region"]
# More digits than a float holds, a fraction of a cent, a null.
PRICES = ("2.5", "0.0000000001", "12345678901234.0123456789", "0.1", None)


@pytest.fixture(params=["as written", "compacted"])
def month(request: pytest.FixtureRequest, world: Any, lake: Lake) -> Path:
    """A November of three nights: `snapshots/month=2026-11` and nothing else of the store."""
    for day in range(1, 4):
        world.put(lake, day, *(world.offer(i, price, usd_per_hour=None) for i, price in enumerate(PRICES)))
    if request.param == "compacted":
        compact(lake, datetime.fromisoformat("2026-12-05T00:00:00+00:00"))
    return Path(lake.path, "snapshots")


@pytest.fixture
def expected(month: Path, world: Any) -> list[tuple[Any, ...]]:
    """What was put in, from the test's own numbers."""
    rows = [
        (f"hyperbolic:{i}", world.at(day), amount, amount, "USD", "H100", 1.0, "us-east-1")
        for day in range(1, 4)
        for i, price in enumerate(PRICES)
        for amount in [None if price is None else Decimal(price)]
    ]
    return sorted(rows, key=lambda row: row[:2])


def live(month: Path) -> list[str]:
    """The month's files as the log names them, by deltalake alone."""
    from deltalake import DeltaTable

    return DeltaTable(str(month)).file_uris()


def test_pandas(month: Path, expected: list[tuple[Any, ...]]) -> None:
    import pandas as pd

    frame = pd.concat(pd.read_parquet(file, columns=COLUMNS, dtype_backend="pyarrow") for file in live(month))
    frame = frame.sort_values(["offer_key", "observed_at"])
    assert str(frame["price"].dtype) == "decimal128(24, 10)[pyarrow]"
    rows = [tuple(None if pd.isna(v) else v for v in row) for row in frame.itertuples(index=False, name=None)]
    assert rows == expected
    whole = [row[2] for row in expected if row[2] is not None]
    assert sum(p for p in frame["price"] if not pd.isna(p)) == sum(whole)


def test_polars(month: Path, expected: list[tuple[Any, ...]]) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed; make test installs it")
    frame = pl.read_parquet(live(month), columns=COLUMNS, hive_partitioning=False).sort("offer_key", "observed_at")
    assert frame.schema["price"] == pl.Decimal(24, 10)
    assert frame.rows() == expected


def test_polars_reads_the_table_itself(month: Path, expected: list[tuple[Any, ...]]) -> None:
    pl = pytest.importorskip("polars", reason="polars is not installed; make test installs it")
    table = pl.scan_delta(str(month)).filter(pl.col("month") == "2026-11").select(COLUMNS)
    assert table.collect().sort("offer_key", "observed_at").rows() == expected


def test_duckdb(month: Path, expected: list[tuple[Any, ...]]) -> None:
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone='UTC'")
        found = connection.execute(
            f"SELECT {', '.join(COLUMNS)} FROM read_parquet(?) ORDER BY offer_key, observed_at", [live(month)]
        ).fetchall()
        assert found == expected
        (total,) = connection.execute("SELECT sum(price) FROM read_parquet(?)", [live(month)]).fetchone() or (None,)
    assert total == sum(row[2] for row in expected if row[2] is not None)

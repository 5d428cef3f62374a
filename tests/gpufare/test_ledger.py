"""The same questions from Python."""

import doctest
from datetime import UTC, date, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

import gpufare.ledger
from gpufare import Ledger
from storage.lake import NoStore


def test_the_examples_of_the_documentation(live: Path) -> None:
    globs = {"Ledger": Ledger, "store": str(live), "Decimal": __import__("decimal").Decimal}
    failed, tried = doctest.testmod(gpufare.ledger, extraglobs=globs, optionflags=doctest.ELLIPSIS)
    assert failed == 0
    assert tried >= 10


def test_a_frame_and_a_table_hold_the_same(live: Path) -> None:
    ledger = Ledger(str(live))
    frame = ledger.offers("H100", as_of=datetime(2026, 11, 30, 5, tzinfo=UTC))
    table = ledger.offers("H100", as_of="2026-11-30T05:00Z", arrow=True)
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(table, pa.Table)
    assert list(frame.columns) == table.column_names
    assert frame["offer_key"].tolist() == table["offer_key"].to_pylist()
    assert str(frame["usd_per_hour"].dtype) == "decimal128(24, 10)[pyarrow]"
    assert "notice" not in frame.attrs


def test_a_sample_says_so(sample: Path) -> None:
    ledger = Ledger(str(sample))
    assert ledger.sample
    assert ledger.offers("H100").attrs["notice"] == "SAMPLE, not market prices"
    assert ledger.sql("SELECT 1 AS one", arrow=True).schema.metadata[b"notice"] == b"SAMPLE, not market prices"


def test_days_and_lists(live: Path) -> None:
    ledger = Ledger(str(live))
    first = ledger.offers("H100", as_of=date(2026, 11, 29), provider=["hyperbolic"], count=8)
    assert [float(price) for price in first["usd_per_gpu_hour"]] == [2.0]


@pytest.mark.parametrize(
    ("filters", "said"),
    [({"provder": "aws"}, "did you mean provider"), ({"provider": "hyperbolc"}, "did you mean hyperbolic")],
)
def test_a_wrong_word_is_a_value_error(live: Path, filters: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Ledger(str(live)).offers("H100", **filters)


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(NoStore, match="gpufare refresh"):
        Ledger(str(tmp_path / "none"))


def test_a_filter_that_is_none_asks_for_everything(live: Path) -> None:
    ledger = Ledger(str(live))
    assert len(ledger.offers("H100", provider=None, count=None)) == len(ledger.offers("H100"))


def test_figures_and_the_rows_behind_them(live: Path) -> None:
    ledger = Ledger(str(live))
    table = ledger.index("V100", arrow=True, until="2026-11-30", purchase="any")
    rows = ledger.index("V100", arrow=True, until="2026-11-30", purchase="any", rows=True)
    assert sum(table["offers"].to_pylist()) == rows["left_out"].null_count == 14
    assert ledger.stock("V100", rows=True)["stock"].unique().tolist() == ["in_stock"]
    assert set(ledger.ratio("V100", rows=True)["provider"]) == {"aws"}
    offers = ledger.history("V100", every="day", per="offer", until="2026-11-30", arrow=True)
    assert set(offers["state"].to_pylist()) == {"observed"}
    with pytest.raises(ValueError, match="did you mean day"):
        ledger.history("V100", every="dya")


def test_A21_a_disk_is_counted_in(live: Path) -> None:
    ledger = Ledger(str(live))
    plain, with_disk = (ledger.offers("H100", provider="lambda", disk=disk) for disk in (None, 200))
    assert len(plain) == len(with_disk)
    with pytest.raises(ValueError, match="number from 0 up"):
        ledger.offers("H100", disk=-1)

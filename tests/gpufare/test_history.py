"""Questions about the past: even steps, the index, stock, ratios, and both clocks of every reading command."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

from storage.lake import Lake

Ask = Callable[..., Any]
START = datetime(2026, 10, 1, 2, tzinfo=UTC)
SEGMENT = {"segment": "neocloud"}


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory, world: SimpleNamespace) -> Path:
    """Ten nights of four providers: lambda is not asked on the 4th and 5th, nebius fails on the 7th, oci is dear."""
    path = tmp_path_factory.mktemp("month") / "data"
    lake = Lake.open(path, origin="live", create=True)
    for night in range(10):
        at = START + timedelta(days=night)
        for slug, price in (("hyperbolic", "2"), ("lambda", "2.2"), ("nebius", "2.4"), ("oci", "20")):
            if slug == "lambda" and night in (3, 4):
                continue
            stock = "sold_out" if slug == "hyperbolic" and night < 4 else "unknown" if slug == "oci" else "available"
            rows = [
                world.sxm(slug, "od", per_gpu=price, availability=stock, instance_type="x", **SEGMENT),
                world.sxm(slug, "sp", per_gpu=str(0.5 + night / 20), purchase="spot", instance_type="x", **SEGMENT),
            ]
            world.store(lake, slug, at, None if slug == "nebius" and night == 6 else rows, origin="live")
    return path


def test_C03_C04_a_row_for_each_day_says_how_its_price_is_known(ask: Ask, month: Path) -> None:
    arguments = ("history", "--gpu", "H100-SXM", "--provider", "lambda", "--every", "day", "--as-of", "2026-10-10")
    rows = list(csv.DictReader(io.StringIO(ask(*arguments, "-o", "csv", data=month).out)))
    assert [row["period_start"][8:10] for row in rows] == [f"{day:02}" for day in range(1, 11)]
    assert [row["state"] for row in rows] == ["observed"] * 3 + ["carried", "missing"] + ["observed"] * 5
    assert [row["usd_per_gpu_hour"] for row in rows[2:6]] == ["2.2", "2.2", "", "2.2"]
    failed = ask(
        "history", "H100", "--provider", "nebius", "--every", "daily", "--as-of", "2026-10-10", "-o", "json", data=month
    )
    assert [(r["state"], r["reason"]) for r in failed.rows][6] == ("failed", "Blocked")
    assert failed.json["schema"] == "gpufare.series/1"
    assert (failed.json["query"]["every"], failed.json["query"]["per"]) == ("day", "gpu")


def test_C03_the_default_is_still_one_row_for_each_change(ask: Ask, month: Path) -> None:
    answer = ask("history", "H100", "--provider", "hyperbolic", "-o", "json", data=month)
    assert [row["event"] for row in answer.rows] == ["first", "availability"]
    assert ask("history", "H100", "--per", "offer", data=month).code == 2


def test_C04_the_plot_dashes_what_is_carried_and_leaves_a_gap_where_it_is_missing(ask: Ask, month: Path) -> None:
    def drawn(*arguments: str) -> list[str]:
        out = ask("history", "H100-SXM", "--plot", "--as-of", "2026-10-10T05:00Z", *arguments, data=month).out
        assert "╌ carried" in out
        return [line.split()[-3] for line in out.splitlines() if " H100 SXM " in f" {line}"]

    assert drawn("--provider", "lambda") == ["▄▄▄╌·▄▄▄▄▄"]
    assert drawn("--provider", "nebius") == ["▄▄▄▄▄▄x▄▄▄"]
    (card,) = drawn("--every", "day", "--per", "gpu")  # the cheapest of the card was read every day
    assert len(set(card)) == 1
    hours = drawn("--provider", "lambda", "--every", "hour", "--since", "2026-10-09")[0]
    assert (hours[2], hours[3], len(hours)) == ("▄", "╌", 24 + 6)


def test_C14_C15_C16_the_index_of_a_day(ask: Ask, month: Path) -> None:
    arguments = ("index", "--gpu", "H100-SXM", "--segment", "neocloud", "--as-of", "2026-10-10")
    answer = ask(*arguments, "-o", "json", data=month)
    newest = answer.rows[0]
    assert [newest[f"{n}_usd_per_gpu_hour"] for n in ("median", "p25", "p75", "lowest")] == [2.2, 2.1, 2.3, 2]
    assert (newest["providers"], newest["offers"], newest["outlier"], newest["status"]) == (3, 3, 1, "provisional")
    assert [row["status"] for row in answer.rows].count("final") == 6
    few = next(row for row in answer.rows if row["day"] == "2026-10-05")
    assert (few["median_usd_per_gpu_hour"], few["reason"], few["stale"]) == (None, "2 providers; 3 are needed", 1)
    assert answer.json["index_version"] == newest["index_version"] == 1
    assert {row["offer_key"] for row in answer.json["outliers"]} == {"oci:od"}
    text = ask(*arguments, data=month).out
    assert "left out 2026-10-10: oci:od at 20.00" in text
    assert "index version 1:" in text
    explained = ask(*arguments, "--since", "2026-10-05", "--explain", "-o", "json", data=month).rows
    assert {(row["offer_key"], row["left_out"]) for row in explained} == {("oci:od", "outlier"), ("lambda:od", "stale")}


def test_C20_every_figure_opens_to_its_rows(ask: Ask, month: Path, tmp_path: Path) -> None:
    asked = ("H100-SXM", "--as-of", "2026-10-10", "--rows", "-o", "json")
    for command, names in (
        ("index", ("offer_key", "scrape_id", "recording_sha256", "source_url")),
        ("stock", ("offer_keys", "scrape_id", "recording_sha256")),
    ):
        rows = ask(command, *asked, data=month).rows
        assert rows
        assert all(row[name] for row in rows for name in names), command
    rows = ask("index", "H100-SXM", "--ratio", "--as-of", "2026-10-10", "--rows", "-o", "json", data=month).rows
    assert all(row["spot_scrape_id"] and row["on_demand_recording_sha256"] for row in rows)
    series = ask("history", "H100", "--every", "day", "--as-of", "2026-10-10", "-o", "json", data=month).rows
    assert all(row["offer_key"] and row["scrape_id"] and row["recording_sha256"] for row in series)
    file = tmp_path / "rows.parquet"
    assert ask("index", "H100", "--rows", "-o", "parquet", "--to", str(file), data=month).code == 0
    assert "decimal128(24, 10)" in str(pq.read_schema(file).field("usd_per_gpu_hour").type)


def test_C17_share_of_scrapes_in_stock(ask: Ask, month: Path) -> None:
    answer = ask("stock", "--gpu", "H100", "--as-of", "2026-10-10", "-o", "json", data=month)
    rows = {row["provider"]: row for row in answer.rows}
    assert (rows["hyperbolic"]["in_stock_share"], rows["hyperbolic"]["told"]) == (0.6, 10)
    assert (rows["lambda"]["in_stock_share"], rows["lambda"]["scrapes"]) == (1, 8)
    assert (rows["oci"]["in_stock_share"], rows["oci"]["unknown"]) == (None, 10)
    days = ask("stock", "H100", "--days", "5", "--as-of", "2026-10-10", "-o", "json", data=month).rows
    assert {row["provider"]: row["in_stock_share"] for row in days}["hyperbolic"] == 1
    text = ask("stock", "H100", "--as-of", "2026-10-10", data=month).out
    assert "60%" in text


def test_C18_ratio_of_spot_to_on_demand(ask: Ask, month: Path) -> None:
    answer = ask(
        "index", "H100", "--ratio", "--provider", "hyperbolic", "--as-of", "2026-10-10", "-o", "json", data=month
    )
    (row,) = answer.rows
    assert (row["days"], row["ratio"], row["lowest_ratio"], row["highest_ratio"]) == (10, 0.475, 0.25, 0.475)
    assert 0 < row["volatility"] < 0.1
    assert answer.json["schema"] == "gpufare.ratio/1"
    assert "VOLATILITY" in ask("index", "H100", "--ratio", data=month).out


def test_C19_what_a_price_buys_as_columns_and_order(ask: Ask, live: Path) -> None:
    names = ["usd_per_gib_hour", "usd_per_bf16_tflop_hour", "usd_per_gbs_hour"]
    asked = ("offers", "--provider", "lambda", "--as-of", "2026-11-30T05:00Z", "-o", "json")
    rows = {r["offer_key"]: r for r in ask(*asked, "--columns", f"offer_key,{','.join(names)}").rows}
    assert [round(rows["lambda:x8"][name], 9) for name in names] == [round(2.99 / n, 9) for n in (80, 989, 3350)]
    assert not set(names) & set(ask(*asked).rows[0])
    assert set(names) <= set(ask(*asked, "--columns", f"+{','.join(names)}").rows[0])
    ordered = [r["usd_per_gib_hour"] for r in ask(*asked, "--sort", "usd-per-gib-hour").rows]
    assert ordered == sorted(ordered)
    assert "$/TFLOP-h" in ask("offers", "H100", "--sort", "usd_per_bf16_tflop_hour").out


@pytest.fixture(scope="module")
def corrected(tmp_path_factory: pytest.TempPathFactory, world: SimpleNamespace) -> Path:
    """Two nights of three providers at 2 dollars, then at 3; a week later lambda's second night is restated at 8."""
    path = tmp_path_factory.mktemp("corrected") / "data"
    lake = Lake.open(path, origin="live", create=True)
    for night, price in ((0, "2"), (1, "3")):
        for slug in ("hyperbolic", "lambda", "nebius"):
            row = world.sxm(slug, "od", per_gpu=price, availability="sold_out")
            world.store(lake, slug, START + timedelta(days=night), [row], origin="live")
    at = START + timedelta(days=1)
    fix = {"scrape_id": "fix", "supersedes": f"{at:%Y%m%dT%H%M%SZ}-lambda", "recorded_at": at + timedelta(days=7)}
    world.store(lake, "lambda", at, [world.sxm("lambda", "od", per_gpu="8")], origin="live", **fix)
    return path


BELIEVED = {
    "changes": (("changes", "--provider", "lambda"), "new_price", [3], [8]),
    "diff": (("diff", "2026-10-01", "2026-10-02", "--provider", "lambda"), "new_price", [3], [8]),
    "history": (("history", "--provider", "lambda", "H100"), "usd_per_gpu_hour", [2, 3], [2, 8]),
    "series": (("history", "--provider", "lambda", "H100", "--every", "day"), "usd_per_gpu_hour", [2, 3], [2, 8]),
    "index": (
        ("index", "H100", "--since", "2026-10-02", "--rows", "--provider", "lambda"),
        "usd_per_gpu_hour",
        [3],
        [8],
    ),
    "stock": (("stock", "H100", "--provider", "lambda"), "in_stock_share", [0], [0.5]),
    "show": (("show", "lambda:od"), "usd_per_gpu_hour", [3], [8]),
    "offers": (("offers", "H100", "--provider", "lambda"), "usd_per_gpu_hour", [3], [8]),
    "sql": (("sql", "SELECT usd_per_gpu_hour AS p FROM offers_now WHERE provider = 'lambda'"), "p", [3], [8]),
    "coverage": (("coverage", "H100", "--provider", "lambda"), "in_stock", [0], [1]),
    "status": (("status", "lambda"), "rows", [1], [1]),
}


@pytest.mark.parametrize("name", list(BELIEVED))
def test_C02_every_reading_command_has_both_clocks(ask: Ask, corrected: Path, name: str) -> None:
    """Corrections append: what was believed before the correction can still be asked, and the two answers differ."""
    command, column, before, after = BELIEVED[name]
    clocks = () if name == "diff" else ("--as-of", "2026-10-02")

    def values(*when: str) -> list[Any]:
        rows = ask(*command, *clocks, *when, "-o", "json", data=corrected).rows
        return [row[column] for row in rows if row[column] is not None]  # a change of stock has no price

    assert values("--known-at", "2026-10-05") == before
    assert values() == after
    assert values("--known-at", "2026-10-20") == after


def test_C02_as_of_a_day_before_the_second_night(ask: Ask, corrected: Path) -> None:
    for name, (command, column, *_) in BELIEVED.items():
        if name in ("diff", "changes", "coverage", "stock", "status", "index"):
            continue
        rows = ask(*command, "--as-of", "2026-10-01", "-o", "json", data=corrected).rows
        assert [row[column] for row in rows] == [2], name
    assert ask("changes", "--as-of", "2026-10-01", "-o", "json", data=corrected).rows == []
    last = ask("status", "lambda", "--as-of", "2026-10-01", "-o", "json", data=corrected).rows[0]["last_success"]
    assert last == "2026-10-01T02:00:00Z"
    assert ask("show", "lambda:od", "--as-of", "2026-09-01", data=corrected).code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("index",), "index of what?"),
        (("stock",), "stock of what?"),
        (("index", "H10O"), "did you mean H100?"),
        (("history", "H100", "--every", "fortnight"), "no step 'fortnight'"),
        (("history", "H100", "--every", "dya"), "did you mean day?"),
        (("history", "H100", "--every", "day", "--per", "offfer"), "did you mean offer?"),
        (("index", "H100", "--since", "2026-10-05", "--until", "2026-10-01"), "lies after --until"),
        (("index", "H100", "--since", "2026-10-05", "--as-of", "2026-10-01"), "lies after --as-of"),
        (("index", "H100", "--ratio", "--explain"), "--rows"),
        (("stock", "H100", "--days", "3", "--since", "3d"), "give one of them"),
        (("offers", "H100", "--sort", "usd_per_tflop"), "did you mean usd_per_"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(ask: Ask, month: Path, arguments: tuple[str, ...], said: str) -> None:
    answer = ask(*arguments, data=month)
    assert answer.code == 2
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


def test_all_formats_hold_the_same_rows(ask: Ask, month: Path, tmp_path: Path) -> None:
    for command in (
        ("index", "H100"),
        ("stock", "H100"),
        ("index", "H100", "--ratio"),
        ("history", "H100", "--every", "week"),
    ):
        asked = (*command, "--as-of", "2026-10-10")
        rows = ask(*asked, "-o", "json", data=month).rows
        assert rows
        assert [json.loads(line) for line in ask(*asked, "-o", "jsonl", data=month).out.splitlines()] == rows
        assert len(list(csv.reader(io.StringIO(ask(*asked, "-o", "csv", data=month).out)))) == len(rows) + 1
        assert "| " in ask(*asked, "-o", "markdown", data=month).out
        file = tmp_path / "answer.parquet"
        ask(*asked, "-o", "parquet", "--to", str(file), data=month)
        assert pq.read_table(file).num_rows == len(rows)


def test_nothing_there_is_an_answer(ask: Ask, empty: Path) -> None:
    for command in (("index", "H100"), ("stock", "H100"), ("index", "H100", "--ratio"), ("history", "H100", "--plot"),
                    ("history", "H100", "--every", "day")):  # fmt: skip
        answer = ask(*command, data=empty)
        assert (answer.code, answer.err) == (0, ""), command
    assert ask("index", "H100", "--fail-empty", data=empty).code == 4


def test_a_sample_says_what_it_is(ask: Ask, sample: Path) -> None:
    for command in (
        ("index", "H100"),
        ("stock", "H100"),
        ("index", "V100", "--ratio"),
        ("history", "H100", "--every", "day"),
    ):
        assert "SAMPLE, not market prices" in ask(*command, data=sample).out
        assert ask(*command, "-o", "json", data=sample).json["notice"] == "SAMPLE, not market prices"

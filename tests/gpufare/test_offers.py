"""The comparison table through the command line, each test named by the line or report that it answers."""

import csv
import io
import itertools
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest

Ask = Callable[..., Any]
THEN = "2026-11-30T05:00Z"
H100 = {"eur", "h100-8", "pcie", "h100-1", "h100-2", "h100-4", "eu", "nvl", "x8", "null"}


def prices(answer: Any) -> list[Decimal | None]:
    rows = json.loads(answer.out, parse_float=Decimal)["rows"]
    return [None if row["usd_per_gpu_hour"] is None else Decimal(row["usd_per_gpu_hour"]) for row in rows]


def test_A01_cheapest_first_and_never_back(offers: Ask) -> None:
    cheap = prices(offers("--gpu", "H100", "--max-price", "3"))
    assert len(cheap) >= 8
    assert cheap == sorted(cheap)
    assert max(cheap) <= 3
    every = prices(offers("--purchase", "any"))
    known = [price for price in every if price is not None]
    assert known == sorted(known)
    assert every == [*known, None]


def test_A09_stock_is_one_of_four_and_unknown_is_a_question_mark(offers: Ask, ask: Ask) -> None:
    stock = {row["availability"] for row in offers("--purchase", "any").rows}
    assert stock == {"available", "limited", "unknown", "sold_out"}
    table = ask("offers", "H100-PCIe", "--as-of", THEN).out.splitlines()
    heading = next(line for line in table if line.startswith("#") or line.lstrip().startswith("#"))
    column = heading.index("STOCK")
    shown = [line[column:].split()[0] for line in table[table.index(heading) + 1 :] if line.strip()[0].isdigit()]
    assert shown == ["limited", "?", "yes"]


def test_A10_in_stock_means_seen_within_the_window(offers: Ask) -> None:
    found = offers("H100", "--in-stock")
    assert {row["availability"] for row in found.rows} == {"available", "limited"}
    assert "eur" not in found.keys  # scaleway was last seen four days before
    assert "x8" not in found.keys  # lambda does not tell stock


def test_A11_every_row_tells_its_age(ask: Ask) -> None:
    table = ask("offers", "H100", "--as-of", THEN).out
    ages = {line.split()[-1] for line in table.splitlines() if "H100" in line and "gpu:" not in line}
    assert ages == {"3h", "4d!", "27h"}


def test_A12_show_tells_where_a_row_comes_from(ask: Ask) -> None:
    (row,) = ask("show", "hyperbolic:h100-8", "-o", "json").rows
    assert row["source_url"] == "https://hyperbolic.example/prices"
    assert row["observed_at"] == "2026-11-30T02:00:00Z"
    assert row["parser_version"] == "parser000001"
    assert row["recording_sha256"] == "ab" * 32
    assert row["usd_per_gpu_hour"] == 1.6568
    assert row["is_current"] is True
    (gone,) = ask("show", "hyperbolic:gone", "-o", "json").rows
    assert gone["is_current"] is False
    assert gone["observed_at"] == "2026-11-29T02:00:00Z"
    text = ask("show", "g4-48").out
    assert "4.49993" in text
    assert ask("show", "hyperbolic:h100").code == 2
    assert "h100-1" in ask("show", "hyperbolic:h100").err
    assert "did you mean hyperbolic:h100-8" in ask("show", "hyprbolic:h100-8").err


def test_A13_one_row_for_each_number_of_gpus_with_both_prices(offers: Ask) -> None:
    rows = offers("H100-SXM", "--provider", "hyperbolic").rows
    assert sorted(row["gpu_count"] for row in rows) == [1, 2, 4, 8]
    assert {(row["gpu_count"], row["usd_per_hour"], row["usd_per_gpu_hour"]) for row in rows} == {
        (1, 2.15, 2.15), (2, 4.3, 2.15), (4, 8.6, 2.15), (8, 13.2544, 1.6568),
    }  # fmt: skip


def test_A14_form_factors_are_told_apart(offers: Ask, ask: Ask) -> None:
    every = offers("--gpu", "H100")
    assert {row["form_factor"] for row in every.rows} == {"SXM", "PCIe", "NVL"}
    assert {row["form_factor"] for row in offers("--gpu", "H100-SXM").rows} == {"SXM"}
    assert {row["form_factor"] for row in offers("h100 nvl").rows} == {"NVL"}
    table = ask("offers", "H100", "--as-of", THEN).out
    assert {name for name in ("H100 SXM", "H100 PCIe", "H100 NVL") if name in table} == {
        "H100 SXM", "H100 PCIe", "H100 NVL",
    }  # fmt: skip
    # No query by name gives fewer rows of the card than the query by memory that holds it.
    by_size = [key for key, row in zip(offers("--vram", "80..94").keys, offers("--vram", "80..94").rows, strict=True)
               if row["gpu"] == "H100"]  # fmt: skip
    assert set(by_size) <= set(every.keys)
    assert set(every.keys) == H100 | {"pcie"}


@pytest.mark.parametrize("spelling", ["rtx4090", "RTX 4090", "RTX_4090", "4090", "rtx-4090", "GeForce RTX 4090"])
def test_A15_every_spelling_gives_the_same(ask: Ask, spelling: str) -> None:
    wanted = ask("offers", "RTX 4090", "--as-of", THEN, "-o", "json")
    assert len(wanted.rows) == 4
    assert ask("offers", "--gpu", spelling, "--as-of", THEN, "-o", "json") == wanted
    assert ask("offers", spelling, "--as-of", THEN, "-o", "json") == wanted


def test_A15_a_typo_names_the_nearest_gpu(ask: Ask) -> None:
    answer = ask("offers", "rtx4099")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean RTX 4090?" in answer.err


def test_A16_name_and_count(offers: Ask) -> None:
    assert set(offers("H100:8").keys) == {"h100-8", "x8"}
    assert set(offers("h100:8,V100:4").keys) == {"h100-8", "x8", "v100x4"}


@pytest.mark.parametrize(
    ("filters", "keep"),
    [
        (["--vram", "48.."], lambda row: row["vram_gib"] is not None and row["vram_gib"] >= 48),
        (["--vram", "..24"], lambda row: row["vram_gib"] is not None and row["vram_gib"] <= 24),
        (["--vram", "80"], lambda row: row["vram_gib"] == 80),
        (["--total-vram", "160.."], lambda row: row["vram_gib"] and row["vram_gib"] * row["gpu_count"] >= 160),
        (["--count", "1..4"], lambda row: 1 <= row["gpu_count"] <= 4),
        (["--count", "2.."], lambda row: row["gpu_count"] >= 2),
        (["--continent", "EU"], lambda row: row["country"] in {"FI", "FR", "IE"}),
        (["--continent", "europe", "--country", "france"], lambda row: row["country"] == "FR"),
        (["--country", "us,CA"], lambda row: row["country"] in {"US", "CA"}),
        (["--region", "US_EAST_1"], lambda row: row["region"] == "us-east-1"),
        (["--provider", "AWS,vast"], lambda row: row["provider"] in {"aws", "vast"}),
        (["--vendor", "NVIDIA"], lambda row: row["vendor"] == "nvidia"),
        (["--segment", "hyperscaler"], lambda row: row["segment"] == "hyperscaler"),
        (["--tier", "Secure"], lambda row: row["tier"] == "secure"),
        (["--max-price", "1.5"], lambda row: (row["usd_per_gpu_hour"] or 99) <= 1.5),
        (["--vram", "48..", "--total-vram", "160..", "--count", "1..4"],
         lambda row: row["vram_gib"] and row["vram_gib"] * row["gpu_count"] >= 160 and row["gpu_count"] <= 4),
    ],
)  # fmt: skip
def test_A17_filters_keep_exactly_what_they_say(
    offers: Ask, filters: list[str], keep: Callable[[dict[str, Any]], bool]
) -> None:
    every = offers().rows
    wanted = [row["offer_key"] for row in every if keep(row)]
    assert 0 < len(wanted) < len(every)
    assert [row["offer_key"] for row in offers(*filters).rows] == wanted


def test_Q01_a_filter_that_everything_passes_takes_nothing_away(offers: Ask) -> None:
    everything = offers("--purchase", "any").keys
    passes = (["--count", "0.."], ["--vram", "0.."], ["--total-vram", "0.."], ["--purchase", "all"])
    for n in (1, 2):
        for some in itertools.combinations(passes, n):
            words = list(itertools.chain(*some))
            assert offers("--purchase", "any", *words).keys == everything, words
    nvidia = [row["offer_key"] for row in offers("--count", "0..", "--vendor", "nvidia").rows]
    assert nvidia == [row["offer_key"] for row in offers().rows if row["vendor"] == "nvidia"]


@pytest.mark.parametrize("spelling", ["h100", "H100", "NVIDIA H100", "nvidia-h100"])
def test_Q02_lower_case_and_aliases_give_the_same_rows(offers: Ask, spelling: str) -> None:
    assert set(offers("--gpu", spelling).keys) == H100 | {"pcie"}


def test_Q03_every_region_has_its_row(offers: Ask, ask: Ask) -> None:
    rows = offers("V100", "--provider", "aws", "--count", "1").rows
    assert [row["region"] for row in rows] == ["us-central-1", "ap-east-1", "eu-west-1"]
    cut = ask("offers", "V100", "--provider", "aws", "--limit", "1", "--as-of", THEN)
    assert "1 rows of 4; --limit 4 shows all" in cut.out


def test_Q04_the_same_grammar_everywhere(ask: Ask, offers: Ask) -> None:
    assert offers("V100:4").keys == ["v100x4"]
    history = ask("history", "V100:4", "-o", "json").rows
    assert {row["gpu_count"] for row in history} == {4}
    changes = ask("changes", "H100:8", "-o", "json").rows
    assert {(row["gpu"], row["gpu_count"]) for row in changes} == {("H100", 8)}


def test_A18_the_default_is_said_in_the_header(ask: Ask, offers: Ask) -> None:
    assert "purchase: on_demand (default)" in ask("offers", "--as-of", THEN).out
    some = ask("offers", "--purchase", "on-demand,spot,reserved", "--as-of", THEN)
    assert "purchase: on_demand, spot, reserved;" in some.out
    assert "purchase: on_demand, spot, reserved (default)" not in some.out
    assert offers().json["query"]["purchase"] == ["on_demand"]
    assert {row["purchase"] for row in offers("--purchase", "on-demand,spot,reserved").rows} == {
        "on_demand", "spot", "reserved",
    }  # fmt: skip
    assert {row["purchase"] for row in offers().rows} == {"on_demand"}


def test_A19_S10_spot_ranks_by_the_spot_price(offers: Ask, ask: Ask) -> None:
    rows = offers("V100:1", "--sort", "spot").rows
    assert [row["region"] for row in rows] == ["ap-east-1", "eu-west-1", "us-central-1"]
    assert [row["spot_usd_per_gpu_hour"] for row in rows] == [0.811, 0.99, 1.037]
    assert "sorted by spot" in ask("offers", "V100", "--sort", "spot", "--as-of", THEN).out
    spot = offers("V100:1", "--purchase", "spot").rows
    assert [row["usd_per_gpu_hour"] for row in spot] == [0.811, 0.99, 1.037]


def test_A20_tiers_are_never_merged(offers: Ask, ask: Ask, world: SimpleNamespace) -> None:
    rows = offers("4090", "--provider", "vast").rows
    assert [(row["tier"], row["usd_per_gpu_hour"]) for row in rows] == [
        ("community", 0.29), (world.HOSTILE, 0.35), ("secure", 0.41),
    ]  # fmt: skip
    assert " TIER " in ask("offers", "4090", "--as-of", THEN).out


def test_A22_a_commitment_is_not_in_the_default_ranking(offers: Ask, ask: Ask) -> None:
    assert "year" not in offers("H100").keys
    line = next(
        line
        for line in ask("offers", "H100", "--purchase", "reserved", "--as-of", THEN).out.splitlines()
        if "lambda" in line
    )
    assert "12mo" in line
    assert "1000.00 USD" in line
    assert " 16 " in line


def test_A23_a_share_of_a_gpu_is_no_single_card(offers: Ask, ask: Ask) -> None:
    assert offers("A100", "--count", "1").keys == ["a100"]
    assert set(offers("A100", "--count", "1", "--fractional").keys) == {"a100", "mig"}
    assert " 1/8 " in ask("offers", "A100", "--as-of", THEN).out
    assert offers("A100", "--count", "1/8").keys == ["mig"]


def test_A27_L04_what_was_left_out_is_told(ask: Ask) -> None:
    arguments = ("offers", "H100", "--in-stock", "--count", "1", "--as-of", THEN, "--explain")
    told = ask(*arguments, "-o", "json").json["explain"]
    assert [row["offer_key"] for row in told["runners_up"]] == ["hyperbolic:h100-1", "nebius:eu", "lambda:nvl"]
    why = {row["offer_key"]: row["reasons"] for row in told["excluded"]}
    assert why == {
        "scaleway:eur": ["stale: past the provider's window"],
        "lambda:year": ["wrong number of GPUs: 8", "other purchase: reserved"],
        "hyperbolic:h100-8": ["wrong number of GPUs: 8"],
    }
    text = ask(*arguments).out
    assert text.count("runner-up ") == 3
    assert "3 cheaper rows kept out: 2 wrong number of GPUs" in text
    none = ask("offers", "A100", "--vram", "80", "--as-of", THEN, "--explain").out
    assert "wrong VRAM: 40 GiB" in none


def test_A27_what_the_gate_withholds_is_told(ask: Ask, tmp_path: Path, world: SimpleNamespace) -> None:
    from storage.lake import Lake

    lake = Lake.open(tmp_path / "data", origin="live", create=True)
    rows = [
        world.sxm("aws", "right", per_gpu="2"),
        world.sxm("aws", "odd", per_gpu="0.02", flags=["price_range", "withheld"]),
        world.sxm("aws", "gone", per_gpu="1", availability="sold_out"),
    ]
    world.store(lake, "aws", world.SECOND, rows, origin="live", withheld=1)
    arguments = ("offers", "H100", "--in-stock", "--as-of", THEN, "--explain", "-o", "json")
    answer = ask(*arguments, data=tmp_path / "data")
    assert answer.keys == ["right"]
    why = {row["offer_key"]: row["reasons"] for row in answer.json["explain"]["excluded"]}
    assert why == {"aws:odd": ["withheld by the gate: price_range"], "aws:gone": ["no stock"]}


def test_F14_no_price_is_unknown_and_comes_last(offers: Ask, ask: Ask) -> None:
    rows = offers("H100-PCIe").rows
    assert [row["usd_per_gpu_hour"] for row in rows] == [1.9, 2.49, None]
    assert rows[-1]["usd_per_hour"] is None
    cheapest = ask("sql", "SELECT min(usd_per_gpu_hour) AS low FROM offers_now WHERE gpu = 'H100'", "-o", "json")
    assert cheapest.rows == [{"low": 1.2}]
    assert "null" not in offers("H100-PCIe", "--max-price", "3").keys


def test_U21_small_prices_keep_their_digits(offers: Ask, ask: Ask) -> None:
    (bid,) = offers("4090", "--purchase", "bid").rows
    assert bid["usd_per_hour"] == 0.0041
    assert "0.0041" in ask("offers", "4090", "--purchase", "bid", "--as-of", THEN).out
    assert '"usd_per_gpu_hour": 1.6568,' in offers("H100").out


def test_U29_the_cheapest_host_of_a_card_wins(offers: Ask) -> None:
    rows = offers("RTX PRO 6000:1").rows
    assert [(row["instance_type"], row["usd_per_hour"]) for row in rows] == [
        ("g4-standard-6", 1.51825), ("g4-standard-48", 4.49993),
    ]  # fmt: skip


def test_U31_a_month_has_730_hours_and_the_published_price_stays(
    ask: Ask, tmp_path: Path, world: SimpleNamespace
) -> None:
    from schemas.units import per_hour
    from storage.lake import Lake

    hourly, _ = per_hour(Decimal(730), "instance-month", None)
    lake = Lake.open(tmp_path / "data", origin="live", create=True)
    row = world.sxm("aws", "month", per_gpu=hourly, price=Decimal(730), price_unit="instance-month")
    world.store(lake, "aws", world.SECOND, [row], origin="live")
    (read,) = ask("offers", "H100", "--as-of", THEN, "-o", "json", data=tmp_path / "data").rows
    assert (read["price"], read["price_unit"], read["usd_per_hour"]) == (730, "instance-month", 1)


def test_B12_an_unknown_gpu_keeps_its_words(offers: Ask, ask: Ask) -> None:
    (row,) = [row for row in offers("--provider", "vast").rows if row["gpu"] is None]
    assert row["accelerator_raw"] == "Zeta 9000 \x1b[31m"
    assert ask("unmapped", "-o", "json").rows == [
        {"words": "Zeta 9000 \x1b[31m", "offers": 1, "providers": ["vast"], "last_seen": "2026-11-30T02:00:00Z"}
    ]
    assert "? Zeta 9000" in ask("offers", "--provider", "vast", "--as-of", THEN).out


def test_C01_the_table_as_of_a_day(ask: Ask) -> None:
    rows = ask("offers", "H100:8", "--provider", "hyperbolic", "--as-of", "2026-11-29", "-o", "json").rows
    assert [row["usd_per_gpu_hour"] for row in rows] == [2]
    assert ask("offers", "--as-of", "2026-11-20", "-o", "json").rows == []


def test_L01_what_can_be_filtered_can_be_shown(ask: Ask) -> None:
    table = ask("offers", "--segment", "hyperscaler", "--vendor", "nvidia", "--total-vram", "80..", "--as-of", THEN).out
    for heading in ("SEGMENT", "VENDOR", "TOTAL VRAM", "VRAM"):
        assert heading in table
    wide = ask("offers", "--columns", "+vcpus,recording_sha256", "--as-of", THEN, "-o", "table").out
    assert "VCPUS" in wide
    assert "RECORDING_SHA256" in wide


def test_L01_a_narrow_terminal_names_what_it_leaves_out(live: Path) -> None:
    from datetime import UTC, datetime

    from gpufare.commands.filters import build
    from gpufare.commands.offers import offers_view
    from storage.lake import Lake
    from storage.query import offers as query
    from table.terminal import Terminal, render, width_of

    lake = Lake.open(live)
    filters = build(lake, ["H100"])
    view = offers_view(query(lake, filters, now=datetime(2026, 11, 30, 5, tzinfo=UTC)), filters)
    lines = "".join(render(view, Terminal(64))).splitlines()
    assert max(width_of(line) for line in lines) <= 64
    assert "not shown for want of room" in lines[-1]
    assert "REGION" in lines[-1]
    assert any("1.6568" in line for line in lines)


def test_L02_a_provider_alone_shows_all_its_models(offers: Ask) -> None:
    assert {row["gpu"] for row in offers("--provider", "lambda").rows} == {"H100", "A100"}
    assert len(offers("--provider", "aws", "--purchase", "any").rows) == 11


def test_columns_are_written_in_every_format(ask: Ask) -> None:
    arguments = ("offers", "H100:8", "--as-of", THEN, "--columns", "provider,USD-per-hour,age_s")
    assert ask(*arguments, "-o", "csv").out == (
        "provider,usd_per_hour,age_s\nhyperbolic,13.2544,10800\nlambda,23.92,10800\n"
    )
    assert ask(*arguments, "-o", "json").rows[0] == {"provider": "hyperbolic", "usd_per_hour": 13.2544, "age_s": 10800}
    assert ask(*arguments).out.splitlines()[-2].split() == ["hyperbolic", "13.2544", "3h"]


def test_every_format_holds_the_same_rows(ask: Ask, tmp_path: Path) -> None:
    arguments = ("offers", "--purchase", "any", "--as-of", THEN)
    rows = ask(*arguments, "-o", "json").rows
    assert [json.loads(line) for line in ask(*arguments, "-o", "jsonl").out.splitlines()] == rows
    in_csv = list(csv.DictReader(io.StringIO(ask(*arguments, "-o", "csv").out)))
    assert [row["offer_key"] for row in in_csv] == [row["offer_key"] for row in rows]
    file = tmp_path / "offers.parquet"
    assert ask(*arguments, "-o", "parquet", "--to", str(file)).code == 0
    table = pq.read_table(file)
    assert table["offer_key"].to_pylist() == [row["offer_key"] for row in rows]
    assert str(table.schema.field("usd_per_hour").type) == "decimal128(24, 10)"
    assert table.column_names == list(rows[0])
    markdown = ask(*arguments, "-o", "markdown").out
    assert len([line for line in markdown.splitlines() if line.startswith("| ")]) == 1 + len(rows)


def test_no_rows_are_an_answer_and_a_fault_only_on_request(ask: Ask, empty: Path) -> None:
    assert ask("offers", "H100", "-o", "json", data=empty).rows == []
    assert "gpufare refresh" in ask("offers", "H100", data=empty).out
    assert ask("offers", "H100", "--fail-empty", data=empty).code == 4
    assert ask("offers", "H100", "--fail-empty").code == 0
    assert ask("offers", "H100", "-o", "csv", data=empty).out.startswith("provider,offer_key,")


@pytest.mark.parametrize("format", ["table", "json", "jsonl", "csv", "markdown"])
def test_a_sample_is_marked_and_hostile_names_are_tame(ask: Ask, sample: Path, format: str) -> None:
    answer = ask("offers", "--as-of", THEN, "-o", format, data=sample)
    assert "SAMPLE, not market prices" in answer.out
    assert not [char for char in answer.out if (ord(char) < 32 and char != "\n") or char in "\x7f\u202e"]
    assert "SAMPLE" not in ask("offers", "--as-of", THEN, "-o", format).out


def test_the_reader_may_have_a_zone(ask: Ask) -> None:
    table = ask("offers", "H100", "--as-of", THEN, "--zone", "asia/ho-chi-minh").out
    assert "as of 2026-11-30 12:00+07:00" in table
    wrong = ask("offers", "--zone", "Asia/Hanoy")
    assert wrong.code == 2

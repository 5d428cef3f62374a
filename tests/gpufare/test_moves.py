"""What moved, and how the providers fare."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from storage.lake import Lake

Ask = Callable[..., Any]


def test_C05_the_difference_of_two_days(ask: Ask) -> None:
    answer = ask("diff", "2026-11-29", "2026-11-30", "-o", "json")
    told = {(row["what"], row["offer_key"].partition(":")[2]) for row in answer.rows}
    assert told == {("new", "h100-4"), ("gone", "gone"), ("price_down", "h100-8"), ("stock", "4090")}
    assert answer.json["not_fetched"] == ["nebius", "scaleway"]
    (down,) = [row for row in answer.rows if row["what"] == "price_down"]
    assert (down["old_price"], down["new_price"], down["currency"]) == (16, 13.2544, "USD")
    text = ask("diff", "2026-11-29", "2026-11-30").out
    assert "16.00" in text
    assert "-17.2%" in text
    assert "not fetched in between: nebius, scaleway" in text
    only = ask("diff", "2026-11-29", "2026-11-30", "4090", "-o", "json").rows
    assert [row["what"] for row in only] == ["stock"]


def test_C07_gone_sold_out_and_not_fetched_are_three_things(ask: Ask) -> None:
    rows = ask("changes", "-o", "json").rows
    kinds = {row["offer_key"]: row["kind"] for row in rows}
    assert kinds["hyperbolic:gone"] == "removed"
    assert kinds["hyperbolic:4090"] == "sold_out"
    assert not [key for key in kinds if key.startswith("nebius")]  # blocked that night: nothing was removed


def test_changes_are_filtered_and_paged(ask: Ask) -> None:
    every = ask("changes", "-o", "json").rows
    assert {row["cause"] for row in every} == {"market"}
    assert [row["kind"] for row in ask("changes", "--kind", "Price-Down,added", "-o", "json").rows].count("added") == 1
    assert ask("changes", "--since", "2026-12-01", "-o", "json").rows == []
    assert len(ask("changes", "--until", "2026-11-30", "-o", "json").rows) == len(every)
    oldest_first = every[::-1]
    page = ask("changes", "--after", oldest_first[0]["change_id"], "--limit", "2", "-o", "json")
    assert page.rows == oldest_first[1:3]
    rest = ask("changes", "--after", page.json["last"], "-o", "json")
    assert rest.rows == oldest_first[3:]
    nothing = ask("changes", "--after", rest.json["last"], "-o", "json")
    assert nothing.rows == []
    assert nothing.json["last"] == rest.json["last"]


def test_C03_history_has_one_row_for_each_change(ask: Ask) -> None:
    rows = ask("history", "--gpu", "H100-SXM", "--provider", "hyperbolic", "--count", "8", "-o", "json").rows
    assert [(row["event"], row["usd_per_gpu_hour"], row["observed_at"]) for row in rows] == [
        ("first", 2, "2026-11-29T02:00:00Z"),
        ("price", 1.6568, "2026-11-30T02:00:00Z"),
    ]
    late = ask("history", "H100:8", "--provider", "hyperbolic", "--since", "2026-11-30", "-o", "csv").out
    assert len(late.splitlines()) == 2


def test_history_is_drawn(ask: Ask, sample: Path) -> None:
    out = ask("history", "H100:8", "--plot", "--until", "2026-12-01", data=sample).out
    line = next(line for line in out.splitlines() if "hyperbolic" in line)
    assert "2.00" in line
    assert "1.6568" in line
    cells = line.split()[5]
    assert len(set(cells)) == 2
    assert cells[0] > cells[-1]  # the bars come down
    assert "SAMPLE, not market prices" in out


@pytest.fixture
def health(tmp_path: Path, world: SimpleNamespace) -> Callable[..., Path]:
    """A store in which providers were last seen so many hours ago; `failed` ones were blocked an hour ago."""
    now = datetime.now(UTC)

    def make(ages_h: dict[str, float], failed: tuple[str, ...] = ()) -> Path:
        lake = Lake.open(tmp_path / "data", origin="live", create=True)
        for provider, age in ages_h.items():
            for n in (2, 1, 0):
                at = now - timedelta(hours=age + 24 * n)
                rows = [world.sxm(provider, f"k{i}", per_gpu="2") for i in range(10 if n else 9)]
                world.store(lake, provider, at, rows, origin="live", duration_s=2.0 + n)
        for provider in failed:
            world.store(lake, provider, now - timedelta(hours=1), None, origin="live")
        return tmp_path / "data"

    return make


def test_B15_status_tells_all_that_was_asked_for(ask: Ask, health: Callable[..., Path]) -> None:
    data = health({"aws": 1, "nebius": 2}, failed=("nebius",))
    answer = ask("status", "-o", "json", data=data)
    rows = {row["provider"]: row for row in answer.rows}
    good, bad = rows["aws"], rows["nebius"]
    assert (good["state"], good["rows"], good["rows_vs_median"], good["consecutive_failures"]) == ("fresh", 9, 0.9, 0)
    assert good["p50_duration_s"] == 3
    assert good["last_success"] == good["last_attempt"]
    assert (bad["state"], bad["error_class"], bad["consecutive_failures"]) == ("failing", "Blocked", 1)
    assert bad["last_success"] < bad["last_attempt"]
    text = ask("status", data=data).out
    assert "Blocked: 403 from the provider" in text
    assert "90%" in text
    assert [row["provider"] for row in ask("status", "AWS", "-o", "json", data=data).rows] == ["aws"]


@pytest.mark.parametrize(
    ("ages_h", "failed", "code"),
    [
        ({"aws": 1, "nebius": 2}, (), 0),
        ({"aws": 1, "nebius": 24 * 30}, (), 3),
        ({"aws": 24 * 30, "nebius": 2}, ("nebius",), 5),
    ],
)
def test_B16_the_exit_code_tells_health(
    ask: Ask, health: Callable[..., Path], ages_h: dict[str, float], failed: tuple[str, ...], code: int
) -> None:
    data = health(ages_h, failed)
    assert ask("status", "--exit-code", data=data).code == code
    assert ask("status", data=data).code == 0


def test_B16_nothing_collected_is_not_fresh(ask: Ask, empty: Path) -> None:
    assert ask("status", "--exit-code", data=empty).code == 3


def test_B18_error_classes_are_told_apart(ask: Ask, tmp_path: Path, world: SimpleNamespace) -> None:
    lake = Lake.open(tmp_path / "data", origin="live", create=True)
    classes = {"aws": "Blocked", "nebius": "LayoutChanged", "oci": "SchemaDrift", "vast": "TimedOut", "azure": "Empty",
               "lambda": "AuthMissing"}  # fmt: skip
    for provider, name in classes.items():
        world.store(lake, provider, datetime.now(UTC), None, origin="live", error_class=name)
    rows = ask("status", "-o", "json", data=tmp_path / "data").rows
    assert {row["provider"]: row["error_class"] for row in rows if row["error_class"]} == classes


def test_C12_sql_over_documented_views(ask: Ask) -> None:
    views = {row["view"] for row in ask("sql", "--views", "-o", "json").rows}
    assert {"offers_now", "offers_asof", "changes", "scrapes", "snapshots", "gpus", "providers"} <= views
    question = "SELECT provider, min(usd_per_gpu_hour) AS low FROM offers_now WHERE gpu='H100' GROUP BY 1 ORDER BY 2, 1"
    assert ask("sql", question, "--limit", "2", "-o", "json").rows == [
        {"provider": "scaleway", "low": 1.2},
        {"provider": "lambda", "low": 1.5},
    ]
    past = "SELECT usd_per_gpu_hour AS p FROM offers_asof('2026-11-29') WHERE offer_key = 'hyperbolic:h100-8'"
    assert ask("sql", "-o", "json", stdin=past).rows == [{"p": 2}]
    twice = ask("sql", "SELECT 1 AS a, 2 AS a, TIME '01:02:03' AS t, [1, NULL] AS l", "-o", "json")
    assert twice.rows == [{"a": 1, "a_2": 2, "t": "01:02:03", "l": [1, None]}]


def test_sql_reads_nothing_but_the_store(ask: Ask, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    answer = ask("sql", f"SELECT * FROM '{secret}'")
    assert answer.code == 2
    assert "1 row" not in answer.out
    assert ask("sql", f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'").code == 2
    assert not (tmp_path / "out.csv").exists()


def test_all_commands_mark_a_sample(ask: Ask, sample: Path) -> None:
    for arguments in (["changes"], ["diff", "2026-11-29", "2026-11-30"], ["history", "H100"], ["status"],
                      ["unmapped"], ["show", "aws:g4-48"], ["sql", "SELECT 1"]):  # fmt: skip
        assert "SAMPLE, not market prices" in ask(*arguments, data=sample).out, arguments
        assert json.loads(ask(*arguments, "-o", "json", data=sample).out)["notice"] == "SAMPLE, not market prices"

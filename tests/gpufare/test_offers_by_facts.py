"""Filters and columns that stand on providers' facts, on disks and on networks; what is no longer collected."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import schemas.providers as table

Ask = Callable[..., Any]
THEN = "2026-11-30T05:00Z"
SOURCE = "https://docs.example/billing"


def fact(value: Any) -> dict[str, Any]:
    return {"value": value, "source": SOURCE, "checked_on": date(2026, 12, 1)}


@pytest.fixture
def facts(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """`facts(hyperbolic={"ssh": True})`: providers.toml with these facts of these providers, and none of theirs."""
    written = tomllib.loads(Path(table.__file__).with_name("providers.toml").read_text(), parse_float=Decimal)

    def put(*, status: dict[str, dict[str, Any]] | None = None, **wanted: dict[str, Any]) -> None:
        for slug, known in written.items():
            known["facts"] = {name: fact(value) for name, value in wanted.get(slug, {}).items()}
            known.update((status or {}).get(slug, {}))
        monkeypatch.setattr(table, "load_toml", lambda name: {slug: dict(known) for slug, known in written.items()})
        table.providers.cache_clear()

    yield put
    monkeypatch.undo()
    table.providers.cache_clear()


def test_A25_what_one_can_do_with_it_is_yes_no_or_unknown_with_its_source(offers: Ask, ask: Ask, facts: Any) -> None:
    facts(hyperbolic={"ssh": True, "docker": False, "storage_outlives_instance": True}, aws={"ssh": True})
    rows = {row["provider"]: row for row in offers("H100", "--purchase", "any").rows}
    hyperbolic = rows["hyperbolic"]
    assert [hyperbolic[name] for name in ("ssh", "docker", "jupyter")] == ["yes", "no", "unknown"]
    assert (hyperbolic["storage_outlives_instance"], hyperbolic["charged_while_stopped"]) == ("yes", "unknown")
    assert f"ssh: {SOURCE}" in hyperbolic["fact_sources"]
    assert "jupyter" not in hyperbolic["fact_sources"]
    assert rows["lambda"]["ssh"] == "unknown"
    shown = ask("offers", "H100", "--columns", "+ssh,jupyter", "--as-of", THEN).out
    assert " SSH " in shown
    able = {row["provider"] for row in offers("--has", "ssh,persistent-disk").rows}
    assert able == {"hyperbolic"}  # aws's is unknown, and unknown is no


def test_A26_the_network_between_nodes_is_a_filter(offers: Ask, ask: Ask, facts: Any) -> None:
    facts(
        lambda_={}, **{"lambda": {"network_kind": "InfiniBand", "network_gbps": 3200}, "aws": {"network_kind": "EFA"}}
    )
    assert {row["provider"] for row in offers("--network", "infiniband").rows} == {"lambda"}
    assert {row["provider"] for row in offers("--network", "infiniband,efa").rows} == {"lambda", "aws"}
    assert {row["provider"] for row in offers("--network-gbps", "400..").rows} == {"lambda"}
    assert not offers("--network-gbps", "..400").rows  # an unknown speed is no slow one
    told = ask("offers", "H100-PCIe", "--network", "roce", "--as-of", THEN, "--explain", "-o", "json").json["explain"]
    assert any("other network: InfiniBand" in row["reasons"] for row in told["excluded"])


def test_A21_the_price_holds_the_disk_that_was_asked_for(offers: Ask, facts: Any) -> None:
    facts(hyperbolic={"storage_usd_per_gib_month": Decimal("0.073")})
    plain = {row["offer_key"]: row for row in offers("H100:8", "--provider", "hyperbolic,lambda").rows}
    with_disk = {
        row["offer_key"]: row for row in offers("H100:8", "--provider", "hyperbolic,lambda", "--disk", "1000").rows
    }
    key = "hyperbolic:h100-8"
    assert Decimal(str(with_disk[key]["usd_per_hour"])) - Decimal(str(plain[key]["usd_per_hour"])) == Decimal("0.1")
    assert with_disk[key]["usd_per_gpu_hour"] == pytest.approx(plain[key]["usd_per_gpu_hour"] + 0.0125)
    assert with_disk[key]["price"] == plain[key]["price"]  # what the provider published stays
    assert with_disk["lambda:x8"]["usd_per_hour"] is None  # an unknown price of the disk is not free
    assert list(with_disk) == [key, "lambda:x8"]


def test_A22_a_commitment_tells_term_upfront_and_minimum_and_stays_out(offers: Ask) -> None:
    assert all(row["purchase"] == "on_demand" for row in offers("H100").rows)
    (year,) = offers("H100", "--purchase", "reserved").rows
    assert (year["term_months"], year["upfront"], year["min_gpu_count"]) == (12, 1000, 16)
    assert year["usd_per_gpu_hour"] == 1.5


def test_A08_where_no_figure_of_interruption_exists_it_is_unknown_never_0(ask: Ask) -> None:
    answer = ask("offers", "V100", "--purchase", "spot", "--columns", "provider,interruption_rate", "--as-of", THEN)
    lines = [line.split() for line in answer.out.splitlines() if line.startswith("aws")]
    assert lines
    assert all(line[-1] == "?" for line in lines)


def test_B22_a_frozen_provider_is_readable_out_of_the_default_and_says_since_when(
    offers: Ask, ask: Ask, facts: Any
) -> None:
    frozen = {"status": "frozen", "status_reason": "its terms changed", "status_since": date(2026, 11, 30)}
    facts(status={"lambda": frozen})
    assert "lambda" not in {row["provider"] for row in offers("H100").rows}
    assert {row["provider"] for row in offers("H100", "--provider", "lambda").rows} == {"lambda"}
    before = ask("offers", "H100", "--as-of", "2026-11-29", "-o", "json").rows
    assert "lambda" in {row["provider"] for row in before}
    assert "frozen since 2026-11-30: its terms changed" in ask("providers", "lambda").out
    state = next(row for row in ask("status", "-o", "json").rows if row["provider"] == "lambda")
    assert state["state"] == "frozen"


def test_C24_coverage_tells_a_new_card_from_a_new_spider(ask: Ask) -> None:
    rows = ask("coverage", "--as-of", THEN, "-o", "json").rows
    cells = {(row["provider"], row["gpu"]): row for row in rows}
    assert cells["hyperbolic", "H100"]["offers"] == 5
    assert cells["hyperbolic", "H100"]["first_seen"] == cells["hyperbolic", "H100"]["provider_since"]
    assert ("vast", None) in cells
    shown = ask("coverage", "--as-of", THEN).out
    assert "PROVIDER" in shown
    assert " H100 " in shown
    none = ask("coverage", "--as-of", "2020-01-01", "-o", "json")
    assert (none.rows, none.code) == ([], 0)


def test_resellers_can_be_left_out(offers: Ask) -> None:
    direct = offers("--direct").rows
    assert direct
    assert all(row["reseller_of"] is None and row["segment"] != "reseller" for row in direct)


def test_U08_ram_is_the_instances_own_in_gib(offers: Ask) -> None:
    """16000 MB are what a seller calls 16 GB; in GiB they are less, and still they are kept."""
    assert offers("--ram", "16..").keys == ["community", "secure"]
    assert offers("--ram", "..15").keys == ["hostile"]
    assert len(offers("--ram", "0..").rows) == len(offers().rows)


def test_what_runs_functions_only_is_no_machine_and_left_out_unless_asked(tmp_path: Path, ask: Ask) -> None:
    store = tmp_path / "store"
    assert ask("refresh", "modal", "lambda", "--recorded", "2026-11-29-night", data=store).code == 0
    shown = ask("offers", "--purchase", "any", "-o", "json", data=store).rows
    assert {row["provider"] for row in shown} == {"lambda"}
    assert "no serverless (default)" in ask("offers", "H100", data=store).out
    both = ask("offers", "--purchase", "any", "--serverless", "-o", "json", data=store).rows
    assert {row["kind"] for row in both if row["provider"] == "modal"} == {"serverless"}

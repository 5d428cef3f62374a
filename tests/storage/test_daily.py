"""A card's days in one statement are those that the filled series tells offer by offer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from schemas.offer import Offer
from schemas.record import to_arrow
from schemas.scrape import Scrape
from storage.daily import daily
from storage.filled import filled
from storage.filters import Filters
from storage.lake import Lake

FIRST = datetime(2026, 11, 1, 2, tzinfo=UTC)
NOW = FIRST + timedelta(days=11, hours=1)
# For each provider and day: the price of its H100, of which there is none; `-` for a failed attempt, blank for none.
NIGHTS = {
    "lambda": ["3", "3", "2.5", "", "", "", "4", "4", "4", "4", "", ""],
    "nebius": ["2.9", "-", "-", "3.5", "3.5", "-", "none", "3.5", "3.5", "3.5", "-", ""],
}


def store(path: Path) -> Lake:
    lake = Lake.open(path, origin="live", create=True)
    for provider, prices in NIGHTS.items():
        for day, price in enumerate(prices):
            if not price:
                continue
            at = FIRST + timedelta(days=day)
            scrape_id = f"{at:%Y%m%d}-{provider}"
            rows = []
            for gpu in ("L4",) if price == "none" else ("L4", "H100"):
                amount = Decimal("0.7") if gpu == "L4" else Decimal(price.replace("-", "9"))
                rows.append(
                    Offer(
                        provider=provider, offer_key=f"{provider}:{gpu}", observed_at=at, scrape_id=scrape_id,
                        origin="live", gpu=gpu, gpu_count=1.0, purchase="on_demand", price=amount, currency="USD",
                        price_unit="gpu-hour", usd_per_hour=amount, usd_per_gpu_hour=amount, availability="available",
                    )
                )  # fmt: skip
            failed = price == "-"
            scrape = Scrape(
                scrape_id=scrape_id, provider=provider, observed_at=at, recorded_at=at, origin="live", rejects=0,
                verdict="failed" if failed else "accepted", offers=0 if failed else len(rows), withheld=0,
                error_class="TimedOut" if failed else None, schema_version=1,
            )  # fmt: skip
            lake.commit(scrape, None if failed else to_arrow(rows, Offer))
    return lake


def test_C4_a_day_of_a_card_is_the_same_as_in_the_filled_series(tmp_path: Path) -> None:
    lake = store(tmp_path / "store")
    wanted = Filters(purchase=("on_demand",))
    told = daily(lake, wanted, now=NOW, since=FIRST).to_pylist()
    every = filled(lake, wanted, every="day", now=NOW, since=FIRST).to_pylist()
    both = [
        [(row["day"], row["gpu"], row["lowest_usd_per_gpu_hour"], row["median_usd_per_gpu_hour"], row["offers"],
          row["providers"], row["provider"]) for row in told],
        [(row["period_start"].date(), row["gpu"], row["usd_per_gpu_hour"], row["median_usd_per_gpu_hour"],
          row["offers"], row["providers"], row["provider"]) for row in every],
    ]  # fmt: skip
    assert sorted(both[0], key=str) == sorted(both[1], key=str)
    states = {(row["day"], row["gpu"]): row["state"] for row in told if row["lowest_usd_per_gpu_hour"] is not None}
    assert states == {
        (row["period_start"].date(), row["gpu"]): row["state"] for row in every if row["usd_per_gpu_hour"] is not None
    }
    h100 = [(row["state"], row["lowest_usd_per_gpu_hour"]) for row in told if row["gpu"] == "H100"]
    assert h100[:4] == [
        ("observed", Decimal("2.9")), ("failed", Decimal("2.9")),
        ("observed", Decimal("2.5")), ("carried", Decimal("2.5")),
    ]  # fmt: skip
    assert {"missing", "failed", "carried", "observed"} >= {state for state, _ in h100}

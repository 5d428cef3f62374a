"""A sample store made by hand, of which each price is known, and the site published from it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from schemas.change import Change
from schemas.offer import Offer
from schemas.rate import Rate
from schemas.record import to_arrow
from schemas.scrape import Scrape
from spiders.shared.browser import ARGS, chromium
from storage.lake import Lake

LAST = datetime(2026, 11, 30, 2, tzinfo=UTC)
NIGHTS = 10
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"
TURNED = "safe\u202egnp.exe"
LONG = "x" * 10_000
CARDS = (
    ("H100", "SXM", 80.0, "3.00"),
    ("H100", "PCIe", 80.0, "2.40"),
    ("A100", "SXM", 80.0, "1.50"),
    ("RTX 4090", "PCIe", 24.0, "0.40"),
    ("L4", None, 24.0, "0.70"),
    ("T4", None, 16.0, "0.35"),
)
FACTOR = {"lambda": Decimal("1"), "nebius": Decimal("1.1"), "hyperstack": Decimal("0.9"), "vast": Decimal("0.5")}
REGION = {"lambda": ("us-east-1", "US"), "nebius": ("eu-north1", "FI"), "hyperstack": ("canada-1", "CA"),
          "vast": ("Vietnam", "VN")}  # fmt: skip
STOCK = ("available", "limited", "sold_out", "unknown")


def offer(provider: str, at: datetime, name: str, **known: Any) -> Offer:
    """One offer of the sample."""
    region, country = REGION[provider]
    usual: dict[str, Any] = {
        "provider": provider, "offer_key": f"{provider}:{name}", "observed_at": at,
        "scrape_id": f"{at:%Y%m%dT%H%M%SZ}-{provider}", "origin": "recording", "accelerator_raw": name,
        "vendor": "nvidia", "region": region, "country": country, "purchase": "on_demand", "currency": "USD",
        "price_unit": "instance-hour", "kind": "vm", "billing_increment_s": 60, "availability": "available",
        "source_url": f"https://{provider}.example/prices",
    }  # fmt: skip
    return Offer(**(usual | known))


def night(provider: str, at: datetime, nights_left: int) -> list[Offer]:
    """A provider's rows of a night: each card by one and by eight, on demand; by one as spot.

    Prices were a tenth dearer until the last two nights, so now is under the median and the lowest of 90 days.
    """
    found = []
    for index, (gpu, form, vram, base) in enumerate(CARDS):
        each = Decimal(base) * FACTOR[provider] * (Decimal("1.1") if nights_left > 1 else 1)
        for count in (1, 8):
            for purchase in ("on_demand", "spot") if count == 1 else ("on_demand",):
                price = each * (Decimal("0.5") if purchase == "spot" else 1)
                found.append(
                    offer(
                        provider, at, f"{gpu}-{form}-{count}-{purchase}", accelerator_raw=gpu, gpu=gpu,
                        form_factor=form, gpu_count=float(count), vram_gib=vram, purchase=purchase, price=price * count,
                        usd_per_hour=price * count, usd_per_gpu_hour=price, availability=STOCK[index % 4],
                        interconnect="NVLink" if form == "SXM" else None, ram_gib=64.0 * count,
                    )
                )  # fmt: skip
    return found


def hostile(at: datetime) -> list[Offer]:
    """What a provider might say to harm a reader."""
    price = {"price": Decimal("9"), "usd_per_hour": Decimal("9"), "usd_per_gpu_hour": Decimal("9"), "gpu_count": 1.0}
    return [
        offer("hyperstack", at, "markup", accelerator_raw=HOSTILE, region=HOSTILE, instance_type=HOSTILE, **price),
        offer("hyperstack", at, "turned", accelerator_raw=TURNED, region=TURNED, tier=TURNED, **price),
        offer("hyperstack", at, "long", accelerator_raw=LONG, region=LONG, instance_type='=cmd|"/c calc"', **price),
        offer("hyperstack", at, "script", accelerator_raw="</script>", source_url="javascript:alert(3)", **price),
    ]


def moved(at: datetime) -> list[Change]:
    """What the last night changed at lambda."""
    usual: dict[str, Any] = {
        "provider": "lambda", "observed_at": at, "previous_observed_at": at - timedelta(days=1), "recorded_at": at,
        "scrape_id": f"{at:%Y%m%dT%H%M%SZ}-lambda", "previous_scrape_id": "before", "cause": "market", "gpu": "H100",
        "form_factor": "SXM", "gpu_count": 1.0, "purchase": "on_demand", "region": "us-east-1", "country": "US",
        "origin": "recording",
    }  # fmt: skip
    price = {"old_price": Decimal("3.3"), "new_price": Decimal("3"), "currency": "USD", "price_unit": "gpu-hour"}
    return [
        Change(change_id="1", offer_key="lambda:1", kind="price_down", column="price", old="3.3", new="3.0",
               relative=-0.0909, **price, **usual),
        Change(change_id="2", offer_key="lambda:2", kind="sold_out", column="availability", old="available",
               new="sold_out", **usual),
        Change(change_id="3", offer_key="lambda:3", kind="added", **(usual | {"gpu": "T4", "form_factor": None})),
    ]  # fmt: skip


def store(path: Path) -> Lake:
    """Ten nights of four providers; nebius failed on one night, vast may not be passed on; rates of the last day."""
    lake = Lake.open(path, origin="recording", create=True)
    for left in range(NIGHTS - 1, -1, -1):
        at = LAST - timedelta(days=left)
        for provider in FACTOR:
            failed = provider == "nebius" and left == 4
            rows = [] if failed else night(provider, at, left)
            if provider == "hyperstack" and left == 0:
                rows += hostile(at)
            lake.commit(
                Scrape(
                    scrape_id=f"{at:%Y%m%dT%H%M%SZ}-{provider}", provider=provider, observed_at=at, recorded_at=at,
                    origin="recording", verdict="failed" if failed else "accepted", offers=len(rows), rejects=0,
                    error_class="TimedOut" if failed else None, withheld=0, schema_version=1,
                ),
                to_arrow(rows, Offer) if rows else None,
                to_arrow(moved(at), Change) if provider == "lambda" and left == 0 else None,
            )  # fmt: skip
    day = date(2026, 11, 29)
    known = {"observed_at": LAST, "origin": "recording"}
    lake.append_rates(
        to_arrow(
            [
                Rate(source="ecb", day=day, base="EUR", currency="USD", rate=Decimal("1.25"), kind="mid", **known),
                Rate(
                    source="vietcombank",
                    day=day,
                    base="USD",
                    currency="VND",
                    rate=Decimal("26000"),
                    kind="transfer",
                    **known,
                ),
            ],
            Rate,
        )
    )
    return lake


@pytest.fixture(scope="session")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store lies."""
    path = tmp_path_factory.mktemp("site") / "store"
    store(path)
    return path


@pytest.fixture(scope="session")
def site(sample_store: Path) -> Path:
    """The published site of the store."""
    from table.site.build import publish

    folder = sample_store.parent / "site"
    lake = Lake.open(sample_store)
    publish(lake, folder, now=lake.clock(LAST + timedelta(days=3)), made_at=LAST + timedelta(hours=5))
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(chromium()), args=[*ARGS, "--no-sandbox"])
        yield started
        started.close()

"""Records made by hand and the way one night takes through gate, changes and lake."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from schemas.offer import Offer
from schemas.providers import Provider
from schemas.record import to_arrow
from schemas.scrape import ACCEPTED, Scrape
from storage.changes import compare
from storage.gate import CrawlFacts, Judgement, judge
from storage.gate_history import history_of
from storage.lake import Lake
from storage.review import changes_of


def known_vram(gpu: str) -> tuple[float, ...]:
    return {"H100": (80.0, 94.0), "A100": (40.0, 80.0), "L4": (24.0,)}.get(gpu, (16.0,))


class World:
    """One provider's nights. `hyperbolic` is a provider of providers.toml, so that everything finds its facts."""

    provider = Provider(
        slug="hyperbolic", title="Hyperbolic", homepage="https://example.test", segment="reseller", fresh_for_h=36
    )

    @staticmethod
    def at(day: int, hour: int = 2) -> datetime:
        return datetime(2026, 11, day, hour, 3, 4, 567890, UTC)

    def offer(self, key: str | int, price: str | None = "2.5", **given: Any) -> Offer:
        slug = given.get("provider", self.provider.slug)
        count = given.get("gpu_count", 1.0)
        amount = None if price is None else Decimal(price)
        fields: dict[str, Any] = {
            "provider": slug,
            "offer_key": f"{slug}:{key}",
            "observed_at": self.at(1),
            "scrape_id": "none",
            "origin": "recording",
            "instance_type": f"type-{key}",
            "accelerator_raw": "NVIDIA H100",
            "vendor": "nvidia",
            "gpu": "H100",
            "form_factor": "SXM",
            "gpu_count": count,
            "vram_gib": 80.0,
            "region": "us-east-1",
            "country": "US",
            "purchase": "on_demand",
            "price": amount,
            "currency": "USD",
            "price_unit": "gpu-hour",
            "usd_per_gpu_hour": amount,
            "usd_per_hour": None if amount is None or count is None else amount * Decimal(count),
            "availability": "available",
            "segment": "reseller",
        }
        return Offer(**(fields | given))

    def table(self, *offers: Offer) -> pa.Table:
        return to_arrow(offers, Offer)

    def scrape(self, day: int, **given: Any) -> Scrape:
        slug = given.get("provider", self.provider.slug)
        fields: dict[str, Any] = {
            "scrape_id": f"{slug}-{day}",
            "provider": slug,
            "observed_at": self.at(day),
            "recorded_at": self.at(day, 3),
            "duration_s": 1.5,
            "origin": "recording",
            "verdict": "accepted",
            "offers": 0,
            "rejects": 0,
            "withheld": 0,
            "schema_version": 1,
        }
        return Scrape(**(fields | given))

    def stamped(self, scrape: Scrape, offers: list[Offer] | tuple[Offer, ...]) -> pa.Table:
        """The offers as rows of the scrape."""
        place = {"scrape_id": scrape.scrape_id, "observed_at": scrape.observed_at, "provider": scrape.provider}
        return self.table(*(replace(offer, **place, origin=scrape.origin) for offer in offers))

    def put(self, lake: Lake, day: int, *offers: Offer, **given: Any) -> Scrape:
        """Store a snapshot as it is, without gate."""
        scrape = self.scrape(day, **given)
        offers = () if scrape.verdict == "failed" else offers
        scrape.offers = len(offers)
        rows = self.stamped(scrape, offers)
        lake.commit(scrape, rows, changes_of(lake, scrape, rows, recorded_at=scrape.recorded_at))
        return scrape

    def night(self, lake: Lake, day: int, *offers: Offer, crawl: CrawlFacts | None = None, **given: Any) -> Night:
        """What the pipeline does with what one crawl brought."""
        scrape = self.scrape(day, **given)
        past = history_of(lake, scrape.provider, before=scrape.observed_at)
        crawl = crawl or CrawlFacts(finished=True, records=len(offers))
        facts = replace(self.provider, slug=scrape.provider)
        judged = judge(self.stamped(scrape, offers), provider=facts, crawl=crawl, history=past, known_vram=known_vram)
        scrape.verdict, scrape.checks = judged.verdict, judged.checks_json
        scrape.offers, scrape.withheld = judged.offers.num_rows, judged.withheld
        scrape.error_class, scrape.error = crawl.error_class, crawl.error
        moved = None
        if judged.verdict in ACCEPTED:
            moved = compare(
                past.known,
                judged.offers,
                previous_scrape=lake.last_accepted(scrape.provider, before=scrape.observed_at),
                scrape=scrape,
                provider=facts,
                recorded_at=scrape.recorded_at,
            )
        lake.commit(scrape, judged.offers, moved)
        return Night(scrape, judged, moved)


@dataclass
class Night:
    scrape: Scrape
    judged: Judgement
    changes: pa.Table | None

    def moves(self) -> list[tuple[str, str, str | None]]:
        assert self.changes is not None
        return [(row["offer_key"], row["kind"], row["column"]) for row in self.changes.to_pylist()]

    def outcome(self, check: str) -> str:
        return {c.name: c.outcome for c in self.judged.checks}[check]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "store")


@pytest.fixture
def lake(store: str) -> Lake:
    return Lake.open(store, origin="recording", create=True)


@pytest.fixture
def sizes() -> Callable[[str], tuple[float, ...]]:
    return known_vram

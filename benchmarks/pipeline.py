"""100,000 offers of one provider through normalise, gate, snapshot and changes: seconds of CPU and peak memory.

The offers are made up from a fixed seed; a second night moves 3 % of the prices. Bound by design: 8 s and 600 MB.
"""

from __future__ import annotations

import random
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from flows.take_in import moves
from schemas.normalise import Context, normalise
from schemas.offer import SCHEMA_VERSION, Offer
from schemas.providers import Provider
from schemas.raw_offer import RawOffer
from schemas.record import to_arrow
from schemas.scrape import Scrape
from storage import gate
from storage.gate_history import history_of
from storage.lake import Lake

ROWS = 100_000
FACTS = Provider(
    slug="azure", title="Synthetic", homepage="https://bench.test", segment="hyperscaler", offers_max=10**6
)
NAMES = (
    "NVIDIA H100 80GB HBM3",
    "A100-SXM4-80GB",
    "L40S",
    "RTX 4090",
    "NVIDIA B200",
    "Tesla T4",
    "MI300X",
    "RTX A6000",
)
FIRST = datetime(2026, 11, 29, 2, tzinfo=UTC)


def records(night: int) -> list[RawOffer]:
    """The offers of a night."""
    seeded, moved = random.Random(1), random.Random(night)
    made = []
    for n in range(ROWS):
        price = Decimal(seeded.randrange(200, 900)) / 100
        if night and moved.random() < 0.03:
            price *= Decimal("1.05")
        made.append(
            RawOffer(
                purchase="spot" if n % 3 == 0 else "on_demand",
                price=str(price),
                currency="USD",
                price_unit="instance-hour",
                accelerator=NAMES[n % len(NAMES)],
                instance_type=f"type-{n % 400}",
                sku=f"sku-{n}",
                gpu_count=1 << (n % 4),
                vcpus=8,
                ram="64 GiB",
                region=f"region-{n % 60}",
                availability="available",
            )
        )
    return made


def scrape(name: str, observed_at: datetime, judgement: gate.Judgement) -> Scrape:
    """The row of a night."""
    return Scrape(
        scrape_id=name,
        provider=FACTS.slug,
        observed_at=observed_at,
        recorded_at=observed_at,
        origin="recording",
        verdict=judgement.verdict,
        offers=judgement.offers.num_rows,
        rejects=0,
        withheld=judgement.withheld,
        schema_version=SCHEMA_VERSION,
    )


def main() -> None:
    """Two nights; the second is measured."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake.open(folder, origin="recording", create=True)
        for night in (0, 1):
            raws = records(night)
            at = FIRST + timedelta(days=night)
            base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            steps: dict[str, float] = {}

            def timed(step: str, call: Callable[[], Any], steps: dict[str, float] = steps) -> Any:
                began = time.process_time()
                result = call()
                steps[step] = time.process_time() - began
                return result

            read = timed(
                "normalise",
                lambda raws=raws, at=at, night=night: normalise(raws, Context(FACTS, f"n{night}", at, "recording")),
            )
            table = timed("to Arrow", lambda read=read: to_arrow(read.offers, Offer))
            del read
            past = timed("history", lambda at=at: history_of(lake, FACTS.slug, before=at))
            crawl = gate.CrawlFacts(finished=True, records=ROWS)
            judged = timed(
                "gate",
                lambda table=table, crawl=crawl, past=past: gate.judge(
                    table, provider=FACTS, crawl=crawl, history=past
                ),
            )
            row = scrape(f"n{night}", at, judged)
            moved = timed(
                "changes", lambda row=row, judged=judged, past=past: moves(lake, row, judged.offers, past.known)
            )
            timed("snapshot", lambda row=row, judged=judged, moved=moved: lake.commit(row, judged.offers, moved))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        for step, seconds in steps.items():
            print(f"{step:<12} {seconds:6.2f} s")
        print(f"{'all':<12} {sum(steps.values()):6.2f} s of CPU, {sum(steps.values()) / 8:.2f} of the bound of 8 s")
        print(
            f"{'peak':<12} {peak:6.0f} MB ({base:.0f} MB of it before the second night), {peak / 600:.2f} of the bound of 600 MB"
        )
        print(f"{moved.num_rows if moved is not None else 0} changes, verdict {judged.verdict}")


if __name__ == "__main__":
    main()

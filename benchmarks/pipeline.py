"""100,000 offers of one provider through normalise, gate, snapshot and changes: seconds of CPU and peak memory.

The offers are made up from a fixed seed; a second night moves 3 % of the prices. Bound by design: 8 s and 600 MB.
"""

from __future__ import annotations

import multiprocessing
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from flows.take_in import normalised
from schemas.normalise import Context
from schemas.offer import SCHEMA_VERSION
from schemas.providers import Provider
from schemas.raw_offer import RawOffer
from schemas.scrape import Scrape
from storage import gate, review
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


def records(night: int) -> Iterator[RawOffer]:
    """The offers of a night, one by one as a crawl's file gives them."""
    seeded, moved = random.Random(1), random.Random(night)
    for n in range(ROWS):
        price = Decimal(seeded.randrange(200, 900)) / 100
        if night and moved.random() < 0.03:
            price *= Decimal("1.05")
        yield RawOffer(
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


def peak_mb() -> float:
    """Most memory that this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def one_night(store: str, night: int) -> None:
    """Take a night in, step by step, and print what each cost."""
    lake = Lake.open(store, origin="recording", create=True)
    at = FIRST + timedelta(days=night)
    spent: dict[str, tuple[float, float]] = {}

    def timed(step: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        began = time.process_time()
        result = call(*args, **kwargs)
        spent[step] = (time.process_time() - began, peak_mb())
        return result

    timed("making up", lambda made: sum(1 for _ in made), records(night))
    context = Context(FACTS, f"n{night}", at, "recording")
    table, _ = timed("normalise", normalised, records(night), context)
    spent["normalise"] = (spent["normalise"][0] - spent.pop("making up")[0], spent["normalise"][1])
    past = timed("history", history_of, lake, FACTS.slug, before=at)
    crawl = gate.CrawlFacts(finished=True, records=ROWS)
    judged = timed("gate", gate.judge, table, provider=FACTS, crawl=crawl, history=past)
    row = scrape(f"n{night}", at, judged)
    del past, table
    moved = timed("changes", review.changes_of, lake, row, judged.offers, recorded_at=at)
    timed("snapshot", lake.commit, row, judged.offers, moved)
    if night:
        for step, (seconds, megabytes) in spent.items():
            print(f"{step:<12} {seconds:6.2f} s   peak so far {megabytes:4.0f} MB")
        seconds = sum(s for s, _ in spent.values())
        print(f"{'all':<12} {seconds:6.2f} s of CPU, {seconds / 8:.2f} of the bound of 8 s")
        print(f"{'':<12} {peak_mb():6.0f} MB at the peak, {peak_mb() / 600:.2f} of the bound of 600 MB")
        print(f"{moved.num_rows if moved else 0} changes, verdict {judged.verdict}")


def main() -> None:
    """Two nights, each in a process of its own as a refresh is; the second is measured."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        for night in (0, 1):
            process = spawn.Process(target=one_night, args=(folder, night))
            process.start()
            process.join()


if __name__ == "__main__":
    main()

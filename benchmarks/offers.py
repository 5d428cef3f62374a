"""`gpufare offers H100 -o json` against `import duckdb`: process time of both, side by side, over a sample store.

Prints the median of several runs of each and their ratio, over the demo's store and over one of a month that nobody
compacted. The stores are made here; their prices are no market prices.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

from schemas.offer import Offer
from schemas.record import to_arrow
from schemas.scrape import Scrape
from storage.lake import Lake

PROVIDERS, OFFERS, RUNS = 12, 100, 9
CARDS = (
    ("H100", "SXM", 80.0),
    ("H100", "PCIe", 80.0),
    ("A100", "SXM", 80.0),
    ("RTX 4090", "PCIe", 24.0),
    ("L4", None, 24.0),
)


def fill(path: Path, nights: int) -> None:
    """Write the sample store."""
    lake = Lake.open(path, origin="recording", create=True)
    last = datetime(2026, 11, 30, 2, tzinfo=UTC)
    for night in range(nights):
        at = last - timedelta(days=nights - 1 - night)
        for number in range(PROVIDERS):
            name = f"provider{number}"
            scrape_id = f"{at:%Y%m%dT%H%M%SZ}-{name}"
            rows = [row(name, index, at, scrape_id) for index in range(OFFERS)]
            scrape = Scrape(
                scrape_id=scrape_id, provider=name, observed_at=at, recorded_at=at, origin="recording",
                verdict="accepted", offers=len(rows), rejects=0, withheld=0, schema_version=1,
            )  # fmt: skip
            lake.commit(scrape, to_arrow(rows, Offer))


def row(provider: str, index: int, at: datetime, scrape_id: str) -> Offer:
    """One offer of the sample."""
    gpu, form_factor, vram_gib = CARDS[index % len(CARDS)]
    count = float(2 ** (index % 4))
    price = Decimal(100 + index) / 100
    return Offer(
        provider=provider, offer_key=f"{provider}:{index}", observed_at=at, scrape_id=scrape_id, origin="recording",
        accelerator_raw=gpu, vendor="nvidia", gpu=gpu, form_factor=form_factor, gpu_count=count, vram_gib=vram_gib,
        region=f"region-{index % 7}", country="US", purchase="on_demand", price=price * int(count), currency="USD",
        price_unit="instance-hour", usd_per_hour=price * int(count), usd_per_gpu_hour=price, availability="available",
    )  # fmt: skip


def process_time(arguments: list[str]) -> float:
    """Seconds of CPU that a fresh Python takes: user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(data: Path, what: str, bound: str = "") -> None:
    """Measure in turns, so that a busy machine is busy for both."""
    offers = ["-m", "gpufare", "--data", str(data), "offers", "H100", "-o", "json"]
    pairs = [(process_time(["-c", "import duckdb"]), process_time(offers)) for _ in range(RUNS)]
    duckdb_s, offers_s = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(what)
    print(f"  import duckdb               {duckdb_s:.2f} s of CPU")
    print(f"  gpufare offers H100 -o json {offers_s:.2f} s of CPU")
    print(f"  ratio                       {offers_s / duckdb_s:.2f}{bound}")


def main() -> None:
    """The demo's store, then a month of nights that nobody compacted."""
    with tempfile.TemporaryDirectory(prefix="gpufare-bench-") as folder:
        demo = Path(folder) / "demo"
        command = [sys.executable, "-m", "gpufare", "demo", "--into", str(demo)]
        subprocess.run(command, check=True, capture_output=True)
        measure(demo, "the demo's store", " (at most 3)")
        month = Path(folder) / "month"
        fill(month, 30)
        measure(month, f"{PROVIDERS} providers, 30 nights, {OFFERS} offers each")


if __name__ == "__main__":
    main()

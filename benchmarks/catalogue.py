"""The current-offers question, asked of gpufare's store and of gpuhunt's catalogue loaded from gpufare's own export.

Every offer of one card, cheapest first: the same rows on both sides, checked. Inside the process after a first
question, and as a fresh process with its imports. The store is made here; its prices are random, no market prices.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np

from schemas.offer import Offer
from schemas.peers import peers
from schemas.providers import providers
from schemas.record import to_arrow
from schemas.scrape import Scrape
from storage.filters import Filters, Gpu
from storage.lake import Lake
from storage.query import offers
from table.exports import export_catalogue, passed_on

NOW = datetime(2026, 12, 1, 3, tzinfo=UTC)
EACH, RUNS = 4000, 9
CARDS = (("H100", 80.0), ("A100", 80.0), ("H200", 141.0), ("L4", 24.0), ("T4", 16.0), ("B200", 180.0))


def fill(store: Path) -> Lake:
    """One night of the providers that gpuhunt knows and that may be passed on."""
    chance = np.random.default_rng(20261201)
    lake = Lake.open(store, origin="live", create=True)
    peer = peers()["gpuhunt"]
    for name in sorted({peer.clouds[cloud] for cloud in peer.exported}):
        if not passed_on(providers()[name]):
            continue
        scrape = Scrape(
            scrape_id=f"night-{name}", provider=name, observed_at=NOW, recorded_at=NOW, origin="live",
            verdict="accepted", offers=EACH, rejects=0, withheld=0, schema_version=1,
        )  # fmt: skip
        rows = []
        for number, cents in enumerate(chance.integers(20, 1200, EACH)):
            (card, vram_gib), count = CARDS[number % len(CARDS)], 2 ** (number % 4)
            price = Decimal(int(cents)) / 100
            rows.append(
                Offer(
                    provider=name,
                    offer_key=f"{name}:{number}",
                    observed_at=NOW,
                    scrape_id=scrape.scrape_id,
                    origin="live",
                    accelerator_raw=card,
                    vendor="nvidia",
                    gpu=card,
                    gpu_count=float(count),
                    vram_gib=vram_gib,
                    instance_type=f"type-{number % 50}",
                    region=f"region-{number // 50}",
                    vcpus=8.0,
                    ram_gib=64.0,
                    purchase="on_demand",
                    price=price * count,
                    currency="USD",
                    price_unit="instance-hour",
                    usd_per_hour=price * count,
                    usd_per_gpu_hour=price,
                    availability="available",
                    kind="vm",
                )
            )
        lake.commit(scrape, to_arrow(rows, Offer))
    return lake


def seconds(ask: Callable[[], object]) -> float:
    """Median of several runs after a first."""
    ask()
    took = []
    for _ in range(RUNS):
        began = time.perf_counter()
        ask()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def fresh(code: str, **environment: str) -> float:
    """Seconds that a fresh Python takes, median of three."""
    took = []
    for _ in range(3):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, **environment})
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def main() -> None:
    """Print both sides and their ratio."""
    try:
        from gpuhunt import Catalog
        from gpuhunt._internal.catalog import OFFLINE_PROVIDERS
    except ImportError:
        sys.exit("gpuhunt is not installed; `make test` installs it")
    with tempfile.TemporaryDirectory(prefix="gpufare-bench-") as folder:
        lake, catalogue = fill(Path(folder) / "store"), Path(folder) / "catalogue"
        exported = sum(export_catalogue(lake, "gpuhunt", catalogue, now=NOW).rows.values())
        os.environ["GPUHUNT_CATALOG_DIR"] = str(catalogue)
        theirs = Catalog(auto_reload=False)

        def ours_asked() -> list[dict[str, object]]:
            return offers(lake, Filters(gpus=(Gpu("H100"),)), now=NOW).table.to_pylist()

        def theirs_asked() -> list[object]:
            return sorted(
                theirs.query(gpu_name="H100", spot=False, provider=OFFLINE_PROVIDERS),
                key=lambda item: item.price / item.gpu_count,
            )

        if len(ours_asked()) != len(theirs_asked()):
            sys.exit(f"not the same answer: {len(ours_asked())} rows here, {len(theirs_asked())} there")
        print(f"{exported:,} offers exported; {len(ours_asked()):,} of an H100")
        ours, other = seconds(ours_asked), seconds(theirs_asked)
        print(f"  inside the process  gpufare {ours:.3f} s, gpuhunt {other:.3f} s: {other / ours:.1f} x")
        root = str(Path(__file__).resolve().parents[1])
        ask = f"-m gpufare --data {lake.path} offers H100 -o json --limit 1000000"
        code = f"import runpy, sys; sys.path.insert(0, {root!r}); sys.stdout = open('/dev/null', 'w');"
        code += f"sys.argv = {['gpufare', *ask.split()[2:]]!r}; runpy.run_module('gpufare', run_name='__main__')"
        ours = fresh(code)
        other = fresh("from gpuhunt import Catalog; Catalog(auto_reload=False).query(gpu_name='H100')")
        print(f"  a fresh process     gpufare {ours:.2f} s, gpuhunt {other:.2f} s: {other / ours:.1f} x")


if __name__ == "__main__":
    main()

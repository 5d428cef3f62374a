"""A year of history: size, time of questions, and the same rows as one Parquet file per scrape, side by side.

`python benchmarks/history.py [NIGHTS ...]` makes a synthetic store for each number of nights (default 182, 365 and 730,
the year also as plain files; a quarter of an hour): 40 providers, 700 offers each, 3 % of prices and 5 % of stocks move
a day. Nothing is asserted. The prices are random; they are no market prices.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from schemas.offer import Offer
from schemas.providers import providers
from schemas.record import arrow_schema, to_arrow
from schemas.scrape import Scrape
from storage.compaction import compact
from storage.filters import Filters, Gpu
from storage.lake import Lake
from storage.query import offers
from storage.series import diff, history

PROVIDERS, OFFERS = 40, 700
YEAR = 365
NAMES = [slug for slug, known in providers().items() if not known.listings and known.status == "active"][:PROVIDERS]
FIRST = date(2025, 12, 1)
CARDS = [(f"GPU{number:02}", size) for number, size in enumerate(np.resize([24.0, 48.0, 80.0, 141.0], 60))]
CARDS_SOLD = 16
"""of one provider: a hyperscaler sells some twenty, most others fewer"""
AVAILABILITY = np.array(["available", "limited", "sold_out", "unknown"])
SEED = 20261201
GROWING = ("mb", "compact_s", "year_s", "as_of_s", "history_s", "diff_s", "append_s")


class World:
    """Offers that walk: the same for every run of the benchmark."""

    def __init__(self) -> None:
        chance = np.random.default_rng(SEED)
        total = PROVIDERS * OFFERS
        self.chance = chance
        sold = [chance.choice(len(CARDS), CARDS_SOLD, replace=False) for _ in range(PROVIDERS)]
        self.card = np.concatenate([chance.choice(cards, OFFERS) for cards in sold])
        self.count = 2 ** chance.integers(4, size=total)
        self.region = chance.integers(12, size=total)
        self.cents = chance.integers(20, 1200, size=total)
        self.stock = chance.integers(4, size=total)

    def night(self) -> None:
        """One day later."""
        moved = self.chance.random(len(self.cents)) < 0.03
        step = np.round(self.cents * self.chance.uniform(-0.08, 0.08, len(self.cents))).astype(int)
        self.cents = np.maximum(np.where(moved, self.cents + step, self.cents), 5)
        self.stock = np.where(
            self.chance.random(len(self.stock)) < 0.05, self.chance.integers(4, size=len(self.stock)), self.stock
        )

    def snapshot(self, provider: int, at: datetime) -> pa.Table:
        """The rows of one provider's scrape."""
        part = slice(provider * OFFERS, (provider + 1) * OFFERS)
        name, scrape_id = NAMES[provider], scrape_of(provider, at)
        gpu, count, region = self.card[part], self.count[part], self.region[part]
        each, whole = (dollars(cents) for cents in (self.cents[part], self.cents[part] * count))
        known: dict[str, Any] = {
            "provider": name,
            "offer_key": [f"{name}:{sha256(f'{name} {i}'.encode()).hexdigest()[:12]}" for i in range(OFFERS)],
            "observed_at": at,
            "scrape_id": scrape_id,
            "source_url": f"https://{name}.example/v1/prices",
            "recording_sha256": sha256(scrape_id.encode()).hexdigest(),
            "origin": "live",
            "instance_type": [
                f"g{c}-{CARDS[g][0].lower()}-{i}" for i, (g, c) in enumerate(zip(gpu, count, strict=True))
            ],
            "kind": "vm",
            "os": "linux",
            "accelerator_raw": [f"NVIDIA {CARDS[g][0]}" for g in gpu],
            "vendor": "nvidia",
            "gpu": [CARDS[g][0] for g in gpu],
            "form_factor": "SXM",
            "gpu_count": count.astype(float),
            "vram_gib": [CARDS[g][1] for g in gpu],
            "vcpus": count * 12.0,
            "ram_gib": count * 120.0,
            "disk_gib": count * 500.0,
            "region": [f"region-{r}" for r in region],
            "country": "US",
            "purchase": "on_demand",
            "billing_increment_s": 60,
            "price": whole,
            "currency": "USD",
            "price_unit": "instance-hour",
            "usd_per_hour": whole,
            "usd_per_gpu_hour": each,
            "availability": AVAILABILITY[self.stock[part]],
            "segment": "neocloud",
        }
        columns = []
        for field in arrow_schema(Offer):
            value = known.get(field.name)
            if value is None:
                columns.append(pa.nulls(OFFERS, field.type))
            elif isinstance(value, str | int | datetime):
                columns.append(pa.repeat(pa.scalar(value, field.type), OFFERS))
            else:
                columns.append(pa.array(value, field.type) if not isinstance(value, pa.Array) else value)
        return pa.Table.from_arrays(columns, schema=arrow_schema(Offer))


def dollars(cents: Any) -> pa.Array:
    """Whole cents as money."""
    return pa.array([Decimal(int(amount)).scaleb(-2) for amount in cents], pa.decimal128(24, 10))


def scrape_of(provider: int, at: datetime) -> str:
    """The id of a scrape."""
    return f"{at:%Y%m%dT%H%M%SZ}-{NAMES[provider]}"


def scrape(provider: int, at: datetime) -> Scrape:
    """The row of an attempt that was accepted."""
    return Scrape(
        scrape_id=scrape_of(provider, at), provider=NAMES[provider], observed_at=at, recorded_at=at, origin="live",
        verdict="accepted", offers=OFFERS, rejects=0, withheld=0, schema_version=1,
    )  # fmt: skip


def nights(count: int) -> Iterator[datetime]:
    """Two in the morning, night after night."""
    for night in range(count):
        yield datetime(FIRST.year, FIRST.month, FIRST.day, 2, tzinfo=UTC) + timedelta(days=night)


def fill(store: Path, plain: Path | None, count: int) -> tuple[float, int]:
    """The store with a commit for each month's nights, and the same rows as a file for each scrape below `plain`."""
    world, lake = World(), Lake.open(store, origin="live", create=True)
    if plain:
        plain.mkdir()
    scrapes, month, rows = [], "", []
    began, last = time.perf_counter(), 0.0
    for at in nights(count):
        world.night()
        if f"{at:%Y-%m}" != month and rows:
            put(lake, month, rows)
            rows = []
        month = f"{at:%Y-%m}"
        for provider in range(PROVIDERS):
            snapshot = world.snapshot(provider, at)
            if plain:
                pq.write_table(snapshot, plain / f"{scrape_of(provider, at)}.parquet", compression="zstd")
            rows.append(snapshot)
            scrapes.append(scrape(provider, at))
        if sys.stderr.isatty() and time.perf_counter() - last > 1:
            last = time.perf_counter()
            print(f"\rmaking {at:%Y-%m-%d}", end="", file=sys.stderr, flush=True)
    put(lake, month, rows)
    lake.table("scrapes").append("all", to_arrow(scrapes, Scrape))
    return time.perf_counter() - began, len(scrapes) * OFFERS


def sold_by(card: int) -> int:
    """The first provider that sells a card."""
    return int(np.flatnonzero(World().card == card)[0]) // OFFERS


def put(lake: Lake, month: str, rows: list[pa.Table]) -> None:
    """The nights of one month in some few files, as they would lie after a while."""
    for part, first in enumerate(range(0, len(rows), len(rows) // 2 + 1)):
        table = pa.concat_tables(rows[first : first + len(rows) // 2 + 1])
        column = pa.repeat(pa.scalar(month), len(table))
        field = pa.field("month", pa.string(), nullable=False)
        lake.table("snapshots").append(f"{month} {part}", table.append_column(field, column))


def timed(ask: Callable[[], object], runs: int = 5) -> float:
    """Median seconds of a question inside the process, after one that warms it up."""
    ask()
    took = []
    for _ in range(runs):
        began = time.perf_counter()
        ask()
        took.append(time.perf_counter() - began)
    return sorted(took)[runs // 2]


def size_of(folder: Path) -> int:
    """Bytes of all Parquet files."""
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def live_size(lake: Lake) -> int:
    """Bytes of the files that the log names."""
    return sum(file.size_bytes for file in lake.table("snapshots").files())


def appended(lake: Lake, world: World, at: datetime) -> float:
    """Seconds that one more night takes."""
    began = time.perf_counter()
    for provider in range(PROVIDERS):
        lake.append_snapshot(scrape(provider, at), world.snapshot(provider, at))
    return time.perf_counter() - began


def bench(count: int) -> dict[str, float]:
    """One store of so many nights."""
    with tempfile.TemporaryDirectory(prefix="gpufare-bench-") as folder:
        store, plain = Path(folder) / "store", Path(folder) / "plain"
        made, rows = fill(store, plain if count == YEAR else None, count)
        lake = Lake.open(store)
        began = time.perf_counter()
        compact(lake, datetime(2030, 1, 1, tzinfo=UTC))
        compacted = time.perf_counter() - began
        lake = Lake.open(store)
        last = list(nights(count))[-1] + timedelta(hours=1)
        middle = list(nights(count))[count // 2] + timedelta(hours=1)
        h = Filters(gpus=(Gpu("GPU02"),))
        one = Filters(gpus=h.gpus, providers=(NAMES[sold_by(2)],))
        year = """SELECT observed_at::DATE AS day, min(usd_per_gpu_hour) FROM {} WHERE gpu = 'GPU02'
            AND availability <> 'sold_out' GROUP BY day ORDER BY day"""
        raw = duckdb.connect()
        glob = f"read_parquet('{plain}/*.parquet')"
        found = {
            "rows": float(rows),
            "made_s": made,
            "compact_s": compacted,
            "mb": live_size(lake) / 1e6,
            "year_s": timed(lambda: lake.query(year.format(lake.relation("snapshots", gpus=["GPU02"])))),
            "as_of_s": timed(lambda: offers(lake, Filters(), now=last, as_of=middle, limit=50).table),
            "as_of_gpu_s": timed(lambda: offers(lake, h, now=last, as_of=middle).table),
            "history_s": timed(lambda: history(lake, h)),
            "history_one_s": timed(lambda: history(lake, one)),
            "diff_s": timed(lambda: diff(lake, middle.date(), (middle + timedelta(days=1)).date())),
        }
        if count == YEAR:
            found["plain_mb"] = size_of(plain) / 1e6
            found["plain_year_s"] = timed(lambda: raw.sql(year.format(glob)).fetchall(), 1)
        night = World()
        at = last + timedelta(days=1)
        found["append_s"] = appended(lake, night, at)
        shutil.rmtree(store)
        found["append_empty_s"] = appended(Lake.open(store, origin="live", create=True), night, at)
        return found


def main(counts: list[int]) -> None:
    """Print each store's numbers and how they grow."""
    known: dict[int, dict[str, float]] = {}
    for count in counts:
        f = known[count] = bench(count)
        print(
            f"{count} nights, {f['rows']:,.0f} rows, made in {f['made_s']:.0f} s, compacted in {f['compact_s']:.1f} s"
        )
        print(f"  size after compaction      {f['mb']:8.1f} MB")
        if count == YEAR:
            print(f"    one file for each scrape {f['plain_mb']:8.1f} MB   {f['plain_mb'] / f['mb']:6.1f} x")
        print(f"  one GPU's lowest, by day   {f['year_s']:8.3f} s")
        if count == YEAR:
            plain_s = f["plain_year_s"]
            print(f"    one file for each scrape {plain_s:8.3f} s    {plain_s / f['year_s']:6.1f} x")
        print(f"  as of a day, cheapest 50   {f['as_of_s']:8.3f} s    of one GPU {f['as_of_gpu_s']:.3f} s")
        print(f"  steps of one GPU           {f['history_s']:8.3f} s    at one provider {f['history_one_s']:.3f} s")
        print(f"  diff of two days           {f['diff_s']:8.3f} s")
        print(f"  appending a night          {f['append_s']:8.2f} s    {f['append_s'] / f['append_empty_s']:6.2f} x")
    first, *others = known
    for count in others:
        growth = {name: known[count][name] / known[first][name] for name in GROWING}
        told = ", ".join(f"{name.removesuffix('_s')} {ratio:.2f} x" for name, ratio in growth.items())
        print(f"{count / first:.2f} x the nights: {told}")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [YEAR // 2, YEAR, 2 * YEAR])

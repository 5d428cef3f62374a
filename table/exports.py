"""Exports that others read as they are: gpuhunt's and SkyPilot's catalogues, CSV and Parquet by day.

A catalogue of a peer says less than an Offer. What it has no way to say (no price, no CPU, a share of a card) is left
out and counted, never filled in; rows of providers that may not be passed on are left out and named. A folder is
written beside the old one and takes its place at once.
"""

from __future__ import annotations

import csv
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.offer import Offer
from schemas.peers import Peer, peers
from schemas.providers import Provider, providers
from schemas.record import columns
from storage.errors import StoreError
from storage.filters import Filters
from storage.flags import WITHHELD
from storage.lake import Lake
from storage.query import offers
from table.formats import lines, write_parquet
from table.view import SAMPLE, View

if TYPE_CHECKING:
    import pyarrow as pa

CATALOGUES = ("gpuhunt", "skypilot")
BY_DAY = ("csv", "parquet")
SOURCES = "_SOURCES.txt"
"""tells whose prices they are; a folder that has it is an export of ours and may be replaced"""
GPUHUNT_COLUMNS = (
    *("instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory", "spot"),
    *("disk_size", "gpu_vendor", "flags", "cpu_arch", "provider_data"),
)
SKYPILOT_COLUMNS = (
    *("InstanceType", "AcceleratorName", "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo"),
    *("Price", "SpotPrice", "Region", "AvailabilityZone", "Arch"),
)
SKYPILOT_FOLDER = ".sky/catalogs/v8"
Row = dict[str, Any]
Written = dict[Path, int]


class NotOurs(StoreError):
    """The folder to write holds something else. Nothing was touched."""


@dataclass(slots=True)
class Exported:
    """What was written, and what was not.

    rows: by file below the folder. left_out: rows that the format cannot carry, by reason. unknown: providers that the
    peer does not know, with their rows. kept_back: providers whose rows may not be passed on, with their rows.
    sold_out: rows in it whose machine is not to be had now, which a catalogue cannot say. stale: providers past their
    freshness window.
    """

    as_of: datetime
    sample: bool
    rows: dict[str, int] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    kept_back: Counter[str] = field(default_factory=Counter)
    sold_out: int = 0
    stale: list[str] = field(default_factory=list)


def passed_on(facts: Provider | None) -> bool:
    """May rows of the provider be passed on? What is unknown counts as no where its terms restrict collecting."""
    if facts is None or facts.redistribute is None:
        return facts is None or facts.access != "opt_in"
    return facts.redistribute


def export_catalogue(
    lake: Lake,
    peer_name: str,
    folder: Path,
    *,
    now: datetime,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    only: Iterable[str] = (),
) -> Exported:
    """The comparison table at `as_of` as the catalogue of a peer, `gpuhunt` or `skypilot`, in the folder.

    `only` narrows to providers. Raises NotOurs, StoreError.
    """
    peer = peers()[peer_name]
    everything = Filters(purchase=(), providers=tuple(only), serverless=True)
    answer = offers(lake, everything, now=now, as_of=as_of, known_at=known_at)
    rows: list[Row] = answer.table.to_pylist()
    result = Exported(answer.as_of, lake.origin != "live", stale=answer.stale)
    clouds = {peer.clouds[cloud]: cloud for cloud in peer.exported}
    kept: dict[str, list[Row]] = {cloud: [] for cloud in peer.exported}
    shapes = _shapes(rows)
    for row in rows:
        slug = row["provider"]
        if not passed_on(providers().get(slug)):
            result.kept_back[slug] += 1
        elif slug not in clouds:
            result.unknown[slug] += 1
        else:
            row["vcpus"], row["ram_gib"] = shapes.get((slug, row["instance_type"]), (row["vcpus"], row["ram_gib"]))
            reason = _unsayable(row, peer)
            if reason:
                result.left_out[reason] += 1
            else:
                kept[clouds[slug]].append(row)
    with replacing(folder) as draft:
        write = _write_gpuhunt if peer.name == "gpuhunt" else _write_skypilot
        for cloud, offered in kept.items():
            cheapest = _cheapest(offered)
            result.left_out["dearer tier of the same machine"] += len(offered) - len(cheapest)
            result.sold_out += sum(row["availability"] == "sold_out" for row in cheapest)
            for path, written in write(draft, cloud, cheapest, peer).items():
                result.rows[path.relative_to(draft).as_posix()] = written
        result.left_out = +result.left_out
        _sources(draft, lake, result, {row["scrape_id"] for offered in kept.values() for row in offered})
    return result


def export_days(
    lake: Lake,
    format: str,
    folder: Path,
    *,
    now: datetime,
    since: datetime | None = None,
    until: datetime | None = None,
    known_at: datetime | None = None,
    only: Iterable[str] = (),
    on_day: Callable[[date], None] = lambda day: None,
) -> Exported:
    """Every row that was observed, all columns of Offer, a file a UTC day: `csv` or `parquet`. Raises NotOurs.

    Days: `since` up to `until`, both included; no row is carried forward to a day on which its provider was not seen.
    """
    result = Exported(until or now, lake.origin != "live")
    wanted = set(only)
    days: dict[date, list[str]] = {}
    for scrape in reversed(lake.visible(known_at=known_at)):
        outside = (since and scrape.observed_at < since) or (until and scrape.observed_at > until)
        if outside or (wanted and scrape.provider not in wanted):
            continue
        if passed_on(providers().get(scrape.provider)):
            days.setdefault(scrape.observed_at.astimezone(UTC).date(), []).append(scrape.scrape_id)
        else:
            result.kept_back[scrape.provider] += scrape.offers - scrape.withheld
    with replacing(folder) as draft:
        for day, ids in days.items():
            table = of_scrapes(lake, ids)
            path = draft / (f"offers-{day}.csv" if format == "csv" else f"day={day}/offers.parquet")
            path.parent.mkdir(parents=True, exist_ok=True)
            view = View("offers", table, [], result.as_of, sample=result.sample)
            if format == "csv":
                with path.open("w", encoding="utf-8", newline="") as file:
                    file.writelines(lines(view, "csv"))
            else:
                write_parquet(view, str(path))
            result.rows[path.relative_to(draft).as_posix()] = table.num_rows
            on_day(day)
        _sources(draft, lake, result, {scrape_id for ids in days.values() for scrape_id in ids})
    return result


def of_scrapes(lake: Lake, ids: list[str]) -> pa.Table:
    """All columns of the rows that these scrapes brought, without those that the gate holds back."""
    names = ", ".join(f'"{name}"' for name in columns(Offer))
    return lake.query(
        f"""SELECT {names} FROM {lake.relation("snapshots", scrape_ids=ids)}
        WHERE scrape_id IN $ids AND NOT coalesce(list_contains(flags, $withheld), false)
        ORDER BY observed_at, provider, offer_key""",  # noqa: S608 - names of our own columns and files
        ids=ids,
        withheld=WITHHELD,
    )


def _shapes(rows: list[Row]) -> dict[tuple[str, str], tuple[float, float]]:
    """CPUs and memory of an instance type, where its provider tells them the same in every row that tells them.

    Spot lists name the type and the price, not the machine: it is the machine that the on-demand row of the type tells.
    """
    told: dict[tuple[str, str], set[tuple[float, float]]] = {}
    for row in rows:
        if row["instance_type"] and row["vcpus"] is not None and row["ram_gib"] is not None:
            told.setdefault((row["provider"], row["instance_type"]), set()).add((row["vcpus"], row["ram_gib"]))
    return {of: next(iter(shapes)) for of, shapes in told.items() if len(shapes) == 1}


def _unsayable(row: Row, peer: Peer) -> str | None:
    """What of the row a catalogue of the peer has no way to say; None where it says all that the peer needs."""
    strict = peer.name == "gpuhunt"
    count, place = row["gpu_count"], row["region"] or (row["zone"] if strict else None)
    whole = count is not None and float(count).is_integer()
    reasons = (
        (row["kind"] == "serverless", "serverless, no machine"),
        (row["usd_per_hour"] is None, "unknown price"),
        (row["purchase"] not in {"on_demand", "spot"}, f"bought as {row['purchase']}"),
        (row["gpu"] is None, "unknown card"),
        (row["vendor"] not in peer.vendors, f"card of a maker that {peer.name} does not know"),
        (count is None, "unknown number of cards"),
        (strict and not whole, "share of a card"),
        (row["instance_type"] is None, "no instance type"),
        (place is None, "no region"),
        (strict and row["vcpus"] is None, "unknown CPU"),
        (strict and not float(row["vcpus"] or 0).is_integer(), "share of a CPU"),
        (strict and row["ram_gib"] is None, "unknown RAM"),
        (not strict and row["vram_gib"] is None, "unknown memory of the card"),
    )
    return next((reason for holds, reason in reasons if holds), None)


def _cheapest(rows: list[Row]) -> list[Row]:
    """One row for each machine, place and way to buy: rows come cheapest first by GPU, which for one machine is by
    price, too.
    """
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in ("instance_type", "gpu_count", "region", "zone", "purchase")), row)
    return list(found.values())


def _write_gpuhunt(draft: Path, cloud: str, rows: list[Row], peer: Peer) -> Written:
    path = draft / f"{cloud}.csv"
    _csv(path, GPUHUNT_COLUMNS, (_gpuhunt_row(row, peer) for row in rows))
    return {path: len(rows)}


def _gpuhunt_row(row: Row, peer: Peer) -> Row:
    return {
        "instance_name": row["instance_type"],
        "location": row["region"] or row["zone"],
        "price": number(row["usd_per_hour"]),
        "cpu": number(row["vcpus"]),
        "memory": number(row["ram_gib"]),
        "gpu_count": number(row["gpu_count"]),
        "gpu_name": peer.card(row["gpu"], row["form_factor"], row["vram_gib"]),
        "gpu_memory": number(row["vram_gib"]),
        "spot": str(row["purchase"] == "spot"),
        "disk_size": number(row["disk_gib"]),
        "gpu_vendor": row["vendor"],
        "flags": "",
        "cpu_arch": "arm" if row["gpu"] in peer.arm else "",
        "provider_data": "{}",
    }


def _write_skypilot(draft: Path, cloud: str, rows: list[Row], peer: Peer) -> Written:
    """One row for both prices of a machine in a place; none for a cloud of which there is nothing to say, for SkyPilot
    would take an empty file for its whole catalogue.
    """
    if not rows:
        return {}
    merged: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = (row["instance_type"], row["gpu_count"], row["region"], row["zone"])
        entry = merged.setdefault(key, _skypilot_row(row, peer))
        entry["Price" if row["purchase"] == "on_demand" else "SpotPrice"] = number(row["usd_per_hour"])
    path = draft / SKYPILOT_FOLDER / cloud / "vms.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    _csv(path, SKYPILOT_COLUMNS, merged.values())
    return {path: len(merged)}


def _skypilot_row(row: Row, peer: Peer) -> Row:
    mib = row["vram_gib"] * 1024
    memory = int(mib) if float(mib).is_integer() else mib
    name = peer.card(row["gpu"], row["form_factor"], row["vram_gib"])
    gpu = {"Name": name, "Manufacturer": row["vendor"].upper(), "Count": row["gpu_count"]}
    return {
        "InstanceType": row["instance_type"],
        "AcceleratorName": name,
        "AcceleratorCount": number(row["gpu_count"]),
        "vCPUs": number(row["vcpus"]),
        "MemoryGiB": number(row["ram_gib"]),
        # What SkyPilot reads with ast.literal_eval, and takes the card's memory from.
        "GpuInfo": repr({"Gpus": [{**gpu, "MemoryInfo": {"SizeInMiB": memory}}], "TotalGpuMemoryInMiB": memory}),
        "Price": "",
        "SpotPrice": "",
        "Region": row["region"],
        "AvailabilityZone": row["zone"] or "",
        "Arch": "arm64" if row["gpu"] in peer.arm else "",
    }


def number(value: Decimal | float | None) -> str:
    """A number as shortly as it can be written, without an exponent; empty where unknown."""
    if value is None:
        return ""
    text = f"{value:f}" if isinstance(value, Decimal) else f"{Decimal(repr(value)):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _csv(path: Path, names: Iterable[str], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(names), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _sources(draft: Path, lake: Lake, result: Exported, scrape_ids: set[str]) -> None:
    """Whose prices these are: credit and licence of what was imported; that a sample is one."""
    imports = {s.note for s in lake.visible() if s.origin == "import" and s.scrape_id in scrape_ids and s.note}
    told = [f"Written by gpufare; prices as of {result.as_of:%Y-%m-%dT%H:%M:%SZ}."]
    told += [SAMPLE] if result.sample else []
    told += sorted(imports)
    (draft / SOURCES).write_text("\n".join(told) + "\n", encoding="utf-8")


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A draft beside the folder that takes its place when all is written; what fails leaves the folder as it was.

    Raises NotOurs where the folder holds anything but an earlier export.
    """
    target = folder.expanduser().absolute()
    if target.exists() and not (target.is_dir() and ((target / SOURCES).is_file() or not any(target.iterdir()))):
        raise NotOurs(
            f"{folder} is no export of gpufare ({SOURCES} is not in it) and stays as it is; name another folder"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    draft, old = (target.with_name(f".{target.name}.{os.getpid()}.{what}") for what in ("new", "old"))
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        yield draft
        if target.exists():
            target.rename(old)
        draft.rename(target)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(draft, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)

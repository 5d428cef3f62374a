"""Catalogues that gpuhunt and SkyPilot publish, as tables of their words."""

from __future__ import annotations

import difflib
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.peers import Peer, peers
from storage.imports.told import Piece, Source, Told, Unusable, as_text, day_of, pieces, together, told

if TYPE_CHECKING:
    import pyarrow as pa

GPUHUNT_COLUMNS = ["instance_name", "location", "price", "cpu", "memory", "gpu_count", "gpu_name", "gpu_memory", "spot"]
SKYPILOT_COLUMNS = ["InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region"]


def source_of(name: str) -> Source:
    """Whose catalogue it is."""
    peer = peers()[name]
    return Source(name, peer.title, peer.url, peer.licence, peer.credit)


def read_gpuhunt(paths: list[Path], provider: str | None = None, observed_at: datetime | None = None) -> Told:
    """Catalogues of gpuhunt: `<provider>.csv`, or zips with such. Raises Unusable.

    The instant is `observed_at`, else the day in the path (its versions are named 20260810-4711) or the zip entry's.
    """
    return _read(paths, peers()["gpuhunt"], r"[a-z]\w*\.csv", provider, observed_at)


def read_skypilot(paths: list[Path], provider: str | None = None, observed_at: datetime | None = None) -> Told:
    """Catalogues of SkyPilot: `<cloud>/vms.csv`. Raises Unusable.

    The instant is `observed_at`, else a day in the path. A row may be two offers, on demand and spot.
    """
    return _read(paths, peers()["skypilot"], r"vms\.csv", provider, observed_at)


def _read(paths: list[Path], peer: Peer, wanted: str, provider: str | None, observed_at: datetime | None) -> Told:
    skipped: Counter[str] = Counter()
    tables: list[pa.Table] = []
    seen: dict[tuple[str, datetime], str] = {}
    for piece in pieces(paths, wanted):
        cloud = piece.path.parent.name if peer.name == "skypilot" else Path(piece.name).stem
        slug = provider or peer.clouds.get(cloud)
        if slug is None:
            if piece.path in paths and piece.path.suffix != ".zip":
                raise Unusable(_unknown(peer, cloud, piece))
            skipped[f"{cloud} is no provider that gpufare knows"] += piece.content.count(b"\n") - 1
            continue
        at = observed_at or day_of(piece.path, piece.written)
        if at is None:
            raise Unusable(f"{piece.shown}: nothing tells its day; name it with --observed-at 2026-08-10T02:00Z")
        if (slug, at) in seen:
            raise Unusable(
                f"{piece.shown}: {slug} at {at:%Y-%m-%dT%H:%MZ} stands in {seen[slug, at]} too; import one at a time"
            )
        seen[slug, at] = piece.shown
        read = _gpuhunt if peer.name == "gpuhunt" else _skypilot
        tables += [told(columns, slug, at, rows) for columns, rows in read(piece, slug, skipped)]
    if not tables:
        raise Unusable(f"{', '.join(map(str, paths))}: {'; '.join(skipped)}; name the provider with --provider")
    return together(tables, skipped)


def _unknown(peer: Peer, cloud: str, piece: Piece) -> str:
    near = difflib.get_close_matches(cloud, list(peer.clouds), n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(peer.clouds)}"
    return f"{piece.shown}: {peer.title} has no provider {cloud!r} that gpufare knows; {hint} (--provider)"


Columns = tuple[dict[str, "pa.ChunkedArray | pa.Array"], int]


def _gpuhunt(piece: Piece, slug: str, skipped: Counter[str]) -> list[Columns]:
    import pyarrow.compute as pc

    rows = as_text(piece, GPUHUNT_COLUMNS)
    with_gpu = pc.fill_null(pc.greater(_number(rows["gpu_count"], piece, "gpu_count"), 0), False)
    rows = _kept(rows, with_gpu, "no GPU", skipped)
    name: pa.ChunkedArray = rows["gpu_name"]
    if "gpu_vendor" in rows.column_names:  # it names TPUs by their generation alone
        google = pc.and_(pc.equal(rows["gpu_vendor"], "google"), pc.invert(pc.match_like(pc.utf8_upper(name), "TPU%")))
        name = pc.if_else(pc.fill_null(google, False), pc.binary_join_element_wise("TPU", name, " "), name)
    place = rows["location"]
    in_zones = slug == "gcp"
    columns: dict[str, pa.ChunkedArray | pa.Array] = {
        "instance_type": rows["instance_name"],
        "accelerator": name,
        "gpu_count": rows["gpu_count"],
        "vram": _with_unit(rows["gpu_memory"], "GiB"),
        "vcpus": rows["cpu"],
        "ram": _with_unit(rows["memory"], "GiB"),
        # Google names a zone after its region: us-central1-a.
        "region": pc.replace_substring_regex(place, r"-[a-z]$", "") if in_zones else place,
        "purchase": pc.if_else(pc.equal(pc.utf8_lower(rows["spot"]), "true"), "spot", "on_demand"),
        "price": rows["price"],
        **_constants(rows.num_rows),
    }
    if in_zones:
        columns["zone"] = place
    return [(columns, rows.num_rows)]


def _skypilot(piece: Piece, slug: str, skipped: Counter[str]) -> list[Columns]:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = as_text(piece, SKYPILOT_COLUMNS)
    rows = _kept(rows, pc.is_valid(rows["AcceleratorName"]), "no GPU", skipped)
    rows = _kept(rows, pc.is_valid(rows["InstanceType"]), "price of the card without its machine", skipped)
    found: list[Columns] = []
    for column, purchase in (("Price", "on_demand"), ("SpotPrice", "spot")):
        if column not in rows.column_names:
            continue
        priced = rows.filter(pc.is_valid(rows[column]))
        if purchase == "on_demand" and "SpotPrice" in rows.column_names:
            neither = pc.and_(pc.is_null(rows["Price"]), pc.is_null(rows["SpotPrice"]))
            skipped["no price"] += pc.sum(neither).as_py() or 0
        n = priced.num_rows
        columns = {
            "instance_type": priced["InstanceType"],
            "accelerator": priced["AcceleratorName"],
            "gpu_count": priced["AcceleratorCount"],
            "vcpus": _optional(priced, "vCPUs"),
            "ram": _with_unit(_optional(priced, "MemoryGiB"), "GiB"),
            "region": priced["Region"],
            "zone": _optional(priced, "AvailabilityZone"),
            "purchase": pa.repeat(pa.scalar(purchase), n),
            "price": priced[column],
            **_constants(n),
        }
        found.append((columns, n))
    return found


def _constants(rows: int) -> dict[str, pa.Array]:
    import pyarrow as pa

    words = {"currency": "USD", "price_unit": "instance-hour", "os": "linux"}
    return {name: pa.repeat(pa.scalar(word), rows) for name, word in words.items()}


def _kept(rows: pa.Table, mask: pa.ChunkedArray, reason: str, skipped: Counter[str]) -> pa.Table:
    kept = rows.filter(mask)
    if out := rows.num_rows - kept.num_rows:
        skipped[reason] += out
    return kept


def _optional(rows: pa.Table, name: str) -> pa.ChunkedArray | pa.Array:
    import pyarrow as pa

    return rows[name] if name in rows.column_names else pa.nulls(rows.num_rows, pa.string())


def _with_unit(column: pa.ChunkedArray | pa.Array, unit: str) -> pa.ChunkedArray | pa.Array:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(column, unit, " ")


def _number(column: pa.ChunkedArray, piece: Piece, name: str) -> pa.ChunkedArray:
    import pyarrow as pa

    try:
        return column.cast(pa.float64())
    except pa.ArrowInvalid as error:
        raise Unusable(f"{piece.shown}: {name}: {' '.join(str(error).split())[:200]}") from error

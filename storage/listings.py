"""A marketplace's listings as groups: single listings come and go all day, what they add up to is news."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from storage.arrow import joined

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_COLUMNS = ("gpu", "form_factor", "gpu_count", "country", "tier", "purchase")
# Two prices of a group can only be compared in one currency and unit; cards without a known model by their raw words.
KEY_COLUMNS = ("provider", *GROUP_COLUMNS, "accelerator_raw", "currency", "price_unit")
IN_STOCK_WORDS = ("available", "limited")


def grouped(offers: pa.Table) -> pa.Table:
    """One row per group in the place of its listings, ordered by key.

    The row is the cheapest listing's with `offer_key` the group's key, and besides `listings` (how many) and
    `median_price` (the lower middle, a price that was really asked). `availability` is the best of the group.
    The order of the listings and their own ids do not matter.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    raw = pc.if_else(pc.is_null(offers["gpu"]), offers["accelerator_raw"], None)
    at = offers.schema.get_field_index("accelerator_raw")
    keyed = offers.set_column(at, offers.schema.field(at), raw)
    keyed = keyed.append_column("_group", joined(keyed, KEY_COLUMNS))
    # The tie of two equal prices may not be broken by a listing's id: whatever row is taken says the same.
    by = ("_group", "price", "usd_per_gpu_hour", "availability", "region", "vram_gib", "observed_at", "offer_key")
    keyed = keyed.sort_by([(name, "ascending") for name in by])
    groups = keyed.group_by("_group", use_threads=False).aggregate([("_group", "count"), ("price", "count")])
    groups = groups.sort_by("_group")  # Arrow promises no order of groups, and gives another from some sixty groups on
    sizes, priced = groups["_group_count"].to_pylist(), groups["price_count"].to_pylist()
    starts, start = [], 0
    for size in sizes:
        starts.append(start)
        start += size
    # Nulls sort last, so the priced listings of a group stand first.
    middles = [s + max(0, n - 1) // 2 for s, n in zip(starts, priced, strict=True)]
    names = groups["_group"].to_pylist()
    provider = keyed["provider"][0].as_py() if keyed.num_rows else ""
    ids = [f"{provider}:group:{hashlib.sha256(name.encode()).hexdigest()[:12]}" for name in names]
    in_stock = pc.unique(keyed.filter(pc.is_in(keyed["availability"], pa.array(IN_STOCK_WORDS)))["_group"])
    available = pc.is_in(groups["_group"], value_set=in_stock)
    lowest = keyed.take(pa.array(starts, pa.int64())).drop_columns(["_group"])
    stock = pc.if_else(available, "available", lowest["availability"])
    return (
        _put(_put(lowest, "offer_key", pa.array(ids, pa.string())), "availability", stock)
        .append_column("listings", pa.array(sizes, pa.int64()))
        .append_column("median_price", keyed["price"].take(pa.array(middles, pa.int64())))
        .sort_by("offer_key")
    )


def _put(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), values)

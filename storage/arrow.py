"""Small pieces of Arrow that gate and changes share."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATOR = "\x1f"
QUOTE = ("price", "currency", "price_unit", "usd_per_gpu_hour")


def numbers(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column as float64, in one piece."""
    import pyarrow as pa

    column = column.cast(pa.float64())
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def joined(table: pa.Table, names: Sequence[str]) -> pa.Array:
    """One text per row out of several columns; null is told from the empty text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [pc.fill_null(table[name].cast(pa.string()), "\x00").combine_chunks() for name in names]
    return pc.binary_join_element_wise(*parts, SEPARATOR)


def prices_before(current: pa.Table, previous: pa.Table) -> pa.Table:
    """Prices of the previous table in the order of the current one's rows; all null where a key is new."""
    import pyarrow.compute as pc

    at = pc.index_in(current["offer_key"].combine_chunks(), value_set=previous["offer_key"].combine_chunks())
    return previous.select(list(QUOTE)).take(at)


def medians(keys: pa.Array, values: pa.Array) -> dict[str, tuple[float, int]]:
    """Median and number of the values by key; nulls on either side are left out. The order of rows does not matter."""
    import pyarrow as pa

    table = pa.table({"key": keys, "value": values}).drop_null()
    lists = table.group_by("key", use_threads=False).aggregate([("value", "list")])
    return {
        key: (statistics.median(group), len(group))
        for key, group in zip(lists["key"].to_pylist(), lists["value_list"].to_pylist(), strict=True)
    }


def looked_up(keys: pa.Array, known: dict[str, float]) -> pa.Array:
    """For each key its number, null where it has none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    at = pc.index_in(keys, value_set=pa.array(list(known), pa.string()))
    return pa.array(list(known.values()), pa.float64()).take(at)


def count(mask: pa.Array) -> int:
    """How many are true."""
    import pyarrow.compute as pc

    return int(pc.sum(pc.fill_null(mask, False)).as_py() or 0)


def price_factors(current: pa.Table, before: pa.Table) -> pa.Array:
    """Price over the price before, row by row, as float64; null where either is unknown.

    Where currency and unit stayed, the published prices are compared, so that a moved exchange rate is no move; else
    the prices of one GPU-hour in USD are.
    """
    import pyarrow.compute as pc

    same = pc.and_(
        pc.equal(current["currency"], before["currency"]), pc.equal(current["price_unit"], before["price_unit"])
    )
    published = pc.divide(numbers(current["price"]), numbers(before["price"]))
    converted = pc.divide(numbers(current["usd_per_gpu_hour"]), numbers(before["usd_per_gpu_hour"]))
    return pc.if_else(same.combine_chunks(), published, converted)

"""One Parquet data file of a table, written by us: large, dictionary-encoded, with the statistics that the log wants.

deltalake's own writer leaves money unencoded (a dictionary of fixed-length values needs the second version of the
format, which it does not offer), and the three money columns cost a reader as much as all others.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from storage.files import Files

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# Groups small enough that a reader skips most of them by GPU.
ROWS_PER_GROUP = 1 << 17
ZSTD_LEVEL = 15
DICTIONARY_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """A data file that no entry of the log names yet. `path` is below the table; `stats` is the log's JSON."""

    path: str
    partition_values: dict[str, str | None]
    rows: int
    size_bytes: int
    stats: str


def write(
    files: Files,
    folder: str,
    partition_values: dict[str, str | None],
    rows: pa.RecordBatchReader,
    indexed: list[str],
) -> Written:
    """Put all rows into one new file; lowest and highest of the `indexed` columns go into the log.

    folder: "" or one that ends with a slash, as Hive names it. The column of a partition is no column of the file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    about: list[pq.FileMetaData] = []
    with pq.ParquetWriter(
        sink,
        rows.schema,
        compression="zstd",
        compression_level=ZSTD_LEVEL,
        dictionary_pagesize_limit=DICTIONARY_BYTES,
        metadata_collector=about,
    ) as writer:
        for group in _groups(rows):
            writer.write_table(group, row_group_size=ROWS_PER_GROUP)
    content = sink.getvalue()
    path = f"{folder}part-{uuid.uuid4()}.zstd.parquet"
    files.write(path, memoryview(content))
    return Written(path, partition_values, about[0].num_rows, content.size, _statistics(about[0], indexed))


def _groups(rows: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """The rows in tables of a group each; batches come much smaller."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    for batch in rows:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= ROWS_PER_GROUP:
            whole = pa.Table.from_batches(waiting)
            yield whole.slice(0, ROWS_PER_GROUP)
            waiting = whole.slice(ROWS_PER_GROUP).to_batches()
    if waiting:
        yield pa.Table.from_batches(waiting)


def _statistics(about: pq.FileMetaData, indexed: list[str]) -> str:
    """Number of rows, and of each indexed column lowest, highest and number of nulls, as Delta's protocol spells it."""
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for g in range(about.num_row_groups):
        group = about.row_group(g)
        for c in range(group.num_columns):
            name, known = group.column(c).path_in_schema, group.column(c).statistics
            if name not in indexed or known is None:
                continue
            nulls[name] = nulls.get(name, 0) + (known.null_count or 0)
            if known.has_min_max:
                low[name] = min(low.get(name, known.min), known.min)
                high[name] = max(high.get(name, known.max), known.max)
    return json.dumps(
        {
            "numRecords": about.num_rows,
            "minValues": {name: _spelt(value) for name, value in low.items()},
            "maxValues": {name: _spelt(value) for name, value in high.items()},
            "nullCount": nulls,
        }
    )


def _spelt(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value.isoformat() if hasattr(value, "isoformat") else value

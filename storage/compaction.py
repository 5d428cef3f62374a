"""Housekeeping of the large tables: months rewritten in the order they are asked in, old files swept away.

A closed month of `snapshots` is a file for every scrape. Rewritten by GPU, offer and time it is one file, a tenth the
size, of which a question about one card reads a few groups. Readers and writers go on meanwhile: what a reader opened
stays on disk until `sweep`, and a writer that was quicker makes the rewrite fail, not its rows.
"""

# ruff: noqa: S608 - what is put into the SQL stands in this package

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from storage.delta import LedgerTable
from storage.errors import told
from storage.lake import PARTITIONED, Lake
from storage.reading import connect, file_list

if TYPE_CHECKING:
    import pyarrow as pa

# The order of a rewritten file, by table.
ORDER = {
    "snapshots": "gpu NULLS LAST, offer_key, observed_at, scrape_id",
    "changes": "observed_at, provider, change_id",
}
GRACE = timedelta(days=7)
"""a reader or a copy may hold on to the old files for so long"""
SORT_MEMORY = "1GB"
BATCH_ROWS = 1 << 16


@dataclass(frozen=True, slots=True)
class Compacted:
    """One month of one table: how many files and bytes it had and has. `done` is False where a writer was quicker."""

    table: str
    month: str
    files_before: int
    files_after: int
    bytes_before: int
    bytes_after: int
    done: bool


def compact(
    lake: Lake, now: datetime, *, everything: bool = False, on_month: Callable[[Compacted], None] = lambda month: None
) -> list[Compacted]:
    """Rewrite every closed month that is more than one file, and gather the small files of the others.

    everything: the open month too. One commit a month; a month whose rewrite loses against a writer is left for the
    next run. Raises StoreError.
    """
    open_month = f"{now:%Y-%m}"
    done = []
    for name in PARTITIONED:
        table = lake.table(name)
        table.opened(again=True)
        for month, files in table.partitions().items():
            if files > 1 and (everything or month < open_month):
                done.append(_rewrite(lake, table, month, ORDER[name]))
                on_month(done[-1])
    for name in ("scrapes", "rates"):
        lake.table(name).gather(2)
    return done


def _rewrite(lake: Lake, table: LedgerTable, month: str, order: str) -> Compacted:
    before = _of_month(table, month)
    landed = table.rewrite(month, lambda paths: _sorted(table, lake.local(paths), order))
    table.opened(again=True)
    after = _of_month(table, month)
    return Compacted(table.name, month, before[0], after[0], before[1], after[1], landed)


def _of_month(table: LedgerTable, month: str) -> tuple[int, int]:
    sizes = [file.size_bytes for file in table.files() if f"/{table.partition}={month}/" in file.path]
    return len(sizes), sum(sizes)


def _sorted(table: LedgerTable, paths: list[str], order: str) -> pa.RecordBatchReader:
    """The rows of the files in order, as a stream; what does not fit into memory is sorted on disk."""
    import pyarrow as pa

    connection = connect()
    connection.execute(f"SET memory_limit='{SORT_MEMORY}'")
    connection.execute("SET preserve_insertion_order=false")
    schema = pa.schema([field for field in table.arrow_schema() if field.name != table.partition])
    names = ", ".join(f'"{name}"' for name in schema.names)
    with told("cannot read", f"table {table.name} at {table.uri}"):
        found = connection.sql(
            f"SELECT {names} FROM read_parquet({file_list(paths)}, union_by_name=true, hive_partitioning=false)"
            f" ORDER BY {order}"
        ).to_arrow_reader(BATCH_ROWS)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in found:
            yield from pa.Table.from_batches([batch]).select(schema.names).cast(schema).to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())


def sweep(lake: Lake, *, grace: timedelta = GRACE, dry_run: bool = False) -> list[str]:
    """Delete data files that no table has named for `grace`; gives their paths. Raises StoreError."""
    gone = []
    for name in ("snapshots", "changes", "scrapes", "rates"):
        table = lake.table(name).opened(again=True)
        if table is not None:
            with told("cannot sweep", f"table {name} at {lake.table(name).uri}"):
                hours = int(grace.total_seconds() // 3600)
                # `full`: also files that no entry names, of writes that ended early or lost a race.
                swept = table.vacuum(hours, dry_run=dry_run, enforce_retention_duration=False, full=True)
            gone += [f"{name}/{path}" for path in swept]
    return gone

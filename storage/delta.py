"""One append-only Delta table: create, append exactly once, and tell which files can hold what is wanted."""

from __future__ import annotations

import os
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from storage import data_file, log
from storage.data_file import Written
from storage.errors import StoreError, told
from storage.files import Files, below, is_remote, join

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from deltalake.transaction import RemoveAction

APPEND_ATTEMPTS = 30
BACK_OFF_S = 0.02
LONGEST_WAIT_S = 1.0
# Statistics that readers prune by. The log cuts long texts and fractions of a second, hence the slack in
# `DataFile.may_hold`.
STATISTICS = ("provider", "scrape_id", "observed_at", "gpu", "offer_key", "previous_observed_at", "recorded_at", "day")
TEXT_CUT = 24
TIME_SLACK = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file as the log tells of it; `low` and `high` hold the statistics by column."""

    path: str
    rows: int
    size_bytes: int
    low: dict[str, Any]
    high: dict[str, Any]

    def may_hold(self, column: str, values: Collection[str]) -> bool:
        """Can a row with one of the texts stand in the file? Texts are compared by their first characters."""
        low, high = self.low.get(column), self.high.get(column)
        if low is None or high is None:
            return True
        return any(low[:TEXT_CUT] <= value[:TEXT_CUT] <= high[:TEXT_CUT] for value in values)

    def may_lie_in(self, column: str, since: datetime | None, until: datetime | None) -> bool:
        """Can a row whose instant lies in the closed span stand in the file?"""
        low, high = self.low.get(column), self.high.get(column)
        if low is None or high is None:
            return True
        return (since is None or high + TIME_SLACK >= since) and (until is None or low - TIME_SLACK <= until)


class LedgerTable:
    """A Delta table under a store. Rows are only ever added; every append carries an id and lands at most once."""

    def __init__(
        self, uri: str, name: str, record: type, partition: str | None, options: dict[str, str] | None
    ) -> None:
        self.uri = uri
        self.name = name
        self.record = record
        self.partition = partition
        self.options = options
        self._opened: DeltaTable | None = None

    @cached_property
    def schema(self) -> pa.Schema:
        """The record's columns and the partition; made on use, for a reader needs no Arrow schema."""
        from schemas.record import arrow_schema

        if self.partition is None:
            return arrow_schema(self.record)
        import pyarrow as pa

        return arrow_schema(self.record).append(pa.field(self.partition, pa.string(), nullable=False))

    def opened(self, *, again: bool = False) -> DeltaTable | None:
        """The table as last read from its log, read anew if `again`; None where there is none."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError, TableNotFoundError

        if self._opened is None or again:
            where = f"table {self.name} at {self.uri}"
            with told("cannot open", where):
                try:
                    self._opened = DeltaTable(self.uri, storage_options=self.options)
                except TableNotFoundError:
                    self._opened = None
                except DeltaError:
                    if is_remote(self.uri) or not (damaged := log.damaged_entry(Path(self.uri))):
                        raise
                    raise StoreError(f"cannot open {where}: its log {damaged}") from None
                else:
                    self._refuse_empty_entry(self._opened.version())
        return self._opened

    def _brought_up(self) -> DeltaTable | None:
        """The table with what was committed since it was read, as a writer wants it: only new entries are read.

        A table that was deleted meanwhile is None. One that was put back from a copy is told by `opened` alone.
        """
        table = self._opened
        if table is None or not (is_remote(self.uri) or Path(self.uri, "_delta_log").is_dir()):
            return self.opened(again=True)
        with told("cannot open", f"table {self.name} at {self.uri}"):
            table.update_incremental()
            self._refuse_empty_entry(table.version())
        return table

    def _refuse_empty_entry(self, version: int) -> None:
        if not is_remote(self.uri) and (empty := log.empty_entry(Path(self.uri), version)):
            self._opened = None
            raise StoreError(f"the log of table {self.name} {empty}")

    def create(self, description: str, settings: dict[str, str]) -> None:
        """Make the table unless it is there; of two processes that try at once, both go on with the one that won."""
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        if self.opened(again=True) is not None:
            return
        with told("cannot create", f"table {self.name} at {self.uri}"):
            try:
                self._opened = DeltaTable.create(
                    self.uri,
                    self.schema,
                    partition_by=[self.partition] if self.partition else None,
                    name=self.name,
                    description=description,
                    configuration={"delta.dataSkippingStatsColumns": ",".join(self._indexed()), **settings},
                    raise_if_key_not_exists=False,
                    storage_options=self.options,
                )
            except DeltaError:
                if self.opened(again=True) is None:
                    raise

    def setting(self, key: str) -> str | None:
        """A setting given at creation."""
        table = self.opened()
        return None if table is None else table.metadata().configuration.get(key)

    def gather(self, at_least: int) -> bool:
        """Make one file of many small ones, in one commit; False where there are few, or another process was quicker.

        Rows and their order stay; the old files stay on disk for readers that opened the table before.
        """
        from deltalake.exceptions import CommitFailedError

        table = self.opened(again=True)
        if table is None or len(table.file_uris()) < at_least:
            return False
        with told("cannot compact", f"table {self.name} at {self.uri}"):
            try:
                table.optimize.compact()
            except CommitFailedError:
                return False  # whoever else gathers or appends now has the better view; the next refresh tries again
        return True

    def arrow_schema(self) -> pa.Schema:
        """The table's own columns as they stand in its log: those of the record, and those that newer code added."""
        import pyarrow as pa

        table = self.opened()
        return self.schema if table is None else pa.schema(table.schema().to_arrow())

    def partitions(self) -> dict[str, int]:
        """How many files each partition has."""
        table = self.opened()
        if table is None or self.partition is None:
            return {}
        found = table.get_add_actions(flatten=True).column(f"partition.{self.partition}").to_pylist()
        return dict(sorted(Counter(found).items()))

    def rewrite(self, partition: str, read: Callable[[list[str]], pa.RecordBatchReader]) -> bool:
        """Put one file with what `read` makes of a partition's files in their place, in one commit. False where another
        process has replaced one of them meanwhile.

        `read` gets the paths of the partition's files and must give all their rows, and no others; where their number
        differs, nothing is committed and StoreError is raised. Exactly the files that were read are removed, so rows
        that are appended meanwhile stay. The old files stay on disk for those who read them, until they are swept.
        """
        from deltalake.exceptions import CommitFailedError
        from deltalake.transaction import RemoveAction

        where = f"table {self.name} at {self.uri}"
        table = self.opened(again=True)
        if table is None or self.partition is None:
            raise StoreError(f"{where} is missing or has no partitions; run `gpufare verify`")
        with told("cannot rewrite", where):
            mine = [f for f in _data_files(self.uri, table) if f"/{self.partition}={partition}/" in f.path]
            new = self._put(partition, read([file.path for file in mine]))
            if new.rows != (expected := sum(file.rows for file in mine)):
                self._discard([new])
                raise StoreError(
                    f"cannot rewrite {where}: expected {expected} rows, read {new.rows}; nothing was changed"
                )
            values: dict[str, str | None] = {self.partition: partition}
            gone = [
                RemoveAction(below(self.uri, file.path), False, _now_ms(), file.size_bytes, values) for file in mine
            ]
            # deltalake lets two commits remove the same file; that both carry this id makes the second one fail.
            mark = f"rewrite:{partition}"
            try:
                self._enter(table, [new], gone, mark, (table.transaction_version(mark) or 0) + 1)
            except CommitFailedError:
                self._discard([new])
                return False
        return True

    def append(self, app_id: str, rows: pa.Table) -> bool:
        """Add the rows under the id, exactly once. False where the id had landed before.

        The id is looked up first, for an application transaction alone does not stop a second append by a process that
        opened the table later. A commit lost to another writer is tried again from a fresh look at the log. Raises
        StoreError.
        """
        from deltalake.exceptions import CommitFailedError

        where = f"table {self.name} at {self.uri}"
        put: list[Written] = []
        for attempt in range(APPEND_ATTEMPTS):
            table = self._brought_up()
            if table is None:
                raise StoreError(f"{where} is missing; run `gpufare verify`")
            with told("cannot append to", where):
                if table.transaction_version(app_id) is not None:
                    self._discard(put)
                    return False
                put = put or [self._put(name, part.to_reader()) for name, part in self._by_partition(rows)]
                try:
                    self._widen(table, rows.schema)
                    self._enter(table, put, [], app_id, 1)
                except CommitFailedError:
                    time.sleep(_wait(app_id, attempt))
                    continue
            return True
        self._discard(put)
        raise StoreError(
            f"cannot append to {where}: other writers won {APPEND_ATTEMPTS} times in a row; "
            "run the same command again when fewer run at once"
        )

    def _by_partition(self, rows: pa.Table) -> Iterator[tuple[str | None, pa.Table]]:
        """The rows of each partition, without its column: what a file holds."""
        if self.partition is None:
            yield None, rows
            return
        import pyarrow.compute as pc

        for name in pc.unique(rows[self.partition]).to_pylist():
            yield name, rows.filter(pc.equal(rows[self.partition], name)).drop_columns([self.partition])

    def _put(self, partition: str | None, rows: pa.RecordBatchReader) -> Written:
        """Write a data file that no entry names yet."""
        folder = "" if partition is None else f"{self.partition}={partition}/"
        values = {} if self.partition is None else {self.partition: partition}
        return data_file.write(Files(self.uri, self.options), folder, values, rows, self._indexed())

    def _discard(self, put: list[Written]) -> None:
        """Delete files that no entry came to name."""
        for file in put:
            Files(self.uri, self.options).delete(file.path)

    def _widen(self, table: DeltaTable, came: pa.Schema) -> None:
        """Add the columns that a table of older code lacks."""
        import pyarrow as pa
        from deltalake import Schema

        known = {field.name for field in table.schema().fields}
        new = [field.with_nullable(True) for field in came if field.name not in known]
        if new:
            table.alter.add_columns(Schema.from_arrow(pa.schema(new)).fields)

    def _enter(self, table: DeltaTable, put: list[Written], gone: list[RemoveAction], mark: str, version: int) -> None:
        """One commit: files that come, files that go, an id. Raises CommitFailedError where another came first."""
        from deltalake.transaction import AddAction, CommitProperties, Transaction

        # Rows that lie elsewhere are no change of the data, so that an append and a rewrite do not hinder each other.
        changed = not gone
        come = [AddAction(f.path, f.size_bytes, f.partition_values, _now_ms(), changed, f.stats) for f in put]
        table.create_write_transaction(
            [*gone, *come],
            mode="append",
            schema=table.schema(),
            partition_by=[self.partition] if self.partition else None,
            commit_properties=CommitProperties(
                app_transactions=[Transaction(mark, version)], max_commit_retries=APPEND_ATTEMPTS
            ),
        )
        table.update_incremental()

    def files(self) -> list[DataFile]:
        """Every live data file, in the log's order."""
        table = self.opened()
        if table is None:
            return []
        with told("cannot read the log of", f"table {self.name} at {self.uri}"):
            return list(_data_files(self.uri, table))

    def _indexed(self) -> list[str]:
        return [name for name in STATISTICS if name in self.schema.names]


def _now_ms() -> int:
    """The log's own clock, as deltalake keeps it."""
    return int(time.time() * 1000)


def _wait(app_id: str, attempt: int) -> float:
    """Seconds to wait: doubling, bounded, spread by process and id so that two losers do not meet again."""
    longest = min(LONGEST_WAIT_S, BACK_OFF_S * 2.0**attempt)
    spread = zlib.crc32(f"{app_id} {os.getpid()} {attempt}".encode()) / 2**32
    return longest * (0.5 + spread / 2)


def _data_files(uri: str, table: DeltaTable) -> Iterator[DataFile]:
    # Read as it comes: turned into an Arrow table by pyarrow it would drag in pandas, which takes most of a second.
    actions = table.get_add_actions(flatten=True)
    names = [name for name in actions.schema.names if not name.startswith("null_count.")]
    columns = {name: actions.column(name).to_pylist() for name in names}
    for i in range(actions.num_rows):
        yield DataFile(
            path=join(uri, unquote(columns["path"][i])),
            rows=columns["num_records"][i],
            size_bytes=columns["size_bytes"][i],
            low={n[4:]: column[i] for n, column in columns.items() if n.startswith("min.")},
            high={n[4:]: column[i] for n, column in columns.items() if n.startswith("max.")},
        )

"""Is the store whole? Every file that the logs name, every row that a verdict promises, every recording."""

# ruff: noqa: S608 - what is put into the SQL stands in this package

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from schemas.scrape import ACCEPTED
from storage.delta import DataFile, LedgerTable
from storage.errors import StoreError
from storage.files import is_remote
from storage.lake import RECORDS, Lake
from storage.recordings import Recordings
from storage.retention import is_over
from storage.visible import END_OF_TIME, with_visible

if TYPE_CHECKING:
    import pyarrow.parquet as pq

COUNTED = (*ACCEPTED, "quarantined", "rejected")


@dataclass(slots=True)
class Report:
    """What was looked at, one line for each fault with the next step, and what is odd but no fault."""

    tables: int = 0
    files: int = 0
    rows: int = 0
    scrapes: int = 0
    recordings: int = 0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Nothing is at fault."""
        return not self.faults

    def lines(self) -> list[str]:
        """Every fault, every note, and last what was looked at."""
        counted = (
            f"{self.tables} tables, {self.files} files, {self.rows} rows, {self.scrapes} scrapes, "
            f"{self.recordings} recordings"
        )
        end = "whole" if self.whole else f"{len(self.faults)} at fault"
        return [
            *(f"FAULT {line}" for line in self.faults),
            *(f"note: {line}" for line in self.notes),
            f"{counted}: {end}",
        ]


def verify(lake: Lake) -> Report:
    """Read the whole store and compare it with what it says of itself."""
    report = Report()
    readable = [_table(lake, name, report) for name in RECORDS]  # all of them, also after a fault
    if all(readable):
        _scrapes(lake, report)
        _unfinished(lake, report)
    else:
        report.notes.append("verdicts were not compared with their rows, for files are at fault")
    _recordings(lake, report)
    return report


def _table(lake: Lake, name: str, report: Report) -> bool:
    try:
        table = lake.table(name)
        if table.opened(again=True) is None and not lake.files("scrapes"):
            report.notes.append(f"table {name} is not made yet; the next `gpufare refresh` goes on where one was ended")
            return True
        if table.opened() is None:
            report.faults.append(f"table {name} is missing; the next `gpufare refresh` makes it anew, empty")
            return False
        kind = table.setting("gpufare.origin")
        if kind != lake.origin:
            report.faults.append(f"table {name} says {kind}, the store {lake.origin}; restore it from a copy")
        files = table.files()
    except StoreError as error:
        report.faults.append(str(error))
        return False
    report.tables += 1
    report.notes += _unnamed(table)
    sound = True
    for file in files:
        fault = _file(lake, file)
        if fault:
            report.faults.append(f"table {name}: {file.path} {fault}; restore the file from a copy")
            sound = False
        report.files += 1
        report.rows += file.rows
    return sound


def _unnamed(table: LedgerTable) -> list[str]:
    """Data files that no entry of the log adds or removes: a write that ended early or lost a race, or a lost entry."""
    if is_remote(table.uri):
        return []
    root = Path(table.uri)
    there = {str(path.relative_to(root)) for path in root.rglob("*.parquet") if "_delta_log" not in path.parts}
    there -= {str(Path(file.path).relative_to(root)) for file in table.files()}
    if there:  # what was compacted waits for its sweep
        for entry in (root / "_delta_log").glob("*.json"):
            for line in entry.read_text(encoding="utf-8").splitlines():
                if gone := json.loads(line).get("remove"):
                    there.discard(unquote(gone["path"]))
    return [
        f"table {table.name}: no log entry names {root / path}; a write that was ended or came second left it "
        "(`gpufare compact --sweep` deletes it after seven days), or a log entry is lost"
        for path in sorted(there)
    ]


def _file(lake: Lake, file: DataFile) -> str | None:
    """What is wrong with a data file, None where nothing is."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        path = Path(lake.local([file.path], anew=True)[0])
        if not path.is_file():
            return "is missing"
        if path.stat().st_size != file.size_bytes:
            return f"has {path.stat().st_size} bytes, the log says {file.size_bytes}"
        with pq.ParquetFile(path) as parquet:
            rows = _rows(parquet)
    except (OSError, pa.ArrowException) as error:
        return f"cannot be read ({' '.join(str(error).split())[:200]})"
    except StoreError as error:
        return str(error)
    return None if rows == file.rows else f"has {rows} rows, the log says {file.rows}"


def _rows(parquet: pq.ParquetFile) -> int:
    """Number of rows, every page of every column read."""
    return sum(batch.num_rows for batch in parquet.iter_batches())


def _scrapes(lake: Lake, report: Report) -> None:
    """Every scrape has exactly the rows that its verdict promises, and an accepted one each key once."""
    counted = lake.query(
        f"""WITH {with_visible(lake.relation("scrapes"))},
        rows AS (SELECT scrape_id, count(*) AS n, count(DISTINCT offer_key) AS keys
            FROM {lake.relation("snapshots")} GROUP BY scrape_id)
        SELECT j.scrape_id, j.provider, j.verdict, j.offers, coalesce(r.n, 0) AS n, coalesce(r.keys, 0) AS keys,
            (SELECT count(*) FROM all_scrapes a
                WHERE a.scrape_id = j.scrape_id AND a.recorded_at = j.recorded_at AND a.verdict = j.verdict) AS verdicts
        FROM judged j LEFT JOIN rows r USING (scrape_id) ORDER BY j.observed_at, j.provider, j.scrape_id""",
        known_at=END_OF_TIME,
    )
    for row in counted.to_pylist():
        report.scrapes += 1
        name = f"scrape {row['scrape_id']} of {row['provider']} ({row['verdict']})"
        promised = row["offers"] if row["verdict"] in COUNTED else 0
        if row["n"] != promised:
            report.faults.append(
                f"{name} has {row['n']} rows, the verdict says {promised}; run `gpufare refresh {row['provider']}`"
            )
        if row["verdict"] in ACCEPTED and row["keys"] != row["n"]:
            report.faults.append(f"{name} has {row['n']} rows under {row['keys']} keys; replay it from its recording")
        if row["verdicts"] != 1:
            report.faults.append(f"{name} has the same verdict {row['verdicts']} times")


def _unfinished(lake: Lake, report: Report) -> None:
    """Rows that no verdict tells of: a run was ended between data and pointer. Nobody sees them."""
    for name in ("snapshots", "changes"):
        rows = lake.query(
            f"""SELECT scrape_id, count(*) AS n FROM {lake.relation(name)}
            WHERE scrape_id NOT IN (SELECT scrape_id FROM {lake.relation("scrapes")})
            GROUP BY scrape_id ORDER BY scrape_id"""
        )
        report.notes += [
            f"{name}: {row['n']} rows of scrape {row['scrape_id']} are unfinished, invisible"
            for row in rows.to_pylist()
        ]
    double = lake.query(
        f"""SELECT change_id, count(*) AS n FROM {lake.relation("changes")}
        GROUP BY change_id, scrape_id HAVING count(*) > 1 ORDER BY change_id"""
    )
    for row in double.to_pylist():
        report.faults.append(f"change {row['change_id']} stands {row['n']} times; restore table changes from a copy")


def _recordings(lake: Lake, report: Report) -> None:
    kept = Recordings.of(lake)
    try:
        report.faults += kept.verify()
        there = set(kept.hashes())
        report.recordings = len(there)
        scrapes = lake.scrapes()
    except StoreError as error:
        report.faults.append(str(error))
        return
    newest = max((scrape.observed_at for scrape in scrapes), default=END_OF_TIME)
    named = {scrape.recording_sha256 for scrape in scrapes if not is_over(scrape, newest)} - {None}
    if gone := named - there:
        report.notes.append(f"{len(gone)} recordings that scrapes name are not kept here, such as {min(gone, key=str)}")

"""What a file of others tells, as a table of their words: the columns of RawOffer, and when and of whom it holds."""

from __future__ import annotations

import csv as rows_of
import gzip
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.raw_offer import FIELD_NAMES
from storage.errors import StoreError

if TYPE_CHECKING:
    import pyarrow as pa

PROVIDER, OBSERVED = "provider", "observed_at"
LARGEST = 4 << 30
"""bytes of one unpacked file; more is no price list"""
_DAY = re.compile(r"(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")


class Unusable(StoreError):
    """A file that cannot be read as what it was called. One line: the file, what was expected, what came."""


@dataclass(frozen=True, slots=True)
class Source:
    """Whose history it is. name: snapshots of one name follow one another. version: changes with how it is read."""

    name: str
    title: str
    url: str
    licence: str
    credit: str
    version: str = "1"

    @property
    def note(self) -> str:
        """What stands beside the verdict of each scrape."""
        return f"imported from {self.title} ({self.url}); licence: {self.licence}; credit: {self.credit}"


@dataclass(frozen=True, slots=True)
class Told:
    """Rows of one or more files.

    table: `provider` (slug), `observed_at` (UTC), and texts under names of RawOffer; empty is null. skipped: rows of
    the files that are no offers of ours, by reason.
    """

    table: pa.Table
    skipped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Piece:
    """One CSV: where it came from, its bytes, and when it was written where a zip tells that."""

    path: Path
    name: str
    content: bytes
    written: datetime | None = None

    @property
    def shown(self) -> str:
        """For errors."""
        return str(self.path) if self.name == self.path.name else f"{self.path}, {self.name}"


def pieces(paths: list[Path], wanted: str) -> Iterator[Piece]:
    """Every CSV whose name fits the pattern in the files, zips and folders, by path. Raises Unusable."""
    found = 0
    for path in paths:
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        for file in files:
            for piece in _opened(file, named=not path.is_dir()):
                if re.fullmatch(wanted, piece.name):
                    found += 1
                    yield piece
    if not found:
        raise Unusable(f"{', '.join(map(str, paths))}: expected a file named like {wanted}, found none")


def _opened(file: Path, named: bool) -> Iterator[Piece]:
    if file.suffix == ".zip":
        yield from _zipped(file)
    elif file.suffix == ".csv":
        yield Piece(file, file.name, _bounded(file, file.stat().st_size, file.read_bytes))
    elif file.name.endswith(".csv.gz"):
        try:
            with gzip.open(file) as unpacked:
                content = unpacked.read(LARGEST + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise Unusable(f"{file}: expected a packed CSV, but {' '.join(str(error).split())}") from error
        yield Piece(file, file.name.removesuffix(".gz"), _bounded(file, len(content), lambda: content))
    elif named:
        raise Unusable(f"{file}: expected .csv, .csv.gz or .zip")


def _zipped(file: Path) -> Iterator[Piece]:
    try:
        with zipfile.ZipFile(file) as whole:
            for entry in whole.infolist():
                if entry.filename.endswith(".csv"):
                    content = _bounded(file, entry.file_size, partial(whole.read, entry))
                    yield Piece(file, Path(entry.filename).name, content, datetime(*entry.date_time, tzinfo=UTC))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, ValueError, EOFError) as error:  # RuntimeError: a password
        raise Unusable(f"{file}: expected a zip of CSV files, but {' '.join(str(error).split())}") from error


def _bounded(file: Path, size: int, read: Callable[[], bytes]) -> bytes:
    if size > LARGEST:
        raise Unusable(f"{file}: {size} bytes unpacked, more than {LARGEST}")
    return read()


def day_of(path: Path, written: datetime | None) -> datetime | None:
    """When a catalogue was made: the day that its path names (20260810-4711, 2026-08-10), at the zip entry's own time
    where that lies within a day of it; else the entry's time; None where nothing tells.
    """
    for part in reversed(path.parts):
        if match := _DAY.search(part):
            try:
                day = datetime(int(match[1]), int(match[2]), int(match[3]), tzinfo=UTC)
            except ValueError:
                continue
            near = written is not None and abs((written - day).total_seconds()) <= 36 * 3600
            return written if near else day
    return written


def as_text(piece: Piece, needed: list[str], delimiter: str = ",") -> pa.Table:
    """The CSV with every column as text, empty as null. Raises Unusable where it is none or lacks a column."""
    import pyarrow as pa
    from pyarrow import csv

    header = piece.content.partition(b"\n")[0].decode("utf-8-sig", "replace").strip("\r\n")
    names = next(rows_of.reader([header], delimiter=delimiter), [])
    for name in needed:
        if names.count(name) != 1:
            expected = "the column" if name not in names else "once the column"
            raise Unusable(f"{piece.shown}: expected {expected} {name!r}, came {', '.join(names)[:200]}")
    try:
        return csv.read_csv(
            io.BytesIO(piece.content),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=True, null_values=[""]
            ),
        )
    except pa.ArrowInvalid as error:
        raise Unusable(f"{piece.shown}: {' '.join(str(error).split())[:300]}") from error


def told(columns: dict[str, pa.Array | pa.ChunkedArray], provider: object, observed: object, rows: int) -> pa.Table:
    """A table of Told out of columns by RawOffer name; provider and observed are columns or hold for all rows."""
    import pyarrow as pa

    odd = set(columns) - set(FIELD_NAMES)
    if odd:
        raise ValueError(f"no columns of RawOffer: {', '.join(sorted(odd))}")
    instant = pa.timestamp("us", tz="UTC")
    given = {
        PROVIDER: pa.repeat(pa.scalar(provider, pa.string()), rows) if isinstance(provider, str) else provider,
        OBSERVED: pa.repeat(pa.scalar(observed, instant), rows) if isinstance(observed, datetime) else observed,
        **columns,
    }
    return pa.table(given)


def together(tables: list[pa.Table], skipped: Counter[str]) -> Told:
    """Several tables as one; a column that one of them lacks is null there."""
    import pyarrow as pa

    return Told(pa.concat_tables(tables, promote_options="default"), skipped)

"""A CSV of somebody's own making, read as its mapping says."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from storage.imports.mapping import Mapping
from storage.imports.told import Piece, Told, Unusable, as_text, pieces, together, told

if TYPE_CHECKING:
    import pyarrow as pa


def read_plain(paths: list[Path], mapping: Mapping, provider: str | None = None) -> Told:
    """Every row of the files as the mapping reads it. `provider` wins over the mapping's. Raises Unusable."""
    skipped: Counter[str] = Counter()
    tables = [_read(piece, mapping, provider, skipped) for piece in pieces(paths, r".*\.csv")]
    return together(tables, skipped)


def _read(piece: Piece, mapping: Mapping, provider: str | None, skipped: Counter[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = as_text(piece, mapping.needed, mapping.delimiter)
    for name, values in mapping.skip.items():
        out = pc.is_in(rows[name], value_set=pa.array(values, pa.string()))
        skipped[f"{name} is skipped by the mapping"] += pc.sum(out).as_py() or 0
        rows = rows.filter(pc.invert(out))
    columns = {name: rows[column] for name, column in mapping.columns.items()}
    for name, words in mapping.words.items():
        columns[name] = _translated(columns[name], words)
    for name, unit in mapping.units.items():
        columns[name] = pc.binary_join_element_wise(columns[name], unit, " ")
    columns |= {name: pa.repeat(pa.scalar(value), rows.num_rows) for name, value in mapping.constants.items()}
    of: object = provider or mapping.provider
    if mapping.provider_column and provider is None:
        of = rows[mapping.provider_column]
    if of is None:
        raise Unusable(f"{piece.shown}: whose prices are these? name the provider with --provider or in the mapping")
    observed = instants(rows[mapping.observed_at], piece, mapping.observed_at)
    table = told(columns, of, observed, rows.num_rows)
    unread = pc.is_null(table["purchase"])
    if out := pc.sum(unread).as_py():
        column = mapping.columns.get("purchase", "purchase")
        skipped[f"{column} says nothing that the mapping knows"] += out
        table = table.filter(pc.invert(unread))
    return table


def _translated(column: pa.ChunkedArray, words: dict[str, str]) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    at = pc.index_in(column, value_set=pa.array(list(words), pa.string()))
    return pa.chunked_array([pa.array(list(words.values()), pa.string())]).take(at)


def instants(column: pa.ChunkedArray, piece: Piece, name: str) -> pa.ChunkedArray:
    """ISO texts as instants; each spelling is read once. What has no zone is UTC. Raises Unusable."""
    import pyarrow as pa

    coded = column.combine_chunks().dictionary_encode()
    if coded.null_count:
        raise Unusable(f"{piece.shown}: {coded.null_count} rows without {name}")
    found = []
    for text in coded.dictionary.to_pylist():
        try:
            at = datetime.fromisoformat(text.strip())
        except ValueError:
            raise Unusable(
                f"{piece.shown}: {name}: expected an instant such as 2026-08-10T02:00Z, came {text!r}"
            ) from None
        found.append((at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC))
    return pa.chunked_array([pa.array(found, pa.timestamp("us", tz="UTC")).take(coded.indices)])

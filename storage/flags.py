"""The column `flags` of an offer: reading and extending it for a whole table at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from storage.gate_types import Finding

WITHHELD = "withheld"
JUMP_UNCONFIRMED = "price_jump_unconfirmed"


def has_flag(table: pa.Table, flag: str) -> pa.Array:
    """For each row: does it carry the flag? Never null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    flags = table["flags"].combine_chunks()
    if flags.null_count == len(flags):
        return pa.repeat(False, len(flags))
    words = pc.list_flatten(flags)
    rows = pc.filter(pc.list_parent_indices(flags), pc.fill_null(pc.equal(words, flag), False))
    return pc.is_in(pa.array(range(len(table)), pa.int64()), value_set=rows.cast(pa.int64()))


def shown(table: pa.Table) -> pa.Table:
    """The table without the rows that are held back."""
    import pyarrow.compute as pc

    held = has_flag(table, WITHHELD)
    return table.filter(pc.invert(held)) if pc.any(held).as_py() else table


def held_back(table: pa.Table) -> pa.Table:
    """Only the rows that are held back."""
    return table.filter(has_flag(table, WITHHELD))


def with_findings(table: pa.Table, findings: Sequence[Finding]) -> pa.Table:
    """The table with the findings' flags added, each once; rows to withhold get `withheld` as well."""
    import pyarrow as pa
    import pyarrow.compute as pc

    new: dict[int, list[str]] = {}
    for finding in findings:
        for row in pc.indices_nonzero(pc.fill_null(finding.rows, False)).to_pylist():
            new.setdefault(row, []).extend([finding.flag, WITHHELD] if finding.withhold else [finding.flag])
    if not new:
        return table
    flags = table["flags"].to_pylist()
    for row, words in new.items():
        flags[row] = list(dict.fromkeys([*(flags[row] or []), *words]))
    field = table.schema.field("flags")
    return table.set_column(table.column_names.index("flags"), field, pa.array(flags, field.type))

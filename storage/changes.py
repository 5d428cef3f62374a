"""What moved between two consecutive accepted snapshots of a provider. Pure; takes tables, returns a table.

Compared are the published price with its currency and unit, the availability, and what describes the machine. A moved
exchange rate, a shuffled answer, a renumbered listing and noise in the last digit are no changes. A price that one side
does not tell is not observed, not moved. Rows that the gate holds back are left out on both sides.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from schemas.change import Change
from schemas.offer import Offer
from schemas.providers import Provider
from schemas.record import arrow_schema, columns
from schemas.scrape import Scrape
from storage.arrow import count, numbers
from storage.flags import held_back, shown
from storage.listings import GROUP_COLUMNS, grouped

if TYPE_CHECKING:
    import pyarrow as pa

NOISE = 1e-6  # relative; below it two floats are the same number
# Half of the last digit that tables show, in USD for one GPU-hour.
DISPLAY_USD = 0.00005
IN_STOCK = ("available", "limited")
# What only tells which answer a row stands in, what follows from other columns, and what is compared by its own rules.
NOT_COMPARED = {
    *("provider", "offer_key", "observed_at", "scrape_id", "source_url", "recording_sha256", "origin", "flags"),
    *("usd_per_hour", "usd_per_gpu_hour", "rate_date", "rate_source"),
    *("price", "currency", "price_unit", "availability"),
    "available_count",  # moves all day; what matters of it is in `availability`
}
ATTRIBUTES = tuple(name for name in columns(Offer) if name not in NOT_COMPARED)
COMPARED = ("price", "currency", "price_unit", "availability", *ATTRIBUTES)
"""what an offer is compared by: two rows that agree in all of them give no change"""
# Columns that our tables and grammar fill in: when only these move and the normaliser is another, it moved them.
DERIVED = {
    *("vendor", "gpu", "form_factor", "gpu_count", "vram_gib", "vcpus", "ram_gib", "disk_gib", "network_gbps"),
    *("country", "kind", "segment", "billing_increment_s", "minimum_billing_s", "storage_usd_per_gib_month"),
}
CARRIED = (
    "gpu",
    "accelerator_raw",
    "form_factor",
    "gpu_count",
    "instance_type",
    "region",
    "country",
    "tier",
    "purchase",
)


@dataclass(frozen=True, slots=True)
class _Move:
    """One thing that moved, and its rows in the old and the new table (None where it stands in one only)."""

    kind: str
    column: str | None
    rows: tuple[int | None, int | None]
    old: str | None = None
    new: str | None = None
    relative: float | None = None
    priced: bool = False


@dataclass(frozen=True, slots=True)
class Pair:
    """Two accepted snapshots of one provider, tables of offers, with the scrapes that brought them.

    `previous` is best `gate_history`'s reference table: a row of it may be older than the snapshot it stands in, and
    the change then says so. `recorded_at`: when we came to believe the changes.
    """

    previous: pa.Table
    current: pa.Table
    previous_scrape: Scrape
    scrape: Scrape
    provider: Provider
    recorded_at: datetime


def compare(
    previous: pa.Table | None,
    current: pa.Table,
    *,
    previous_scrape: Scrape | None,
    scrape: Scrape,
    provider: Provider,
    recorded_at: datetime,
) -> pa.Table:
    """Changes (a table in Change's schema, by key and column) between one provider's snapshots; see `Pair`.

    Without a previous snapshot there is nothing to compare and no change.
    """
    if previous is None or previous_scrape is None:
        return arrow_schema(Change).empty_table()
    return compare_all([Pair(previous, current, previous_scrape, scrape, provider, recorded_at)])


def compare_all(pairs: Sequence[Pair]) -> pa.Table:
    """Changes of several providers, by key and column: as many calls of `compare` give, in a fraction of the time."""
    import pyarrow as pa

    if not pairs:
        return arrow_schema(Change).empty_table()
    of = {pair.scrape.provider: pair for pair in pairs}
    parts = []
    for listings in (False, True):
        some = [pair for pair in pairs if pair.provider.listings is listings]
        if not some:
            continue
        sides = [_grouped_sides(pair) if listings else _offer_sides(pair) for pair in some]
        before, after = (pa.concat_tables(tables) for tables in zip(*((a, b) for a, b, _ in sides), strict=True))
        kept_back = set().union(*(keys[0] for *_, keys in sides)), set().union(*(keys[1] for *_, keys in sides))
        parts.append(_table(list(_moves(before, after, kept_back, listings=listings)), before, after, of))
    return pa.concat_tables(parts).sort_by([(n, "ascending") for n in ("offer_key", "column", "kind")])


def _offer_sides(pair: Pair) -> tuple[pa.Table, pa.Table, tuple[set[str], set[str]]]:
    """The offers before and after, and keys that are held back on one side: neither gone nor new."""
    before, after = shown(pair.previous), shown(pair.current)
    return before, after, (_keys(pair.current) - _keys(after), _keys(pair.previous) - _keys(before))


def _grouped_sides(pair: Pair) -> tuple[pa.Table, pa.Table, tuple[set[str], set[str]]]:
    """The groups of listings before and after.

    A group of which a listing is held back is another group: neither its lowest price nor its end can be told.
    """
    unclear = _keys(grouped(held_back(pair.previous))) | _keys(grouped(held_back(pair.current)))
    before, after = (_without(grouped(shown(table)), unclear) for table in (pair.previous, pair.current))
    return before, after, (set(), set())


def _without(groups: pa.Table, keys: set[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    return groups.filter(pc.invert(pc.is_in(groups["offer_key"], value_set=pa.array(sorted(keys), pa.string()))))


def _keys(table: pa.Table) -> set[str]:
    import pyarrow.compute as pc

    return set(pc.unique(table["offer_key"]).to_pylist())


def _moves(
    before: pa.Table, after: pa.Table, kept_back: tuple[set[str], set[str]], *, listings: bool
) -> Iterator[_Move]:
    import pyarrow as pa
    import pyarrow.compute as pc

    old_keys, new_keys = before["offer_key"].combine_chunks(), after["offer_key"].combine_chunks()
    for row in pc.indices_nonzero(pc.invert(pc.is_in(old_keys, value_set=new_keys))).to_pylist():
        if old_keys[row].as_py() not in kept_back[0]:
            yield _Move("removed", None, (row, None))
    for row in pc.indices_nonzero(pc.invert(pc.is_in(new_keys, value_set=old_keys))).to_pylist():
        if new_keys[row].as_py() not in kept_back[1]:
            yield _Move("added", None, (None, row))
    at = pc.index_in(new_keys, value_set=old_keys)
    pairs = _Pairs(before, after, pc.drop_null(at), pc.indices_nonzero(pc.is_valid(at)))
    yield from _published(pairs)
    yield from _stock(pairs)
    for name in ["listings", "median_price"] if listings else ATTRIBUTES:
        number = name == "listings" or pa.types.is_decimal(before[name].type)
        for rows, a, b in pairs.differing(name, _differs(*pairs.sides(name))):
            relative = float(b) / float(a) - 1 if number and a and b is not None else None
            yield _Move("changed", name, rows, _text(a), _text(b), relative)


class _Pairs:
    """The offers that both tables have, side by side. Columns are taken when asked for: most are never told."""

    def __init__(self, before: pa.Table, after: pa.Table, old_rows: pa.Array, new_rows: pa.Array) -> None:
        self._tables = before, after
        self._rows = old_rows, new_rows

    def sides(self, name: str) -> tuple[pa.Array, pa.Array]:
        """The column of the old and of the new table, row by row of the same offer."""
        old, new = (
            table[name].combine_chunks().take(rows) for table, rows in zip(self._tables, self._rows, strict=True)
        )
        return old, new

    def differing(self, name: str, mask: pa.Array) -> Iterator[tuple[tuple[int, int], Any, Any]]:
        """Where the mask holds: rows in the two tables, old value, new value."""
        import pyarrow.compute as pc

        if not count(mask):
            return
        old, new = (pc.filter(side, mask, "drop").to_pylist() for side in self.sides(name))
        rows = (pc.filter(side, mask, "drop").to_pylist() for side in self._rows)
        yield from zip(zip(*rows, strict=True), old, new, strict=True)


def _published(pairs: _Pairs) -> Iterator[_Move]:
    """Moves of the published price; another currency or unit is told as such, for the two prices cannot be compared."""
    import pyarrow.compute as pc

    currency, unit, price = (pairs.sides(name) for name in ("currency", "price_unit", "price"))
    other_currency = pc.not_equal(*currency)
    other_unit = pc.and_(pc.not_equal(*unit), pc.invert(other_currency))
    quoted = [pc.binary_join_element_wise(currency[i], unit[i], "/") for i in (0, 1)]
    for name, mask in (("currency", other_currency), ("price_unit", other_unit)):
        told = (pc.filter(side, mask).to_pylist() for side in quoted)
        for (rows, a, b), *units in zip(pairs.differing("price", mask), *told, strict=True):
            old, new = (f"{_text(p) or '?'} {u}" for p, u in zip((a, b), units, strict=True))
            yield _Move("changed", name, rows, old, new)
    same = pc.invert(pc.or_(other_currency, other_unit))
    relative = pc.subtract(pc.divide(numbers(price[1]), numbers(price[0])), 1.0)
    size = pc.abs(relative)
    usd = pc.coalesce(*(numbers(side) for side in reversed(pairs.sides("usd_per_gpu_hour"))))
    visible = pc.coalesce(pc.greater_equal(pc.multiply(size, usd), DISPLAY_USD), pc.greater(size, NOISE))
    moved = pc.fill_null(pc.and_(pc.and_(same, visible), pc.not_equal(*price)), False)
    sizes = pc.filter(relative, moved).to_pylist()
    for (rows, a, b), r in zip(pairs.differing("price", moved), sizes, strict=True):
        yield _Move("price_up" if r > 0 else "price_down", "price", rows, _text(a), _text(b), r, priced=True)


def _stock(pairs: _Pairs) -> Iterator[_Move]:
    import pyarrow.compute as pc

    for rows, a, b in pairs.differing("availability", pc.not_equal(*pairs.sides("availability"))):
        kind = "changed"
        if a in IN_STOCK and b == "sold_out":
            kind = "sold_out"
        elif a == "sold_out" and b in IN_STOCK:
            kind = "available"
        yield _Move(kind, "availability", rows, a, b)


def _differs(old: pa.Array, new: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(old.type):
        gap = pc.abs(pc.subtract(old, new))
        unequal = pc.greater(gap, pc.multiply(pc.max_element_wise(pc.abs(old), pc.abs(new)), NOISE))
    else:
        unequal = pc.not_equal(old, new)
    one_null = pc.not_equal(pc.is_null(old), pc.is_null(new))
    return pc.or_(pc.fill_null(unequal, False), one_null)


def _text(value: Any) -> str | None:
    """A value as a change keeps it: no exponent, no idle zeros, instants in UTC."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return str(value)


class _Causes:
    """Why things differ: what of the two scrapes' ways to read the provider is another."""

    def __init__(self, previous: Scrape, scrape: Scrape) -> None:
        self.correction = scrape.supersedes is not None or scrape.observed_at == previous.observed_at
        self.parser = _other(previous.parser_version, scrape.parser_version)
        self.normaliser = _other(previous.normaliser_version, scrape.normaliser_version)
        self.access = _other(previous.access, scrape.access)

    def of(self, move: _Move, raw_moved: bool) -> str:
        """Market, unless what we did between the two scrapes can have moved it."""
        if self.correction:  # the same answer, read once more
            if self.parser:
                return "parser"
            ours = self.normaliser and move.column in DERIVED and not raw_moved
            return "normaliser" if ours else "correction"
        if move.kind in ("added", "removed"):
            return "coverage" if self.parser or self.access else "market"
        if self.parser:
            return "parser"
        if self.normaliser and move.column in DERIVED and not raw_moved:
            return "normaliser"
        return "market"


def _other(a: str | None, b: str | None) -> bool:
    return a is not None and b is not None and a != b


def _table(moves: Sequence[_Move], before: pa.Table, after: pa.Table, of: dict[str, Pair]) -> pa.Table:
    """The moves as changes; `of` gives the pair of snapshots that a provider's rows stand in."""
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = arrow_schema(Change)
    if not moves:
        return schema.empty_table()
    told = [
        *("provider", "offer_key", "observed_at", "scrape_id", "price", "currency", "price_unit", "usd_per_gpu_hour"),
        *CARRIED,
    ]
    old = before.select(told).take(pa.array([m.rows[0] for m in moves], pa.int64()))
    new = after.select(told).take(pa.array([m.rows[1] for m in moves], pa.int64()))
    raw_moved = {m.rows for m in moves if m.column and m.column not in DERIVED and m.column != "availability"}
    keys = pc.coalesce(new["offer_key"], old["offer_key"]).to_pylist()
    pairs = [of[name] for name in pc.coalesce(new["provider"], old["provider"]).to_pylist()]
    causes = {name: _Causes(pair.previous_scrape, pair.scrape) for name, pair in of.items()}
    snapshots = {
        name: f"{pair.previous_scrape.observed_at.timestamp():.6f} {pair.scrape.observed_at.timestamp():.6f}"
        for name, pair in of.items()
    }
    names = [pair.scrape.provider for pair in pairs]
    priced = pa.array([m.priced for m in moves], pa.bool_())
    seen_at = pa.array([pair.previous_scrape.observed_at for pair in pairs], old["observed_at"].type)
    seen_in = pa.array([pair.previous_scrape.scrape_id for pair in pairs], pa.string())
    given: dict[str, Any] = {
        "offer_key": keys,
        "change_id": [
            _change_id(snapshots[name], name, key, m) for name, key, m in zip(names, keys, moves, strict=True)
        ],
        "previous_observed_at": pc.coalesce(old["observed_at"], seen_at),
        "previous_scrape_id": pc.coalesce(old["scrape_id"], seen_in),
        "kind": [m.kind for m in moves],
        "cause": [causes[name].of(m, m.rows in raw_moved) for name, m in zip(names, moves, strict=True)],
        "column": [m.column for m in moves],
        "old": [m.old for m in moves],
        "new": [m.new for m in moves],
        "relative": [m.relative for m in moves],
        "old_price": pc.if_else(pc.or_(priced, pc.is_null(new["offer_key"])), old["price"], None),
        "new_price": pc.if_else(pc.or_(priced, pc.is_null(old["offer_key"])), new["price"], None),
        "currency": pc.coalesce(new["currency"], old["currency"]),
        "price_unit": pc.coalesce(new["price_unit"], old["price_unit"]),
        "usd_per_gpu_hour": new["usd_per_gpu_hour"],
        **{name: pc.coalesce(new[name], old[name]) for name in CARRIED},
        "provider": names,
        "observed_at": [pair.scrape.observed_at for pair in pairs],
        "recorded_at": [pair.recorded_at for pair in pairs],
        "scrape_id": [pair.scrape.scrape_id for pair in pairs],
        "origin": [pair.scrape.origin for pair in pairs],
    }
    return pa.Table.from_arrays([_array(given[f.name], f.type) for f in schema], schema=schema)


def _array(values: Any, type: pa.DataType) -> pa.Array | pa.ChunkedArray:
    import pyarrow as pa

    return pa.array(values, type) if isinstance(values, list) else values.cast(type)


def _change_id(snapshots: str, provider: str, key: str, move: _Move) -> str:
    """The same two snapshots give the same ids, on any machine and in any order of rows."""
    text = repr((snapshots, provider, key, move.kind, move.column, move.old, move.new))
    return hashlib.sha256(text.encode()).hexdigest()[:24]


__all__ = ["ATTRIBUTES", "COMPARED", "GROUP_COLUMNS", "Pair", "compare", "compare_all"]

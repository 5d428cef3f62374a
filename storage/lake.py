"""The store: four Delta tables under one path, written data first and pointer last.

A snapshot is visible only through its row in `scrapes`, which is committed after its rows and its changes. A run that
is killed leaves rows that nobody sees, never half a snapshot.
"""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.change import Change
from schemas.offer import Offer
from schemas.rate import Rate
from schemas.record import arrow_schema, from_arrow, to_arrow
from schemas.scrape import Scrape
from storage.delta import DataFile, LedgerTable
from storage.errors import NoStore, NotFound, StoreError, StoreOriginError, told
from storage.files import is_remote, join
from storage.reading import Answer, ask, connect, relation, shaped
from storage.visible import END_OF_TIME, with_visible

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["Lake", "NoStore", "NotFound", "StoreError", "StoreOriginError"]

RECORDS: dict[str, type] = {"snapshots": Offer, "changes": Change, "scrapes": Scrape, "rates": Rate}
TIDY_FROM = 16  # files; each costs a reader about 3 ms
# The columns of a scrape that decide what a reader may see.
DECISIVE = ("scrape_id", "provider", "observed_at", "recorded_at", "verdict", "supersedes")
LONG_TEXTS = ("checks", "rejected")
PARTITIONED = ("snapshots", "changes")
ORIGIN_KEY = "gpufare.origin"
DESCRIPTIONS = {"live": "Live prices.", "recording": "SAMPLE, not market prices."}
# deltalake 1.6 panics on these in a path, or writes elsewhere.
REFUSED_SIGNS = "[]|^%\\"
# What may be stored where: what was imported is history of the market, so it lies beside live rows.
KEPT_IN = {"live": "live", "import": "live", "recording": "recording"}


class Lake:
    """A store. Open it with `Lake.open`; an object serves one thread."""

    def __init__(self, path: str, storage_options: dict[str, str] | None = None) -> None:
        self.path = path if is_remote(path) else str(Path(path).expanduser().absolute())
        self.storage_options = storage_options
        self._tables: dict[str, LedgerTable] = {}
        self._connection: duckdb.DuckDBPyConnection | None = None

    @classmethod
    def open(
        cls,
        path: str | Path,
        origin: str | None = None,
        create: bool = False,
        storage_options: dict[str, str] | None = None,
    ) -> Lake:
        """The store at the path. `origin` says what the caller means to store (`live`, `import`, `recording`).

        Raises NoStore where there is none and `create` is false, StoreOriginError where the store holds the other kind.
        A store is made with its kind in one atomic step: the first of two processes decides, the second is told.
        """
        lake = cls(str(path), storage_options)
        if not is_remote(lake.path) and (refused := [sign for sign in REFUSED_SIGNS if sign in lake.path]):
            raise StoreError(
                f"a store's path may not hold {' '.join(refused)} ({lake.path}); name another with --data DIR"
            )
        kind = KEPT_IN[origin] if origin else None
        scrapes = lake.table("scrapes")
        if create and kind:
            if not is_remote(lake.path):
                with told("cannot create", f"the store at {lake.path}"):
                    Path(lake.path).mkdir(parents=True, exist_ok=True)
            if scrapes.opened() is None:
                scrapes.create(DESCRIPTIONS[kind], {ORIGIN_KEY: kind})
        if scrapes.opened() is None:
            raise NoStore(lake.path)
        if kind and lake.origin != kind:
            raise StoreOriginError(lake.path, lake.origin, kind)
        if create:
            for name in RECORDS:  # also mends a store whose maker was killed after its first table
                if lake.table(name).opened() is None:
                    lake.table(name).create(DESCRIPTIONS[lake.origin], {ORIGIN_KEY: lake.origin})
        return lake

    @property
    def origin(self) -> str:
        """`live` or `recording` (a sample)."""
        kind = self.table("scrapes").setting(ORIGIN_KEY)
        if kind not in DESCRIPTIONS:
            raise StoreError(
                f"the store at {self.path} does not say whether it is live or sample; run `gpufare verify`"
            )
        return kind

    def table(self, name: str) -> LedgerTable:
        """One of the four tables: snapshots, changes, scrapes, rates."""
        if name not in self._tables:
            partition = "month" if name in PARTITIONED else None
            uri = join(self.path, name)
            self._tables[name] = LedgerTable(uri, name, RECORDS[name], partition, self.storage_options)
        return self._tables[name]

    def refresh(self) -> None:
        """Look at the logs anew: what other processes committed since shows up."""
        for table in self._tables.values():
            table.opened(again=True)

    # Writing. Each step is a method of its own, so that a test can end the process between any two.

    def commit(self, scrape: Scrape, offers: pa.Table | None = None, changes: pa.Table | None = None) -> None:
        """Store an attempt: rows of the snapshot, rows of the changes, then the row in `scrapes` that shows them.

        Safe to call again with the same values: what has landed is not stored twice. Raises StoreError.
        """
        self._check(scrape, offers)
        if offers is not None and offers.num_rows:
            self.append_snapshot(scrape, offers)
        if changes is not None and changes.num_rows:
            self.append_changes(scrape, changes)
        self.append_scrape(scrape)

    def append_snapshot(self, scrape: Scrape, offers: pa.Table) -> bool:
        """Rows of a snapshot, ordered so that readers skip most of a file. False where they had landed before."""
        rows = offers.sort_by([("gpu", "ascending"), ("offer_key", "ascending")])
        return self.table("snapshots").append(f"snapshot:{scrape.scrape_id}", _with_month(shaped(rows, Offer)))

    def append_changes(self, scrape: Scrape, changes: pa.Table) -> bool:
        """Change rows that this scrape brings. False where they had landed before."""
        return self.table("changes").append(f"changes:{scrape.scrape_id}", _with_month(shaped(changes, Change)))

    def append_scrape(self, scrape: Scrape) -> bool:
        """The pointer: one verdict on one scrape. False where it had landed before."""
        app_id = f"scrape:{scrape.scrape_id}:{scrape.recorded_at.isoformat()}:{scrape.verdict}"
        return self.table("scrapes").append(app_id, to_arrow([scrape], Scrape))

    def append_rates(self, rates: pa.Table) -> bool:
        """Exchange rates. The same rows are stored once however often they come."""
        import hashlib

        rows = shaped(rates, Rate).sort_by(
            [(name, "ascending") for name in ("source", "day", "base", "currency", "kind")]
        )
        digest = hashlib.sha256(repr(rows.to_pylist()).encode()).hexdigest()
        return self.table("rates").append(f"rates:{digest}", rows) if rows.num_rows else False

    def tidy(self) -> bool:
        """Gather the one-row files of `scrapes`, which every reading command opens. To be called after a refresh."""
        return self.table("scrapes").gather(TIDY_FROM)

    def _check(self, scrape: Scrape, offers: pa.Table | None) -> None:
        import pyarrow.compute as pc

        origins = {scrape.origin} | (set(pc.unique(offers["origin"]).to_pylist()) if offers is not None else set())
        for came in sorted(KEPT_IN[origin] for origin in origins):
            if came != self.origin:
                raise StoreOriginError(self.path, self.origin, came)
        rows = 0 if offers is None else offers.num_rows
        if rows != scrape.offers:
            raise ValueError(f"scrape {scrape.scrape_id} says {scrape.offers} offers, {rows} came")
        if offers is not None and rows:
            for name in ("scrape_id", "provider", "observed_at"):
                if pc.unique(offers[name]).to_pylist() != [getattr(scrape, name)]:
                    raise ValueError(f"rows of scrape {scrape.scrape_id} differ from it in {name}")

    # Reading.

    def clock(self, now: datetime) -> datetime:
        """The time that a reader of this store lives in: now; in a sample, an hour after its last recording.

        Recordings never grow older: their ages, and who is stale among them, must not depend on when they are read.
        """
        if self.origin != "recording":
            return now
        last = self.asked(f"SELECT max(observed_at) AS at FROM {self.relation('scrapes')}").rows[0]["at"]
        return now if last is None else min(now, last + timedelta(hours=1))

    def asked(self, sql: str, **params: Any) -> Answer:
        """A question whose answer is fetched on use, as Arrow or as rows."""
        if self._connection is None:
            self._connection = connect()
        return Answer(self._connection, sql, params)

    def query(self, sql: str, tables: Mapping[str, pa.Table] | None = None, **params: Any) -> pa.Table:
        """DuckDB's answer as Arrow; `tables` are Arrow tables at hand that the statement may name."""
        if self._connection is None:
            self._connection = connect()
        for name, table in (tables or {}).items():
            self._connection.register(name, table)
        try:
            return ask(self._connection, sql, params)
        finally:
            for name in tables or {}:
                self._connection.unregister(name)

    def files(  # noqa: PLR0917 - the wishes a reader can have
        self,
        name: str,
        providers: Collection[str] | None = None,
        scrape_ids: Collection[str] | None = None,
        gpus: Collection[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[DataFile]:
        """The files that can hold a row with one of each of the values given and an `observed_at` in the span."""
        wishes = (("provider", providers), ("scrape_id", scrape_ids), ("gpu", gpus))
        return [
            file
            for file in self.table(name).files()
            if all(values is None or file.may_hold(column, values) for column, values in wishes)
            and file.may_lie_in("observed_at", since, until)
        ]

    def relation(self, name: str, **wishes: Any) -> str:
        """SQL of a relation over the files of a table that can hold what is wanted; see `files`."""
        return self.over(name, self.files(name, **wishes))

    def over(self, name: str, files: Collection[DataFile]) -> str:
        """SQL of a relation over these files of a table."""
        return relation(self.local([file.path for file in files]), RECORDS[name])

    def local(self, paths: list[str], *, anew: bool = False) -> list[str]:
        """The files as local paths; those of an object store are copied into the cache, once more if `anew`."""
        if not is_remote(self.path):
            return paths
        from storage.cache import cached

        return cached(self.path, paths, self.storage_options, anew=anew)

    def scrapes(self, provider: str | None = None) -> list[Scrape]:
        """Every verdict on every attempt, oldest first; a scrape that was reviewed has several rows."""
        source = self.relation("scrapes", providers=None if provider is None else [provider])
        rows = self.query(
            f"SELECT * FROM {source} WHERE $provider IS NULL OR provider = $provider"
            " ORDER BY recorded_at, observed_at, provider, scrape_id",
            provider=provider,
        )
        return from_arrow(shaped(rows, Scrape), Scrape)

    def visible(
        self,
        provider: str | None = None,
        known_at: datetime | None = None,
        before: datetime | None = None,
        last: int | None = None,
    ) -> list[Scrape]:
        """Scrapes whose snapshots a reader may see, newest first: observed before `before`, at most `last` of them."""
        source = self.relation("scrapes", providers=None if provider is None else [provider])
        rows = self.query(
            f"""WITH {with_visible(source)}
            SELECT * FROM visible
            WHERE ($provider IS NULL OR provider = $provider) AND ($before IS NULL OR observed_at < $before)
            ORDER BY observed_at DESC, provider LIMIT $last""",
            known_at=known_at or END_OF_TIME,
            provider=provider,
            before=before,
            last=2**31 if last is None else last,
        )
        return from_arrow(shaped(rows, Scrape), Scrape)

    def current(self, *moments: datetime, known_at: datetime | None = None) -> list[list[Scrape]]:
        """The visible scrapes of all providers at each moment, by provider; without their long texts (LONG_TEXTS)."""
        scrapes = self.relation("scrapes")
        # Only what decides is carried through every step; the rest is read for the few found.
        found = self.query(
            f"""WITH {with_visible(f"(SELECT {', '.join(DECISIVE)} FROM {scrapes} WHERE observed_at <= $latest)")}
            SELECT moment, scrape_id, recorded_at, verdict FROM not_replaced JOIN (SELECT unnest($moments) AS moment)
                ON observed_at <= moment
            QUALIFY row_number() OVER (
                PARTITION BY moment, provider ORDER BY observed_at DESC, recorded_at DESC, scrape_id DESC) = 1""",
            known_at=known_at or END_OF_TIME,
            latest=max(moments),
            moments=list(moments),
        )
        rows = self.query(
            f"""SELECT * EXCLUDE ({", ".join(LONG_TEXTS)}) FROM {scrapes}
            JOIN found USING (scrape_id, recorded_at, verdict) WHERE scrape_id IN $ids ORDER BY provider""",
            tables={"found": found},
            ids=found["scrape_id"].to_pylist(),
        )
        at, whole = rows["moment"].to_pylist(), from_arrow(shaped(rows, Scrape), Scrape)
        return [[scrape for when, scrape in zip(at, whole, strict=True) if when == moment] for moment in moments]

    def attempts(self, provider: str, before: datetime | None = None) -> list[tuple[Scrape, bool]]:
        """The last verdict on each attempt at a provider, newest first, and whether its snapshot is visible."""
        rows = self.query(
            f"""WITH {with_visible(self.relation("scrapes", providers=[provider]))}
            SELECT *, scrape_id IN (SELECT scrape_id FROM visible) AS is_visible FROM judged
            WHERE provider = $provider AND ($before IS NULL OR observed_at < $before)
            ORDER BY observed_at DESC, recorded_at DESC""",
            known_at=END_OF_TIME,
            provider=provider,
            before=before,
        )
        seen = rows["is_visible"].to_pylist()
        return list(zip(from_arrow(shaped(rows, Scrape), Scrape), seen, strict=True))

    def last_accepted(
        self, provider: str, known_at: datetime | None = None, before: datetime | None = None
    ) -> Scrape | None:
        """The visible scrape of a provider that was observed last (before `before`); None where there is none."""
        found = self.visible(provider, known_at, before, last=1)
        return found[0] if found else None

    def snapshot(self, scrape_id: str, columns: Collection[str] | None = None) -> pa.Table:
        """Rows of one snapshot, visible or not, ordered by offer key; all columns of Offer or those named.

        A scrape that brought no rows gives an empty table.
        """
        wanted = list(columns) if columns is not None else list(arrow_schema(Offer).names)
        rows = self.query(
            f"""SELECT {", ".join(wanted)} FROM {self.relation("snapshots", scrape_ids=[scrape_id])}
            WHERE scrape_id = $scrape_id ORDER BY offer_key""",
            scrape_id=scrape_id,
        )
        return shaped(rows, Offer).select(wanted)

    def changes_of(self, scrape_id: str) -> pa.Table:
        """Changes that a scrape brought, visible or not."""
        source = self.relation("changes")
        rows = self.query(f"SELECT * FROM {source} WHERE scrape_id = $id ORDER BY change_id", id=scrape_id)
        return shaped(rows, Change)

    def rates(self) -> list[Rate]:
        """Each source's word on each day and currency, the last that was read."""
        rows = self.query(
            f"""SELECT * FROM {self.relation("rates")}
            QUALIFY row_number() OVER (
                PARTITION BY source, day, base, currency, kind ORDER BY observed_at DESC, rate) = 1
            ORDER BY source, day, base, currency, kind"""
        )
        return from_arrow(shaped(rows, Rate), Rate)


def _with_month(rows: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    month = pc.strftime(rows["observed_at"], format="%Y-%m")
    return rows.append_column(pa.field("month", pa.string(), nullable=False), month)

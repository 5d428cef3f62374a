"""Read-only SQL over documented views. The statement can read the store's data files and nothing else."""

# ruff: noqa: S608 - a reader's statement is SQL by its nature; it runs where it can reach nothing but the views

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import TYPE_CHECKING

from schemas.change import Change
from schemas.offer import Offer
from schemas.record import columns
from storage.delta import DataFile
from storage.flags import WITHHELD
from storage.lake import RECORDS, Lake
from storage.reading import connect, literal, relation
from storage.series import end_of
from storage.visible import END_OF_TIME, with_current, with_visible

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

VIEWS = {
    "offers_now": "every provider's current offers: Offer's columns, with age_s",
    "offers_asof": "offers_asof(d): the same as of a moment or, for a day, its end in UTC; with a second moment,"
    " offers_asof(d, known_at := k), as was believed then",
    "snapshots": "rows of all visible snapshots: Offer's columns",
    "changes": "changes that visible snapshots brought: Change's columns",
    "scrapes": "every verdict on every attempt: Scrape's columns",
    "rates": "exchange rates as published: Rate's columns",
    "gpus": "the accelerators of gpus.csv",
    "providers": "the providers of providers.toml",
}
NOT_WITHHELD = f"NOT coalesce(list_contains(flags, '{WITHHELD}'), false)"
READS = ("SELECT", "EXPLAIN")
_AS_OF = re.compile(r"\boffers_asof\s*\(\s*(?:(?:date|timestamptz|timestamp)\s*)?'([^']*)'\s*\)", re.IGNORECASE)


class SqlError(ValueError):
    """The statement is not one that can be run here, or it is wrong. `str()` is one line."""


def sql(lake: Lake, text: str, now: datetime, known_at: datetime | None = None) -> pa.Table:
    """The answer to one reading statement (SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW, EXPLAIN). Raises SqlError.

    Only the views that the statement names are made, over only the files that they need. `now` is the moment of
    offers_now; with `known_at` every view of the store shows what was believed then.
    """
    import duckdb

    connection = connect()
    statement = _single(connection, text)
    made = _Views(lake, now, known_at or END_OF_TIME)
    for definition in made.named_in(text):
        connection.execute(definition)
    connection.execute("SET python_enable_replacements = false")
    # The views read these files and no others; what may not be opened may not be written either.
    connection.execute(f"SET allowed_paths = [{', '.join(literal(file) for file in sorted(made.files))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    try:
        return connection.sql(statement).to_arrow_table()
    except duckdb.Error as error:
        raise SqlError(_hint(" ".join(str(error).split()))) from error


def _single(connection: duckdb.DuckDBPyConnection, text: str) -> str:
    """The one statement of the text, sure to be one that only reads."""
    import duckdb

    try:
        statements = connection.extract_statements(text)
    except duckdb.Error as error:
        raise SqlError(_hint(" ".join(str(error).split()))) from error
    if len(statements) != 1:
        raise SqlError(f"one statement at a time; {len(statements)} came")
    kind = str(statements[0].type).rpartition(".")[2]
    if kind not in READS:
        raise SqlError(f"the store is read-only: {kind} is refused; use SELECT, WITH, DESCRIBE, SHOW or EXPLAIN")
    if kind == "EXPLAIN":
        # EXPLAIN ANALYZE runs what it explains, so that must be a reading statement too.
        _single(
            connection, re.sub(r"(?is)^\s*(--[^\n]*\n|/\*.*?\*/|\s)*explain\s+(analyze\s+)?(\([^)]*\)\s*)?", "", text)
        )
    return str(statements[0].query)


def _named(text: str) -> set[str]:
    words = {word.lower() for word in re.findall(r"\w+", text)}
    if re.match(r"(?i)\s*(show|describe)\b", text) and not words & set(VIEWS):
        return set(VIEWS)  # `SHOW TABLES` names none and means all
    return words & set(VIEWS)


class _Views:
    """Definitions of the views over a store, and the files that they read."""

    def __init__(self, lake: Lake, now: datetime, known_at: datetime) -> None:
        self.lake = lake
        self.now = now
        self.known_at = known_at
        self.files: set[str] = set()

    def named_in(self, text: str) -> list[str]:
        """SQL that makes the views that the text names."""
        as_of = self.offers_asof
        bodies: dict[str, Callable[[], str]] = {
            "scrapes": lambda: f"SELECT * FROM {self._over('scrapes')} WHERE recorded_at <= {_instant(self.known_at)}",
            "rates": lambda: f"SELECT * FROM {self._over('rates')}",
            "changes": self.changes,
            "snapshots": self.snapshots,
            "offers_now": self.offers_now,
        }
        named = _named(text)
        made = [f"CREATE VIEW {name} AS {body()}" for name, body in bodies.items() if name in named]
        made += [f"CREATE TABLE {name} AS {_facts(name)}" for name in sorted(named & {"gpus", "providers"})]
        if "offers_asof" in named:
            made.append(f"CREATE MACRO offers_asof(d, known_at := NULL) AS TABLE {as_of(text)}")
        return made

    def changes(self) -> str:
        """Changes of visible scrapes."""
        body = f"SELECT {_names(Change)} FROM {self._over('changes')}"
        believed = f"recorded_at <= {_instant(self.known_at)}"
        return f"WITH {self._visible()} {body} WHERE scrape_id IN (SELECT scrape_id FROM visible) AND {believed}"

    def snapshots(self) -> str:
        """Rows of visible scrapes."""
        body = f"SELECT {_names(Offer)} FROM {self._over('snapshots')}"
        return f"WITH {self._visible()} {body} WHERE scrape_id IN (SELECT scrape_id FROM visible) AND {NOT_WITHHELD}"

    def offers_now(self) -> str:
        """Rows that are current now."""
        ids = self._current_at([self.now])
        age = f"epoch({_instant(self.now)}) - epoch(observed_at) AS age_s"
        wanted = ", ".join(literal(i) for i in sorted(ids)) or "NULL"
        return (
            f"SELECT {_names(Offer)}, {age} FROM {self._holding(ids)} WHERE scrape_id IN ({wanted}) AND {NOT_WITHHELD}"
        )

    def offers_asof(self, text: str) -> str:
        """Rows that were current at `d`; where every moment stands in the text as such, only their files are read."""
        asked = re.findall(r"\boffers_asof\b", text, re.IGNORECASE)
        moments = [moment for said in _AS_OF.findall(text) if (moment := _moment(said))]
        spelt_out = moments and len(moments) == len(asked)
        source = self._holding(self._current_at(moments)) if spelt_out else self._over("snapshots")
        known = f"coalesce({_end_of('known_at')}, {_instant(self.known_at)})"
        scrapes = with_current(self._over("scrapes")).replace("$known_at", known).replace("$as_of", _end_of("d"))
        is_current = "scrape_id IN (SELECT scrape_id FROM current)"
        return f"WITH {scrapes} SELECT {_names(Offer)} FROM {source} WHERE {is_current} AND {NOT_WITHHELD}"

    def _over(self, name: str, keep: Callable[[DataFile], bool] = lambda _: True) -> str:
        paths = self.lake.local([file.path for file in self.lake.table(name).files() if keep(file)])
        self.files.update(paths)
        return relation(paths, RECORDS[name])

    def _holding(self, ids: set[str]) -> str:
        return self._over("snapshots", lambda file: file.may_hold("scrape_id", ids))

    def _visible(self) -> str:
        return with_visible(self._over("scrapes")).replace("$known_at", _instant(self.known_at))

    def _current_at(self, moments: list[datetime]) -> set[str]:
        ids: set[str] = set()
        for moment in moments:
            rows = self.lake.query(
                f"WITH {with_current(self.lake.relation('scrapes'))} SELECT scrape_id FROM current",
                known_at=self.known_at,
                as_of=moment,
            )
            ids |= set(rows["scrape_id"].to_pylist())
        return ids


def _names(record: type) -> str:
    return ", ".join(f'"{name}"' for name in columns(record))


def _moment(said: str) -> datetime | None:
    try:
        return end_of(date.fromisoformat(said))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _end_of(said: str) -> str:
    """SQL of the moment that a parameter means: a day means its end."""
    return (
        f"(CASE WHEN length({said}::VARCHAR) = 10"
        f" THEN ({said}::VARCHAR)::DATE::TIMESTAMPTZ + INTERVAL 1 DAY - INTERVAL 1 MICROSECOND"
        f" ELSE ({said}::VARCHAR)::TIMESTAMPTZ END)"
    )


def _instant(moment: datetime) -> str:
    return f"TIMESTAMPTZ '{moment.isoformat()}'"


def _facts(name: str) -> str:
    """A fact table as a SQL relation; lists become texts parted by commas."""
    import dataclasses

    if name == "gpus":
        from schemas.gpu_names import gpu_models

        rows = [dataclasses.asdict(row) for row in gpu_models()]
    else:
        from schemas.providers import providers

        rows = [dataclasses.asdict(row) for row in providers().values()]
        for row in rows:
            row["facts"] = row["coverage"] = None
            row.update({"keys": ", ".join(row["keys"]), "optional_keys": ", ".join(row["optional_keys"])})
    names = [column for column in rows[0] if column not in ("facts", "coverage")]
    values = ", ".join("(" + ", ".join(_value(row[column]) for column in names) + ")" for row in rows)
    header = ", ".join(f'"{column}"' for column in names)
    return f"SELECT * FROM (VALUES {values}) AS t({header})"


def _value(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"{value!r}::DOUBLE" if isinstance(value, float) else repr(value)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return literal(str(value))


def _hint(message: str) -> str:
    return f"{message[:400]} (views: {', '.join(VIEWS)})"

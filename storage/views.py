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
    "offers_asof": "offers_asof(d): the same as of a moment or, for a day, its end in UTC",
    "snapshots": "rows of all visible snapshots: Offer's columns",
    "changes": "changes that visible snapshots brought: Change's columns",
    "scrapes": "every verdict on every attempt: Scrape's columns",
    "rates": "exchange rates as published: Rate's columns",
    "gpus": "the accelerators of gpus.csv",
    "providers": "the providers of providers.toml",
}
READS = ("SELECT", "EXPLAIN")
_AS_OF = re.compile(r"\boffers_asof\s*\(\s*(?:(?:date|timestamptz|timestamp)\s*)?'([^']*)'\s*\)", re.IGNORECASE)


class SqlError(ValueError):
    """The statement is not one that can be run here, or it is wrong. `str()` is one line."""


def sql(lake: Lake, text: str, now: datetime) -> pa.Table:
    """The answer to one reading statement (SELECT, WITH, FROM, VALUES, DESCRIBE, SHOW, EXPLAIN). Raises SqlError.

    Only the views that the statement names are made, over only the files that they need.
    """
    import duckdb

    connection = connect()
    statement = _single(connection, text)
    named = _named(text)
    files: set[str] = set()

    def tracked(name: str, keep: Callable[[DataFile], bool] = lambda _: True) -> str:
        paths = lake.local([file.path for file in lake.table(name).files() if keep(file)])
        files.update(paths)
        return relation(paths, RECORDS[name])

    _make(connection, lake, text, named, tracked, now)
    connection.execute("SET python_enable_replacements = false")
    # The views read these files and no others; what may not be opened may not be written either.
    connection.execute(f"SET allowed_paths = [{', '.join(literal(file) for file in sorted(files))}]")
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


def _make(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    text: str,
    named: set[str],
    tracked: Callable[..., str],
    now: datetime,
) -> None:
    def view(name: str, body: str) -> None:
        connection.execute(f"CREATE VIEW {name} AS {body}")

    def visible() -> str:
        return with_visible(tracked("scrapes")).replace("$known_at", _instant(END_OF_TIME))

    not_withheld = f"NOT coalesce(list_contains(flags, '{WITHHELD}'), false)"
    names = ", ".join(f'"{name}"' for name in columns(Offer))
    if "scrapes" in named:
        view("scrapes", f"SELECT * FROM {tracked('scrapes')}")
    if "rates" in named:
        view("rates", f"SELECT * FROM {tracked('rates')}")
    if "changes" in named:
        only = ", ".join(f'"{name}"' for name in columns(Change))
        body = f"SELECT {only} FROM {tracked('changes')} WHERE scrape_id IN (SELECT scrape_id FROM visible)"
        view("changes", f"WITH {visible()} {body}")
    if "snapshots" in named:
        body = f"SELECT {names} FROM {tracked('snapshots')} WHERE scrape_id IN (SELECT scrape_id FROM visible)"
        view("snapshots", f"WITH {visible()} {body} AND {not_withheld}")
    if "offers_now" in named:
        ids, source = _snapshot_of(lake, [now], tracked)
        age = f"epoch({_instant(now)}) - epoch(observed_at) AS age_s"
        view("offers_now", f"SELECT {names}, {age} FROM {source} WHERE scrape_id IN ({ids}) AND {not_withheld}")
    if "offers_asof" in named:
        _make_as_of(
            connection, lake, text, tracked, f"SELECT {names} FROM $source WHERE $is_current AND {not_withheld}"
        )
    for name in named & {"gpus", "providers"}:
        connection.execute(f"CREATE TABLE {name} AS {_facts(name)}")


def _make_as_of(
    connection: duckdb.DuckDBPyConnection, lake: Lake, text: str, tracked: Callable[..., str], body: str
) -> None:
    """The macro; where every moment stands in the text as such, only the files of those snapshots are read."""
    asked = re.findall(r"\boffers_asof\b", text, re.IGNORECASE)
    moments = [moment for said in _AS_OF.findall(text) if (moment := _moment(said))]
    if moments and len(moments) == len(asked):
        _, source = _snapshot_of(lake, moments, tracked)
    else:
        source = tracked("snapshots")
    at = (
        "CASE WHEN length(d::VARCHAR) = 10 THEN (d::VARCHAR)::DATE::TIMESTAMPTZ + INTERVAL 1 DAY - INTERVAL 1 MICROSECOND"
        " ELSE (d::VARCHAR)::TIMESTAMPTZ END"
    )
    scrapes = with_current(tracked("scrapes")).replace("$known_at", _instant(END_OF_TIME)).replace("$as_of", f"({at})")
    body = body.replace("$source", source).replace("$is_current", "scrape_id IN (SELECT scrape_id FROM current)")
    connection.execute(f"CREATE MACRO offers_asof(d) AS TABLE WITH {scrapes} {body}")


def _snapshot_of(lake: Lake, moments: list[datetime], tracked: Callable[..., str]) -> tuple[str, str]:
    """The ids of the snapshots that are current at the moments, as SQL, and a relation over their files only."""
    ids: set[str] = set()
    for moment in moments:
        rows = lake.query(
            f"WITH {with_current(lake.relation('scrapes'))} SELECT scrape_id FROM current",
            known_at=END_OF_TIME,
            as_of=moment,
        )
        ids |= set(rows["scrape_id"].to_pylist())
    source = tracked("snapshots", lambda file: file.may_hold("scrape_id", ids))
    return ", ".join(literal(i) for i in sorted(ids)) or "NULL", source


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
        return repr(value)
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return literal(str(value))


def _hint(message: str) -> str:
    return f"{message[:400]} (views: {', '.join(VIEWS)})"

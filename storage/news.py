"""What moved, as readers want it: change rows that are visible, without noise, and the difference of two days."""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from schemas.change import Change
from schemas.record import columns
from storage import filters as asked
from storage.filters import Filters
from storage.lake import Lake
from storage.visible import END_OF_TIME, with_visible

if TYPE_CHECKING:
    import pyarrow as pa

DEADBAND = 0.01
LISTINGS_DEADBAND = 0.5  # the number of a marketplace's listings moves all day
FLAP = timedelta(hours=48)


@dataclass(frozen=True, slots=True)
class ChangesAnswer:
    """Rows of Change with `absolute` (new price less old price), newest first; how many there are and were hidden.

    last: the id to pass as `after` to go on from here.
    """

    table: pa.Table
    total: int
    hidden: int
    last: str | None
    filters: dict[str, Any]
    origin: str


def changes(
    lake: Lake,
    filters: Filters,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    after: str | None = None,
    all: bool = False,
    limit: int | None = None,
    known_at: datetime | None = None,
    deadband: float = DEADBAND,
    flap: timedelta = FLAP,
) -> ChangesAnswer:
    """Changes observed in the closed span, of scrapes that are visible.

    Unless `all`: moves under the deadband and those that return to where they came from within the flap window are
    hidden (the move out and the move back). With `after` (a change id) only what follows it comes, oldest first, so
    that a reader who stopped sees each change once; an id that is not there gives everything.
    """
    where = asked.machine(filters)
    if since is not None:
        where.add("observed_at >= $since", since=since)
    if until is not None:
        where.add("observed_at <= $until", until=until)
    names = ", ".join(f'"{name}"' for name in columns(Change))
    # The state that a change leads to ends a flap when it equals the state before the first move.
    key = 'PARTITION BY provider, offer_key, "column" ORDER BY observed_at, change_id'
    rows = lake.query(
        f"""WITH {with_visible(lake.relation("scrapes"))},
        told AS (SELECT * FROM {lake.relation("changes", until=until)}
            WHERE scrape_id IN (SELECT scrape_id FROM visible) AND recorded_at <= $known_at),
        sized AS (SELECT *,
                "column" IS NOT NULL AND lead("new") OVER w IS NOT DISTINCT FROM "old"
                    AND lead(observed_at) OVER w - observed_at <= $flap AS flaps_out,
                "column" IS NOT NULL AND lag("old") OVER w IS NOT DISTINCT FROM "new"
                    AND observed_at - lag(observed_at) OVER w <= $flap AS flaps_back,
                kind IN ('price_up', 'price_down', 'changed') AND relative IS NOT NULL
                    AND abs(relative) < CASE "column" WHEN 'listings' THEN $many ELSE $deadband END AS small
            FROM told WINDOW w AS ({key})),
        wanted AS (SELECT *, small OR coalesce(flaps_out, false) OR coalesce(flaps_back, false) AS noise
            FROM sized WHERE {where.sql()})
        SELECT {names}, new_price - old_price AS absolute, noise FROM wanted
        ORDER BY observed_at, provider, offer_key, "column" NULLS FIRST, change_id""",
        known_at=known_at or END_OF_TIME,
        flap=flap,
        many=LISTINGS_DEADBAND,
        deadband=deadband,
        **where.params,
    )
    return _cut(rows, lake, filters, after=after, everything=all, limit=limit)


def _cut(
    rows: pa.Table, lake: Lake, filters: Filters, *, after: str | None, everything: bool, limit: int | None
) -> ChangesAnswer:
    """Hide the noise, go on after the given id, newest first unless going on, cut at the limit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    quiet = rows if everything else rows.filter(pc.invert(rows["noise"]))
    hidden = rows.num_rows - quiet.num_rows
    quiet = quiet.drop_columns(["noise"])
    if after is not None:
        at = pc.index(quiet["change_id"], after).as_py()
        quiet = quiet.slice(at + 1)
    else:
        quiet = quiet.take(pa.array(range(quiet.num_rows - 1, -1, -1), pa.int64()))
    shown = quiet if limit is None else quiet.slice(0, limit)
    newest = shown["change_id"][-1 if after is not None else 0].as_py() if shown.num_rows else after
    return ChangesAnswer(shown, quiet.num_rows, hidden, newest, filters.described(), lake.origin)

"""What the store knows of a provider before a new scrape of it is judged and compared."""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from schemas.offer import Offer
from schemas.rate import usd_rates
from schemas.scrape import Scrape
from storage.flags import WITHHELD
from storage.gate_types import (
    COUNT_MEMORY,
    INTERRUPTIBLE,
    INTERRUPTIBLE_SUFFIX,
    SEGMENT_SIGN,
    Evidence,
    History,
    Quarantined,
    checks_from_json,
)
from storage.lake import Lake
from storage.reading import shaped
from storage.visible import END_OF_TIME, with_current

if TYPE_CHECKING:
    import pyarrow as pa

# How many accepted scrapes back a row's last good price is looked for.
REFERENCE_SCRAPES = 30
PRICE_COLUMNS = (
    *("price", "currency", "price_unit", "tax_included"),
    *("usd_per_hour", "usd_per_gpu_hour", "rate_date", "rate_source"),
)


def history_of(lake: Lake, provider: str, before: datetime | None = None) -> History:
    """The provider's past as the gate wants it, from scrapes observed before `before` (all where it is None).

    What was imported is somebody else's selection and no measure of ours.
    """
    lake.refresh()  # another process may have committed since this one last looked
    attempts = lake.attempts(provider, before)
    accepted = [scrape for scrape, visible in attempts if visible and scrape.origin != "import"]
    last = lake.snapshot(accepted[0].scrape_id) if accepted else None
    return History(
        row_counts=tuple(scrape.offers for scrape in accepted[:COUNT_MEMORY]),
        last=last,
        reference=None if last is None else _mended(lake, last, accepted[:REFERENCE_SCRAPES]),
        quarantined=_waiting([scrape for scrape, _ in attempts], accepted[0] if accepted else None),
        evidence=evidence(lake, before),
        rates={currency: days[max(days)].usd for currency, days in usd_rates(lake.rates()).items() if days},
    )


def reference(
    lake: Lake,
    provider: str,
    before: datetime | None = None,
    newest: pa.Table | None = None,
    known_at: datetime | None = None,
) -> pa.Table | None:
    """The last accepted snapshot as the state to compare with; None where there is none. `newest`: it, where at hand.

    A row that was held back gives way to its last good one of the last thirty accepted scrapes, or is left out where it
    has none. A row without a price takes its last price: a gap is not observed, not a change.
    """
    if newest is not None and _whole(newest):
        return newest
    accepted = lake.visible(provider, known_at, before=before, last=REFERENCE_SCRAPES)
    if not accepted:
        return None
    return _mended(lake, lake.snapshot(accepted[0].scrape_id) if newest is None else newest, accepted)


def _mended(lake: Lake, newest: pa.Table, accepted: list[Scrape]) -> pa.Table:
    if _whole(newest):
        return newest
    ids = [scrape.scrape_id for scrape in accepted]
    source = lake.relation("snapshots", scrape_ids=ids, since=accepted[-1].observed_at)
    # A price goes with its currency and unit: all of them come from one row.
    price = ", ".join(
        f"CASE WHEN s.price IS NULL AND p.price IS NOT NULL THEN p.{n} ELSE s.{n} END AS {n}" for n in PRICE_COLUMNS
    )
    rows = lake.query(
        f"""WITH good AS (
            SELECT * FROM {source} WHERE scrape_id IN $ids AND NOT coalesce(list_contains(flags, $withheld), false)),
        state AS (SELECT * FROM good WHERE offer_key IN (SELECT offer_key FROM newest)
            QUALIFY row_number() OVER (PARTITION BY offer_key ORDER BY observed_at DESC) = 1),
        priced AS (SELECT * FROM good WHERE price IS NOT NULL
            QUALIFY row_number() OVER (PARTITION BY offer_key ORDER BY observed_at DESC) = 1)
        SELECT s.* REPLACE ({price}) FROM state s LEFT JOIN priced p USING (offer_key) ORDER BY offer_key""",
        tables={"newest": newest.select(["offer_key"])},
        ids=ids,
        withheld=WITHHELD,
    )
    return shaped(rows, Offer)


def _whole(table: pa.Table) -> bool:
    from storage.arrow import count
    from storage.flags import has_flag

    return table["price"].null_count == 0 and count(has_flag(table, WITHHELD)) == 0


def evidence(lake: Lake, before: datetime | None = None) -> dict[str, Evidence]:
    """Median price of one GPU-hour over all providers' current offers: by card, and by card and segment.

    Keys are the card, interruptible ones apart ("V100", "V100 interruptible"), and the same with the segment behind it
    ("V100 at a marketplace").
    """
    as_of = END_OF_TIME if before is None else before - timedelta(microseconds=1)
    current = lake.query(
        f"WITH {with_current(lake.relation('scrapes'))} SELECT scrape_id, provider, observed_at FROM current",
        known_at=END_OF_TIME,
        as_of=as_of,
    )
    ids = current["scrape_id"].to_pylist()
    if not ids:
        return {}
    rows = lake.query(
        f"""SELECT gpu || CASE WHEN list_contains($interruptible, purchase) THEN $suffix ELSE '' END AS card,
            segment, median(usd_per_gpu_hour)::DOUBLE AS middle, count(*) AS offers
        FROM {lake.relation("snapshots", scrape_ids=ids, providers=set(current["provider"].to_pylist()))}
        WHERE scrape_id IN $ids AND gpu IS NOT NULL AND usd_per_gpu_hour IS NOT NULL
            AND NOT coalesce(list_contains(flags, $withheld), false)
        GROUP BY GROUPING SETS ((card), (card, segment))
        HAVING segment IS NOT NULL OR grouping(segment) = 1""",
        ids=ids,
        interruptible=list(INTERRUPTIBLE),
        suffix=INTERRUPTIBLE_SUFFIX,
        withheld=WITHHELD,
    )
    return {
        row["card"] + (SEGMENT_SIGN + row["segment"] if row["segment"] else ""): Evidence(row["middle"], row["offers"])
        for row in rows.to_pylist()
    }


def _waiting(attempts: Sequence[Scrape], last: Scrape | None) -> tuple[Quarantined, ...]:
    """Attempts after the last accepted one that are still quarantined, oldest first."""
    waiting = [
        scrape
        for scrape in attempts
        if scrape.verdict == "quarantined" and (last is None or scrape.observed_at > last.observed_at)
    ]
    return tuple(
        Quarantined(
            scrape.scrape_id,
            scrape.observed_at,
            {check.name: check.value for check in checks_from_json(scrape.checks) if check.outcome == "quarantine"},
        )
        for scrape in sorted(waiting, key=lambda scrape: scrape.observed_at)
    )

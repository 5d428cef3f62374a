"""The past: every step of an offer, and what two days have and have not in common."""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Any

from schemas.offer import Offer
from schemas.providers import providers
from storage import filters as asked
from storage.changes import COMPARED, Pair, compare_all
from storage.filters import Filters
from storage.flags import WITHHELD
from storage.gate_history import reference
from storage.lake import DECISIVE, Lake
from storage.reading import shaped
from storage.visible import END_OF_TIME, with_visible

if TYPE_CHECKING:
    import pyarrow as pa

# What a change of `diff` is called to a reader; what is not here is `attribute`.
DIFF_WORDS = {
    "added": "new",
    "removed": "gone",
    "price_up": "price_up",
    "price_down": "price_down",
    "available": "stock",
    "sold_out": "stock",
}


def history(
    lake: Lake,
    filters: Filters,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    known_at: datetime | None = None,
) -> pa.Table:
    """One row per step of each offer in the closed span, by offer and time.

    Column `event`: first (seen in the span), price, availability, not_observed (the snapshot has the offer, but no
    price that could be used), gone (a later snapshot of the provider lacks it), back. A price that is unknown for a
    while and then the same is one `not_observed` and no price event. `until` is when the next step of the offer came,
    null for the last one; `observed_at`, `price`, `currency`, `price_unit`, `usd_per_gpu_hour`, `availability`,
    `scrape_id`, `origin` and what tells the machine stand beside.
    """
    span = asked.hardware(filters)
    models = [gpu.model for gpu in filters.gpus] or None
    source = lake.relation("snapshots", gpus=models, providers=filters.providers or None, since=since, until=until)
    named = "WHERE provider IN $of" if filters.providers else ""
    scrapes = f"(SELECT {', '.join(DECISIVE)} FROM {lake.relation('scrapes')} {named})"
    machine = "gpu, form_factor, gpu_count, vram_gib, instance_type, region, country, tier, purchase"
    return lake.query(
        f"""WITH {with_visible(scrapes)},
        seen AS (SELECT scrape_id, lead(observed_at) OVER (PARTITION BY provider ORDER BY observed_at) AS next_at
            FROM visible WHERE observed_at BETWEEN $since AND $until),
        rows AS (SELECT provider, offer_key, observed_at, scrape_id, origin, {machine}, currency, price_unit,
                availability, s.next_at, CASE WHEN coalesce(list_contains(flags, $withheld), false) THEN NULL ELSE
                price END AS price, CASE WHEN coalesce(list_contains(flags, $withheld), false) THEN NULL ELSE
                usd_per_gpu_hour END
                    AS usd_per_gpu_hour
            FROM {source} o JOIN seen s USING (scrape_id) WHERE {span.sql()}),
        said AS (SELECT *, CASE WHEN price IS NOT NULL THEN concat(price, ' ', currency, ' ', price_unit) END AS quote
            FROM rows),
        steps AS (SELECT *, lag(observed_at) OVER w AS before_at, lag(next_at) OVER w AS expected_at,
                lead(observed_at) OVER w AS after_at, lag(availability) OVER w AS old_availability,
                lag(quote) OVER w AS last_quote,
                last_value(quote IGNORE NULLS) OVER (PARTITION BY offer_key ORDER BY observed_at
                    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS old_quote
            FROM said WINDOW w AS (PARTITION BY offer_key ORDER BY observed_at)),
        events AS (
            SELECT *, CASE
                WHEN before_at IS NULL THEN 'first'
                WHEN expected_at IS DISTINCT FROM observed_at THEN 'back'
                WHEN quote IS NOT NULL AND quote <> coalesce(old_quote, '') THEN 'price'
                WHEN quote IS NULL AND last_quote IS NOT NULL THEN 'not_observed'
                WHEN availability <> old_availability THEN 'availability' END AS event FROM steps
            UNION ALL BY NAME
            SELECT * REPLACE (next_at AS observed_at, NULL AS price, NULL AS usd_per_gpu_hour, NULL AS availability,
                NULL AS scrape_id), 'gone' AS event
            FROM steps WHERE next_at IS NOT NULL AND after_at IS DISTINCT FROM next_at)
        SELECT provider, offer_key, observed_at,
            lead(observed_at) OVER (PARTITION BY offer_key ORDER BY observed_at) AS until, event, price, currency,
            price_unit, usd_per_gpu_hour, availability, {machine}, scrape_id, origin
        FROM events WHERE event IS NOT NULL ORDER BY provider, offer_key, observed_at""",
        known_at=known_at or END_OF_TIME,
        withheld=WITHHELD,
        since=since or datetime(1970, 1, 1, tzinfo=UTC),
        until=until or END_OF_TIME,
        **({"of": list(filters.providers)} if filters.providers else {}) | span.params,
    )


@dataclass(frozen=True, slots=True)
class DiffAnswer:
    """Rows of Change with `what` (new, gone, price_up, price_down, stock, attribute), by provider and offer.

    not_fetched: providers whose later day shows the same snapshot as the earlier one, so nothing can be said of them.
    first_seen, no_longer: providers with a snapshot on one of the days only; their offers are no rows.
    """

    table: pa.Table
    earlier: datetime
    later: datetime
    not_fetched: list[str]
    first_seen: list[str]
    no_longer: list[str]
    filters: dict[str, Any]
    origin: str


def diff(
    lake: Lake,
    earlier: date | datetime,
    later: date | datetime,
    filters: Filters | None = None,
    *,
    known_at: datetime | None = None,
) -> DiffAnswer:
    """What differs between the states at two moments; a day stands for its end, UTC. Compared as `changes` are.

    Both states are those that were believed at `known_at` (default: today).
    """
    wanted = filters or Filters(purchase=())
    a, b = end_of(earlier), end_of(later)
    old, new = (
        {scrape.provider: scrape for scrape in state if not wanted.providers or scrape.provider in wanted.providers}
        for state in lake.current(a, b, known_at=known_at)
    )
    fetched = [slug for slug in new if slug in old and old[slug].scrape_id != new[slug].scrape_id]
    snapshots = _unlike(lake, [old[slug].scrape_id for slug in fetched], [new[slug].scrape_id for slug in fetched])
    pairs = []
    for slug in fetched:
        newest = snapshots[old[slug].scrape_id]
        before = reference(lake, slug, a + timedelta(microseconds=1), newest, known_at)
        if before is not None:
            after = snapshots[new[slug].scrape_id]
            pairs.append(Pair(before, after, old[slug], new[slug], providers()[slug], new[slug].recorded_at))
    return DiffAnswer(
        table=_told(lake, compare_all(pairs), wanted),
        earlier=a,
        later=b,
        not_fetched=sorted(slug for slug in new if slug in old and slug not in fetched),
        first_seen=sorted(set(new) - set(old)),
        no_longer=sorted(set(old) - set(new)),
        filters=wanted.described(),
        origin=lake.origin,
    )


def end_of(moment: date | datetime) -> datetime:
    """The moment itself, or the last microsecond of the day in UTC."""
    if isinstance(moment, datetime):
        return moment
    return datetime.combine(moment, time.min, UTC) + timedelta(days=1, microseconds=-1)


def _unlike(lake: Lake, old: list[str], new: list[str]) -> dict[str, pa.Table]:
    """Rows of the snapshots by scrape, without the offers that are the same in `old` and `new`, which most are.

    Listings stay whole, for they are compared by group, and so does what lacks a price or is held back, for its last
    good row is looked for elsewhere.
    """
    same = " AND ".join(f'a."{name}" IS NOT DISTINCT FROM b."{name}"' for name in COMPARED)
    rows = lake.query(
        f"""WITH rows AS (SELECT * FROM {lake.relation("snapshots", scrape_ids=[*old, *new])}
            WHERE scrape_id IN $old OR scrape_id IN $new),
        good AS (SELECT * FROM rows WHERE price IS NOT NULL AND NOT coalesce(list_contains(flags, $withheld), false)
            AND NOT list_contains($listings, provider)),
        same AS (SELECT a.offer_key FROM good a JOIN good b USING (offer_key)
            WHERE a.scrape_id IN $old AND b.scrape_id IN $new AND {same})
        SELECT * FROM rows WHERE offer_key NOT IN (SELECT offer_key FROM same) ORDER BY scrape_id, offer_key""",
        old=old,
        new=new,
        withheld=WITHHELD,
        listings=[slug for slug, known in providers().items() if known.listings],
    )
    whole = shaped(rows, Offer)
    ids = whole["scrape_id"].to_pylist()
    return {
        scrape_id: whole.slice(low := bisect_left(ids, scrape_id), bisect_right(ids, scrape_id) - low)
        for scrape_id in [*old, *new]
    }


def _told(lake: Lake, table: pa.Table, filters: Filters) -> pa.Table:
    where = asked.machine(filters)
    words = " ".join(f"WHEN '{kind}' THEN '{word}'" for kind, word in DIFF_WORDS.items())
    return lake.query(
        f"""SELECT *, CASE WHEN "column" = 'availability' THEN 'stock'
            ELSE CASE kind {words} ELSE 'attribute' END END AS what
        FROM moved WHERE {where.sql()} ORDER BY provider, offer_key, "column" NULLS FIRST, change_id""",
        tables={"moved": table},
        **where.params,
    )

"""How often a card was to be had: the share of scrapes in which a provider had it in stock, by place."""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from storage import filters as asked
from storage.filters import Filters
from storage.flags import WITHHELD
from storage.lake import Lake
from storage.visible import END_OF_TIME, with_visible

if TYPE_CHECKING:
    import pyarrow as pa

PLACE = ("provider", "gpu", "form_factor", "region", "country", "purchase")


@dataclass(frozen=True, slots=True)
class StockAnswer:
    """`table`: one row for each place, the best stocked first. `rows`: every scrape behind it, newest first.

    table: provider, gpu, form_factor, region, country, purchase; in_stock_share (in_stock over told; null where no
    scrape told); told, in_stock, sold_out, unknown (did not tell), absent (the scrape lists no such offer: rented out,
    withdrawn or not yet sold, the provider does not say which); scrapes (all accepted ones of the provider in the
    span); first_seen, last_seen.
    rows: the place, observed_at, stock (in_stock, sold_out, unknown), offers, offer_keys, scrape_id, recording_sha256.
    """

    table: pa.Table
    rows: pa.Table
    since: datetime | None
    until: datetime
    filters: dict[str, Any]
    origin: str


def stock(
    lake: Lake,
    filters: Filters,
    *,
    now: datetime,
    since: datetime | None = None,
    until: datetime | None = None,
    known_at: datetime | None = None,
) -> StockAnswer:
    """The share of scrapes in stock over the closed span, for each provider, card, form factor, region and purchase.

    A scrape of which one offer is available or limited has the card in stock; else one that leaves an offer's stock
    open, or whose row the gate holds back, does not tell; else it is sold out.
    """
    where = asked.hardware(filters)
    where.add("gpu IS NOT NULL")
    if not filters.serverless:
        where.add("kind IS DISTINCT FROM 'serverless'")
    providers = filters.providers or None
    last = min(until or now, now)
    models = [gpu.model for gpu in filters.gpus] or None
    source = lake.relation("snapshots", gpus=models, providers=providers, since=since, until=last)
    place, order = ", ".join(PLACE), ", ".join(f"{name} NULLS LAST" for name in PLACE)
    span: dict[str, Any] = {
        "known_at": known_at or END_OF_TIME,
        "since": since or datetime(1970, 1, 1, tzinfo=UTC),
        "last": last,
    }
    visible = with_visible(lake.relation("scrapes", providers=providers))
    seen = "seen AS (SELECT scrape_id, provider FROM visible WHERE observed_at BETWEEN $since AND $last)"
    rows = lake.query(
        f"""WITH {visible}, {seen},
        words AS (SELECT *, CASE WHEN coalesce(list_contains(flags, $withheld), false) THEN 'unknown'
                ELSE availability END AS word
            FROM {source} WHERE scrape_id IN (SELECT scrape_id FROM seen) AND {where.sql()})
        SELECT {place}, observed_at, CASE WHEN bool_or(word IN ('available', 'limited')) THEN 'in_stock'
                WHEN bool_or(word = 'unknown') THEN 'unknown' ELSE 'sold_out' END AS stock,
            count(*) AS offers, list(offer_key ORDER BY offer_key) AS offer_keys, scrape_id,
            any_value(recording_sha256) AS recording_sha256
        FROM words GROUP BY {place}, observed_at, scrape_id ORDER BY {order}, observed_at DESC""",
        withheld=WITHHELD,
        **span,
        **where.params,
    )
    table = lake.query(
        f"""WITH {visible}, {seen},
        tried AS (SELECT provider, count(*) AS scrapes FROM seen GROUP BY provider),
        counted AS (SELECT {place}, count(*) FILTER (WHERE stock <> 'unknown') AS told,
                count(*) FILTER (WHERE stock = 'in_stock') AS in_stock,
                count(*) FILTER (WHERE stock = 'sold_out') AS sold_out,
                count(*) FILTER (WHERE stock = 'unknown') AS unknown, count(*) AS listed,
                min(observed_at) AS first_seen, max(observed_at) AS last_seen
            FROM behind GROUP BY {place})
        SELECT {place}, CASE WHEN told > 0 THEN in_stock::DOUBLE / told END AS in_stock_share, told, in_stock, sold_out,
            unknown, scrapes - listed AS absent, scrapes, first_seen, last_seen
        FROM counted JOIN tried USING (provider) ORDER BY in_stock_share DESC NULLS LAST, told DESC, {order}""",
        tables={"behind": rows},
        **span,
    )
    return StockAnswer(table, rows, since, last, filters.described(), lake.origin)

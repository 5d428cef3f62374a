"""Who was read, and what of: providers by card and day, so that a move of the market is told from a new spider."""

# ruff: noqa: S608 - texts that a caller gave travel as parameters

from __future__ import annotations

from datetime import datetime

import pyarrow as pa

from storage import filters as asked
from storage.filters import Filters
from storage.lake import Lake
from storage.query import current


def coverage(lake: Lake, filters: Filters, *, as_of: datetime, known_at: datetime | None = None) -> pa.Table:
    """One row for each card and provider of the visible snapshots at `as_of`.

    Columns: gpu (null where the words are unknown), provider, offers, in_stock (available or limited), first_seen (the
    first accepted scrape that had the card), provider_since (the provider's first accepted scrape), observed_at. A card
    whose first_seen is its provider_since came with the spider, not with the market.
    """
    seen = [c for c in current(lake, as_of, known_at) if not filters.providers or c.provider in filters.providers]
    visible = [scrape.scrape_id for scrape in lake.visible(None, known_at) if scrape.observed_at <= as_of]
    where = asked.hardware(filters)
    return lake.query(
        f"""WITH every AS (
            SELECT *, min(observed_at) OVER (PARTITION BY provider) AS provider_since,
                min(observed_at) OVER (PARTITION BY provider, gpu) AS first_seen
            FROM {lake.relation("snapshots", scrape_ids=visible)} WHERE scrape_id IN $visible)
        SELECT gpu, provider, count(*) AS offers,
            count(*) FILTER (WHERE availability IN ('available', 'limited')) AS in_stock,
            min(first_seen) AS first_seen, min(provider_since) AS provider_since, min(observed_at) AS observed_at
        FROM every WHERE scrape_id IN $ids AND {where.sql()}
        GROUP BY gpu, provider ORDER BY gpu NULLS LAST, provider""",
        visible=visible,
        ids=[c.scrape_id for c in seen],
        **where.params,
    )

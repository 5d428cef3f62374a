"""Which snapshots a reader may see: the one place where that rule stands.

Per scrape the row with the latest `recorded_at` up to `known_at` decides the verdict. Of the accepted ones those fall
away that another accepted scrape supersedes; of what is left, the last recorded stands for its provider and
`observed_at`.
"""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from datetime import UTC, datetime

from schemas.scrape import ACCEPTED

# An instant later than any that is stored: "as far as we know today".
END_OF_TIME = datetime(9999, 12, 31, tzinfo=UTC)


def with_visible(scrapes: str) -> str:
    """SQL clauses `judged` (one row per scrape) and `visible` over a relation of scrapes. Parameter: $known_at."""
    accepted = ", ".join(f"'{verdict}'" for verdict in ACCEPTED)
    # A verdict given in the same microsecond as the one it revises: the revision is never `quarantined`, so it wins.
    return f"""
        all_scrapes AS NOT MATERIALIZED (SELECT * FROM {scrapes}),
        judged AS (
            SELECT * FROM all_scrapes WHERE recorded_at <= $known_at
            QUALIFY row_number() OVER (
                PARTITION BY scrape_id ORDER BY recorded_at DESC, verdict = 'quarantined', verdict) = 1),
        accepted AS (SELECT * FROM judged WHERE verdict IN ({accepted})),
        not_replaced AS (
            SELECT * FROM accepted
            WHERE scrape_id NOT IN (SELECT supersedes FROM accepted WHERE supersedes IS NOT NULL)),
        visible AS (
            SELECT * FROM not_replaced
            QUALIFY row_number() OVER (
                PARTITION BY provider, observed_at ORDER BY recorded_at DESC, scrape_id DESC) = 1)"""


def with_current(scrapes: str) -> str:
    """As `with_visible`, up to $as_of alone, and `current`: the visible scrape of each provider at that moment.

    What supersedes a scrape or revises its verdict has its `observed_at`, so nothing later can matter.
    """
    return f"""{with_visible(f"(SELECT * FROM {scrapes} WHERE observed_at <= $as_of)")},
        current AS (
            SELECT * FROM not_replaced
            QUALIFY row_number() OVER (
                PARTITION BY provider ORDER BY observed_at DESC, recorded_at DESC, scrape_id DESC) = 1)"""

"""Each card's day: the lowest and the median price over all providers, in one statement, for a year of 30,000 offers.

A day is made as that of the index is: of every provider's last accepted rows up to its end, as long as these are within
the provider's window. `storage.filled` tells the same of each offer; there an offer whose price cannot be used keeps
its last one, here it has none.
"""

# ruff: noqa: S608 - texts that a caller gave travel as parameters; what is put into the SQL stands in this package

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from storage.filters import Filters
from storage.index import params, standing
from storage.lake import Lake

if TYPE_CHECKING:
    import pyarrow as pa

CARD = "gpu, form_factor, purchase"


def daily(lake: Lake, filters: Filters, *, now: datetime, since: datetime) -> pa.Table:
    """One row for each day (UTC) of the span, card, form factor and purchase, from the first day with a price on.

    Columns: day, gpu, form_factor, purchase, state (observed: the lowest price was read on the day; carried from an
    earlier one; failed: its provider was asked on the day and no answer was accepted; missing: no price),
    lowest_usd_per_gpu_hour, median_usd_per_gpu_hour, offers, providers (with a price), provider (of the lowest).
    """
    return lake.query(
        f"""WITH {standing(lake, filters, since, None, now)},
        accepted_days AS (SELECT DISTINCT provider, observed_at::DATE AS day FROM visible),
        failed_days AS (SELECT DISTINCT provider, observed_at::DATE AS day FROM judged
            WHERE (provider, observed_at::DATE) NOT IN (SELECT (provider, day) FROM accepted_days)),
        usable AS (SELECT day, {CARD}, provider, usd_per_gpu_hour, observed_at < day::TIMESTAMPTZ AS is_earlier
            FROM standing WHERE NOT stale AND usd_per_gpu_hour IS NOT NULL
            AND NOT coalesce(list_contains(flags, $withheld), false)
            AND ($serverless OR kind IS DISTINCT FROM 'serverless')),
        told AS (SELECT day, {CARD}, min(usd_per_gpu_hour) AS lowest, median(usd_per_gpu_hour) AS median,
                count(*) AS offers, count(DISTINCT provider) AS providers,
                min({{'price': usd_per_gpu_hour, 'is_earlier': is_earlier, 'provider': provider}}) AS first
            FROM usable GROUP BY day, {CARD}),
        cards AS (SELECT {CARD}, min(day) AS began FROM told GROUP BY {CARD})
        SELECT d.day, c.gpu, c.form_factor, c.purchase, CASE WHEN t.day IS NULL THEN 'missing'
                WHEN NOT first.is_earlier THEN 'observed' WHEN f.day IS NOT NULL THEN 'failed' ELSE 'carried' END
                AS state,
            lowest AS lowest_usd_per_gpu_hour, median AS median_usd_per_gpu_hour, coalesce(offers, 0) AS offers,
            coalesce(providers, 0) AS providers, first.provider AS provider
        FROM days d JOIN cards c ON d.day >= c.began
        LEFT JOIN told t ON t.day = d.day AND t.gpu = c.gpu AND t.purchase = c.purchase
            AND t.form_factor IS NOT DISTINCT FROM c.form_factor
        LEFT JOIN failed_days f ON f.provider = first.provider AND f.day = d.day
        ORDER BY c.gpu, c.form_factor NULLS LAST, c.purchase, d.day""",
        serverless=filters.serverless,
        **params(filters, since, None, now, None),
    )

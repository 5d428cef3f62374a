"""Checks that look at a scrape as a whole."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from schemas.providers import Provider
from storage.arrow import count, price_factors, prices_before
from storage.gate_types import (
    COUNT_BAND,
    COVERAGE_DROP,
    CURRENCY_SHARE,
    REJECTS_QUARANTINE,
    REJECTS_WARN,
    SHIFT_LEAST,
    SHIFT_ROWS,
    SHIFT_SHARE,
    SHIFT_SPREAD,
    CheckResult,
    CrawlFacts,
    Finding,
    History,
    Outcome,
)

if TYPE_CHECKING:
    import pyarrow as pa

WATCHED = ("price", "gpu", "gpu_count", "vram_gib", "region", "country", "usd_per_gpu_hour")


def finished(crawl: CrawlFacts) -> CheckResult:
    """Did the crawl end by itself and without an error?"""
    ok = crawl.finished and crawl.error_class is None
    detail = None if ok else ": ".join(x for x in (crawl.error_class or "not finished", crawl.error) if x)
    return CheckResult("finished", float(ok), "1", "ok" if ok else "quarantine", detail)


def not_empty(offers: pa.Table, provider: Provider) -> CheckResult:
    """Did anything come?"""
    empty = offers.num_rows == 0 and not provider.allow_empty
    return CheckResult("not_empty", float(offers.num_rows), ">= 1", "quarantine" if empty else "ok")


def count_in_limits(offers: pa.Table, provider: Provider) -> CheckResult:
    """Number of offers within what the provider can have. An empty table is `not_empty`'s matter."""
    low, high = provider.offers_min, provider.offers_max
    outside = offers.num_rows > 0 and not low <= offers.num_rows <= high
    bound, detail = f"{low} to {high}", f"{offers.num_rows} offers, expected {low} to {high}"
    return CheckResult("count_in_limits", float(offers.num_rows), bound, "quarantine" if outside else "ok", detail)


def count_drop(offers: pa.Table, history: History) -> CheckResult:
    """Number of offers over the median of the last accepted scrapes. One row more or less is never a fault."""
    bound = f"{1 - COUNT_BAND:.2f} to {1 + COUNT_BAND:.2f}"
    if not history.row_counts or not (usual := statistics.median(history.row_counts)):
        return CheckResult("count_drop", None, bound, "ok", "no earlier snapshot")
    ratio = offers.num_rows / usual
    outside = abs(ratio - 1) > COUNT_BAND and abs(offers.num_rows - usual) > 1
    detail = f"{offers.num_rows} offers, usually {usual:g}"
    return CheckResult("count_drop", round(ratio, 6), bound, "quarantine" if outside else "ok", detail)


def field_coverage(offers: pa.Table, provider: Provider, history: History) -> CheckResult:
    """Share of offers in which a column is known: against the provider's limits, and against its last snapshot."""
    bound = ", ".join(f"{name} {share:g}" for name, share in provider.coverage.items()) or "none set"
    if offers.num_rows == 0:
        return CheckResult("field_coverage", None, bound, "ok")
    low = {n: s for n in provider.coverage if (s := _share(offers, n)) < float(provider.coverage[n])}
    if low:
        said = "; ".join(f"{n} {s:.2f} < {provider.coverage[n]:g}" for n, s in low.items())
        return CheckResult("field_coverage", round(min(low.values()), 6), bound, "quarantine", said)
    worst = min((_share(offers, n) for n in provider.coverage), default=1.0)
    if history.last is not None and history.last.num_rows:
        lost = {n: (_share(history.last, n), _share(offers, n)) for n in WATCHED}
        lost = {n: (old, new) for n, (old, new) in lost.items() if old - new > COVERAGE_DROP}
        if lost:
            said = "; ".join(f"{n} {old:.2f} before, {new:.2f} now" for n, (old, new) in lost.items())
            return CheckResult("field_coverage", round(worst, 6), bound, "warn", said)
    return CheckResult("field_coverage", round(worst, 6), bound, "ok")


def _share(table: pa.Table, name: str) -> float:
    return 1 - int(table[name].null_count) / int(table.num_rows)


def uniform_shift(offers: pa.Table, history: History) -> CheckResult:
    """Do nearly all prices move by one factor? Then currency, unit or tax changed, or every price was really cut.

    `value` is the factor, null where prices do not move together.
    """
    import pyarrow.compute as pc

    bound = f"at most {SHIFT_SHARE:.0%}"
    if history.known is None:
        return CheckResult("uniform_shift", None, bound, "ok", "no earlier snapshot")
    factors = price_factors(offers, prices_before(offers, history.known)).drop_null()
    moved = pc.filter(factors, pc.greater(pc.abs(pc.subtract(factors, 1.0)), 1e-6))
    if len(factors) < SHIFT_ROWS or len(moved) == 0:
        return CheckResult("uniform_shift", None, bound, "ok")
    middle = statistics.median(moved.to_pylist())
    together = count(pc.less_equal(pc.abs(pc.subtract(pc.divide(moved, middle), 1.0)), SHIFT_SPREAD))
    share = together / len(factors)
    if share <= SHIFT_SHARE or abs(middle - 1) < SHIFT_LEAST:
        return CheckResult("uniform_shift", None, bound, "ok", f"{len(moved)} of {len(factors)} prices moved")
    detail = f"{share:.0%} of {len(factors)} prices times {middle:.4g}"
    return CheckResult("uniform_shift", round(middle, 6), bound, "quarantine", detail)


def currency_changed(offers: pa.Table, history: History) -> tuple[CheckResult, list[Finding]]:
    """Share of known offers that are priced in another currency than before."""
    import pyarrow.compute as pc

    bound = f"at most {CURRENCY_SHARE:.0%}"
    if history.known is None:
        return CheckResult("currency_changed", None, bound, "ok", "no earlier snapshot"), []
    before = prices_before(offers, history.known)["currency"]
    other = pc.fill_null(pc.not_equal(offers["currency"], before), False).combine_chunks()
    rows, shared = count(other), len(before) - before.null_count
    share = rows / shared if shared else 0.0
    many = rows > 1 and share > CURRENCY_SHARE
    pairs = pc.unique(pc.binary_join_element_wise(before.filter(other), offers["currency"].filter(other), " to "))
    detail = f"{rows} of {shared}: {', '.join(sorted(pairs.to_pylist()))}" if rows else None
    outcome: Outcome = "quarantine" if many else "warn" if rows else "ok"
    result = CheckResult("currency_changed", round(share, 6), bound, outcome, detail)
    return result, [Finding(other, "currency_changed")]


def known_gpus(offers: pa.Table, crawl: CrawlFacts) -> CheckResult:
    """Offers whose accelerator the table of GPUs does not know."""
    import pyarrow.compute as pc

    unknown = offers.filter(pc.is_null(offers["gpu"]))
    rows = max(unknown.num_rows, crawl.unmapped)
    words = pc.unique(pc.coalesce(unknown["accelerator_raw"], unknown["instance_type"])).drop_null().to_pylist()
    detail = f"{', '.join(sorted(words)[:5])}; see `gpufare unmapped`" if rows else None
    return CheckResult("known_gpus", float(rows), "0", "warn" if rows else "ok", detail)


def few_rejects(offers: pa.Table, crawl: CrawlFacts) -> CheckResult:
    """Share of records that could not be read."""
    came = max(crawl.records, crawl.rejects + offers.num_rows)
    share = crawl.rejects / came if came else 0.0
    outcome: Outcome = "quarantine" if share > REJECTS_QUARANTINE else "warn" if share > REJECTS_WARN else "ok"
    bound = f"{REJECTS_WARN:.0%} warns, {REJECTS_QUARANTINE:.0%} quarantines"
    detail = f"{crawl.rejects} of {came} records" if crawl.rejects else None
    return CheckResult("few_rejects", round(share, 6), bound, outcome, detail)

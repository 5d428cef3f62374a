"""The gate: what a scrape brought, judged by named checks before anybody sees it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from schemas.providers import Provider
from storage import gate_rows, gate_whole
from storage.arrow import count
from storage.flags import WITHHELD, has_flag, with_findings
from storage.gate_types import (
    CHECKS,
    CONFIRM_FACTOR,
    CONFIRM_SPREAD,
    CONFIRMATIONS,
    UNIT_FACTORS,
    UNIT_SPREAD,
    WITHHELD_SHARE,
    Check,
    CheckResult,
    CrawlFacts,
    Evidence,
    Finding,
    History,
    Judgement,
    Quarantined,
    Verdict,
)

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CHECKS", "Check", "CheckResult", "CrawlFacts", "Evidence", "History", "Judgement", "Quarantined", "judge"]

# A scrape that only these held back is taken when the next two say the same: a real cut of all prices, a range of
# machines taken off. Everything else waits for a person.
CONFIRMABLE = {"uniform_shift", "count_drop"}
WITHHOLDING = ("declared", "price_range", "price_jump")


def judge(
    offers: pa.Table,
    *,
    provider: Provider,
    crawl: CrawlFacts,
    history: History,
    known_vram: Callable[[str], tuple[float, ...]] | None = None,
) -> Judgement:
    """Judge the offers (a table in Offer's schema) of one scrape.

    A failed crawl gives `failed` and no rows. Raises ValueError where a row lacks a value that Offer requires.
    """
    if known_vram is None:
        from schemas.gpu_names import known_vram as sizes

        known_vram = sizes
    ended = gate_whole.finished(crawl)
    if ended.outcome != "ok":
        return Judgement("failed", [ended], offers.slice(0, 0), 0)
    offers, unique = gate_rows.merged(offers)
    currency, findings = gate_whole.currency_changed(offers, history)
    checks = [
        ended,
        gate_whole.not_empty(offers, provider),
        unique,
        gate_whole.count_in_limits(offers, provider),
        gate_whole.count_drop(offers, history),
        gate_whole.field_coverage(offers, provider, history),
        gate_whole.uniform_shift(offers, history),
        currency,
        gate_whole.known_gpus(offers, crawl),
        gate_whole.few_rejects(offers, crawl),
    ]
    for result, found in (
        gate_rows.declared(offers),
        gate_rows.price_range(offers, history),
        gate_rows.price_jump(offers, history),
        gate_rows.per_gpu_consistency(offers),
        gate_rows.spot_above_on_demand(offers),
        gate_rows.vram_known(offers, known_vram),
    ):
        checks.append(result)
        findings += found
    offers, withheld = _flagged(offers, findings)
    if too_many_withheld(withheld, offers.num_rows):
        checks = [_worse(check, withheld, offers.num_rows) for check in checks]
    order = [check.name for check in CHECKS]
    checks = _confirmed(sorted(checks, key=lambda check: order.index(check.name)), history)
    return Judgement(_verdict(checks), checks, offers, withheld)


def too_many_withheld(withheld: int, rows: int) -> bool:
    """More than 2 % of the rows, but always one row of a small table, unless it is half of the table."""
    return withheld > max(1.0, WITHHELD_SHARE * rows) or (withheld > 0 and 2 * withheld >= rows)


def _flagged(offers: pa.Table, findings: Sequence[Finding]) -> tuple[pa.Table, int]:
    offers = with_findings(offers, findings)
    return offers, count(has_flag(offers, WITHHELD))


def _worse(check: CheckResult, withheld: int, rows: int) -> CheckResult:
    if check.name not in WITHHOLDING or check.outcome != "withhold":
        return check
    said = f"{withheld} of {rows} rows withheld, more than {WITHHELD_SHARE:.0%}"
    return replace(check, outcome="quarantine", detail=f"{said}; {check.detail}" if check.detail else said)


def _verdict(checks: Sequence[CheckResult]) -> Verdict:
    outcomes = {check.outcome for check in checks}
    if "quarantine" in outcomes:
        return "quarantined"
    return "accepted_with_warnings" if outcomes - {"ok"} else "accepted"


def _confirmed(checks: list[CheckResult], history: History) -> list[CheckResult]:
    """Soften what held the scrape back to a warning, where the two scrapes before were held back by the very same."""
    held = {check.name: check for check in checks if check.outcome == "quarantine"}
    before = history.quarantined[-CONFIRMATIONS:]
    if not held or not set(held) <= CONFIRMABLE or len(before) < CONFIRMATIONS:
        return checks
    for name, check in held.items():
        if check.value is None or not _may_be_real(name, check.value, history):
            return checks
        if any(set(other.factors) != set(held) or not _near(other.factors[name], check.value) for other in before):
            return checks
    seen = ", ".join(other.scrape_id for other in before)
    return [
        replace(check, outcome="warn", detail=f"{check.detail}; the same in {seen}: taken as real")
        if check.name in held
        else check
        for check in checks
    ]


def _may_be_real(name: str, factor: float, history: History) -> bool:
    """Between half and double, and no factor by which a misread unit or currency would move a price."""
    low, high = CONFIRM_FACTOR
    if not low < factor < high:
        return False
    if name != "uniform_shift":
        return True
    units = [float(unit) for unit in UNIT_FACTORS]
    rates = [float(rate) for rate in history.rates.values()]
    suspects = [f for known in units + rates if known > 0 for f in (known, 1 / known)]
    return not any(_near(suspect, factor, UNIT_SPREAD) for suspect in suspects if abs(suspect - 1) > UNIT_SPREAD)


def _near(a: float | None, b: float, spread: float = CONFIRM_SPREAD) -> bool:
    return a is not None and abs(a / b - 1) <= spread

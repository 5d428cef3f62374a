"""Checks that look at single rows: each gives its number and the rows in which it found something."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from schemas.offer import Offer
from schemas.record import violations
from storage.arrow import count, joined, looked_up, medians, numbers, price_factors, prices_before
from storage.flags import JUMP_UNCONFIRMED, has_flag
from storage.gate_types import (
    BAND,
    BAND_EVIDENCE,
    INTERRUPTIBLE,
    INTERRUPTIBLE_SUFFIX,
    JUMP,
    PER_GPU_RATIO,
    SAME_PRICE,
    SAME_VRAM,
    SANE_USD_PER_GPU_HOUR,
    SEGMENT_SIGN,
    SPIKE,
    WIDE_BAND,
    CheckResult,
    Finding,
    History,
    Outcome,
)

if TYPE_CHECKING:
    import pyarrow as pa

RowCheck = tuple[CheckResult, list[Finding]]
SHAPE = ("instance_type", "accelerator_raw", "gpu", "form_factor", "gpu_count", "region", "tier", "os")
SINGLE = ("gpu", "form_factor", "vram_gib", "region", "purchase", "term_months", "upfront", "tier", "os", "currency")


def declared(offers: pa.Table) -> RowCheck:
    """Values that break the declaration. Raises ValueError where a required value is missing."""
    import pyarrow as pa

    findings, rows, details = [], set[int](), []
    for broken in violations(offers, Offer):
        if broken.rule == "required":
            raise ValueError(f"offers without {broken.column}: rows {broken.rows[:5]}; a normaliser must fill it")
        rows.update(broken.rows)
        details.append(f"{broken.column} {broken.rule}: {len(broken.rows)}")
        mask = [False] * len(offers)
        for row in broken.rows:
            mask[row] = True
        findings.append(Finding(pa.array(mask, pa.bool_()), f"{broken.column}_out_of_bounds", withhold=True))
    outcome: Outcome = "withhold" if rows else "ok"
    return CheckResult("declared", float(len(rows)), "0", outcome, "; ".join(details) or None), findings


def merged(offers: pa.Table) -> tuple[pa.Table, CheckResult]:
    """The offers with identical duplicates merged. Rows that share a key but differ stay, and the check names both."""
    import pyarrow as pa
    import pyarrow.compute as pc

    names = offers.column_names
    counts = offers.group_by("offer_key", use_threads=False).aggregate([("offer_key", "count")])
    twice = counts.filter(pc.greater(counts["offer_key_count"], 1))["offer_key"]
    if len(twice) == 0:
        return offers, CheckResult("unique_keys", 0.0, "0", "ok")
    rows = pc.indices_nonzero(pc.is_in(offers["offer_key"], value_set=twice.combine_chunks())).to_pylist()
    first: dict[str, list[tuple[int, dict[str, object]]]] = {}
    dropped, conflicts = set(), []
    for row, values in zip(rows, offers.take(rows).to_pylist(), strict=True):
        seen = first.setdefault(values["offer_key"], [])
        if any(_same(values, other) for _, other in seen):
            dropped.add(row)
            continue
        if seen:
            conflicts.append(_conflict(values, seen[0][1], names))
        seen.append((row, values))
    kept = offers.filter(pa.array([i not in dropped for i in range(len(offers))], pa.bool_())) if dropped else offers
    said = [f"{len(dropped)} identical rows merged"] if dropped else []
    result = CheckResult(
        "unique_keys",
        float(len(conflicts)),
        "0",
        "quarantine" if conflicts else "ok",
        "; ".join(said + conflicts[:5]) or None,
    )
    return kept, result


def _same(a: dict[str, object], b: dict[str, object]) -> bool:
    return all(a[name] == b[name] for name in a if name not in {"source_url", "flags"})


def _conflict(a: dict[str, object], b: dict[str, object], names: list[str]) -> str:
    differ = [name for name in names if name not in {"source_url", "flags"} and a[name] != b[name]]
    sides = (", ".join(f"{name}={_text(row[name])}" for name in differ) for row in (b, a))
    words = a["instance_type"] or a["accelerator_raw"]
    return f"{a['offer_key']} ({words}, {a['region']}) stands twice: {' against '.join(sides)}"


def _text(value: object) -> str:
    return f"{value:f}".rstrip("0") if hasattr(value, "normalize") else str(value)


def price_range(offers: pa.Table, history: History) -> RowCheck:
    """Prices of one GPU-hour outside the card's band.

    The narrow band is of the same segment: a marketplace rents old cards for a tenth of a hyperscaler's list price. It
    comes from accepted offers, or where these are too few from this table's own offers of the card. The wide band is of
    everybody's accepted offers, and tells cents from dollars where a segment has one provider only. Around both lies
    what an hourly price can be at all.
    """
    import pyarrow.compute as pc

    price, card = numbers(offers["usd_per_gpu_hour"]), priced_as(offers)
    known = {name: found.median for name, found in history.evidence.items() if found.offers >= BAND_EVIDENCE}
    segment = pc.binary_join_element_wise(card, offers["segment"].combine_chunks(), SEGMENT_SIGN)
    own = {gpu: middle for gpu, (middle, n) in medians(card, price).items() if n >= BAND_EVIDENCE}
    narrow = pc.coalesce(looked_up(segment, known), looked_up(card, own))
    wide = looked_up(card, known)
    low = pc.max_element_wise(pc.multiply(narrow, BAND[0]), pc.multiply(wide, WIDE_BAND[0]), SANE_USD_PER_GPU_HOUR[0])
    high = pc.min_element_wise(pc.multiply(narrow, BAND[1]), pc.multiply(wide, WIDE_BAND[1]), SANE_USD_PER_GPU_HOUR[1])
    outside = pc.fill_null(pc.or_(pc.less(price, low), pc.greater(price, high)), False)
    rows = count(outside)
    detail = None
    if rows:
        worst = offers.filter(outside).slice(0, 3).select(["gpu", "accelerator_raw", "usd_per_gpu_hour"]).to_pylist()
        detail = "; ".join(f"{w['gpu'] or w['accelerator_raw']} at {w['usd_per_gpu_hour']:f} USD/GPU-h" for w in worst)
    result = CheckResult("price_range", float(rows), "0", "withhold" if rows else "ok", detail)
    return result, [Finding(outside, "price_out_of_range", withhold=True)]


def priced_as(offers: pa.Table) -> pa.Array:
    """The card of each offer, interruptible ones apart: a bid may well lie under a tenth of the price on demand."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gpu = offers["gpu"].combine_chunks()
    apart = pc.is_in(offers["purchase"].combine_chunks(), value_set=pa.array(INTERRUPTIBLE))
    return pc.if_else(apart, pc.binary_join_element_wise(gpu, INTERRUPTIBLE_SUFFIX, ""), gpu)


def price_jump(offers: pa.Table, history: History) -> RowCheck:
    """Prices that moved by more than a factor of two are flagged; those beyond five are held back until seen twice."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if history.known is None:
        return CheckResult("price_jump", None, "0", "ok", "no earlier snapshot"), []
    factor = price_factors(offers, prices_before(offers, history.known))
    jumped = pc.fill_null(pc.or_(pc.greater(factor, JUMP), pc.less(factor, 1 / JUMP)), False)
    spiked = pc.fill_null(pc.or_(pc.greater(factor, SPIKE), pc.less(factor, 1 / SPIKE)), False)
    if history.last is not None and count(spiked):
        before = prices_before(offers, history.last.filter(has_flag(history.last, JUMP_UNCONFIRMED)))
        again = pc.abs(pc.subtract(price_factors(offers, before), 1.0))
        spiked = pc.and_(spiked, pc.invert(pc.fill_null(pc.less_equal(again, SAME_PRICE), False)))
    rows, held = count(jumped), count(spiked)
    detail = None
    if rows:
        moved = pc.filter(factor, jumped).to_pylist()
        keys = pc.filter(offers["offer_key"], jumped).to_pylist()
        shown = "; ".join(f"{key} times {f:.3g}" for key, f in list(zip(keys, moved, strict=True))[:3])
        detail = f"{shown}; {held} held back until seen twice" if held else shown
    outcome: Outcome = "withhold" if held else "warn" if rows else "ok"
    findings = [Finding(jumped, "price_jump"), Finding(pa.array(spiked), JUMP_UNCONFIRMED, withhold=True)]
    return CheckResult("price_jump", float(rows), "0", outcome, detail), findings


def per_gpu_consistency(offers: pa.Table) -> RowCheck:
    """Nodes whose price per GPU is not near that of the single card beside them: per GPU and per node were mixed up."""
    import pyarrow.compute as pc

    price, key = numbers(offers["usd_per_gpu_hour"]), joined(offers, SINGLE)
    one = pc.equal(numbers(offers["gpu_count"]), 1.0)
    known = pc.is_valid(offers["gpu"]).combine_chunks()
    single = {k: m for k, (m, _) in medians(key, pc.if_else(pc.and_(one, known), price, None)).items()}
    ratio = pc.divide(price, looked_up(key, single))
    odd = pc.or_(pc.less(ratio, PER_GPU_RATIO[0]), pc.greater(ratio, PER_GPU_RATIO[1]))
    odd = pc.fill_null(pc.and_(odd, pc.greater(numbers(offers["gpu_count"]), 1.0)), False)
    return _flagged("per_gpu_consistency", "0", odd, "per_gpu_inconsistent", offers)


def spot_above_on_demand(offers: pa.Table) -> RowCheck:
    """Spot prices above the on-demand price of the same shape in the same place."""
    import pyarrow.compute as pc

    price, key = numbers(offers["usd_per_gpu_hour"]), joined(offers, SHAPE)
    normal = pc.equal(offers["purchase"], "on_demand").combine_chunks()
    usual = {k: m for k, (m, _) in medians(key, pc.if_else(normal, price, None)).items()}
    spot = pc.equal(offers["purchase"], "spot").combine_chunks()
    odd = pc.fill_null(pc.and_(spot, pc.greater(price, looked_up(key, usual))), False)
    return _flagged("spot_above_on_demand", "0", odd, "spot_above_on_demand", offers)


def vram_known(offers: pa.Table, known_vram: Callable[[str], tuple[float, ...]]) -> RowCheck:
    """Memory that no card of that name has; the value stays.

    Under half of the smallest size, and no share by its count, is a share sold as a whole card: it is held back.
    """
    import pyarrow.compute as pc

    cards = offers.select(["gpu", "vram_gib"]).drop_null()
    pairs = cards.group_by(["gpu", "vram_gib"], use_threads=False).aggregate([]).to_pylist()
    odd = [p for p in pairs if not any(abs(p["vram_gib"] - s) <= SAME_VRAM * s for s in known_vram(p["gpu"]))]
    slivers = [p for p in odd if p["vram_gib"] < min(known_vram(p["gpu"]), default=0) / 2]
    flag, share = "vram_unknown_for_card", pc.fill_null(pc.less(offers["gpu_count"], 1.0), False).combine_chunks()
    held = pc.and_not(_any_of(offers, slivers), share)
    rows = _any_of(offers, odd)
    result, findings = _flagged("vram_known", "0", rows, flag, offers)
    detail = "; ".join(f"{p['gpu']} with {p['vram_gib']:g} GiB" for p in odd[:5]) or None
    outcome: Outcome = "withhold" if count(held) else result.outcome
    findings.append(Finding(held, flag, withhold=True))
    return CheckResult(result.name, result.value, result.bound, outcome, detail), findings


def _any_of(offers: pa.Table, pairs: list[dict[str, Any]]) -> pa.Array:
    """Rows that are one of these cards with one of these sizes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pa.array([False] * offers.num_rows, pa.bool_())
    for pair in pairs:
        this = pc.and_(pc.equal(offers["gpu"], pair["gpu"]), pc.equal(offers["vram_gib"], pair["vram_gib"]))
        rows = pc.or_(rows, pc.fill_null(this, False).combine_chunks())
    return rows


def _flagged(name: str, bound: str, odd: pa.Array, flag: str, offers: pa.Table) -> RowCheck:
    import pyarrow.compute as pc

    rows = count(odd)
    detail = "; ".join(pc.filter(offers["offer_key"], odd).slice(0, 3).to_pylist()) or None
    return CheckResult(name, float(rows), bound, "warn" if rows else "ok", detail), [Finding(odd, flag)]

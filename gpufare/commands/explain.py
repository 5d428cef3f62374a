"""`offers --explain`: what the first row won against, and what kept cheaper rows out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from table import offers as shown_offers
from table.cells import money, number, share
from table.view import Row, View

if TYPE_CHECKING:
    from storage.filters import Filters, Gpu
    from storage.lake import Lake
    from storage.query import OffersAnswer

TOLD = 10
RUNNERS_UP = 3


def explained(view: View, lake: Lake, filters: Filters, answer: OffersAnswer, known_at: datetime | None) -> View:
    """The view with the three runners-up and every cheaper row that a filter, the gate or its age kept out."""
    from storage.filters import Filters, Gpu
    from storage.query import offers

    # Everything of the same cards, whatever else was asked: what the filters took away is the difference.
    everything = Filters(purchase=(), gpus=tuple(Gpu(model) for model in dict.fromkeys(g.model for g in filters.gpus)))
    rows = offers(lake, everything, now=answer.as_of, as_of=answer.as_of, known_at=known_at)
    shown = offers(lake, filters, now=answer.as_of, as_of=answer.as_of, known_at=known_at, sort=answer.sort, limit=4)
    first = shown.rows
    best = first[0]["usd_per_gpu_hour"] if first else None
    kept_out = [
        {**row, "reasons": reasons}
        for row in [*rows.rows, *withheld(lake, filters, answer.as_of, known_at)]
        if (reasons := why_not(row, filters)) and _cheaper(row, best)
    ]
    kept_out.sort(key=lambda row: (row["usd_per_gpu_hour"] is None, row["usd_per_gpu_hour"], row["offer_key"]))
    steps = Counter(reason.split(":")[0] for row in kept_out for reason in row["reasons"])
    runners_up = [_brief(row) for row in first[1 : 1 + RUNNERS_UP]]
    extra = {
        "explain": {
            "runners_up": runners_up,
            "excluded": [{**_brief(row), "reasons": row["reasons"]} for row in kept_out],
            "excluded_by": dict(steps.most_common()),
        }
    }
    return replace(view, extra={**view.extra, **extra}, notes=[*view.notes, *_told(first, kept_out, steps)])


def _cheaper(row: Row, best: Any) -> bool:
    """A row without a price is no cheaper one; where nothing matched, every row is told."""
    price = row["usd_per_gpu_hour"]
    return best is None or (price is not None and price < best)


def withheld(lake: Lake, filters: Filters, as_of: datetime, known_at: datetime | None) -> Iterable[dict[str, Any]]:
    """Rows that the gate holds back, of the cards in question."""
    from storage.flags import WITHHELD
    from storage.query import current
    from table.view import rows_of

    models = {gpu.model for gpu in filters.gpus}
    for scrape in current(lake, as_of, known_at):
        for row in rows_of(lake.snapshot(scrape.scrape_id)):
            if WITHHELD in (row["flags"] or ()) and (not models or row["gpu"] in models):
                yield {**row, "age_s": scrape.age_s, "stale": scrape.stale}


def why_not(row: Row, filters: Filters) -> list[str]:
    """Every reason for which a row is not in the answer; empty where it is."""
    from schemas.places import continent_of
    from storage.filters import SELLERS_GB
    from storage.flags import WITHHELD

    f = filters
    count, vram = row["gpu_count"], row["vram_gib"]
    total = None if count is None or vram is None else count * vram
    odd = [flag for flag in row["flags"] or () if flag != WITHHELD]
    price = row["usd_per_gpu_hour"]
    checks: Sequence[tuple[bool, str]] = (
        (WITHHELD in (row["flags"] or ()), f"withheld by the gate: {', '.join(odd) or 'odd'}"),
        (bool(f.gpus) and not any(_is(row, gpu) for gpu in f.gpus), f"wrong variant: {shown_offers.gpu_name(row)}"),
        (bool(f.vendors) and row["vendor"] not in f.vendors, f"wrong vendor: {row['vendor'] or '?'}"),
        (
            not _in(count, f.counts) and not (f.fractional and count is not None and 0 < count < 1),
            "fraction of a GPU: " + share(count)
            if count is not None and count < 1
            else f"wrong number of GPUs: {share(count)}",
        ),
        (not _in(vram, f.vram), f"wrong VRAM: {number(vram)} GiB"),
        (not _in(total, f.total_vram), f"wrong total VRAM: {number(total)} GiB"),
        (bool(f.providers) and row["provider"] not in f.providers, f"other provider: {row['provider']}"),
        (_not_one_of(row["region"], f.regions), f"other region: {row['region'] or '?'}"),
        (bool(f.countries) and row["country"] not in f.countries, f"other country: {row['country'] or '?'}"),
        (
            bool(f.continents) and continent_of(row["country"]) not in f.continents,
            f"other continent: {continent_of(row['country']) or '?'}",
        ),
        (bool(f.purchase) and row["purchase"] not in f.purchase, f"other purchase: {row['purchase']}"),
        (bool(f.tiers) and row["tier"] not in f.tiers, f"other tier: {row['tier'] or '?'}"),
        (bool(f.segments) and row["segment"] not in f.segments, f"other segment: {row['segment'] or '?'}"),
        (f.max_price is not None and (price is None or price > f.max_price), f"above the price: {money(price)}"),
        (
            f.in_stock and row["availability"] not in {"available", "limited"},
            "no stock" if row["availability"] == "sold_out" else "stock unknown",
        ),
        (f.in_stock and bool(row["stale"]), "stale: past the provider's window"),
        (
            f.ram is not None and not _in(row["ram_gib"], (f.ram[0] and f.ram[0] * SELLERS_GB, f.ram[1])),
            f"wrong RAM: {number(row['ram_gib'])} GiB",
        ),
        (not f.serverless and row["kind"] == "serverless", "serverless: no machine of your own"),
        (f.direct and (row["segment"] == "reseller" or bool(row["reseller_of"])), "a reseller"),
        *_facts(row, f),
    )
    return [reason for excluded, reason in checks if excluded]


def _facts(row: Row, f: Filters) -> Iterable[tuple[bool, str]]:
    """What the provider's facts, or the offer's own words on its network, exclude."""
    from schemas.providers import providers

    known = providers().get(row["provider"])
    said = {name: known.fact(name) if known else None for name in ("network_kind", "network_gbps", *f.has)}
    kinds = f"{row['interconnect'] or ''} {said['network_kind'] or ''}".casefold()
    speed = row["network_gbps"] if row["network_gbps"] is not None else said["network_gbps"]
    yield (
        bool(f.network) and not any(word in kinds for word in f.network),
        f"other network: {said['network_kind'] or '?'}",
    )
    yield not _in(speed, f.network_gbps), f"other network speed: {number(speed)} Gbit/s"
    for name in f.has:
        yield said[name] is not True, f"{name.replace('_', ' ')}: {'no' if said[name] is False else 'unknown'}"


def _is(row: Row, gpu: Gpu) -> bool:
    return (
        row["gpu"] == gpu.model
        and (gpu.form_factor is None or row["form_factor"] == gpu.form_factor)
        and (gpu.vram_gib is None or abs((row["vram_gib"] or 0) - gpu.vram_gib) <= 0.07 * gpu.vram_gib)
        and (gpu.count is None or row["gpu_count"] == gpu.count)
    )


def _in(value: float | None, span: tuple[float | None, float | None] | None) -> bool:
    from storage.filters import within

    return span is None or within(value, span)


def _not_one_of(region: str | None, wanted: Sequence[str]) -> bool:
    return bool(wanted) and (region or "").lower() not in {name.lower() for name in wanted}


def _brief(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("offer_key", "provider", "gpu", "form_factor", "gpu_count", "purchase", "region", "usd_per_gpu_hour")
    return {name: row[name] for name in names}


def _told(first: list[dict[str, Any]], kept_out: list[dict[str, Any]], steps: Counter[str]) -> list[str]:
    lines = []
    for rank, row in enumerate(first[1 : 1 + RUNNERS_UP], 1):
        lines.append(f"runner-up {rank}: {shown_offers.line(row)}{_gap(first[0], row)}")
    what = "cheaper rows kept out" if first else "rows kept out"
    if not kept_out:
        return [*lines, "no cheaper row was kept out"]
    lines.append(f"{len(kept_out)} {what}: " + ", ".join(f"{n} {reason}" for reason, n in steps.most_common()))
    lines += [f"kept out: {shown_offers.line(row)}: {'; '.join(row['reasons'])}" for row in kept_out[:TOLD]]
    if len(kept_out) > TOLD:
        lines.append(f"and {len(kept_out) - TOLD} more; -o json tells them all")
    return lines


def _gap(best: Row, row: Row) -> str:
    low, price = best["usd_per_gpu_hour"], row["usd_per_gpu_hour"]
    return f" (+{money(price - low)} $/GPU-h)" if low is not None and price is not None and price >= low else ""

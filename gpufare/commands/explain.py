"""`offers --explain`: what the first row won against, and what kept cheaper rows out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from schemas.messages import Said, said
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
        {**row, "reasons": [str(reason) for reason in reasons]}
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

    models = {gpu.model for gpu in filters.gpus}
    seen = {one.scrape_id: one for one in current(lake, as_of, known_at)}
    source = lake.relation("snapshots", scrape_ids=list(seen), providers=[one.provider for one in seen.values()])
    held_back = lake.asked(
        f"SELECT * FROM {source} WHERE scrape_id IN $ids AND list_contains(flags, $withheld)",  # noqa: S608
        ids=list(seen),
        withheld=WITHHELD,
    )
    for row in held_back.rows:
        if not models or row["gpu"] in models:
            scrape = seen[row["scrape_id"]]
            yield {**row, "age_s": scrape.age_s, "stale": scrape.stale}


def why_not(row: Row, filters: Filters) -> list[Said]:
    """Every reason for which a row is not in the answer; empty where it is."""
    return [reason for excluded, reason in _checks(row, filters) if excluded]


def _checks(row: Row, f: Filters) -> Iterator[tuple[bool, Said]]:
    """Every filter: does it keep the row out, and that in words?"""
    from schemas.places import continent_of
    from storage.flags import WITHHELD

    price, continent = row["usd_per_gpu_hour"], continent_of(row["country"])
    odd = [flag for flag in row["flags"] or () if flag != WITHHELD]
    yield WITHHELD in (row["flags"] or ()), said("why.withheld", flags=", ".join(odd) or "odd")
    other_card = bool(f.gpus) and not any(_is(row, gpu) for gpu in f.gpus)
    yield other_card, said("why.other_card", card=shown_offers.gpu_name(row))
    yield bool(f.vendors) and row["vendor"] not in f.vendors, said("why.other_vendor", vendor=row["vendor"] or "?")
    yield from _numbers(row, f)
    yield bool(f.providers) and row["provider"] not in f.providers, said("why.other_provider", provider=row["provider"])
    yield _not_one_of(row["region"], f.regions), said("why.other_region", region=row["region"] or "?")
    yield (
        bool(f.countries) and row["country"] not in f.countries,
        said("why.other_country", country=row["country"] or "?"),
    )
    yield bool(f.continents) and continent not in f.continents, said("why.other_continent", continent=continent or "?")
    yield bool(f.purchase) and row["purchase"] not in f.purchase, said("why.other_purchase", purchase=row["purchase"])
    yield bool(f.tiers) and row["tier"] not in f.tiers, said("why.other_tier", tier=row["tier"] or "?")
    yield (
        bool(f.segments) and row["segment"] not in f.segments,
        said("why.other_segment", segment=row["segment"] or "?"),
    )
    dear = f.max_price is not None and (price is None or price > f.max_price)
    yield dear, said("why.above_the_price", price=money(price))
    none = f.in_stock and row["availability"] not in {"available", "limited"}
    yield none, said("why.no_stock" if row["availability"] == "sold_out" else "why.stock_not_known")
    yield f.in_stock and bool(row["stale"]), said("why.past_its_window")
    yield not f.serverless and row["kind"] == "serverless", said("why.serverless")
    yield f.direct and (row["segment"] == "reseller" or bool(row["reseller_of"])), said("why.reseller")
    yield from _facts(row, f)


def _numbers(row: Row, f: Filters) -> Iterator[tuple[bool, Said]]:
    """Number of GPUs and sizes of memory."""
    from storage.filters import SELLERS_GB

    count, vram = row["gpu_count"], row["vram_gib"]
    total = None if count is None or vram is None else count * vram
    is_share = count is not None and 0 < count < 1
    yield (
        not _in(count, f.counts) and not (f.fractional and is_share),
        said("why.fraction" if is_share else "why.other_count", count=share(count)),
    )
    yield not _in(vram, f.vram), said("why.other_vram", vram=number(vram))
    yield not _in(total, f.total_vram), said("why.other_total_vram", vram=number(total))
    ram = None if f.ram is None else (f.ram[0] and f.ram[0] * SELLERS_GB, f.ram[1])
    yield not _in(row["ram_gib"], ram), said("why.other_ram", ram=number(row["ram_gib"]))


def _facts(row: Row, f: Filters) -> Iterator[tuple[bool, Said]]:
    """What the provider's facts, or the offer's own words on its network, exclude."""
    from schemas.providers import providers

    known = providers().get(row["provider"])
    facts = {name: known.fact(name) if known else None for name in ("network_kind", "network_gbps", *f.has)}
    kinds = f"{row['interconnect'] or ''} {facts['network_kind'] or ''}".casefold()
    speed = row["network_gbps"] if row["network_gbps"] is not None else facts["network_gbps"]
    other = bool(f.network) and not any(word in kinds for word in f.network)
    yield other, said("why.other_network", network=facts["network_kind"] or "?")
    yield not _in(speed, f.network_gbps), said("why.other_network_speed", speed=number(speed))
    for name in f.has:
        key = "why.has_not" if facts[name] is False else "why.has_unknown"
        yield facts[name] is not True, said(key, fact=name.replace("_", " "))


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

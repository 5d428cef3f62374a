"""What a job takes: its memory term by term, and the cards and nodes that hold it, the cheapest offer beside each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gpufare.commands.fit_words import Footnotes, any_of, gib, price, shown
from table import cells
from table import offers as shown_offers
from table.view import Row, Shown, View

if TYPE_CHECKING:
    from planner.cards import Proposal
    from planner.fit import Estimate, Job
    from planner.plan import Plan
    from schemas.gpu_table import Gpu
    from schemas.messages import Messages, Said

BAR, REST = "█", "░"
CELLS = 40
OFFER = ("offer_key", "provider", "region", "zone", "country", "purchase", "availability", "usd_per_hour")
OPTIONS = {
    "seq_len": "--seq", "micro_batch": "--batch", "precision": "--precision", "quant": "--quant",
    "optimizer": "--optimizer", "attention": "--attention", "sharding": "--sharding", "lora_rank": "--rank",
    "lora_targets": "--targets",
}  # fmt: skip
"""fields of a job whose default a reader should know, and how each is changed"""
ADAPTERS_ONLY = {"lora_rank", "lora_targets"}


def query_of(job: Job) -> dict[str, Any]:
    """The job as it is understood, for machines."""
    return {name: value for name, value in asdict(job).items() if name != "model"} | {"model": job.model.name}


def told(job: Job, found: Estimate) -> dict[str, Any]:
    """The estimate for machines, term by term."""
    return {
        "low_gib": found.low_gib,
        "expected_gib": found.expected_gib,
        "high_gib": found.high_gib,
        "gpus": job.gpus,
        "confidence": found.confidence,
        "reasons": [str(reason) for reason in found.reasons],
    }


def header(words: Messages, job: Job, found: Estimate, given: Mapping[str, Any]) -> list[str]:
    """Memory, range and confidence; and what was assumed of the job because nobody said it."""
    line = words.say(
        "fit.header_one" if job.gpus == 1 else "fit.header_many",
        model=job.model.name,
        method=job.method,
        expected=found.expected_gib,
        low=found.low_gib,
        high=found.high_gib,
        confidence=words.say(f"fit.confidence.{found.confidence}"),
        **({} if job.gpus == 1 else {"gpus": job.gpus}),
    )
    assumed = [
        f"{option} {'+'.join(value) if isinstance(value, tuple) else value}"
        for name, option in OPTIONS.items()
        if name not in given
        and (value := getattr(job, name))
        and (name not in ADAPTERS_ONLY or job.way.trains.startswith("rank"))
    ]
    if job.checkpointing:
        assumed.append(words.say("fit.checkpointing"))
    return [line, words.say("fit.assumed", what=", ".join(assumed))]


def memory_view(words: Messages, job: Job, found: Estimate, now: datetime, *, plot: bool) -> View:
    """A row for each term. With `plot` a bar for each: solid to the expected size, light to the high one."""
    rows: list[Row] = [asdict(term) for term in found.terms]
    columns = [
        shown(words, "term", lambda row: words.say(f"fit.term.{row['name']}"), name="name"),
        *(_figure(words, name) for name in ("low_gib", "expected_gib", "high_gib")),
    ]
    if plot:
        most = max((row["high_gib"] for row in rows), default=0.0)
        heading = words.say("fit.scale", most=most)
        columns.insert(1, Shown(heading, lambda row: bar(row["expected_gib"], row["high_gib"], most)))
    else:
        columns.append(shown(words, "source", lambda row: cells.text_of(row["source"]), drop=1, shrink=True))
    return View(
        "fit",
        rows,
        columns,
        now,
        query_of(job),
        {"rows": len(rows)},
        {"estimate": told(job, found)},
        notes=[words.tell(reason) for reason in found.reasons],
    )


def bar(expected: float, high: float, most: float) -> str:
    """A bar of at most CELLS signs, where `most` fills them all. A term below 0 (scatter) has none."""
    if most <= 0:
        return "-"
    solid, whole = (max(0, round(CELLS * value / most)) for value in (expected, high))
    return (BAR * solid + REST * max(0, whole - solid)) or "-"


def cards_view(words: Messages, found: Sequence[Proposal], rows: Sequence[Row], now: datetime, total: int) -> View:
    """The smallest node of each card that holds the job, best first; `rows` as `card_rows` makes them.

    total: how many there are; `found` may be the first of them.
    """
    foot = Footnotes(words, [one.fit.notes for one in found])
    notes = dict(zip((_place(row) for row in rows), (one.fit.notes for one in found), strict=True))
    columns = [
        shown(words, "gpu", shown_offers.gpu_name, shrink=True),
        shown(words, "n", lambda row: cells.share(row["gpu_count"]), "right"),
        shown(words, "vram", lambda row: gib(words, row["vram_gib"], "0.##"), "right", drop=3),
        shown(words, "usable", lambda row: gib(words, row["usable_gib"]), "right", drop=6),
        shown(words, "need", lambda row: gib(words, row["expected_gib"]), "right"),
        shown(words, "headroom", lambda row: words.number(row["headroom_pct"] / 100, "0%"), "right"),
        shown(words, "batch", lambda row: cells.text_of(row["micro_batch"]), "right"),
        shown(words, "usd_per_hour", lambda row: _or_none(row, price(words, row["usd_per_hour"])), "point",
              when=any_of("provider")),
        shown(words, "purchase", lambda row: _or_none(row, cells.text_of(row["purchase"])), when=any_of("provider"),
              drop=5),
        shown(words, "provider", lambda row: _or_none(row, cells.text_of(row["provider"])), when=any_of("provider")),
        shown(words, "region", lambda row: _or_none(row, shown_offers.region_name(row)), when=any_of("provider"),
              drop=4, shrink=True),
        shown(words, "note", lambda row: foot.marks(notes[_place(row)]), drop=7),
    ]  # fmt: skip
    lines = foot.lines()
    if len(found) < total:
        lines.append(words.say("fit.more", shown=len(found), total=total))
    head = words.say("fit.cards" if total else "fit.no_card")
    return View("fit_cards", list(rows), columns, now, header=[head], notes=lines)


def card_rows(found: Sequence[Proposal], batches: Sequence[int | None], made: Plan | None) -> list[dict[str, Any]]:
    """A row for each proposal, with the cheapest offer of such a node beside it where there is one."""
    cheapest = {} if made is None else _cheapest(made)
    rows = []
    for one, batch in zip(found, batches, strict=True):
        card, fit = one.card, one.fit
        offer = cheapest.get((card, fit.gpu_count))
        rows.append(
            {
                "gpu": card.gpu,
                "variant": card.variant,
                "form_factor": card.form_factor,
                "vram_gib": card.vram_gib,
                "gpu_count": fit.gpu_count,
                "usable_gib": fit.usable_gib,
                "low_gib": fit.need.low_gib,
                "expected_gib": fit.need.expected_gib,
                "high_gib": fit.need.high_gib,
                "headroom_pct": round(fit.headroom_pct, 1),
                "certainty": fit.certainty,
                "micro_batch": batch,
                "why": str(one.why),
                "notes": [str(note) for note in fit.notes],
                **{name: offer[name] if offer else None for name in OFFER},
            }
        )
    return rows


def left_out_cards(
    words: Messages, left_out: Sequence[tuple[Gpu, tuple[Said, ...]]], sizes: Sequence[int], now: datetime
) -> View:
    """Every card that does not hold the job, and why: the reasons are those of the largest node of `sizes`."""
    rows: list[Row] = [
        {"gpu": card.gpu, "form_factor": card.form_factor, "vram_gib": card.vram_gib, "why": reasons}
        for card, reasons in left_out
    ]
    columns = [
        shown(words, "gpu", shown_offers.gpu_name),
        shown(words, "vram", lambda row: gib(words, row["vram_gib"], "0.##"), "right"),
        shown(words, "why", lambda row: "; ".join(words.tell(reason) for reason in row["why"])),
    ]
    head = words.say("fit.cards_left_out", count=len(rows), most=max(sizes, default=0))
    return View("fit_left_out_cards", rows, columns, now, header=[head])


def cards_told(left_out: Sequence[tuple[Gpu, tuple[Said, ...]]]) -> list[dict[str, Any]]:
    """The same for machines."""
    return [
        {
            "gpu": card.gpu,
            "variant": card.variant,
            "form_factor": card.form_factor,
            "vram_gib": card.vram_gib,
            "reasons": [str(reason) for reason in reasons],
        }
        for card, reasons in left_out
    ]


def _cheapest(made: Plan) -> dict[tuple[Gpu, int], Row]:
    """Card and number of GPUs to the offer with the cheapest hour; one whose card is not told apart counts for none."""
    from planner.cards import rows_meant
    from planner.plan import IN_STOCK

    def rank(row: Row) -> tuple[Any, ...]:
        return row["availability"] not in IN_STOCK, row["usd_per_hour"], row["offer_key"]

    found: dict[tuple[Gpu, int], Row] = {}
    for choice in made.choices:
        row = choice.offer
        cards = rows_meant(row["gpu"], row["form_factor"], row["vram_gib"])
        place = (cards[0], choice.fit.gpu_count)
        if len(cards) == 1 and (place not in found or rank(row) < rank(found[place])):
            found[place] = row
    return found


def _place(row: Row) -> tuple[Any, ...]:
    return row["gpu"], row["variant"], row["gpu_count"]


def _or_none(row: Row, text: str) -> str:
    """`-` where nobody offers such a node: that is known, not unknown."""
    return text if row["provider"] is not None else "-"


def _figure(words: Messages, name: str) -> Shown:
    return shown(words, name, lambda row: gib(words, row[name], "#,##0.00"), "right")

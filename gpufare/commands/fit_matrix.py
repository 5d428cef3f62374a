"""`fit --matrix`: models by methods, and how many of each card they take."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gpufare import args
from gpufare.commands import fit_options as read
from gpufare.commands.fit_words import gib, shown
from table import cells
from table.view import Row, Shown, View

if TYPE_CHECKING:
    from planner.cards import Demand, Proposal
    from planner.fit import Job
    from schemas.gpu_table import Gpu
    from schemas.messages import Messages

MODELS = ("1b", "3b", "8b", "14b", "32b", "70b", "405b")
METHODS = ("full", "lora", "qlora")
CARDS = ("RTX4090-24GB", "L40S", "A100-SXM-80GB", "H100-SXM-80GB", "H200-SXM", "B200-180GB", "MI300X")
"""what is shown where nothing is named, as a reader would type it"""


def matrix_view(
    words: Messages,
    model: str | None,
    given: dict[str, Any],
    asked: dict[str, Any],
    *,
    sure: bool,
    now: datetime,
) -> View:
    """A row for each model and method. `model` and `given["method"]` are lists; default MODELS by METHODS.

    Columns: the smallest card or node of all that may be taken, and how many of each card shown hold the job: null
    where no node of it does. Raises UsageFault for a word that is none.
    """
    names = args.listed([model]) if model else list(MODELS)
    methods = args.listed([given["method"]]) if "method" in given else list(METHODS)
    sizes = read.sizes_of(given.get("node_gpus"), asked)
    every = read.cards_of(asked)
    columns = every if asked["gpu"] else read.cards_of({**asked, "gpu": CARDS})
    rows = [
        _row(read.job_of(read.model_of(name, None), given | {"method": method}), every, columns, sizes=sizes, sure=sure)
        for name in dict.fromkeys(names)
        for method in methods
    ]
    rows.sort(key=lambda row: (row["params_b"], row["model"]))
    return View(
        "fit_matrix",
        rows,
        [
            shown(words, "model", lambda row: cells.text_of(row["model"])),
            shown(words, "method", lambda row: cells.text_of(row["method"])),
            shown(words, "on_one", lambda row: gib(words, row["expected_gib"]), "right"),
            shown(words, "smallest", lambda row: _smallest(words, row)),
            *(_count(card) for card in columns),
        ],
        now,
        {"models": names, "methods": methods, "sizes": list(sizes), "sure": sure},
        {"rows": len(rows)},
        notes=[words.say("fit.matrix_legend", sizes=", ".join(map(str, sizes)))],
    )


def _row(job: Job, every: Sequence[Gpu], columns: Sequence[Gpu], *, sizes: Sequence[int], sure: bool) -> dict[str, Any]:
    import dataclasses

    from planner.cards import proposals
    from planner.demand import demand_of
    from planner.fit import Refused

    refused: str | None = None
    demand: Demand = dataclasses.replace(demand_of(job, sure=sure), batch_of=None)
    try:
        need = demand.need_of(1)
        found, _ = proposals(demand, sizes, dict.fromkeys([*every, *columns]))
    except Refused as error:
        need, found, refused = None, [], str(error)
    by_card: dict[Gpu, Proposal] = {one.card: one for one in found}
    best = next((one for one in found if one.card in every), None)
    return {
        "model": job.model.name,
        "params_b": job.model.params_b,
        "method": job.method,
        "expected_gib": need.expected_gib if need else None,
        "low_gib": need.low_gib if need else None,
        "high_gib": need.high_gib if need else None,
        "refused": refused,
        "smallest_gpu": best.card.gpu if best else None,
        "smallest_form_factor": best.card.form_factor if best else None,
        "smallest_vram_gib": best.card.vram_gib if best else None,
        "smallest_gpu_count": best.fit.gpu_count if best else None,
        "smallest_certainty": best.fit.certainty if best else None,
        **{name_of(card): by_card[card].fit.gpu_count if card in by_card else None for card in columns},
        **{f"{name_of(card)}_certainty": by_card[card].fit.certainty if card in by_card else None for card in columns},
    }


def name_of(card: Gpu) -> str:
    """The column of a card, such as count_of_h100_sxm_80gib."""
    words = f"{card.gpu} {card.form_factor or ''} {card.vram_gib:g}gib"
    return "count_of_" + re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")


def _smallest(words: Messages, row: Row) -> str:
    if row["smallest_gpu"] is None:
        return "-"
    size = words.number(row["smallest_vram_gib"], "0.##")
    return f"{row['smallest_gpu_count']} x {row['smallest_gpu']} {size}{_mark(row['smallest_certainty'])}"


def _count(card: Gpu) -> Shown:
    name = name_of(card)

    def text(row: Row) -> str:
        return "-" if row[name] is None else f"{row[name]}{_mark(row[f'{name}_certainty'])}"

    return Shown(f"{card.gpu} {card.form_factor or ''} {card.vram_gib:g}".replace("  ", " "), text, "right", name=name)


def _mark(certainty: str) -> str:
    return "~" if certainty == "likely" else ""

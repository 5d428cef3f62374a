"""Ways to fine-tune and what each of them trains and keeps: methods.csv."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from schemas.facts import FactsError, load_csv
from schemas.gpu_table import squash

FILE = "methods.csv"
TRAINS = ("all", "layers", "layers+embeddings", "rank", "rank+embeddings", "few")
KEEPS = ("all", "targets", "scaled", "outputs", "none")


@dataclass(frozen=True, slots=True)
class Method:
    """One row.

    trains: all weights; a few layers, with the embeddings or without; low-rank adapters, with embeddings or without;
    few parameters, whose number does not matter. keeps: what the backward pass needs of a layer: inputs of all linear
    layers; inputs of the adapters' targets; those and the targets' outputs (scaled); outputs of all linear layers; none
    of these. gradient_share, state_share: for which share of the trained weights gradients and optimizer states are
    held. certain: does the estimate rest on measurements or a plain count.
    """

    name: str
    aliases: tuple[str, ...]
    trains: str
    keeps: str
    gradient_share: float
    state_share: float
    certain: bool
    source: str
    checked_on: date
    note: str | None

    @property
    def frozen_base(self) -> bool:
        """Does the model itself stay as it is, so that it may be quantised?"""
        return self.keeps != "all"


@lru_cache(maxsize=1)
def methods() -> dict[str, Method]:
    """Every method by name. Raises FactsError on a word that is none of TRAINS or KEEPS."""
    found = {}
    for line, row in enumerate(load_csv(FILE, Method), start=2):
        for column, value, known in (("trains", row.trains, TRAINS), ("keeps", row.keeps, KEEPS)):
            if value not in known:
                raise FactsError(FILE, line, column, f"one of {', '.join(known)}", value)
        found[row.name] = row
    return found


@lru_cache(maxsize=1)
def method_spellings() -> dict[str, str]:
    """Folded spelling to name: names, aliases, and each with `peft-` before it."""
    found: dict[str, str] = {}
    for row in load_csv(FILE, Method):
        for spelling in (row.name, *row.aliases):
            found[squash(spelling)] = row.name
    return {f"peft{word}": name for word, name in found.items()} | found

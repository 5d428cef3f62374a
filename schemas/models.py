"""Shapes of language models that people fine-tune: models.csv, one row a model, each with its source."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from types import MappingProxyType

from schemas.facts import FactsError, load_csv
from schemas.gpu_table import squash

FILE = "models.csv"
_SIZE = re.compile(r"(\d+(?:\.\d+)?)b")


@dataclass(frozen=True, slots=True)
class Model:
    """One decoder-only transformer. Widths are numbers of elements, sizes without a unit are counts."""

    name: str
    hf_id: str | None
    params_b: float
    """all parameters, in 10^9; with embeddings, without a vision tower"""
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    """width of a dense MLP"""
    vocab: int
    tied: bool
    """is the output head the input embedding?"""
    gated: bool
    """gated MLP and RMSNorm (Llama and its kin); no for GELU and LayerNorm (GPT and its kin)"""
    context: int | None
    """longest text in tokens that it was made for"""
    experts: int
    """routed experts of a layer, 0 for a dense model"""
    topk: int
    """experts that one token goes through"""
    moe_intermediate: int
    moe_layers: int
    shared_experts: int
    norms: int
    """norms over the hidden width in one layer: 2, or 4 where the outputs of attention and MLP are normed as well"""
    softcap: bool
    """are the logits squeezed by a tanh?"""
    aliases: tuple[str, ...]
    """other names of the same shape"""
    default_for: tuple[str, ...]
    """bare sizes that mean this model, such as 8b"""
    year: int | None
    source: str
    """where the shape was read; `unproven` where it could not be read again"""
    checked_on: date | None
    note: str | None

    @property
    def params(self) -> float:
        """All parameters."""
        return self.params_b * 1e9


class UnknownModel(LookupError):
    """No model has this name. `near` are the closest names, best first."""

    def __init__(self, text: str, near: tuple[str, ...]) -> None:
        self.text = text
        self.near = near
        hint = f"did you mean {', '.join(near)}?" if near else "give its config.json with --config"
        super().__init__(f"no model {text!r}; {hint}")


@lru_cache(maxsize=1)
def models() -> Mapping[str, Model]:
    """Every model by name, in the file's order. Raises FactsError where two rows answer to one name."""
    _spellings()
    return MappingProxyType({row.name: row for row in load_csv(FILE, Model)})


@lru_cache(maxsize=1)
def _spellings() -> dict[str, tuple[str, Model]]:
    """Folded spelling: how it is written, and whose it is."""
    found: dict[str, tuple[str, Model]] = {}
    for line, row in enumerate(load_csv(FILE, Model), start=2):
        for spelling in (row.name, *((row.hf_id,) if row.hf_id else ()), *row.aliases, *row.default_for):
            owner = found.setdefault(_folded(spelling), (spelling, row))[1]
            if owner is not row:
                raise FactsError(FILE, line, "name", "each spelling once", f"{spelling}, which {owner.name} has")
    return found


def find_model(text: str) -> Model:
    """The model that a name, a Hugging Face id, an alias or a bare size means, whatever its case and separators.

    A bare size such as `8b` means the row that lists it under default_for. Raises UnknownModel with the nearest names.
    """
    known = _spellings()
    found = known.get(_folded(text)) or known.get(_folded(text.rpartition("/")[2]))
    if found:
        return found[1]
    if size := _SIZE.fullmatch(text.strip().lower()):
        near = sorted(load_csv(FILE, Model), key=lambda row: abs(row.params_b - float(size[1])))
        raise UnknownModel(text, tuple(row.name for row in near[:3]))
    import difflib

    close = difflib.get_close_matches(_folded(text), list(known), n=6, cutoff=0.6)
    raise UnknownModel(text, tuple(dict.fromkeys(known[word][1].name for word in close))[:3])


def _folded(text: str) -> str:
    """Without case and separators; a bare size keeps its point, for 15b is not 1.5b."""
    word = text.strip().lower()
    return word if _SIZE.fullmatch(word) else squash(word)

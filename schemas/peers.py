"""Catalogues that others keep (gpuhunt, SkyPilot): their names of our providers and cards, from peers.toml."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from schemas.facts import FactsError, load_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One catalogue.

    clouds: its name of a provider = ours; several may mean one. cards: our model, with form factor or size where that
    matters = its name. exported: its names of the providers that it reads from such a file. vendors: whose cards it
    knows. arm: cards beside an ARM processor. source, checked_on: where all that stands, and when it was read there.
    """

    name: str
    title: str
    url: str
    licence: str
    credit: str
    source: str
    checked_on: date
    exported: tuple[str, ...]
    vendors: tuple[str, ...]
    arm: tuple[str, ...]
    clouds: dict[str, str]
    cards: dict[str, str]

    def card(self, gpu: str, form_factor: str | None, vram_gib: float | None) -> str:
        """What it calls a card: as listed with form factor, with size, or alone; else our name without spaces."""
        size = f"{gpu} {vram_gib:g}" if vram_gib else gpu
        for told in (f"{gpu} {form_factor}", size, gpu):
            if told in self.cards:
                return self.cards[told]
        return gpu.replace(" ", "")


@lru_cache(maxsize=1)
def peers() -> dict[str, Peer]:
    """Every catalogue by name. Raises FactsError on an unknown or missing key."""
    wanted = {field.name for field in dataclasses.fields(Peer)} - {"name"}
    found = {}
    for name, table in load_toml("peers.toml").items():
        if set(table) != wanted:
            raise FactsError("peers.toml", 0, name, f"the keys {', '.join(sorted(wanted))}", ", ".join(sorted(table)))
        lists = {key: tuple(table[key]) for key in ("exported", "vendors", "arm")}
        found[name] = Peer(name=name, **{**table, **lists})
    return found

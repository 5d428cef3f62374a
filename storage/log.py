"""The log of a Delta table on disk: which entry of it is damaged, which deltalake does not say or does not see."""

from __future__ import annotations

import json
from pathlib import Path

REMEDY = "restore it from a copy; if it is the last, you can remove it and run the same refresh again"


def empty_entry(root: Path, version: int) -> str | None:
    """One line where an entry up to the version is empty, None where none is.

    deltalake takes such an entry for one without actions: its rows would be missing without a word. Looked at are the
    entries that deltalake has just read, those since the last checkpoint.
    """
    for number in range(_first(root), version + 1):
        entry = _entry(root, number)
        if entry.exists() and not entry.stat().st_size:
            return f"has an empty entry, {entry} (did the machine go down?); {REMEDY}"
    return None


def damaged_entry(root: Path) -> str | None:
    """One line for the first entry since the last checkpoint that is missing, empty or no JSON; None where all are
    well, or the table is no folder.
    """
    there = [int(entry.stem) for entry in Path(root, "_delta_log").glob("*.json") if entry.stem.isdecimal()]
    for number in range(_first(root), max(there, default=-1) + 1):
        entry = _entry(root, number)
        if number not in there:
            return f"lacks an entry, {entry}; restore it from a copy"
        if not (content := entry.read_bytes()):
            return f"has an empty entry, {entry} (did the machine go down?); {REMEDY}"
        for place, line in enumerate(content.splitlines(), 1):
            try:
                json.loads(line)
            except ValueError:
                return f"has a damaged entry, {entry} (line {place} is no JSON); {REMEDY}"
    return None


def _first(root: Path) -> int:
    """The number of the first entry that deltalake reads."""
    try:
        return int(json.loads(Path(root, "_delta_log", "_last_checkpoint").read_bytes())["version"]) + 1
    except (OSError, ValueError, KeyError, TypeError):
        return 0  # deltalake reads on without it, and so do we


def _entry(root: Path, number: int) -> Path:
    return Path(root, "_delta_log", f"{number:020}.json")

"""The commands that ask the store; each stands in the module of its subject and is loaded only when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

MODULES = {
    "offers_command": "offers",
    "show_command": "state",
    "status_command": "state",
    "unmapped_command": "state",
    "sql_command": "state",
    "changes_command": "news",
    "diff_command": "news",
    "history_command": "news",
}


def __getattr__(name: str) -> Any:
    """A command, out of its module."""
    if name not in MODULES:
        raise AttributeError(name)
    return getattr(import_module(f"gpufare.commands.{MODULES[name]}"), name)

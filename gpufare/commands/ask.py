"""The commands that ask the store; each stands in the module of its subject."""

from __future__ import annotations

from gpufare.commands.news import changes_command, diff_command, history_command
from gpufare.commands.offers import offers_command
from gpufare.commands.state import show_command, sql_command, status_command, unmapped_command

__all__ = [
    "changes_command",
    "diff_command",
    "history_command",
    "offers_command",
    "show_command",
    "sql_command",
    "status_command",
    "unmapped_command",
]

"""The commands that ask the store; each stands in the module of its subject."""

from __future__ import annotations

from gpufare.commands.offers import offers_command

__all__ = ["offers_command"]

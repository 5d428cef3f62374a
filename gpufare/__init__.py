"""gpufare: the open ledger of what it costs to rent a GPU, and whether one is to be had.

`Ledger` asks a store the same questions as the command line and answers with pandas or Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpufare.ledger import Ledger

__all__ = ["Ledger"]


def __getattr__(name: str) -> Any:
    """Load `Ledger` on first use, so that the command line does not pay for what it does not need."""
    if name == "Ledger":
        from gpufare.ledger import Ledger

        return Ledger
    raise AttributeError(name)

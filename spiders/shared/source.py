"""Where a spider's source lies, and a version of it that any edit to it or to what it stands on changes."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from schemas.providers import provider

SHARED = Path(__file__).parent
RECORDED = SHARED.parent / "recorded"


def module_of(name: str) -> str:
    """The module that holds a spider: a provider's `spiders.<name>`, or `spiders.rates.<name>`."""
    return f"spiders.rates.{name}" if (SHARED.parent / "rates" / f"{name}.py").exists() else f"spiders.{name}"


@lru_cache(maxsize=None)
def parser_version(name: str) -> str:
    """Twelve hex digits over the spider's files and the shapes; the module is found, never imported."""
    spec = find_spec(module_of(name))
    if spec is None or spec.origin is None:
        raise LookupError(f"no spider named {name}")
    origin = Path(spec.origin)
    own = sorted(origin.parent.glob("*.py")) if origin.name == "__init__.py" else [origin]
    digest = hashlib.sha256()
    for path in [*own, SHARED / "base.py", *sorted((SHARED / "shapes").glob("*.py"))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def proof(name: str) -> Literal["answer", "shape", "unproved"]:
    """How well the reading of a provider is proved.

    answer: the spider reads a public answer that others saved. shape: it reads a recording that we wrote from
    documented fields. unproved: neither. Raises KeyError for a provider that providers.toml does not hold.
    """
    if provider(name).answers:
        return "answer"
    return "shape" if any(RECORDED.glob(f"{name}/*/offers.jsonl")) else "unproved"

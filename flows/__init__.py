"""When, and in what order. No parsing, no file formats."""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version


@lru_cache(maxsize=None)
def code_version() -> str:
    """The installed version of gpufare; `0+source` where it runs from a bare tree."""
    try:
        return version("gpufare")
    except PackageNotFoundError:
        return "0+source"

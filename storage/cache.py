"""Data files of an object store as local files. A data file never changes, so a copy is good for ever."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from storage.errors import told

CACHE_VARIABLE = "GPUFARE_CACHE"


def cache_dir() -> Path:
    """Where copies lie: GPUFARE_CACHE, else the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gpufare"


def cached(root: str, paths: list[str], options: dict[str, str] | None, *, anew: bool = False) -> list[str]:
    """Local copies of files below the URL `root`, in order; what is not there yet is fetched once, whole or not at all.

    anew: fetch them all, for a copy says nothing of whether the store still holds what it held.
    """
    folder = cache_dir() / hashlib.sha256(root.encode()).hexdigest()[:16]
    copies = [folder / path.removeprefix(root).lstrip("/") for path in paths]
    missing = [(path, copy) for path, copy in zip(paths, copies, strict=True) if anew or not copy.exists()]
    if missing:
        with told("cannot copy files of", f"the store at {root} into {folder}"):
            _fetch(root, missing, options)
    return [str(copy) for copy in copies]


def _fetch(root: str, missing: list[tuple[str, Path]], options: dict[str, str] | None) -> None:
    import pyarrow.fs as pa_fs
    from deltalake.fs import DeltaStorageHandler

    filesystem = pa_fs.PyFileSystem(DeltaStorageHandler(root, options))
    for path, copy in missing:
        copy.parent.mkdir(parents=True, exist_ok=True)
        with filesystem.open_input_file(path.removeprefix(root).lstrip("/")) as source:
            content = source.read()
        with tempfile.NamedTemporaryFile(dir=copy.parent, delete=False) as part:
            part.write(content)
        Path(part.name).rename(copy)

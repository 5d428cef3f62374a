"""A text that changes with every commit to a store, for whoever keeps answers: cheap enough to be asked each time."""

from __future__ import annotations

from pathlib import Path

from storage.files import is_remote


def stamp(path: str) -> str:
    """The state of the store's four logs. One that is not there yet has a state, too.

    Every commit puts a file into a log's folder, which moves the folder's time; a store that was made anew has other
    folders. An object store has no folders: there the versions are read; one that cannot be reached has a state, too,
    for whoever asks it a question is told why.
    """
    from storage.lake import RECORDS, Lake, StoreError

    if is_remote(path):
        lake = Lake(path)
        try:
            opened = {name: lake.table(name).opened() for name in RECORDS}
        except StoreError:
            return "not reached"
        return " ".join(f"{name}={table.version() if table else None}" for name, table in opened.items())
    states = []
    for name in RECORDS:
        try:
            state = Path(path, name, "_delta_log").expanduser().stat()
        except OSError:
            states.append(f"{name}=None")
        else:
            states.append(f"{name}={state.st_ino}.{state.st_mtime_ns}")
    return " ".join(states)

"""Which error is whose: wrong use (2) or failure (1), always in one line."""

from __future__ import annotations


def told(error: Exception) -> tuple[str, int]:
    """The line that a person reads and the exit code. An error that nobody foresaw names its type and `--debug`."""
    from flows.refresh import UnknownRecording
    from schemas.facts import FactsError
    from storage.errors import NoStore, NotFound, StoreError, StoreOriginError

    if isinstance(error, StoreOriginError | NoStore | NotFound | UnknownRecording):
        return str(error), 2
    if isinstance(error, StoreError | FactsError):
        return str(error), 1
    if isinstance(error, OSError):
        return f"{error.strerror or error} ({error.filename})" if error.filename else str(error), 1
    return f"{type(error).__name__}: {error}; run with --debug to see where", 1

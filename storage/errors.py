"""What can go wrong with a store, told in one line: what was expected, what came, the next command to type."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

# Full disk, quota, file-size limit, read-only store: the words of the operating system as the layers below pass them
# on.
_REASONS = (
    ("no space left", "the disk is full; free some space, then run the same command again"),
    ("os error 28", "the disk is full; free some space, then run the same command again"),
    ("quota exceeded", "the quota is used up; free some space, then run the same command again"),
    ("file too large", "a file may not grow that large here; raise the limit, then run the same command again"),
    ("read-only file system", "it is read-only; name a store that can be written with --data DIR"),
    ("permission denied", "it may not be written or read; mend its permissions or name another with --data DIR"),
    ("not a directory", "a file stands where a folder is needed; name another store with --data DIR"),
)


class StoreError(Exception):
    """The store could not be read or written. `str()` is one line that names the table or file and the next command."""


class NoStore(StoreError):
    """There is no store at the path."""

    def __init__(self, path: str) -> None:
        super().__init__(f"no store at {path}; run `gpufare refresh` to fill one, or `gpufare demo` to see a sample")


class StoreOriginError(StoreError):
    """Live rows meant for a sample store, or the reverse. Nothing was written."""

    def __init__(self, path: str, holds: str, came: str) -> None:
        words = {"live": "live prices", "recording": "a sample from recordings"}
        super().__init__(
            f"the store at {path} holds {words.get(holds, holds)}, the rows to store are {words.get(came, came)}; "
            "a store is live or sample, never both: name another with --data DIR"
        )


class NotFound(StoreError):
    """A key, scrape or recording that the store does not hold."""


@contextmanager
def told(doing: str, where: str) -> Iterator[None]:
    """Turn what deltalake, DuckDB, Arrow or the operating system raise inside into one StoreError."""
    try:
        yield
    except StoreError:
        raise
    except OSError as error:
        raise StoreError(one_line(doing, where, error)) from error
    except Exception as error:
        # Whose error it is decides; the libraries are imported only where one of them failed.
        if not _of_the_store(error):
            raise
        raise StoreError(one_line(doing, where, error)) from error


def _of_the_store(error: Exception) -> bool:
    import duckdb
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    # These three are faults of a statement, not of the store.
    if isinstance(error, duckdb.ParserException | duckdb.BinderException | duckdb.CatalogException):
        return False
    return isinstance(error, DeltaError | duckdb.Error | pa.ArrowException)


def one_line(doing: str, where: str, error: BaseException) -> str:
    """`<doing> <where>: <reason>; <next command>`, without line breaks."""
    text = " ".join(str(error).split())
    lower = text.casefold()
    for words, reason in _REASONS:
        if words in lower:
            return f"{doing} {where}: {reason}"
    return f"{doing} {where}: {text[:300]}; run `gpufare verify` to see which files are at fault"

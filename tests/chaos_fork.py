"""Work in a process of its own, forked from one that has loaded what it needs; what it returns comes through a pipe."""

from __future__ import annotations

import os
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Ended(Exception):
    """A forked process that gave nothing back: minus the signal that ended it, or its exit code."""

    def __init__(self, code: int, why: str = "") -> None:
        super().__init__(why or f"exit {code}")
        self.code = code


def begin(work: Callable[..., Any], *given: Any) -> tuple[int, int]:
    """Fork a process that does the work. Gives its id, and the end of the pipe that it writes what came of it to."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    code = 1
    try:
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            try:
                pickle.dump((work(*given), None), pipe)
            except BaseException as error:  # noqa: BLE001 - told to the process that waits
                pickle.dump((None, _line(error)), pipe)
        code = 0
    finally:
        os._exit(code)


def _line(error: BaseException) -> str:
    where = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(where.filename).name}, line {where.lineno})"


def end(pid: int, reading: int) -> Any:
    """What came of the work. Raises Ended."""
    with os.fdopen(reading, "rb") as pipe:
        told_back = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code:
        raise Ended(code)
    value, why = pickle.loads(told_back)
    if why:
        raise Ended(0, why)
    return value


def forked(work: Callable[..., Any], *given: Any) -> Any:
    """The work done in a process of its own; what it returns. Raises Ended."""
    return end(*begin(work, *given))


def at_once(*works: tuple[Any, ...]) -> list[Any]:
    """What each of the works returns, all done at the same time. Raises Ended."""
    return [end(*one) for one in [begin(*work) for work in works]]

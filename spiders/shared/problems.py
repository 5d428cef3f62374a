"""What went wrong in a crawl: a class out of `schemas.scrape.ERROR_CLASSES` and one line. The first one names it."""

from __future__ import annotations

import logging
import traceback
from dataclasses import dataclass
from decimal import InvalidOperation
from pathlib import Path
from typing import Any

from scrapy.crawler import Crawler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    ResponseDataLossError,
)

from schemas.scrape import ERROR_CLASSES
from spiders.shared.errors import AnswerError

SHAPE_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
NETWORK_ERRORS = (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    OSError,
)
LONGEST = 500
MOST = 50
WATCHED = ("scrapy", "twisted", "spiders")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that went wrong."""

    error_class: str
    error: str


def note(crawler: Crawler, problem: Problem) -> None:
    """Keep a problem for the report, the first ones in their order."""
    kept: list[Problem] = crawler.stats.get_value("gpufare/problems") or []
    if len(kept) < MOST:
        crawler.stats.set_value("gpufare/problems", [*kept, problem])


def problems(crawler: Crawler) -> list[Problem]:
    """What was noted so far."""
    return crawler.stats.get_value("gpufare/problems") or []


def of_callback(error: BaseException, url: str | None) -> Problem:
    """What a callback raised: the answer's own fault where it lacks a key or has another type, else the spider's."""
    where = f" reading {url}" if url and url not in str(error) else ""
    if isinstance(error, AnswerError):
        return Problem(answer_class(error), line(error, where))
    if isinstance(error, SHAPE_ERRORS) and not isinstance(error, UnicodeEncodeError):
        return Problem("SchemaDrift", line(error, f"{where}{place(error)}", named=True))
    return Problem("SpiderError", line(error, f"{where}{place(error)}", named=True))


def of_download(error: BaseException, url: str) -> Problem:
    """Why no answer to a request reached its callback."""
    if isinstance(error, AnswerError):
        return Problem(answer_class(error), line(error))
    if isinstance(error, IgnoreRequest | DownloadCancelledError | ResponseDataLossError):
        return _of_refusal(error, url)
    if isinstance(error, NETWORK_ERRORS) or type(error).__module__.startswith("twisted.") or "Tunnel" in _name(error):
        return Problem("NetworkError", f"{url}: {line(_reason(error), named=True)}")
    if type(error).__module__.startswith("playwright."):
        return _of_browser(error, url)
    return Problem("SpiderError", line(error, f" asking {url}", named=True))


def _reason(error: BaseException) -> BaseException:
    """What stands behind a failed connection, where the framework tells."""
    reasons = getattr(error.__cause__, "reasons", None) or ()
    return next((reason.value for reason in reasons if reason.value), error)


def _of_refusal(error: Exception, url: str) -> Problem:
    text = str(error)
    if "robots.txt" in text:
        return Problem("RobotsDisallowed", f"robots.txt of the host forbids {url}")
    if "max size" in text or "MAXSIZE" in text:
        return Problem("Truncated", f"expected an answer of bearable size from {url}: {line(error)}")
    if isinstance(error, ResponseDataLossError):
        return Problem("Truncated", f"the answer of {url} ends before its announced length")
    return Problem("HttpError", f"{url}: {line(error, named=True)}")


def _of_browser(error: BaseException, url: str) -> Problem:
    if "net::" in str(error):
        return Problem("NetworkError", f"{url}: {line(error)}")
    if "Timeout" in _name(error):
        return Problem("LayoutChanged", f"{url} never showed what it is read by: {line(error)}")
    return Problem("SpiderError", f"the browser failed on {url}: {line(error)}")


def answer_class(error: AnswerError) -> str:
    """The name of the error, or of the nearest class above it that a report may hold."""
    return next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in ERROR_CLASSES), "SpiderError")


def place(error: BaseException) -> str:
    """Where it was raised: the innermost line of a spider, else the innermost."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = [f for f in frames if "/site-packages/" not in f.filename and "/shared/" not in f.filename] or list(frames)
    return f" ({Path(inner[-1].filename).name}, line {inner[-1].lineno})" if inner else ""


def line(error: BaseException, tail: str = "", *, named: bool = False) -> str:
    """An error as one line."""
    text = "a text that is no number" if isinstance(error, InvalidOperation) else " ".join(str(error).split())
    name = _name(error)
    told = f"{name}: {text}" if named and text else text or name
    return told[:LONGEST] + tail


def _name(error: BaseException) -> str:
    return type(error).__name__


class ErrorLog(logging.Handler):
    """The net below: what the framework logs as an error, though nobody noted it, is a problem too."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.first: Problem | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the first error."""
        if self.first is None and record.name.split(".")[0] in WATCHED:
            told = " ".join(record.getMessage().split())[:LONGEST]
            raised: Any = record.exc_info[1] if record.exc_info else None
            kind = of_download(raised, "").error_class if raised else "SpiderError"
            self.first = Problem(kind, told)

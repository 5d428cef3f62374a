"""The process that runs one spider: `python -m spiders.shared.child JOB`, JOB being JSON (made by `crawl`).

It logs to standard error, writes raw.jsonl, answers.har and report.json into its workdir, and ends. It dies with
whoever started it.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import sys
import traceback
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spiders.shared.problems import Problem, line, of_download

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

PR_SET_PDEATHSIG = 1


def main(job: dict[str, Any]) -> None:
    """Run the job and report; whatever happens is in the report."""
    die_with(job["parent"])
    name, module, workdir = job["name"], job["module"], Path(job["workdir"])
    from spiders.shared import report

    problem = import_problem(module) or browser_problem(name)
    if problem:
        report.write(name, workdir, report.broken(problem))
        return
    crawler, failure = run(job)
    if crawler is None:
        report.write(name, workdir, report.broken(failure or Problem("SpiderError", "the spider could not be made")))
        return
    facts = report.facts_of(crawler)
    if failure:
        facts["problems"] = [*facts["problems"], [failure.error_class, failure.error]]
    report.tell(facts["requests"], facts["offers"])
    report.write(name, workdir, facts)


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent dies (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def import_problem(module: str) -> Problem | None:
    """Why the spider's module cannot be imported, with file and line."""
    try:
        import_module(module)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything; it is reported, not lost
        return Problem("SpiderError", f"{module} cannot be imported: {line(error, named=True)}{_place(error)}")
    return None


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({error.filename}, line {error.lineno})"
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "importlib" not in f.filename]
    frames = [f for f in frames if f.filename != __file__]
    return f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""


def browser_problem(name: str) -> Problem | None:
    """BrowserMissing where the provider's pages need a browser and there is none."""
    from spiders.shared import browser

    if browser.needed(name) and browser.chromium() is None:
        return Problem("BrowserMissing", browser.MISSING)
    return None


def run(job: dict[str, Any]) -> tuple[Crawler | None, Problem | None]:
    """Crawl to the end. Gives the crawler, None where the spider could not even be made, and what broke outside it."""
    from scrapy.crawler import AsyncCrawlerProcess
    from scrapy.settings import Settings

    from schemas.providers import providers
    from spiders.shared import browser, settings

    name, workdir = job["name"], Path(job["workdir"])
    chosen = Settings()
    chosen.setmodule("spiders.shared.settings", priority="project")
    recorded = Path(job["recorded"]) if job["recorded"] else None
    chosen.setdict(
        settings.for_crawl(
            job["module"],
            providers().get(name),
            workdir,
            recorded=recorded,
            record=job["record"],
            instant=job["instant"],
        ),
        priority="project",
    )
    try:
        process = AsyncCrawlerProcess(chosen)
        crawler = process.create_crawler(name)
        if browser.needed(name):
            browser.prepare(crawler)
        task = process.crawl(crawler)
    except Exception as error:  # noqa: BLE001 - reported
        return None, Problem("SpiderError", f"{job['module']} gives no spider named {name}: {line(error, named=True)}")
    process.start()
    failure = _failure_of(task)
    if browser.needed(name):
        browser.collect(crawler, workdir)
    return crawler if crawler.spider and _ran(crawler) else None, failure


def _ran(crawler: Crawler) -> bool:
    try:
        return crawler.stats is not None
    except RuntimeError:
        return False


def _failure_of(task: asyncio.Task[None]) -> Problem | None:
    if not task.done() or task.cancelled():
        return None
    error = task.exception()
    return of_download(error, "") if error else None


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
    sys.stderr.flush()
    os._exit(0)  # what is left open (a pool of connections, threads that ask for names) need not be waited for

"""The process that runs one spider: `python -m spiders.shared.child JOB`, JOB being JSON (made by `crawl`).

It crawls once, or once for each recording that it is given; logs to standard error, writes raw.jsonl, answers.har and
report.json into the workdir of each crawl, and ends. It dies with whoever started it.
"""

from __future__ import annotations

import asyncio
import contextlib
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
    from scrapy.crawler import AsyncCrawlerProcess, Crawler
    from scrapy.settings import Settings

PR_SET_PDEATHSIG = 1


def main(job: dict[str, Any]) -> None:
    """Do the job's crawls one after the other and report each; whatever happens is in the report."""
    die_with(job["parent"])
    name, module, runs = job["name"], job["module"], job["runs"]
    from spiders.shared import report

    problem = import_problem(module) or browser_problem(name)
    if problem:
        for run in runs:
            report.write(name, Path(run["workdir"]), report.broken(problem))
        return
    crawl_each(name, module, runs)


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


def crawl_each(name: str, module: str, runs: list[dict[str, Any]]) -> None:
    """Crawl to the end, one run after the other in one reactor, a report after each."""
    from scrapy.crawler import AsyncCrawlerProcess
    from twisted.internet.error import ReactorNotRunning

    process = AsyncCrawlerProcess(settings_of(name, module, runs[0]))
    reactor: Any = import_module("twisted.internet.reactor")  # only now, for Scrapy chooses which one

    async def each() -> None:
        for run in runs:
            os.environ.update(run["keys"])
            try:
                await crawl(process, name, module, run)
            finally:  # the keys of one recording are not those of the next
                for key in run["keys"]:
                    del os.environ[key]

    def stop(_: asyncio.Task[None]) -> None:
        with contextlib.suppress(ReactorNotRunning):  # a signal stopped it before
            reactor.stop()

    asyncio.get_event_loop().create_task(each()).add_done_callback(stop)
    process.start(stop_after_crawl=False)


async def crawl(process: AsyncCrawlerProcess, name: str, module: str, run: dict[str, Any]) -> None:
    """One crawl and its report."""
    from spiders.shared import browser, report

    workdir = Path(run["workdir"])
    process.settings = settings_of(name, module, run)
    try:
        crawler = process.create_crawler(name)
        if browser.needed(name):
            browser.prepare(crawler)
        task = process.crawl(crawler)
    except Exception as error:  # noqa: BLE001 - reported
        problem = Problem("SpiderError", f"{module} gives no spider named {name}: {line(error, named=True)}")
        report.write(name, workdir, report.broken(problem))
        return
    await asyncio.wait([task])
    failure = _failure_of(task)
    if browser.needed(name):
        browser.collect(crawler, workdir)
    if crawler.spider and _ran(crawler):
        facts = report.facts_of(crawler)
        if failure:
            facts["problems"] = [*facts["problems"], [failure.error_class, failure.error]]
        report.tell(facts["requests"], facts["offers"])
    else:
        facts = report.broken(failure or Problem("SpiderError", "the spider could not be made"))
    report.write(name, workdir, facts)


def settings_of(name: str, module: str, run: dict[str, Any]) -> Settings:
    """Scrapy's settings for one crawl."""
    from scrapy.settings import Settings

    from schemas.providers import providers
    from spiders.shared import settings

    chosen = Settings()
    chosen.setmodule("spiders.shared.settings", priority="project")
    chosen.setdict(
        settings.for_crawl(
            module,
            providers().get(name),
            Path(run["workdir"]),
            recorded=Path(run["recorded"]) if run["recorded"] else None,
            record=run["record"],
            instant=run["instant"],
        ),
        priority="project",
    )
    return chosen


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

"""What a crawl leaves behind: raw.jsonl with every record, report.json with its counts and problems."""

from __future__ import annotations

import json
import logging
import os
import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import IO, Any, Self

from scrapy import signals
from scrapy.crawler import Crawler

from spiders.shared.base import Batch, RateBatch
from spiders.shared.errors import SchemaDrift
from spiders.shared.problems import ErrorLog, Problem, problems
from spiders.shared.recorder import key_names
from spiders.shared.secrets import Secrets

RAW = "raw.jsonl"
REPORT = "report.json"
PROGRESS = "\x1eprogress "
PROGRESS_EVERY_S = 0.25
ENCODE = json.JSONEncoder(ensure_ascii=False).encode
KEPT_STATS = ("downloader/", "response_received", "retry/", "robotstxt/", "playwright/", "log_count/", "memusage/")


class RawWriter:
    """Item pipeline: the records of every batch, one JSON object a line, without keys."""

    def __init__(self, crawler: Crawler) -> None:
        self.stats = crawler.stats
        self.path = Path(crawler.settings["GPUFARE_WORKDIR"]) / RAW
        self.file: IO[str] | None = None
        self.secrets = Secrets.of(key_names(crawler.spidercls.name), os.environ)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """As Scrapy calls it."""
        return cls(crawler)

    def open_spider(self) -> None:
        """Begin the file."""
        self.file = self.path.open("w", encoding="utf-8")

    def process_item(self, item: object) -> object:
        """Write a batch. Raises SchemaDrift for anything else."""
        if isinstance(item, Batch):
            clean = {url: self.secrets.scrub_url(url) for offer in item.offers if (url := offer.source_url)}
            for offer in item.offers:
                offer.source_url = clean.get(offer.source_url or "")
            lines = [ENCODE(offer.as_json()) for offer in item.offers]
        elif isinstance(item, RateBatch):
            lines = [ENCODE(rate.as_json()) for rate in item.rates]
        else:
            raise SchemaDrift(f"expected a Batch or RateBatch from the spider, got {type(item).__name__}")
        if lines and self.file:
            self.file.write(self.secrets.scrub_text("\n".join(lines)) + "\n")
        self.stats.inc_value("gpufare/offers", len(lines))
        return item

    def close_spider(self) -> None:
        """End the file."""
        if self.file:
            self.file.close()


class Report:
    """Extension: hears of errors that nobody noted, and tells how far the crawl is."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.errors = ErrorLog()
        self.told = 0.0
        logging.getLogger().addHandler(self.errors)
        crawler.signals.connect(self.progress, signals.response_received)
        crawler.signals.connect(self.progress, signals.item_scraped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """As Scrapy calls it."""
        return cls(crawler)

    def progress(self) -> None:
        """A line to whoever started the crawl, four a second at most."""
        if monotonic() - self.told >= PROGRESS_EVERY_S:
            self.told = monotonic()
            requests = self.crawler.stats.get_value("downloader/request_count", 0)
            tell(requests, self.crawler.stats.get_value("gpufare/offers", 0))


def tell(requests: int, offers: int) -> None:
    """One line of progress."""
    print(f"{PROGRESS}{requests} {offers}", file=sys.stderr, flush=True)


def facts_of(crawler: Crawler) -> dict[str, Any]:
    """What report.json tells of a crawl that ran."""
    stats = crawler.stats
    extension = crawler.get_extension(Report)
    found = problems(crawler)
    unheard = extension.errors.first if extension else None
    if not found and unheard:
        found = [unheard]
    return {
        "finish_reason": stats.get_value("finish_reason"),
        "requests": stats.get_value("downloader/request_count", 0),
        "response_bytes": stats.get_value("downloader/response_bytes", 0),
        "offers": stats.get_value("gpufare/offers", 0),
        "access": stats.get_value("gpufare/access"),
        "problems": [[problem.error_class, problem.error] for problem in found],
        "misses": stats.get_value("gpufare/misses", []),
        "unused": stats.get_value("gpufare/unused", []),
        "stats": {key: value for key, value in stats.get_stats().items() if key.startswith(KEPT_STATS)},
    }


def broken(problem: Problem) -> dict[str, Any]:
    """What report.json tells of a crawl that never ran."""
    return {"finish_reason": None, "problems": [[problem.error_class, problem.error]]}


def write(name: str, workdir: Path, facts: Mapping[str, Any]) -> None:
    """Write report.json whole or not at all, without keys."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu_s = round(sum(usage.ru_utime + usage.ru_stime for usage in used), 3)
    text = json.dumps({"provider": name, **facts, "cpu_s": cpu_s}, ensure_ascii=False, indent=1, default=str)
    part = workdir / f".{REPORT}"
    part.write_text(Secrets.of(key_names(name), os.environ).scrub_text(text), encoding="utf-8")
    part.replace(workdir / REPORT)

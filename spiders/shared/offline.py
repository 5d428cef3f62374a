"""Saved answers through the real spider, without network and without reactor: what `gpufare parse` stands on.

The spider's `start` and callbacks run as in a crawl; a request is answered by the saved answer that fits it, one that
nothing fits is noted. Answers that nobody asked for are handed to the reader that `documents` names for their address.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Headers, Request, Response
from scrapy.responsetypes import responsetypes
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.gz import gunzip

from schemas.providers import providers
from schemas.rate import Rate
from schemas.raw_offer import RawOffer
from spiders.shared import har
from spiders.shared.base import Batch, ProviderSpider, RateBatch
from spiders.shared.checks import check
from spiders.shared.har import Entry
from spiders.shared.problems import of_callback
from spiders.shared.recorder import HOP_BY_HOP
from spiders.shared.secrets import REMOVED
from spiders.shared.source import module_of

MOST_REQUESTS = 10_000


@dataclass(slots=True)
class Offline:
    """What the spider read. notes: requests without answer, answers without reader. errors: `Class: one line`."""

    offers: list[RawOffer] = field(default_factory=list)
    rates: list[Rate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def read_answers(
    name: str, entries: Sequence[Entry], keys: Mapping[str, str] | None = None, *, module: str | None = None
) -> Offline:
    """Drive the spider `name` over saved answers. keys: the variables it sees beside a stand-in for those that the
    provider always needs, and no others.

    Raises LookupError where there is no such spider. Runs in a thread with an event loop of its own, so that a running
    loop is not touched.
    """
    needed = providers()[name].keys if name in providers() else ()
    spider = spider_of(name, module or module_of(name), {**dict.fromkeys(needed, REMOVED), **(keys or {})})
    spider.instant = min((entry.started for entry in entries if entry.started), default=spider.instant)
    reading = _Reading(spider, entries)
    thread = threading.Thread(target=lambda: asyncio.run(reading.run()), name=f"read {name}")
    thread.start()
    thread.join()
    return reading.result


def spider_of(name: str, module: str, keys: Mapping[str, str]) -> ProviderSpider:
    """The spider with a crawler that never crawls. Raises LookupError."""
    try:
        found = vars(import_module(module)).values()
    except ModuleNotFoundError as error:
        raise LookupError(f"no spider named {name}: {error}") from None
    kinds = [kind for kind in found if inspect.isclass(kind) and issubclass(kind, ProviderSpider)]
    kind = next((kind for kind in kinds if vars(kind).get("name") == name), None)
    if kind is None:
        raise LookupError(f"{module} holds no spider named {name}")
    crawler = Crawler(kind, Settings({"STATS_DUMP": False}))
    crawler.stats = MemoryStatsCollector(crawler)
    spider = kind.from_crawler(crawler)
    spider.environ = keys
    return spider


class _Reading:
    """One run over the answers."""

    def __init__(self, spider: ProviderSpider, entries: Sequence[Entry]) -> None:
        self.spider = spider
        self.left = list(entries)
        self.result = Offline()
        self.asked: deque[Request] = deque()

    async def run(self) -> None:
        """Start and all that follows from it, then whatever nobody asked for."""
        await self._take(self.spider.start(), None)
        await self._follow()
        while self.left:
            entry = self.left.pop(0)
            await self._read_alone(entry)
            await self._follow()

    async def _follow(self) -> None:
        for _ in range(MOST_REQUESTS):
            if not self.asked:
                return
            request = self.asked.popleft()
            if entry := self._fitting(request):
                self.left.remove(entry)
                await self._read(request, entry)
            else:
                self.result.notes.append(f"nothing answers {request.method} {request.url}")
        self.result.errors.append(f"SpiderError: more than {MOST_REQUESTS} requests")

    async def _read_alone(self, entry: Entry) -> None:
        if not entry.url:
            self.result.notes.append("nothing says what document an answer is: give its address")
            return
        try:
            callback = self.spider.reader(entry.url)
        except LookupError as error:
            self.result.notes.append(str(error))
            return
        await self._read(Request(entry.url, callback=callback), entry)

    async def _read(self, request: Request, entry: Entry) -> None:
        try:
            response = response_of(request, entry)
            check(request, response, self.spider)
            callback = request.callback or self.spider.parse
            output = callback(response, **request.cb_kwargs)
        except Exception as error:  # noqa: BLE001 - whatever a reader raises is the answer's fault or its own: reported
            self._wrong(error, entry.url or request.url)
            return
        await self._take(output, response)

    async def _take(self, output: Any, response: Response | None) -> None:
        """Sort out what a callback gave: requests to ask, offers and rates to keep."""
        url = response.url if response else None
        try:
            if inspect.isawaitable(output):
                output = await output
            if isinstance(output, AsyncIterator):
                async for item in output:
                    self._keep(item)
            else:
                for item in output or ():
                    self._keep(item)
        except Exception as error:  # noqa: BLE001 - as above
            self._wrong(error, url)

    def _keep(self, item: object) -> None:
        if isinstance(item, Request):
            self.asked.append(item)
        elif isinstance(item, Batch):
            self.result.offers.extend(item.offers)
        elif isinstance(item, RateBatch):
            self.result.rates.extend(item.rates)
        elif item is not None:
            raise TypeError(f"expected Batch, RateBatch or Request, got {type(item).__name__}")

    def _wrong(self, error: Exception, url: str | None) -> None:
        problem = of_callback(error, url)
        self.result.errors.append(f"{problem.error_class}: {problem.error}")

    def _fitting(self, request: Request) -> Entry | None:
        """The saved answer to a request: the same one, else one of the same path that contradicts no parameter."""
        key = har.key_of(request.method, request.url, request.body or None)
        exact = next((entry for entry in self.left if entry.url and har.normalised_key(entry) == key), None)
        return exact or next((entry for entry in self.left if fits(entry, request)), None)


def fits(entry: Entry, request: Request) -> bool:
    """May the answer be one to this request? Without an address it may be one to any."""
    if entry.method not in {har.ANY, request.method}:
        return False
    if not entry.url:
        return True
    *saved, has = har.address_of(entry.url)
    *asked, wants = har.address_of(request.url)
    if saved != asked:
        return False
    posted = har.key_of("", entry.url, entry.post_data), har.key_of("", entry.url, request.body)
    if entry.post_data and request.body and posted[0] != posted[1]:
        return False
    return set(has) <= set(wants) or set(wants) <= set(has)


def response_of(request: Request, entry: Entry) -> Response:
    """The saved answer as Scrapy would hand it to a callback; a gzip file is opened."""
    body = entry.body
    if body.startswith(b"\x1f\x8b"):
        body = gunzip(body, max_size=har.MAX_BODY)
    headers = Headers({name: value for name, value in entry.headers if name.lower() not in HOP_BY_HOP})
    if entry.mime:
        headers["Content-Type"] = entry.mime
    url = entry.url or request.url
    kind: type[Response] = responsetypes.from_args(headers=headers, url=url, body=body)
    return kind(url=url, status=entry.status or 599, headers=headers, body=body, request=request)

"""Where a crawl may go, and that nothing of it gets lost.

An answer is a stranger's word: it may hold an address of next page, a redirect, a script. None of them leads to a host
that the spider's own code does not name.
"""

from __future__ import annotations

from typing import Any, Self
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.redirect import RedirectMiddleware
from scrapy.http import Request, Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from twisted.python.failure import Failure

from spiders.shared.errors import HttpError, SchemaDrift
from spiders.shared.problems import Problem, note, of_callback, of_download

PORTS = {"http": 80, "https": 443}
Place = tuple[str, int]


def place_of(url: str) -> Place:
    """Host and port of an address; port 0 for a scheme that is not the web's."""
    parts = urlsplit(url)
    return (parts.hostname or "").lower(), parts.port or PORTS.get(parts.scheme, 0)


def is_robots(request: Request) -> bool:
    """Is this the framework's own question for robots.txt?"""
    return bool(request.meta.get("dont_obey_robotstxt")) and urlsplit(request.url).path == "/robots.txt"


class Watch(BaseSpiderMiddleware):
    """Knows the hosts of the start requests; hears of every request that failed or was dropped."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.places: set[Place] = set()
        crawler.signals.connect(self.raised, signals.spider_error)
        crawler.signals.connect(self.spoiled, signals.item_error)
        crawler.signals.connect(self.dropped, signals.request_dropped)

    def get_processed_request(self, request: Request, response: Response | None) -> Request:
        """Note the host of a start request, and let no failure pass unheard."""
        if response is None:
            self.places.add(place_of(request.url))
        if request.errback is None:
            request.errback = self.failed
        return request

    def allows(self, url: str) -> bool:
        """Is this a host of the start requests, or one that the spider's `allowed_domains` name?"""
        host, port = place_of(url)
        if (host, port) in self.places:
            return True
        domains = getattr(self.crawler.spider, "allowed_domains", None) or ()
        known = {port for _, port in self.places} | set(PORTS.values())
        return port in known and any(host == domain or host.endswith(f".{domain}") for domain in domains)

    def failed(self, failure: Failure) -> None:
        """A request that no answer came to, or none that can be used."""
        request: Request = failure.request  # type: ignore[attr-defined]
        note(self.crawler, of_download(_error(failure), request.url))

    def raised(self, failure: Failure, response: Response | None) -> None:
        """A callback, or `start`, that raised."""
        note(self.crawler, of_callback(_error(failure), response.url if isinstance(response, Response) else None))

    def spoiled(self, failure: Failure) -> None:
        """An item that could not be written."""
        note(self.crawler, of_callback(_error(failure), None))

    def dropped(self, request: Request) -> None:
        """A request that was made before: pages that lead in a circle would otherwise end a list in silence."""
        note(
            self.crawler, Problem("Truncated", f"{request.method} {request.url} was asked for twice, so pages are lost")
        )


def _error(failure: Failure) -> BaseException:
    error: BaseException = failure.value or RuntimeError("unknown failure")
    return error


class HostGuard:
    """Refuses every request to a host that the spider does not name."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """As Scrapy calls it."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Raise SchemaDrift for a foreign host: an answer, not the spider, led there."""
        if not watch_of(self.crawler).allows(request.url):
            host = urlsplit(request.url).hostname or request.url[:80]
            raise SchemaDrift(
                f"{request.method} {request.url} refused: {host} is no host of the start requests; "
                f"a host that the provider is read from stands in the spider's allowed_domains"
            )


def watch_of(crawler: Crawler) -> Watch:
    """The crawl's own watch."""
    watch: Any = crawler.get_spider_middleware(Watch)
    if watch is None:
        raise RuntimeError("the spider middleware Watch is not active")
    return watch  # type: ignore[no-any-return]


class SameHostRedirect(RedirectMiddleware):
    """Follows a redirect on the same host, or to one that the spider names; never from https to http."""

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """The redirected request. Raises HttpError where it would leave the host."""
        onward = super().process_response(request, response)
        if isinstance(onward, Response):
            return onward
        if place_of(onward.url) == place_of(request.url) or self._named(request, onward):
            return onward
        if is_robots(request):
            return Response(request.url, status=404)
        raise HttpError(f"{request.method} {request.url} answered {response.status} to another host, {onward.url}")

    def _named(self, request: Request, onward: Request) -> bool:
        if request.url.startswith("https:") and not onward.url.startswith("https:"):
            return False
        return watch_of(self.crawler).allows(onward.url)

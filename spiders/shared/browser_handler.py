"""Pages in Chromium. Imports Playwright, so it is loaded only for spiders that need it.

What the page itself asks for is held to the spider's hosts, without pictures, fonts and films. Pages are closed by the
handler after each answer and after each failure, contexts and browser when the spider closes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from scrapy.crawler import Crawler
from scrapy.http import Request
from scrapy_playwright.handler import ScrapyPlaywrightDownloadHandler
from scrapy_playwright.page import PageMethod

from spiders.shared.guard import watch_of
from spiders.shared.recorder import Recorder
from spiders.shared.replay import Replay

UNWANTED = {"image", "font", "media", "texttrack", "eventsource", "websocket", "manifest"}
WAIT_MS = 30_000


class BrowserHandler(ScrapyPlaywrightDownloadHandler):  # type: ignore[misc]
    """The download handler, with a say in what a page may load."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.abort_request = self.unwanted

    def unwanted(self, request: Any) -> bool:
        """Is this nothing that a price is read from, or on a host that the spider does not name?"""
        return request.resource_type in UNWANTED or not watch_of(self._crawler).allows(request.url)


class BrowserPages:
    """Downloader middleware: gives a page its context (recording or replay) and what to wait for."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.folder = Path(crawler.settings["GPUFARE_WORKDIR"])

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """As Scrapy calls it."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Complete a request that `browser_request` made."""
        if not request.meta.get("playwright"):
            return
        request.meta["playwright_context"] = "crawl"
        request.meta["playwright_context_kwargs"] = self.context()
        selector = request.meta.get("wait_for")
        request.meta["playwright_page_methods"] = (
            [PageMethod("wait_for_selector", selector, state="attached", timeout=WAIT_MS)] if selector else []
        )
        request.meta.setdefault("playwright_page_goto_kwargs", {"wait_until": "domcontentloaded"})

    def context(self) -> dict[str, Any]:
        """How the crawl's one context is made. With a key set nothing is recorded: Chromium would write it down."""
        kwargs: dict[str, Any] = {"service_workers": "block", "accept_downloads": False, "locale": "en-US"}
        replay: Any = self.crawler.get_downloader_middleware(Replay)
        recorder: Any = self.crawler.get_downloader_middleware(Recorder)
        if replay:
            kwargs |= {"proxy": {"server": replay.proxy.address}, "ignore_https_errors": True}
        elif recorder and not recorder.secrets.forms:
            kwargs |= {"record_har_path": str(self.folder / "browser-1.har"), "record_har_content": "attach"}
        return kwargs

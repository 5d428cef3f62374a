"""Pages in Chromium. Imports Playwright, so it is loaded only for spiders that need it.

What the page itself asks for is held to the spider's hosts, without pictures, fonts and films. Pages are closed by the
handler after each answer and after each failure, contexts and browser when the spider closes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Self

from playwright.async_api import Page, Response
from playwright.async_api import TimeoutError as PlaywrightTimeout
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


async def hear_status(page: Page, request: Request) -> None:
    """Keep the status that the page itself was answered with."""

    def heard(response: Response) -> None:
        if response.request.is_navigation_request() and response.request.frame == page.main_frame:
            request.meta["page_status"] = response.status

    page.on("response", heard)


async def wait(request: Request, patience_ms: int, page: Page) -> None:
    """Wait for the selector of `browser_request`. Whether a page without it is an error page, a challenge, a login or
    another layout is for the checks to say: they see it as it stands."""
    selector = request.meta.get("wait_for")
    if not selector or not 200 <= request.meta.get("page_status", 200) < 300:
        return
    try:
        await page.wait_for_selector(selector, state="attached", timeout=patience_ms)
    except PlaywrightTimeout:
        request.meta["waited_in_vain"] = selector


class BrowserPages:
    """Downloader middleware: gives a page its context (recording or replay) and what to wait for."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.folder = Path(crawler.settings["GPUFARE_WORKDIR"])
        self.wait_ms = crawler.settings.getint("GPUFARE_WAIT_MS", WAIT_MS)

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
        request.meta["playwright_page_init_callback"] = hear_status
        request.meta["playwright_page_methods"] = [PageMethod(partial(wait, request, self.wait_ms))]
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

"""A page whose prices exist only after its scripts ran."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, ClassVar

from scrapy.http import Request

from spiders.shared.base import ProviderSpider


def browser_request(url: str, callback: Callable[..., Any], *, wait_for: str, **options: Any) -> Request:
    """A request that Chromium answers with the page as it stands once the selector `wait_for` is there.

    The page is closed by then. Hosts besides that of the page stand in the spider's `allowed_domains`; the provider has
    `browser = true` in providers.toml. A page that never shows the selector is LayoutChanged.
    """
    meta = {**options.pop("meta", {}), "playwright": True, "wait_for": wait_for}
    return Request(url, callback=callback, meta=meta, dont_filter=True, **options)


class BrowserSpider(ProviderSpider):
    """Set `start_urls`, `documents`, `wait_for` (a CSS selector); `allowed_domains` for hosts beyond the page's."""

    wait_for: ClassVar[str] = "body"

    async def start(self) -> AsyncIterator[Request]:
        """Every page of `start_urls` in Chromium, read by the first of `documents` that matches."""
        for url in self.start_urls:
            yield browser_request(url, self.reader(url), wait_for=self.wait_for)

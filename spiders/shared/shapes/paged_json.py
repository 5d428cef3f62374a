"""A list in JSON that comes in pages: by number, by cursor, by a link to the next page."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from scrapy.http import Request, Response
from w3lib.url import add_or_replace_parameter

from spiders.shared.base import Batch
from spiders.shared.errors import Truncated
from spiders.shared.shapes.json_list import JsonListSpider

NEXT = re.compile(r'[?&]page=(\d+)[^>]*>;\s*rel="?next"?')


class PagedJsonSpider(JsonListSpider):
    """Set what JsonListSpider wants, with the reader `parse_page`; write `read` and, where the provider tells them
    otherwise than in the headers `Link` and `X-Total-Count`, `next_page` and `total`.

    A page that fails fails the crawl. Pages that end before `total` records came are Truncated, for half a list would
    look as if the other half were gone.
    """

    async def start(self) -> AsyncIterator[Request]:
        """The first page of every `start_urls`."""
        for url in self.start_urls:
            yield Request(url, self.reader(url), dont_filter=True, cb_kwargs={"seen": 0})

    def parse_page(self, response: Response, seen: int | None = None) -> Iterator[Batch | Request]:
        """One batch of this page, then the next page. `seen`: records on the pages before, None where unknown."""
        records = list(self.records(response))
        yield self.batch(response, (offer for record in records for offer in self.read(record, response)))
        yield from self.turn(response, self.parse_page, len(records), seen)

    def turn(
        self, response: Response, reader: Callable[..., Any], found: int, seen: int | None, **known: Any
    ) -> Iterator[Request]:
        """The request for the next page, none after the last; `known` goes to its reader with the new `seen`."""
        seen = None if seen is None else seen + found
        following = self.next_page(response)
        if following == response.url:
            raise Truncated(f"expected a page after {response.url}, got the same address")
        if following:
            yield response.follow(following, reader, dont_filter=True, cb_kwargs={"seen": seen, **known})
            return
        total = self.total(response)
        if seen is not None and total is not None and seen < total:
            raise Truncated(f"expected {total} records, got {seen} up to {response.url}")

    def next_page(self, response: Response) -> str | None:
        """Address of the page after this one, None on the last: here the number that a `Link` header calls next."""
        following = NEXT.search((response.headers.get("Link") or b"").decode("latin-1"))
        return add_or_replace_parameter(response.url, "page", following[1]) if following else None

    def total(self, response: Response) -> int | None:
        """How many records all pages hold together, None where it is not said: here what `X-Total-Count` says."""
        count = response.headers.get("X-Total-Count")
        return int(count) if count else None

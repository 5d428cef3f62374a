"""The base of every spider: where a request starts, which document a callback reads, how offers are handed on."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar, Literal, Self

import scrapy
from scrapy.crawler import Crawler
from scrapy.http import Request, Response, TextResponse

from schemas.providers import Provider, provider
from schemas.rate import Rate
from schemas.raw_offer import RawOffer
from spiders.shared.errors import LayoutChanged, SchemaDrift


@dataclass(slots=True)
class Batch:
    """The offers of one response, one item: 100,000 single items cost 5 s of CPU in Scrapy, batched 1.4 s."""

    offers: list[RawOffer]


@dataclass(slots=True)
class RateBatch:
    """The exchange rates of one response."""

    rates: list[Rate]


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of document that a spider reads: addresses that match `pattern` (searched) go to the method `reader`.

    The crawl itself does not need it, `gpufare parse` does: a saved body is handed to the reader of its address.
    """

    pattern: str
    reader: str


class ProviderSpider(scrapy.Spider):
    """Set `name` and `documents`, and `start_urls` or `start`; yield `self.batch(response, offers)` from callbacks.

    A callback takes everything it needs from `response` and keyword arguments with defaults, so that a saved answer can
    be read alone. No callback catches errors: a missing key must fail loudly.

    `instant` is the one time that the whole crawl holds for: the setting GPUFARE_INSTANT (ISO 8601 with zone), else the
    start of the spider. `expect` is what every answer must be, where it is one kind throughout. `environ` holds the
    user's keys.
    """

    documents: ClassVar[tuple[Document, ...]] = ()
    expect: ClassVar[Literal["json", "html"] | None] = None
    instant: datetime
    environ: Mapping[str, str] = os.environ

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.instant = datetime.now(UTC)

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """As Scrapy calls it, with `instant` out of the settings."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        if given := crawler.settings.get("GPUFARE_INSTANT"):
            spider.instant = datetime.fromisoformat(given)
        return spider

    @property
    def provider(self) -> Provider:
        """The provider's facts."""
        return provider(self.name)

    def key(self, variable: str) -> str | None:
        """The user's key from the environment, None where it is not set or empty."""
        return self.environ.get(variable) or None

    def use(self, access: str) -> None:
        """Say which way in was taken (`open`, or the name of the key variable); it stands in the report."""
        if self.crawler.stats:
            self.crawler.stats.set_value("gpufare/access", access)

    async def start(self) -> AsyncIterator[Request]:
        """A GET of every `start_urls`, read by the first of `documents` that matches."""
        for url in self.start_urls:
            yield Request(url, callback=self.reader(url), dont_filter=True)

    def reader(self, url: str) -> Any:
        """The callback for an address. Raises LookupError where no document matches."""
        for document in self.documents:
            if re.search(document.pattern, url):
                return getattr(self, document.reader)
        raise LookupError(
            f"{self.name} reads no document at {url}; it reads {', '.join(d.pattern for d in self.documents)}"
        )

    def batch(self, response: Response, offers: Iterable[RawOffer]) -> Batch:
        """The offers of one response, each with the response's address."""
        read = list(offers)
        for offer in read:
            offer.source_url = offer.source_url or response.url
        return Batch(read)


def json_of(response: Response) -> Any:
    """The document with every number as Decimal (money never passes through a float). Raises SchemaDrift."""
    if not isinstance(response, TextResponse):
        raise SchemaDrift(f"expected JSON from {response.url}, got {len(response.body)} bytes of no text")
    try:
        return json.loads(response.text, parse_float=Decimal, parse_constant=_not_finite)
    except (json.JSONDecodeError, RecursionError) as error:
        start = " ".join(response.text[:60].split())
        raise SchemaDrift(f"expected JSON from {response.url}, got {start!r} ({error})") from None


def _not_finite(word: str) -> None:
    raise SchemaDrift(f"JSON holds {word}, which is no number")


def dig(document: Any, path: tuple[str, ...], url: str) -> Any:
    """The value under a path of keys. Raises SchemaDrift naming the key that is missing."""
    for depth, key in enumerate(path):
        if not isinstance(document, dict) or key not in document:
            have = ", ".join(sorted(map(str, document))[:8]) if isinstance(document, dict) else type(document).__name__
            raise SchemaDrift(f"expected {'.'.join(path[: depth + 1])} in {url}, got {have}")
        document = document[key]
    return document


def expect_anchors(response: TextResponse, anchors: tuple[str, ...]) -> None:
    """Raise LayoutChanged unless every anchor stands in the page's text: a changed page must not be half read."""
    missing = [anchor for anchor in anchors if anchor not in response.text]
    if missing:
        raise LayoutChanged(f"expected {', '.join(map(repr, missing))} in {response.url}")


def having(records: Iterable[dict[str, Any]], keys: tuple[str, ...], url: str) -> Iterator[dict[str, Any]]:
    """The records, each checked to hold the keys that it is read by. Raises SchemaDrift."""
    for index, record in enumerate(records):
        missing = [key for key in keys if not isinstance(record, dict) or key not in record]
        if missing:
            raise SchemaDrift(f"record {index} of {url} lacks {', '.join(missing)}")
        yield record

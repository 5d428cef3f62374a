"""Every exchange of a crawl, kept as a HAR: the archive of a refresh, and what a replay answers from.

Recorded after decompression, before redirects are followed and failures are tried again. Keys are removed before
anything reaches the disk; of requests that were tried again only the last answer stays.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from schemas.providers import providers
from spiders.shared import har
from spiders.shared.guard import is_robots
from spiders.shared.har import Entry, Headers
from spiders.shared.secrets import Secrets, without_addresses, without_fields

FILE = "answers.har"
HOP_BY_HOP = {"content-length", "content-encoding", "transfer-encoding", "connection", "keep-alive", "set-cookie"}
TEXTS = ("text", "json", "xml", "javascript", "html", "csv")


def key_names(name: str) -> tuple[str, ...]:
    """The variables that hold the user's keys for a provider; none for what is no provider."""
    facts = providers().get(name)
    return (*facts.keys, *facts.optional_keys) if facts else ()


class Recorder:
    """Downloader middleware that records."""

    def __init__(self, crawler: Crawler) -> None:
        self.folder = Path(crawler.settings["GPUFARE_WORKDIR"])
        self.started = datetime.fromisoformat(crawler.settings["GPUFARE_INSTANT"])
        names = key_names(crawler.spidercls.name)
        self.keys = tuple(name for name in names if os.environ.get(name))
        self.secrets = Secrets.of(names, os.environ)
        facts = providers().get(crawler.spidercls.name)
        options = facts.options if facts else ()
        self.options = {name: os.environ[name] for name in options if os.environ.get(name)}
        self.withheld = facts.withhold if facts else ()
        self.entries: list[Entry] = []
        self.bodies = 0
        crawler.signals.connect(self.write, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """As Scrapy calls it."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """Record the exchange and hand the answer on untouched."""
        if "playwright" not in response.flags:
            self._add(request, response.status, response.headers, response.body)
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Record that no answer came (status 0)."""
        if not request.meta.get("playwright"):
            self._add(request, 0, {}, b"")

    def _add(self, request: Request, status: int, headers: Any, body: bytes) -> None:
        sent, came = _pairs(request.headers), _pairs(headers)
        mime = next((value for name, value in came if name.lower() == "content-type"), "")
        entry = self.scrubbed(
            Entry(
                method=request.method,
                url=request.url,
                status=status,
                mime=mime,
                content=body,
                headers=came,
                request_headers=sent,
                post_data=request.body or None,
                started=datetime.now(UTC),
                optional=is_robots(request),
            )
        )
        if request.meta.get("retry_times"):
            self._forget(har.normalised_key(entry))
        self.entries.append(entry)

    def _forget(self, key: str) -> None:
        """Drop the failed try that this answer is the repetition of."""
        for index in range(len(self.entries) - 1, -1, -1):
            earlier = self.entries[index]
            if har.normalised_key(earlier) == key and (earlier.status == 0 or earlier.status >= 400):
                del self.entries[index]
                return

    def scrubbed(self, entry: Entry) -> Entry:
        """The entry without secrets, a large body already beside the HAR."""
        body = without_fields(self.secrets.scrub(entry.body), self.withheld)
        if any(kind in entry.mime for kind in TEXTS):
            body = without_addresses(body)
        return replace(
            entry,
            url=self.secrets.scrub_url(entry.url),
            content=self._kept(body, entry.mime),
            headers=self._clean(entry.headers),
            request_headers=self._clean(entry.request_headers),
            post_data=self.secrets.scrub_post(entry.post_data) if entry.post_data else None,
        )

    def _clean(self, headers: Headers) -> Headers:
        kept = tuple((name, value) for name, value in headers if name.lower() not in HOP_BY_HOP)
        urls = {"location", "referer", "content-location"}
        safe = self.secrets.scrub_headers(kept)
        return tuple((n, self.secrets.scrub_url(v) if n.lower() in urls else v) for n, v in safe)

    def _kept(self, body: bytes, mime: str) -> bytes | Path:
        if len(body) <= har.INLINE_BYTES:
            return body
        self.bodies += 1
        file = self.folder / f"body-{self.bodies:04}{har.suffix_of(mime)}"
        file.write_bytes(body)
        return file

    def write(self) -> None:
        """Write what there is so far."""
        har.write(self.folder / FILE, self.entries, keys=self.keys, options=self.options, started=self.started)

    def merge(self, files: Sequence[Path]) -> None:
        """Take in what a browser recorded. All but the page itself may stay unused: a browser loads as it likes."""
        for file in files:
            entries = har.read(file).entries
            for entry in entries:
                page = entry.mime.startswith("text/html") and entry.status > 0 and entry.url == entries[0].url
                self.entries.append(self.scrubbed(replace(entry, optional=not page)))
            for body in {entry.content for entry in entries if isinstance(entry.content, Path)}:
                body.unlink(missing_ok=True)
            file.unlink()
        self.write()


def _pairs(headers: Any) -> Headers:
    return tuple(
        (name.decode("latin-1"), value.decode("latin-1")) for name, values in headers.items() for value in values
    )

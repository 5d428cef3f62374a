"""Answers too large to hold: what is wanted of them is kept while they arrive, and that is the body from there on.

A request that carries `meta["excerpt"]` (see shapes/streamed_json.py) is answered with the excerpt: checks, recorder,
replay and spider see a small document of the same form. What is no JSON (a challenge, an error) is held as ever.
"""

from __future__ import annotations

import zlib
from io import BytesIO
from typing import Any, Protocol

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler, _ScrapyAgent
from scrapy.http import Request, Response
from scrapy.utils._download_handlers import wrap_twisted_exceptions
from scrapy.utils.defer import maybe_deferred_to_future

from spiders.shared.errors import AnswerError, Truncated

MOST_RECEIVED = 1 << 30
MOST_UNPACKED = 1 << 31
MOST_HELD = 1 << 24
PIECE = 1 << 18


class Excerpt(Protocol):
    """Takes a document piece by piece and gives what is wanted of it."""

    def feed(self, piece: bytes) -> None:
        """Take the next piece. Raises AnswerError where it cannot be read."""

    def close(self) -> bytes:
        """The excerpt as a document. Raises Truncated where the whole has not ended."""


class Sink:
    """Stands where Scrapy gathers a body; raises nothing inside a connection, for `error` is asked for after it.

    The unpacked size is bounded too: a gzip body may unpack to a thousand times its length.
    """

    def __init__(self, excerpt: Excerpt) -> None:
        self.excerpt = excerpt
        self.error: AnswerError | None = None
        self.held: BytesIO | None = None
        self.unpacked = 0
        self._zip: Any = None
        self._begun = False

    def write(self, data: bytes) -> None:
        """Take what arrived."""
        if not self._begun and data.startswith(b"\x1f\x8b"):
            self._zip = zlib.decompressobj(wbits=31)
        self._begun = True
        if self.error is None:
            try:
                self._unpack(data)
            except AnswerError as error:
                self.error = error
            except zlib.error as error:
                self.error = Truncated(f"a gzip body that cannot be unpacked ({error})")

    def _unpack(self, data: bytes) -> None:
        while data and self._zip:
            piece = self._zip.decompress(data, PIECE)
            data = self._zip.unconsumed_tail
            self._take(piece)
            if self._zip.eof:
                data = self._zip.unused_data
                self._zip = zlib.decompressobj(wbits=31) if data.startswith(b"\x1f\x8b") else self._zip
                if not data.startswith(b"\x1f\x8b"):
                    return
        for at in range(0, len(data), PIECE):
            self._take(data[at : at + PIECE])

    def _take(self, piece: bytes) -> None:
        if not piece:
            return
        if self.unpacked == 0 and piece.lstrip()[:1] not in {b"{", b"["}:
            self.held = BytesIO()
        self.unpacked += len(piece)
        if self.unpacked > (MOST_UNPACKED if self.held is None else MOST_HELD):
            raise Truncated(f"an answer of more than {self.unpacked >> 20} MiB, of which nothing is read")
        if self.held is None:
            self.excerpt.feed(piece)
        else:
            self.held.write(piece)

    def getvalue(self) -> bytes:
        """The excerpt, or what is held; nothing where `error` says why."""
        if self.held is not None:
            return self.held.getvalue()
        if self.error is None and self._zip and not self._zip.eof:
            self.error = Truncated("the answer ends inside its gzip body")
        if self.error is None:
            try:
                return self.excerpt.close()
            except AnswerError as error:
                self.error = error
        return b""

    def truncate(self, _: int) -> None:
        """As Scrapy calls it when there is too much."""
        self.held = BytesIO() if self.held else None


class _Agent(_ScrapyAgent):
    def __init__(self, sink: Sink, **known: Any) -> None:
        super().__init__(**known)
        self._sink = sink

    def _cb_bodyready(self, txresponse: Any, request: Request) -> Any:
        deliver = txresponse.deliverBody

        def into_sink(reader: Any) -> None:
            reader._bodybuf = self._sink
            deliver(reader)

        txresponse.deliverBody = into_sink
        return super()._cb_bodyready(txresponse, request)


class StreamedHandler(HTTP11DownloadHandler):
    """Scrapy's own handler, but for requests that want an excerpt."""

    async def download_request(self, request: Request) -> Response:
        """The answer; of one that is excerpted, unpacked and without what said how it was packed."""
        make = request.meta.get("excerpt")
        if make is None:
            return await super().download_request(request)
        sink = Sink(make())
        agent = _Agent(
            sink,
            contextFactory=self._contextFactory,
            bindAddress=self._bind_address,
            pool=self._pool,
            maxsize=MOST_RECEIVED,
            fail_on_dataloss=True,
            crawler=self._crawler,
        )
        with wrap_twisted_exceptions():
            response = await maybe_deferred_to_future(agent.download_request(request))
        if sink.error:
            raise type(sink.error)(f"{request.method} {request.url}: {sink.error}")
        headers = response.headers.copy()
        headers.pop("Content-Encoding", None)
        return response.replace(headers=headers)

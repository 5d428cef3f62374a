"""A crawl answered from a recording: one proxy on the loopback interface, for Scrapy and for Chromium alike.

Addresses stay real, so that redirects, POST and `response.url` behave as in the world. Strict: what was not recorded is
a miss and fails the crawl, what was recorded and not asked for is named. robots.txt that was not recorded answers 404.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import ssl
import tempfile
from collections import deque
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from spiders.shared import har
from spiders.shared.errors import AnswerError
from spiders.shared.har import Entry
from spiders.shared.recorder import HOP_BY_HOP, key_names
from spiders.shared.secrets import Secrets

MISS = 599
MARK = "X-Gpufare-Replay"
HEAD_LIMIT = 1 << 20
DROPPED = HOP_BY_HOP | {"strict-transport-security", "alt-svc", "public-key-pins", "content-security-policy"}
UNASKED = ("/robots.txt", "/favicon.ico")

logger = logging.getLogger(__name__)


class NotRecorded(AnswerError):
    """The recording has no answer to a request."""


class Answers:
    """The recorded answers by request; the same request recorded n times is answered in that order."""

    def __init__(self, entries: Iterable[Entry], secrets: Secrets) -> None:
        self.secrets = secrets
        self.misses: list[str] = []
        self._waiting: dict[str, deque[Entry]] = {}
        self._last: dict[str, Entry] = {}
        for entry in entries:
            self._waiting.setdefault(har.normalised_key(entry), deque()).append(entry)

    def answer(self, method: str, url: str, post_data: bytes | None) -> Entry:
        """The next recorded answer; 404 for a robots.txt, the marked status 599 for whatever was not recorded."""
        posted = self.secrets.scrub_post(post_data) if post_data else None
        key = har.key_of(method, self.secrets.scrub_url(url), posted)
        if waiting := self._waiting.get(key):
            self._last[key] = waiting.popleft()
            return self._last[key]
        last = self._last.get(key)
        if last and (last.optional or last.status == 0):  # a lost connection is tried again below Scrapy
            return last
        if urlsplit(url).path in UNASKED:
            return Entry(method, url, 404)
        self.misses.append(f"{method} {self.secrets.scrub_url(url)}")
        return Entry(method, url, MISS, "text/plain", b"not recorded", ((MARK, "miss"),))

    def hosts(self) -> set[str]:
        """Every host that the recording answers for."""
        return {urlsplit(entry.url).hostname or "" for waiting in self._waiting.values() for entry in waiting}

    def unused(self) -> list[str]:
        """What was recorded and nobody asked for, except what may stay unused."""
        left = (entry for waiting in self._waiting.values() for entry in waiting)
        return [f"{e.method} {e.url}" for e in left if not e.optional and urlsplit(e.url).path not in UNASKED]


class Proxy:
    """Speaks HTTP/1.1 as a forward proxy, and TLS with a certificate of its own behind CONNECT."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.address = ""
        self._hosts = answers.hosts()
        self._server: asyncio.Server | None = None
        self._tls: ssl.SSLContext | None = None

    async def start(self) -> None:
        """Listen on a free port of the loopback interface."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_LIMIT)
        self.address = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def stop(self) -> None:
        """Stop listening."""
        if self._server:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            logger.debug("replay: connection ended, %s", error)
        finally:
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        origin = ""
        while head := await _head(reader):
            method, target, headers = head
            if method == "CONNECT":
                host, _, port = target.rpartition(":")
                origin = f"https://{host}" if port == "443" else f"https://{target}"
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await writer.drain()
                await writer.start_tls(self._context())
                continue
            url = target if "://" in target else origin + target
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            entry = self.answers.answer(method, url, body or None)
            if entry.status == 0:
                writer.transport.abort()
                return
            writer.write(_answer_bytes(entry, method))
            await writer.drain()

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = self_signed(self._hosts)
        return self._tls


async def _head(reader: asyncio.StreamReader) -> tuple[str, str, dict[str, str]] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.partition(":") for line in lines if line)
    return method.upper(), target, {name.strip().lower(): value.strip() for name, _, value in pairs}


def _answer_bytes(entry: Entry, method: str) -> bytes:
    body = b"" if method == "HEAD" or entry.status in {204, 304} else entry.body
    headers = [(name, value) for name, value in entry.headers if name.lower() not in DROPPED]
    if entry.mime and not entry.header("content-type"):
        headers.append(("Content-Type", entry.mime))
    headers.append(("Content-Length", str(len(body))))
    reason = HTTPStatus(entry.status).phrase if entry.status in set(HTTPStatus) else "Recorded"
    lines = [f"HTTP/1.1 {entry.status} {reason}", *(f"{_plain(name)}: {_plain(value)}" for name, value in headers)]
    return "\r\n".join(lines).encode("latin-1", "replace") + b"\r\n\r\n" + body


def _plain(text: str) -> str:
    return " ".join(text.splitlines())


def self_signed(hosts: Iterable[str]) -> ssl.SSLContext:
    """A server's TLS with a fresh certificate that names the hosts; nobody but the replay accepts it."""
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "replay.invalid")])
    names = x509.SubjectAlternativeName([x509.DNSName(h) for h in sorted(hosts) if _is_name(h)])
    today = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=2))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    private = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory(prefix="gpufare-") as folder:
        file = Path(folder) / "replay.pem"
        file.write_bytes(private + certificate.public_bytes(encoding))
        context.load_cert_chain(file)
    return context


def _is_name(host: str) -> bool:
    return bool(re.fullmatch(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+", host)) and not host[-1].isdigit()


class Replay:
    """Downloader middleware that sends every request to the proxy."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        recorded = har.read(Path(crawler.settings["GPUFARE_RECORDED"]))
        secrets = Secrets.of(key_names(crawler.spidercls.name), os.environ)
        self.answers = Answers(recorded.entries, secrets)
        self.proxy = Proxy(self.answers)
        crawler.signals.connect(self.proxy.start, signals.spider_opened)
        crawler.signals.connect(self.closed, signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """As Scrapy calls it. Raises HarError."""
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        """Through the proxy, whatever proxies the environment names."""
        request.meta["proxy"] = self.proxy.address

    def process_response(self, request: Request, response: Response) -> Response:
        """Raise NotRecorded for a miss."""
        if response.status == MISS and response.headers.get(MARK):
            raise NotRecorded(f"no recorded answer to {request.method} {request.url}")
        return response

    def closed(self) -> None:
        """Tell the report what did not fit."""
        self.proxy.stop()
        self.crawler.stats.set_value("gpufare/misses", list(self.answers.misses))
        self.crawler.stats.set_value("gpufare/unused", self.answers.unused())

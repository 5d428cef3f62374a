"""Real servers on the loopback interface, and spiders written into a temporary package."""

from __future__ import annotations

import http.server
import socket
import textwrap
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from spiders.shared.crawl import CrawlReport, crawl

HEAD = """
import asyncio, os, time
import scrapy
from scrapy.http import Request
from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, Document, ProviderSpider, json_of
from spiders.shared.shapes.browser import BrowserSpider, browser_request

def offer(name, price="1.0"):
    return RawOffer(purchase="on_demand", price=price, currency="USD", price_unit="gpu-hour", accelerator=name)

class Base(ProviderSpider):
    documents = (Document("", "parse"),)
    custom_settings = {"DOWNLOAD_DELAY": 0, "RETRY_TIMES": 1}

    def parse(self, response):
        yield self.batch(response, [offer(record["gpu"], str(record["price"])) for record in json_of(response)])
"""
LIST = b'[{"gpu": "H100", "price": 2.5}, {"gpu": "A100", "price": 1.25}]'


@dataclass
class Answer:
    """What the server says to a path."""

    body: bytes = LIST
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    raw: bytes | None = None
    hang: bool = False


@dataclass
class Server:
    """A real HTTP server and what it was asked."""

    url: str = ""
    answers: dict[str, Answer | Callable[[bytes], Answer]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    sent: list[dict[str, str]] = field(default_factory=list)


@pytest.fixture
def say() -> type[Answer]:
    """What a server can be told to say."""
    return Answer


@pytest.fixture
def head() -> str:
    """What every spider of these tests begins with."""
    return HEAD


@pytest.fixture
def server() -> Iterator[Server]:
    yield from serve()


@pytest.fixture
def other_server() -> Iterator[Server]:
    yield from serve()


def serve() -> Iterator[Server]:
    told = Server()
    stopped = threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            told.asked.append(f"{self.command} {self.path}")
            told.sent.append(dict(self.headers))
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = told.answers.get(self.path) or told.answers.get(self.path.partition("?")[0])
            if callable(answer):
                answer = answer(body)
            if answer is None:
                answer = Answer(b"", 404)
            if answer.hang:
                stopped.wait(30)
                return
            if answer.raw is not None:
                self.wfile.write(answer.raw)
                self.wfile.flush()
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    class Quiet(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass

    with Quiet(("127.0.0.1", 0), Handler) as running:
        told.url = f"http://127.0.0.1:{running.server_address[1]}"
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield told
        stopped.set()
        running.shutdown()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., CrawlReport]:
    """Write a spider's class body into a module of its own and crawl with it."""
    count = 0

    def crawled(body: str, **options: Any) -> CrawlReport:
        nonlocal count
        count += 1
        name = options.pop("name", "probe")
        base = options.pop("base", "Base")
        package = tmp_path / "path"
        package.mkdir(exist_ok=True)
        module = f"probe_module_{count}"
        code = f"{HEAD}\nclass Probe({base}):\n    name = {name!r}\n{textwrap.indent(textwrap.dedent(body), '    ')}"
        (package / f"{module}.py").write_text(options.pop("source", None) or code)
        env = {"PYTHONPATH": str(package), **options.pop("env", {})}
        workdir = options.pop("workdir", tmp_path / f"work-{count}")
        report = crawl(name, workdir, module=module, env=env, **{"deadline_s": 20, **options})
        assert not stray(workdir), "a process of the crawl is still there"
        return report

    return crawled


def stray(workdir: Path) -> list[psutil.Process]:
    """Processes that still run in the workdir of a crawl: the child itself and all that it started."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.cwd() == str(workdir.resolve()):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found

"""REST under 32 connections: a filtered question of 50 rows over 30,000 offers, beside a bare endpoint of FastAPI.

Prints requests per second, median and 99th percentile of each load, and counts errors. `one question` is what wrk would
send; `many questions` are 96 different ones, each worked out once and then kept; `304` asks with the tag at hand. The
store is made here; its prices are no market prices. wrk is used where it is installed, else a loop of our own.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import offers as night

CONNECTIONS, SECONDS = 32, 8.0
QUESTION = "/api/offers?gpu=H100&limit=50&max_price=20&country=US"
MANY = [
    f"/api/offers?gpu={gpu}&count={count}&limit=50&max_price={price}"
    for gpu, count, price in itertools.product(
        ("H100", "A100", "RTX4090", "L4"), ("1..", "..8", "2..", "4.."), range(15, 21)
    )
]
BARE = """
import sys
import uvicorn
from fastapi import FastAPI, Response
app = FastAPI()
body = b"x" * int(sys.argv[1])
@app.get("/bare")
async def bare() -> Response:
    return Response(body, media_type="application/json")
uvicorn.run(app, port=int(sys.argv[2]), log_level="warning")
"""


async def ask(host: str, port: int, paths: Sequence[str], tag: str, until: float, took: list[float]) -> list[str]:
    """One connection that asks until the time is over; what was no 200 or 304."""
    odd = []
    reader, writer = await asyncio.open_connection(host, port)
    for path in itertools.cycle(paths):
        if time.perf_counter() > until:
            break
        began = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\n{tag}\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        size = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
        if size:
            await reader.readexactly(int(size[1]))
        took.append(time.perf_counter() - began)
        if head.split()[1] not in {b"200", b"304"}:
            odd.append(head.splitlines()[0].decode())
    writer.close()
    return odd


async def load(url: str, paths: Sequence[str], tag: str = "") -> str:
    """All connections at once; each begins at another path."""
    parts, took, until = urlsplit(url), [], time.perf_counter() + SECONDS
    turned = [[*paths[i % len(paths) :], *paths[: i % len(paths)]] for i in range(CONNECTIONS)]
    asked = [ask(parts.hostname or "", parts.port or 80, one, tag, until, took) for one in turned]
    odd = [line for lines in await asyncio.gather(*asked) for line in lines]
    cuts = statistics.quantiles(took, n=100)
    median, highest = (f"{cuts[at] * 1000:7.1f} ms" for at in (49, 98))
    return f"{len(took) / SECONDS:7.0f} /s  median {median}  p99 {highest}  errors {len(odd)}"


def serve(stack: ExitStack, command: Sequence[str], ready: str) -> str:
    """Start a server; its address once it answers."""
    process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
    stack.callback(process.terminate)
    assert process.stderr is not None
    address = ready or process.stderr.readline().split("/api")[0]
    for _ in range(100):
        try:
            asyncio.run(first(address, "/bare" if ready else "/api"))
        except OSError:
            time.sleep(0.1)
        else:
            return address
    raise SystemExit(f"{address} does not answer")


async def first(url: str, path: str) -> bytes:
    """One answer, whole."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer


def main() -> None:
    """Make the store, start both servers, load one after the other."""
    night.PROVIDERS, night.OFFERS = 12, 2500
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        store = Path(folder) / "store"
        night.fill(store, 1)
        api = serve(stack, [sys.executable, "-m", "gpufare", "--data", str(store), "serve", "--port", "0"], "")
        began = time.perf_counter()
        answer = asyncio.run(first(api, QUESTION))
        print(f"30,000 offers; {QUESTION}: {len(answer):,} bytes, {time.perf_counter() - began:.2f} s when asked first")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = str(free.getsockname()[1])
        bare = serve(stack, [sys.executable, "-c", BARE, str(len(answer)), port], f"http://127.0.0.1:{port}")
        tag = re.search(rb"etag: (.+)\r\n", answer, re.IGNORECASE)
        asked = f"If-None-Match: {tag[1].decode()}\r\n" if tag else ""
        for name, url, paths, more in (
            ("bare endpoint", bare, ["/bare"], ""),
            ("one question", api, [QUESTION], ""),
            ("304", api, [QUESTION], asked),
            ("many questions", api, MANY, ""),
        ):
            print(f"{name:15}", asyncio.run(load(url, paths, more)))
        if wrk := shutil.which("wrk"):
            for url in (f"{bare}/bare", f"{api}{QUESTION}"):
                subprocess.run([wrk, "-t2", f"-c{CONNECTIONS}", f"-d{SECONDS:.0f}s", "--latency", url], check=False)


if __name__ == "__main__":
    main()

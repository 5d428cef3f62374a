"""CPU that our child costs beyond a bare Scrapy spider which fetches the same recorded answers and parses them.

Prints both, their difference and ratio: `python benchmarks/child.py [PROVIDER/CASE ...]`. The bare spider asks a proxy
in this process, so that its answers cost it nothing; ours pays for proxy, TLS on both sides, checks, reading, writing.
"""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from spiders.shared import har  # noqa: E402
from spiders.shared.crawl import crawl  # noqa: E402
from spiders.shared.replay import Answers, Proxy  # noqa: E402
from spiders.shared.secrets import Secrets  # noqa: E402
from spiders.shared.source import RECORDED  # noqa: E402

RUNS = 7
CASES = ("hyperbolic/2026-11-29-night", "scaleway/2026-11-29-night", "aws/2026-11-29-night")
BARE = """
import sys
import scrapy
from scrapy.crawler import AsyncCrawlerProcess

class Bare(scrapy.Spider):
    name = "bare"

    async def start(self):
        for url in sys.argv[2:]:
            yield scrapy.Request(url, meta={"proxy": sys.argv[1]}, dont_filter=True)

    def parse(self, response):
        yield {"url": response.url, "document": response.json() if response.text[:1] in "[{" else response.text}

process = AsyncCrawlerProcess({"LOG_LEVEL": "WARNING", "DOWNLOAD_DELAY": 0})
process.crawl(Bare)
process.start()
"""


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cost(run: object) -> float:
    before = children_cpu()
    run()  # type: ignore[operator]
    return children_cpu() - before


class Serving:
    """The recorded answers behind a proxy, in a thread; every answer as often as it is asked for."""

    def __init__(self, entries: tuple[har.Entry, ...]) -> None:
        self.proxy = Proxy(Answers([entry for _ in range(RUNS + 1) for entry in entries], Secrets()))
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        asyncio.run_coroutine_threadsafe(self.proxy.start(), self.loop).result()


def measure(case: str) -> None:
    recorded, name = RECORDED / case, case.partition("/")[0]
    entries = tuple(entry for entry in har.read(recorded).entries if entry.method == "GET")
    address = Serving(entries).proxy.address
    command = [sys.executable, "-c", BARE, address, *(entry.url for entry in entries)]
    bare, ours = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(RUNS):
            bare.append(cost(lambda: subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": ""})))
            ours.append(cost(lambda: crawl(name, Path(folder), recorded=recorded)))
    low, mid = min(ours) - min(bare), statistics.median(ours) - statistics.median(bare)
    print(
        f"{case:32} {len(entries):3} answers  bare {min(bare):.2f} s  ours {min(ours):.2f} s  "
        f"difference {low:+.2f} s (medians {mid:+.2f} s)  ratio {min(ours) / min(bare):.2f}"
    )


if __name__ == "__main__":
    for chosen in sys.argv[1:] or CASES:
        measure(chosen)

"""The site of 30,000 offers and a year: time of `publish`, bytes and time to the first rows, time of a filter.

`python benchmarks/site.py [NIGHTS]` (default 365) makes the synthetic year of `benchmarks/history.py`, publishes it and
opens it in headless Chromium over a loopback server that compresses. Nothing is asserted; the prices are random.
"""

from __future__ import annotations

import functools
import gzip
import http.server
import json
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import history

from planner.page import COLUMNS, page
from spiders.shared.browser import ARGS, MISSING, chromium
from storage.compaction import compact
from storage.lake import Lake
from table import feeds
from table.site.build import publish

OFFERS = 30_000
FIRST_ROWS = """
(function look() {
  if (document.querySelector("#offers tbody tr")) window.firstRows = performance.now();
  else requestAnimationFrame(look);
})();
"""
FILTER = """
async ([name, value]) => {
  const field = document.querySelector(`#filters [name=${name}]`);
  const began = performance.now();
  field.value = value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  document.querySelector("#offers").getBoundingClientRect();
  const done = performance.now() - began;
  await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  return [done, performance.now() - began];
}
"""
QUESTIONS = (
    ("vram", ">=80"), ("price", "<3 && >1"), ("gpu", "GPU02, GPU17:8"), ("gpu", ""), ("provider", "lambda,nebius"),
    ("provider", ""), ("country", "US"), ("count", "1..4"), ("stock", "in_stock"), ("price", ""), ("vram", ""),
    ("count", ""), ("stock", ""), ("unit", "month"), ("group", "gpu"), ("group", ""),
)  # fmt: skip


@functools.lru_cache
def compressed(path: Path) -> bytes:
    """The file as a host keeps it at hand."""
    return gzip.compress(path.read_bytes(), 6)


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Serves files as a host does that compresses; counts the bytes of all bodies."""

    sent = 0

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            self.send_error(404)
            return
        body = compressed(path)
        Compressing.sent += len(body)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def opened(site: Path) -> None:
    """Print what a reader's browser takes."""
    from playwright.sync_api import sync_playwright

    version = json.loads((site / "latest.json").read_text(encoding="utf-8"))["path"]
    handler = functools.partial(Compressing, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=str(chromium()), args=[*ARGS, "--no-sandbox"])
        firsts = []
        for _ in range(5):
            Compressing.sent = 0
            page = browser.new_context().new_page()
            page.add_init_script(FIRST_ROWS)
            page.goto(f"http://127.0.0.1:{server.server_address[1]}/{version}en/index.html")
            page.wait_for_function("window.firstRows")
            firsts.append(page.evaluate("window.firstRows"))
        print(f"  before the first rows      {Compressing.sent / 1e6:8.2f} MB compressed (at most 1.5)")
        firsts.sort()
        print(f"  first rows                 {firsts[2] / 1000:8.2f} s (at most 2), at worst {firsts[-1] / 1000:.2f}")
        took = [(page.evaluate(FILTER, list(question)), question) for question in QUESTIONS]
        (done, drawn), slowest = max(took)
        print(
            f"  slowest of {len(took)} filters      {done:8.0f} ms, drawn after {drawn:.0f} ms: {slowest} (at most 150)"
        )
        browser.close()
        server.shutdown()


def main(nights: int) -> None:
    """Make, publish, open."""
    if chromium() is None:
        raise SystemExit(MISSING)
    history.OFFERS = OFFERS // history.PROVIDERS
    with tempfile.TemporaryDirectory(prefix="gpufare-bench-") as folder:
        store, site = Path(folder) / "store", Path(folder) / "site"
        _, rows = history.fill(store, None, nights)
        compact(Lake.open(store), datetime(2030, 1, 1, tzinfo=UTC))
        print(f"{OFFERS:,} offers, {nights} nights, {rows:,} rows")
        now = list(history.nights(nights))[-1] + timedelta(hours=1)
        began = time.perf_counter()
        steps: list[tuple[str, float]] = []
        result = publish(
            Lake.open(store),
            site,
            now=now,
            made_at=now,
            on_step=lambda step: steps.append((step, time.perf_counter())),
            plan=lambda offers: page(offers.select(COLUMNS).to_pylist()),
        )
        steps.append(("feeds", time.perf_counter()))
        feeds.write(Lake.open(store), site, now=now)
        ended = time.perf_counter()
        print(f"  publish                    {ended - began:8.1f} s (at most 60), {result.size / 1e6:.1f} MB")
        for (step, at), (_, after) in zip(steps, [*steps[1:], ("", ended)], strict=True):
            print(f"    {step:24} {after - at:8.1f} s")
        opened(site)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 365)

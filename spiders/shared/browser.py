"""Where Chromium is, and how it is started: for the few providers whose pages exist only after JavaScript."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from schemas.providers import providers

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

MISSING = "the page needs Chromium, and there is none: run `make chromium`, or set GPUFARE_CHROMIUM to one"
ON_PATH = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
DOWNLOADED = ("chromium-*/chrome-linux*/chrome", "chromium_headless_shell-*/chrome*-linux*/*headless*shell")
HANDLER = "spiders.shared.browser_handler.BrowserHandler"
DEAD_PROXY = "http://127.0.0.1:9"
MAX_PAGES = 2
NAVIGATION_MS = 45_000
ARGS = (
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
)


def chromium() -> Path | None:
    """The browser: GPUFARE_CHROMIUM, Playwright's own download, the PATH, in this order; None where there is none.

    A GPUFARE_CHROMIUM that names no file is no browser either: it was meant, so nothing else is taken in its place.
    """
    if named := os.environ.get("GPUFARE_CHROMIUM"):
        return Path(named) if os.access(named, os.X_OK) and Path(named).is_file() else None
    folder = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    for pattern in DOWNLOADED:
        if found := sorted(path for path in folder.glob(pattern) if os.access(path, os.X_OK)):
            return found[-1]
    return next((Path(path) for name in ON_PATH if (path := shutil.which(name))), None)


def needed(name: str) -> bool:
    """Does providers.toml say that the provider's pages need a browser?"""
    facts = providers().get(name)
    return bool(facts and facts.browser)


def prepare(crawler: Crawler) -> None:
    """Settings of a crawl with a browser. It never asks a host that the spider does not name, whatever a page says."""
    path = chromium()
    spider: Any = crawler.spidercls
    pages = [urlsplit(url) for url in getattr(spider, "start_urls", ())]
    hosts = {page.hostname or "" for page in pages}
    schemes = {page.scheme for page in pages} or {"https"}  # each would start a driver of its own
    recorded = crawler.settings["GPUFARE_RECORDED"]
    launch: dict[str, Any] = {
        "executable_path": str(path),
        "headless": True,
        "args": [*ARGS, resolver_rules([*hosts, *(getattr(spider, "allowed_domains", None) or ())])],
        "chromium_sandbox": os.geteuid() != 0,
    }
    if recorded:
        launch["proxy"] = {"server": DEAD_PROXY}
    middlewares = {**crawler.settings["DOWNLOADER_MIDDLEWARES"], "spiders.shared.browser_handler.BrowserPages": 745}
    crawler.settings.setdict(
        {
            "DOWNLOAD_HANDLERS": {**crawler.settings["DOWNLOAD_HANDLERS"], **dict.fromkeys(schemes, HANDLER)},
            "DOWNLOADER_MIDDLEWARES": middlewares,
            "PLAYWRIGHT_LAUNCH_OPTIONS": launch,
            "PLAYWRIGHT_MAX_CONTEXTS": 1,
            "PLAYWRIGHT_MAX_PAGES_PER_CONTEXT": MAX_PAGES,
            "PLAYWRIGHT_DEFAULT_NAVIGATION_TIMEOUT": NAVIGATION_MS,
            "PLAYWRIGHT_RESTART_DISCONNECTED_BROWSER": False,
        },
        priority="cmdline",  # Scrapy lays the process's settings over the crawler's once more when the crawl starts
    )


def resolver_rules(hosts: Iterable[str]) -> str:
    """The switch that lets Chromium find no host but these, those below them, and the proxy of a replay."""
    named = [rule for host in sorted({*hosts, "127.0.0.1"}) if host for rule in (host, f"*.{host}")]
    return f"--host-resolver-rules=MAP * ~NOTFOUND{''.join(f' , EXCLUDE {rule}' for rule in named)}"


def collect(crawler: Crawler, workdir: Path) -> None:
    """Take what the browser recorded into answers.har, once its contexts are closed."""
    from spiders.shared.recorder import Recorder

    recorder: Any = crawler.get_downloader_middleware(Recorder) if crawler.spider else None
    if recorder:
        recorder.merge(sorted(workdir.glob("browser-*.har")))

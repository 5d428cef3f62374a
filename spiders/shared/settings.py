"""Scrapy's settings for every spider, and those of one crawl.

Each choice has its reason in README.md beside this package. The module is also what `scrapy genspider` and
`scrapy crawl` find through scrapy.cfg; such a crawl has every guard, but writes no report.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from schemas.providers import Provider

VERSION = "0.1.0"
SHARED = "spiders.shared"

BOT_NAME = "gpufare"
USER_AGENT = f"gpufare/{VERSION} (+https://github.com/gpufare/gpufare; contact: its issues)"
ROBOTSTXT_USER_AGENT = "gpufare"
ROBOTSTXT_OBEY = True
SPIDER_MODULES = ["spiders"]
# one module that does not import must not keep `scrapy genspider` from writing another; a crawl names its own module
SPIDER_LOADER_WARN_ONLY = True
NEWSPIDER_MODULE = "spiders"
TEMPLATES_DIR = str(Path(__file__).parent / "templates")

TWISTED_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"
REMOTE_CONTROL_ENABLED = False
TELNETCONSOLE_ENABLED = False
HTTPCACHE_ENABLED = False
COOKIES_ENABLED = False
METAREFRESH_ENABLED = False
DOWNLOAD_VERIFY_CERTIFICATES = True
DOWNLOAD_TIMEOUT = 60
DOWNLOAD_MAXSIZE = 256 * 1024 * 1024
DOWNLOAD_DELAY = 1.0
CONCURRENT_REQUESTS_PER_DOMAIN = 1
RETRY_TIMES = 2
RETRY_HTTP_CODES = [408, 500, 502, 503, 504, 522, 524]
RETRY_GIVE_UP_LOG_LEVEL = "WARNING"
URLLENGTH_LIMIT = 0
MEMUSAGE_LIMIT_MB = 3072
MEMUSAGE_CHECK_INTERVAL_SECONDS = 5.0
LOG_LEVEL = "INFO"
LOG_VERSIONS: list[str] = []
WARN_ON_GENERATOR_RETURN_VALUE = False

# gzip alone: its trailer tells a whole body from one that was cut off, and Scrapy hands on what a cut one held
DEFAULT_REQUEST_HEADERS = {"Accept": "*/*", "Accept-Language": "en", "Accept-Encoding": "gzip"}
# an answer may lead to no file and no other scheme
DOWNLOAD_HANDLERS: dict[str, str | None] = {
    **dict.fromkeys(("file", "data", "s3", "ftp")),
    **dict.fromkeys(("http", "https"), f"{SHARED}.streamed.StreamedHandler"),
}

DOWNLOADER_MIDDLEWARES: dict[str, int | None] = {
    f"{SHARED}.guard.HostGuard": 40,
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware": None,
    f"{SHARED}.checks.Checks": 530,
    "scrapy.downloadermiddlewares.redirect.MetaRefreshMiddleware": None,
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware": None,
    f"{SHARED}.guard.SameHostRedirect": 600,
    "scrapy.downloadermiddlewares.httpcompression.HttpCompressionMiddleware": 620,
    f"{SHARED}.checks.WholeBodies": 630,
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware": None,
}
SPIDER_MIDDLEWARES: dict[str, int | None] = {
    f"{SHARED}.guard.Watch": 10,
    "scrapy.spidermiddlewares.httperror.HttpErrorMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
}
# what is switched off need not be imported either
EXTENSIONS: dict[str, int | None] = {
    "scrapy.extensions.telnet.TelnetConsole": None,
    "scrapy.extensions.memdebug.MemoryDebugger": None,
    "scrapy.extensions.closespider.CloseSpider": None,
    "scrapy.extensions.feedexport.FeedExporter": None,
    "scrapy.extensions.logstats.LogStats": None,
    "scrapy.extensions.spiderstate.SpiderState": None,
    "scrapy.extensions.throttle.AutoThrottle": None,
    "scrapy.extensions.remote_control.RemoteControl": None,
}


def for_crawl(
    module: str, facts: Provider | None, workdir: Path, *, recorded: Path | None, record: bool, instant: str
) -> dict[str, Any]:
    """What one crawl has beyond the settings above. A provider's politeness is its facts'; a replay needs none."""
    chosen: dict[str, Any] = {
        "SPIDER_MODULES": [module],
        "GPUFARE_WORKDIR": str(workdir),
        "GPUFARE_INSTANT": instant,
        "EXTENSIONS": {**EXTENSIONS, f"{SHARED}.report.Report": 0},
        "ITEM_PIPELINES": {f"{SHARED}.report.RawWriter": 100},
        "DOWNLOADER_MIDDLEWARES": dict(DOWNLOADER_MIDDLEWARES),
    }
    if facts:
        chosen |= {"DOWNLOAD_DELAY": float(facts.delay_s), "CONCURRENT_REQUESTS_PER_DOMAIN": facts.concurrency}
    middlewares = chosen["DOWNLOADER_MIDDLEWARES"]
    if recorded:
        middlewares[f"{SHARED}.replay.Replay"] = 740
        chosen |= {
            "GPUFARE_RECORDED": str(recorded),
            "DOWNLOAD_DELAY": 0,
            "CONCURRENT_REQUESTS": 1,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "RETRY_ENABLED": False,
            "DOWNLOAD_VERIFY_CERTIFICATES": False,
        }
    elif record:
        middlewares[f"{SHARED}.recorder.Recorder"] = 610
    return chosen

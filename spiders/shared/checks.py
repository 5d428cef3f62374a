"""Is an answer what was asked for? Blocked, login wall, error, another document, cut off: each has its own name."""

from __future__ import annotations

import re
import zlib
from typing import Any, Self
from urllib.parse import urlsplit

from scrapy.crawler import Crawler
from scrapy.http import Request, Response

from spiders.shared.errors import AuthMissing, Blocked, HttpError, LayoutChanged, LoginWall, SchemaDrift, Truncated
from spiders.shared.guard import is_robots

SMALL_PAGE = 24 * 1024
CHALLENGE_TITLES = (
    b"just a moment",
    b"attention required! | cloudflare",
    b"access denied",
    b"pardon our interruption",
    b"are you a robot",
    b"robot check",
    b"security check",
    b"checking your browser",
    b"verify you are human",
    b"human verification",
    b"ddos-guard",
)
CHALLENGE_MARKS = (
    b"_cf_chl_opt",
    b"cf-chl-",
    b"cf_chl_",
    b"px-captcha",
    b"captcha-delivery.com",
    b"_incapsula_resource?",
)
CHALLENGE_HEADERS = {"cf-mitigated": b"challenge", "x-amzn-waf-action": b""}
LOGIN_WORDS = re.compile(rb"\b(log[ -]?in|sign[ -]?in|single sign-on)\b")
LOGIN_PATH = re.compile(r"/(log-?in|sign-?in|sso|oauth2?|authorize)(/|\.|$)", re.IGNORECASE)
TITLE = re.compile(rb"<title[^>]*>(.{0,300}?)</title>", re.DOTALL)
HEADING = re.compile(rb"<h[12][^>]*>(.{0,300}?)</h[12]>", re.DOTALL)
PASSWORD = re.compile(rb"<input\b[^>]{0,400}\btype\s*=\s*[\"']?password")
MONEY = re.compile(rb"[$\xa3]\s?\d|\xe2\x82\xac\s?\d|\d\s?\xe2\x82\xac|&euro;|&#8364;")


class Checks:
    """Raises the fitting AnswerError for an answer that a callback must not see."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """As Scrapy calls it."""
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        """The answer as it came, or the error that it is."""
        if is_robots(request):
            return robots_of(response)
        check(request, response, self.crawler.spider)
        return response


def robots_of(response: Response) -> Response:
    """robots.txt as RFC 9309 reads it: none where there is none (4xx), all forbidden where the server fails (5xx)."""
    if response.status < 300:
        return response
    return response.replace(body=b"User-agent: *\nDisallow: /\n" if response.status >= 500 else b"")


def check(request: Request, response: Response, spider: Any) -> None:
    """Raise Blocked, AuthMissing, LoginWall, HttpError, SchemaDrift, LayoutChanged or Truncated where it fits."""
    where = f"{request.method} {response.url}"
    page = _html(response)
    if "dataloss" in response.flags or ("partial" in response.flags and not _ends(response.body)):
        raise Truncated(f"{where} ends before its end, after {len(response.body)} bytes")
    if mark := _challenge(response, page):
        raise Blocked(f"{where} answered {response.status} with a challenge page ({mark})")
    if not _accepted(request, response, spider):
        _check_status(response.status, where)
    if page is not None:
        _check_login(request, response, page, where)
    if vain := request.meta.get("waited_in_vain"):
        raise LayoutChanged(f"expected {vain!r} on {response.url}, and it never came")
    _check_kind(request.meta.get("expect") or getattr(spider, "expect", None), response, page, where)


def _accepted(request: Request, response: Response, spider: Any) -> bool:
    handled = {*request.meta.get("handle_httpstatus_list", ()), *getattr(spider, "handle_httpstatus_list", ())}
    return response.status in handled or bool(request.meta.get("handle_httpstatus_all"))


def _check_status(status: int, where: str) -> None:
    if 200 <= status < 300:
        return
    if status in {403, 429}:
        raise Blocked(f"{where} answered {status}")
    if status == 401:
        raise AuthMissing(f"{where} answered 401: the key is missing, wrong or spent")
    raise HttpError(f"{where} answered {status}")


def _html(response: Response) -> bytes | None:
    """The page in lower case, None where the answer is no HTML."""
    start = response.body[:256].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not start.startswith(b"<") or start.startswith((b"<?xml", b"<rss", b"<feed")):
        return None
    return response.body[: 1 << 20].lower()


def _challenge(response: Response, page: bytes | None) -> str | None:
    """What tells a challenge page, None where it is none. Many a price page loads a captcha for its contact form."""
    for name, wanted in CHALLENGE_HEADERS.items():
        value = response.headers.get(name)
        if value and wanted in value.lower():
            return f"{name}: {value.decode('latin-1')[:40]}"
    if page is None:
        return None
    title = _title(page)
    mark = next((t for t in CHALLENGE_TITLES if t in title), None) or next(
        (m for m in CHALLENGE_MARKS if m in page), None
    )
    if mark is None and len(response.body) < SMALL_PAGE and b"captcha" in page and not MONEY.search(page):
        mark = b"captcha"
    return mark.decode() if mark else None


def _title(page: bytes) -> bytes:
    found = TITLE.search(page)
    return b" ".join(found[1].split()) if found else b""


def _check_login(request: Request, response: Response, page: bytes, where: str) -> None:
    asked = request.meta.get("redirect_urls", [request.url])[0]
    if LOGIN_PATH.search(urlsplit(response.url).path) and not LOGIN_PATH.search(urlsplit(asked).path):
        raise LoginWall(f"{asked} led to a login page, {response.url}")
    if PASSWORD.search(page):
        heads = b" ".join([_title(page), *HEADING.findall(page)[:4]])
        if LOGIN_WORDS.search(heads) and not MONEY.search(page):
            raise LoginWall(f"{where} answered with a login page")


def _check_kind(expected: str | None, response: Response, page: bytes | None, where: str) -> None:
    if expected == "json" and page is not None:
        if PASSWORD.search(page):
            raise LoginWall(f"{where} answered with a login page where JSON was")
        raise SchemaDrift(
            f"expected JSON from {where}, got a page titled {_title(page).decode('utf-8', 'replace')[:60]!r}"
        )
    if expected == "html" and page is None:
        kind = (response.headers.get("Content-Type") or b"no type").decode("latin-1")[:60]
        raise LayoutChanged(f"expected a page from {where}, got {kind}, starting {response.body[:40]!r}")


def _ends(body: bytes) -> bool:
    return body.rstrip()[-1:] in {b"}", b"]", b">"}


class WholeBodies:
    """A gzip body that was cut off: Scrapy decompresses what there is and says nothing."""

    def process_response(self, request: Request, response: Response) -> Response:
        """Raise Truncated unless every gzip member ends where it says."""
        encoding = response.headers.get("Content-Encoding", b"") or b""
        if encoding.strip().lower() in {b"gzip", b"x-gzip"} and response.body and request.method != "HEAD":
            limit = int(request.meta.get("download_maxsize") or 1 << 28)
            if not _is_whole(response.body, limit):
                raise Truncated(f"{request.method} {response.url} ends inside its gzip body")
        return response


def _is_whole(body: bytes, limit: int) -> bool:
    """Do the gzip members in `body` end? What is over `limit` is left to the guard against bombs."""
    seen = 0
    while body.startswith(b"\x1f\x8b"):
        member, rest = zlib.decompressobj(wbits=31), body
        while not member.eof:
            try:
                chunk = member.decompress(rest, 1 << 20)
            except zlib.error:
                return False
            rest = member.unconsumed_tail
            seen += len(chunk)
            if seen > limit:
                return True
            if not chunk and not rest and not member.eof:
                return False
        body = member.unused_data.lstrip(b"\0")
    return True

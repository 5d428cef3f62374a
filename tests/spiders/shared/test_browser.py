"""Pages in a real Chromium: recorded, replayed, and nothing of it left."""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path

import psutil
import pytest

from spiders.shared import browser, har

NONE = browser.chromium() is None
needs_chromium = [pytest.mark.browser, pytest.mark.skipif(NONE, reason=browser.MISSING)]
HTML = {"Content-Type": "text/html"}
SHELL = b"""<!doctype html><html><head><title>Prices</title><script src="/app.js" defer></script>
<img src="/picture.png"><link rel="stylesheet" href="%(other)s/style.css"></head>
<body><div id="root"></div></body></html>"""
APP = b"""fetch('/api/prices').then(r => r.json()).then(list => {
  document.querySelector('#root').innerHTML = list.map(o => `<tr><td>${o.gpu}</td><td>${o.price}</td></tr>`).join('');
  document.querySelector('#root').setAttribute('class', 'ready');
});
fetch('%(other)s/track').catch(() => 0);
setTimeout(() => { new Image().src = '%(other)s/pixel.png' }, 1);"""
BODY = """
start_urls = ["{url}/page"]
wait_for = ".ready"
documents = (Document("", "parse"),)
custom_settings = {{"DOWNLOAD_DELAY": 0, "RETRY_TIMES": 0}}

def parse(self, response):
    import re
    rows = re.findall("<div.*?>(.*)</div>", response.text)[0]
    names = re.findall("[A-Z]+[0-9]+", rows)
    yield self.batch(response, [offer(name) for name in names])
"""


def page(server, say, other):
    server.answers |= {
        "/page": say(SHELL % {b"other": other.url.encode()}, headers=HTML),
        "/app.js": say(APP % {b"other": other.url.encode()}, headers={"Content-Type": "text/javascript"}),
        "/api/prices": say(),
    }
    return BODY.format(url=server.url)


def chromiums():
    found = []
    for process in psutil.process_iter(["name", "cmdline"]):
        line = " ".join(process.info["cmdline"] or ())
        if "playwright" in line and ("chrom" in line or "run-driver" in line):
            found.append(process.pid)
    return set(found)


@pytest.fixture(autouse=True)
def none_left():
    before = chromiums()
    yield
    mine = {pid for pid in chromiums() - before if psutil.pid_exists(pid) and is_ours(pid)}
    assert not mine, "a browser is still there"


def is_ours(pid):
    try:
        return "GPUFARE_CRAWL" in psutil.Process(pid).environ() and str(os.getpid()) in ancestors(pid)
    except psutil.Error:
        return False


def profiles():
    return set(Path(tempfile.gettempdir()).glob("playwright_chromiumdev_profile-*"))


def ancestors(pid):
    return {str(parent.pid) for parent in psutil.Process(pid).parents()}


@pytest.mark.usefixtures("none_left")
class TestPages:
    pytestmark = needs_chromium

    def test_a_page_is_recorded_and_replayed(self, server, other_server, say, run, tmp_path):
        body = page(server, say, other_server)
        live = run(body, name="fpt", base="BrowserSpider", deadline_s=90)
        assert live.ok, live.error
        assert live.offers == 2
        assert other_server.asked == [], "a host that the spider does not name was asked"
        assert "GET /picture.png" not in server.asked
        recorded = {re.sub(r".*:\d+", "", entry.url): entry for entry in har.read(live.har_path).entries}
        assert {"/page", "/app.js", "/api/prices"} <= set(recorded)
        assert recorded["/page"].body.startswith(b"<!doctype html>"), "the page as it was served, not as it became"
        assert not list((tmp_path / "work-1").glob("browser-*"))

        server.answers.clear()
        asked = len(server.asked)
        again = run(body, name="fpt", base="BrowserSpider", recorded=live.har_path, deadline_s=90)
        assert again.ok, (again.error, again.problems)
        assert again.raw_path.read_text() == live.raw_path.read_text()
        assert len(server.asked) == asked, "the replay asked the world"

    def test_a_page_without_what_it_is_read_by(self, server, other_server, say, run):
        body = page(server, say, other_server).replace(".ready", ".never")
        body = body.replace("custom_settings = {", 'custom_settings = {"GPUFARE_WAIT_MS": 1500, ')
        report = run(body, name="fpt", base="BrowserSpider", deadline_s=90)
        assert (report.ok, report.error_class) == (False, "LayoutChanged")
        assert f"{server.url}/page" in report.error
        assert ".never" in report.error

    def test_a_challenge_is_named_though_it_never_shows_what_is_waited_for(self, server, other_server, say, run):
        body = page(server, say, other_server)
        body = body.replace("custom_settings = {", 'custom_settings = {"GPUFARE_WAIT_MS": 1500, ')
        body = body.replace('["', f'["{server.url}/refused", "')
        server.answers["/page"] = say(b"<title>Just a moment...</title>", headers=HTML)
        server.answers["/refused"] = say(b"<title>no</title>", 403, headers=HTML)
        report = run(body, name="fpt", base="BrowserSpider", deadline_s=90)
        assert sorted(problem.split(":")[0] for problem in report.problems) == ["Blocked", "Blocked"]

    def test_a_redirect_in_the_browser_reaches_no_other_host(self, server, other_server, say, run):
        body = page(server, say, other_server)
        other = other_server.url.replace("127.0.0.1", "localhost")
        other_server.answers["/page"] = say(b"<div class=ready>H100</div>", headers=HTML)
        server.answers["/page"] = say(b"", 302, {"Location": f"{other}/page"})
        report = run(body, name="fpt", base="BrowserSpider", deadline_s=90)
        assert not report.ok
        assert report.offers == 0
        assert other_server.asked == []

    def test_B01_B03_many_pages_few_at_a_time_none_left_open(self, server, other_server, say, run):
        body = page(server, say, other_server)
        pages = 20
        body = body.replace(f'["{server.url}/page"]', f'[f"{server.url}/page?n={{n}}" for n in range({pages})]')
        body = body.replace('"DOWNLOAD_DELAY": 0', '"DOWNLOAD_DELAY": 0, "CONCURRENT_REQUESTS_PER_DOMAIN": 8')
        server.answers["/page?n=7"] = say(b"gone", 404, HTML)
        report = run(body, name="fpt", base="BrowserSpider", deadline_s=300, record=False)
        assert report.error_class == "HttpError"
        assert report.offers == 2 * (pages - 1)
        stats = json.loads((report.raw_path.parent / "report.json").read_text())["stats"]
        assert stats["playwright/page_count"] == stats["playwright/page_count/closed"] == pages
        assert stats["playwright/page_count/max_concurrent"] <= browser.MAX_PAGES
        assert stats["playwright/context_count"] == stats["playwright/browser_count"] == 1

    def test_a_page_that_hangs_is_ended_with_its_browser(self, server, other_server, say, run):
        body = page(server, say, other_server)
        server.answers["/api/prices"] = say(hang=True)
        left = profiles()
        report = run(body, name="fpt", base="BrowserSpider", deadline_s=15)
        assert (report.ok, report.error_class) == (False, "TimedOut")
        assert profiles() <= left

    def test_W03_a_plain_and_a_browser_crawl_in_one_process(self, server, other_server, say, run):
        body = page(server, say, other_server)
        assert run(f'start_urls = ["{server.url}/api/prices"]').ok
        assert run(body, name="fpt", base="BrowserSpider", deadline_s=90).ok
        assert run(f'start_urls = ["{server.url}/api/prices"]').ok


def test_without_chromium_a_browser_spider_is_named_and_not_run(server, say, run):
    report = run(
        BODY.format(url=server.url),
        name="fpt",
        base="BrowserSpider",
        env={"GPUFARE_CHROMIUM": "/nowhere/chromium"},
    )
    assert (report.ok, report.error_class, report.error) == (False, "BrowserMissing", browser.MISSING)
    assert server.asked == []


def test_where_chromium_is_looked_for(tmp_path, monkeypatch):
    def tool(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    monkeypatch.delenv("GPUFARE_CHROMIUM", raising=False)
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "downloads"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert browser.chromium() is None
    on_path = tool(tmp_path / "bin" / "chromium-browser")
    assert browser.chromium() == on_path
    downloaded = tool(tmp_path / "downloads" / "chromium-1200" / "chrome-linux64" / "chrome")
    assert browser.chromium() == downloaded
    named = tool(tmp_path / "my-chromium")
    monkeypatch.setenv("GPUFARE_CHROMIUM", str(named))
    assert browser.chromium() == named
    named.chmod(0o644)
    assert browser.chromium() is None


def test_a_page_request_has_what_the_browser_needs():
    from spiders.shared.shapes.browser import browser_request

    request = browser_request("https://a.example/", print, wait_for="table", meta={"expect": "html"})
    assert request.meta == {"playwright": True, "wait_for": "table", "expect": "html"}
    assert request.callback is print


def test_chromium_finds_no_other_host():
    rules = browser.resolver_rules(["a.example"])
    assert rules.startswith("--host-resolver-rules=MAP * ~NOTFOUND")
    assert "EXCLUDE a.example" in rules
    assert "EXCLUDE *.a.example" in rules

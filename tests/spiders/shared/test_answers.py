"""Every way in which an answer is not what was asked for has a name, and ends the crawl."""

from __future__ import annotations

import asyncio
import gzip
import re
import socket
import threading

from spiders.shared.replay import self_signed

HTML = {"Content-Type": "text/html"}
CHALLENGE = b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>_cf_chl_opt</body></html>"
LOGIN = b"<html><title>Sign in - Example</title><form><input type='password' name='p'></form></html>"
RECAPTCHA = (
    b"<html><title>Pricing</title><script src='https://www.google.com/recaptcha/api.js'></script>"
    b"<script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script><td>$2.50/hr</td></html>"
)


ANSWERS = [
    ({"status": 403}, "Blocked", "403"),
    ({"status": 429}, "Blocked", "429"),
    ({"body": CHALLENGE, "headers": HTML}, "Blocked", "just a moment"),
    ({"body": CHALLENGE, "headers": HTML, "status": 503}, "Blocked", "just a moment"),
    ({"headers": {**HTML, "cf-mitigated": "challenge"}, "status": 403}, "Blocked", "cf-mitigated"),
    ({"body": b"<html><form>solve this captcha</form></html>", "headers": HTML}, "Blocked", "captcha"),
    ({"status": 401}, "AuthMissing", "401"),
    ({"body": LOGIN, "headers": HTML}, "LoginWall", "login page"),
    ({"status": 404}, "HttpError", "404"),
    ({"status": 500}, "HttpError", "500"),
    ({"status": 304}, "HttpError", "304"),
    ({"body": b"<html><title>Docs</title></html>", "headers": HTML}, "SchemaDrift", "expected JSON"),
    ({"body": b"{]"}, "SchemaDrift", "expected JSON"),
    ({"body": b'[{"gpu": "H100"}]'}, "SchemaDrift", "KeyError: 'price'"),
    ({"body": b'{"gpu": "H100"}'}, "SchemaDrift", "TypeError"),
    ({"body": b'[{"gpu": "H100", "price": NaN}]'}, "SchemaDrift", "NaN"),
    ({"body": b"[" * 100_000}, "SchemaDrift", "expected JSON"),
    ({"raw": b""}, "NetworkError", "Connection"),
    ({"raw": b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n[{"}, "Truncated", "before its announced length"),
    ({"raw": b"HTTP/1.1 200 OK\r\n\r\n[{"}, "Truncated", "ends before its end"),
    ({"raw": b"\0\1\2\3\r\n\r\n"}, "NetworkError", ""),
]


def test_F10_an_answer_that_cannot_be_used_is_named(server, say, run):
    urls = [f"{server.url}/{index}" for index in range(len(ANSWERS))]
    for index, (answer, _, _) in enumerate(ANSWERS):
        server.answers[f"/{index}"] = say(**answer)
    report = run(f"start_urls = {urls}")
    assert not report.ok
    assert report.offers == 0
    assert f"{report.error_class}: {report.error}" == report.problems[0]
    for url, (answer, error_class, told) in zip(urls, ANSWERS, strict=True):
        found = [problem for problem in report.problems if re.search(re.escape(url) + r"(?!\d)", problem)]
        assert len(found) == 1, (answer, found, report.problems)
        assert found[0].startswith(f"{error_class}: "), (answer, found)
        assert told in found[0]
        assert "\n" not in found[0]


def test_a_refusal_is_not_asked_again_and_a_failure_twice(server, say, run):
    server.answers["/list"] = say(status=429)
    run(f'start_urls = ["{server.url}/list"]')
    assert server.asked.count("GET /list") == 1
    server.answers["/list"] = say(status=500)
    run(f'start_urls = ["{server.url}/list"]')
    assert server.asked.count("GET /list") == 3


def test_a_price_page_with_a_captcha_script_is_no_challenge(server, say, run):
    server.answers["/page"] = say(RECAPTCHA, headers=HTML)
    report = run(f"""
    start_urls = ["{server.url}/page"]
    expect = "html"

    def parse(self, response):
        yield self.batch(response, [offer("H100", response.css("td::text").get())])
    """)
    assert (report.ok, report.offers) == (True, 1), report.error


def test_a_page_where_json_was_and_json_where_a_page_was(server, say, run):
    server.answers["/list"] = say(b"<html><title>Docs</title></html>", headers=HTML)
    report = run(f'start_urls = ["{server.url}/list"]\nexpect = "json"')
    assert (report.error_class, "titled 'docs'" in report.error) == ("SchemaDrift", True)
    server.answers["/list"] = say()
    report = run(f'start_urls = ["{server.url}/list"]\nexpect = "html"')
    assert (report.error_class, "application/json" in report.error) == ("LayoutChanged", True)


def test_a_status_that_the_spider_handles_reaches_it(server, say, run):
    server.answers["/list"] = say(status=404)
    report = run(f"""
    async def start(self):
        yield Request("{server.url}/list", callback=self.parse, meta={{"handle_httpstatus_list": [404]}})
    """)
    assert (report.ok, report.offers) == (True, 2)


def test_a_body_that_was_cut_off_inside_its_gzip(server, say, run):
    whole = gzip.compress(b'[{"gpu": "H100", "price": 1}' + b" " * 5000 + b"]")
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    server.answers["/list"] = say(whole, headers=headers)
    assert run(f'start_urls = ["{server.url}/list"]').offers == 1
    server.answers["/list"] = say(whole[:-12], headers=headers)
    report = run(f'start_urls = ["{server.url}/list"]')
    assert (report.ok, report.error_class) == (False, "Truncated")
    assert "gzip" in report.error


def test_a_bomb_is_not_unpacked(server, say, run):
    bomb = gzip.compress(b"[" + b" " * (64 << 20) + b"]")
    server.answers["/list"] = say(bomb, headers={"Content-Encoding": "gzip"})
    report = run(
        f'start_urls = ["{server.url}/list"]\ncustom_settings = {{"DOWNLOAD_DELAY": 0, "DOWNLOAD_MAXSIZE": 8 << 20}}'
    )
    assert (report.ok, report.error_class) == (False, "Truncated")
    assert "bearable size" in report.error


def test_an_answer_that_never_ends_is_cut(server, say, run):
    server.answers["/list"] = say(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n[")
    report = run(f'start_urls = ["{server.url}/list"]')
    assert (report.ok, report.error_class) == (False, "Truncated")


def test_nobody_listens(run):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    report = run(f'start_urls = ["http://127.0.0.1:{port}/list"]')
    assert (report.ok, report.error_class) == (False, "NetworkError")


def test_a_name_that_does_not_exist(run):
    report = run('start_urls = ["http://no-such-host.invalid/list"]')
    assert (report.ok, report.error_class) == (False, "NetworkError")
    assert "no-such-host.invalid" in report.error


def test_robots_txt_is_obeyed(server, say, run):
    server.answers["/list"] = say()
    server.answers["/robots.txt"] = say(b"User-agent: *\nDisallow: /list\n", headers={"Content-Type": "text/plain"})
    report = run(f'start_urls = ["{server.url}/list"]')
    assert (report.ok, report.error_class, report.finish_reason) == (False, "RobotsDisallowed", "finished")
    assert server.asked == ["GET /robots.txt"]


def test_a_robots_txt_that_fails_forbids_all(server, say, run):
    server.answers["/list"] = say()
    server.answers["/robots.txt"] = say(status=503)
    assert run(f'start_urls = ["{server.url}/list"]').error_class == "RobotsDisallowed"


def test_a_redirect_on_the_same_host_is_followed(server, say, run):
    server.answers["/old"] = say(b"", 301, {"Location": "/list"})
    server.answers["/list"] = say()
    assert run(f'start_urls = ["{server.url}/old"]').offers == 2


def test_a_redirect_to_another_host_is_refused(server, other_server, say, run):
    other_server.answers["/list"] = say()
    targets = [f"{other_server.url}/list", "http://169.254.169.254/latest/", "http://[::1]:1/", "//example.org/"]
    for index, target in enumerate(targets):
        server.answers[f"/{index}"] = say(b"", 302, {"Location": target})
    report = run(f"start_urls = {[f'{server.url}/{index}' for index in range(len(targets))]}")
    assert (report.ok, report.error_class) == (False, "HttpError")
    assert len(report.problems) == len(targets)
    assert all("to another host" in problem for problem in report.problems)
    assert other_server.asked == []


def test_an_address_in_an_answer_leads_to_no_other_host(server, other_server, say, run):
    other_server.answers["/list"] = say()
    server.answers["/list"] = say()
    targets = [f"{other_server.url}/list", "http://10.0.0.1/", "file:///etc/passwd", "data:,[]", "ftp://x.example/"]
    body = f"""
    start_urls = ["{server.url}/list"]

    def parse(self, response):
        yield from super().parse(response)
        for target in {targets}:
            yield response.follow(target, callback=super().parse)
            yield response.request.replace(url=target, dont_filter=True)
    """
    report = run(body)
    assert (report.ok, report.error_class) == (False, "SchemaDrift"), report.error
    assert len(report.problems) == 2 * len(targets)
    assert all("refused" in problem for problem in report.problems)
    assert other_server.asked == []


def test_a_host_that_the_spider_names_may_be_asked(server, say, run):
    server.answers["/list"] = say()
    port = server.url.rpartition(":")[2]
    body = f"""
    start_urls = ["{server.url}/list"]
    allowed_domains = ["localhost"]

    def parse(self, response):
        yield Request("http://localhost:{port}/list", callback=super().parse)
    """
    assert run(body).offers == 2


def test_a_certificate_of_nobody_is_refused(run):
    heard: list[bytes] = []
    ports: list[int] = []
    ready = threading.Event()

    async def answer(reader, writer):
        heard.append(await reader.read(100))
        writer.close()

    async def listen():
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=self_signed(["x.example"]))
        ports.append(server.sockets[0].getsockname()[1])
        ready.set()
        await asyncio.sleep(20)

    threading.Thread(target=lambda: asyncio.run(listen()), daemon=True).start()
    ready.wait(5)
    report = run(f'start_urls = ["https://127.0.0.1:{ports[0]}/list"]')
    assert (report.ok, report.error_class) == (False, "NetworkError")
    assert "VerificationError" in report.error or "certificate" in report.error
    assert not any(heard)

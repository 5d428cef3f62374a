"""What was recorded is what is read again; what does not fit is named; no key reaches the disk."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from urllib.parse import quote

import pytest

from spiders.shared import har
from spiders.shared.har import Entry

NIGHT = datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
JSON = "application/json"
LIST = b'[{"gpu": "H100", "price": 2.5}]'
TOKEN = "tok/EN+1234 with=odd&signs"


def recorded(tmp_path, *entries: Entry, **options):
    path = tmp_path / "recorded" / "answers.har"
    har.write(path, entries, started=NIGHT, **options)
    return path


def lines(report):
    return report.raw_path.read_text().splitlines()


def test_what_was_recorded_is_read_again(server, say, run, tmp_path):
    big = json.dumps([{"gpu": f"GPU {index}", "price": index} for index in range(1, 4000)]).encode()
    pages: list[bytes] = []

    def page(body):
        pages.append(body)
        return say(b'[{"gpu": "page %d", "price": 1}]' % len(pages))

    server.answers |= {
        "/old": say(b"", 302, {"Location": "/list?b=2&a=1"}),
        "/list": say(),
        "/big": say(big),
        "/post": page,
        "/binary": say(b"[]\xff\xfe", headers={"Content-Type": "application/octet-stream"}),
    }
    body = f"""
    start_urls = ["{server.url}/old", "{server.url}/big"]

    def parse(self, response):
        yield from super().parse(response)
        if response.url.endswith("/big"):
            yield Request("{server.url}/binary", callback=self.binary)
            for _ in range(2):
                post = {{"query": "{{gpus}}", "page": 1}}
                yield scrapy.http.JsonRequest("{server.url}/post", data=post, callback=super().parse, dont_filter=True)

    def binary(self, response):
        assert response.body.endswith(b"\\xff\\xfe")
    """
    live = run(body)
    assert live.ok, live.error
    again = run(body, recorded=live.har_path)
    assert again.ok, again.error
    assert sorted(lines(again)) == sorted(lines(live))
    assert len(pages) == 2, "the replay asked the world"
    assert again.observed_at == har.recorded_at(live.har_path)
    assert live.started_at.replace(microsecond=0) == again.observed_at.replace(microsecond=0)
    assert again.har_path == live.har_path
    assert {path.suffix for path in (tmp_path / "work-1").glob("body-*")} == {".json"}
    assert lines(again) == lines(run(body, recorded=live.har_path.parent)), "a replay is the same each time"


def test_a_failure_that_was_recorded_fails_again(server, say, run, tmp_path):
    server.answers["/list"] = say(raw=b"")
    body = f'start_urls = ["{server.url}/list"]'
    live = run(body)
    again = run(body, recorded=live.har_path)
    assert live.error_class == again.error_class == "NetworkError"
    assert [entry.status for entry in har.read(live.har_path).entries if not entry.optional] == [0]


def test_a_try_that_failed_is_not_recorded_once_it_succeeded(server, say, run):
    told = [say(status=503), say()]
    server.answers["/list"] = lambda _: told.pop(0)
    body = f'start_urls = ["{server.url}/list"]'
    live = run(body)
    assert live.ok
    assert run(body, recorded=live.har_path).ok


HTTPS = 'start_urls = ["https://api.provider.example/list"]'
URL = "https://api.provider.example/list"


def test_an_address_stays_real_and_time_is_the_recordings(run, tmp_path):
    body = f"""
    {HTTPS}

    def parse(self, response):
        assert response.url == "{URL}", response.url
        assert self.instant.isoformat() == "2026-11-30T02:00:00+00:00"
        yield from super().parse(response)
    """
    report = run(body, recorded=recorded(tmp_path, Entry("GET", URL, 200, JSON, LIST)))
    assert report.ok, report.error
    assert report.observed_at == NIGHT
    assert report.requests == 2  # robots.txt, which was not recorded, answers 404


def test_a_request_that_was_not_recorded_fails_the_crawl(run, tmp_path):
    report = run(HTTPS, recorded=recorded(tmp_path, Entry("GET", f"{URL}?page=2", 200, JSON, LIST)))
    assert (report.ok, report.error_class) == (False, "SpiderError")
    assert report.error == f"no recorded answer to GET {URL}"
    assert report.misses == (f"GET {URL}",)
    assert report.unused == (f"GET {URL}?page=2",)


def test_an_answer_that_nobody_asked_for_fails_the_crawl(run, tmp_path):
    path = recorded(tmp_path, Entry("GET", URL, 200, JSON, LIST), Entry("POST", URL, 200, JSON, LIST, post_data=b"{}"))
    report = run(HTTPS, recorded=path)
    assert (report.ok, report.error) == (False, f"recorded answer not used: POST {URL}")
    report = run(HTTPS, recorded=path, strict=False)
    assert (report.ok, report.unused) == (True, (f"POST {URL}",))


def test_the_same_request_is_answered_in_the_recorded_order(run, tmp_path):
    entries = [Entry("GET", URL, 200, JSON, b'[{"gpu": "%d", "price": 1}]' % turn) for turn in range(3)]
    body = f"""
    start_urls = ["{URL}"] * 3
    """
    report = run(body, recorded=recorded(tmp_path, *entries))
    assert report.ok, report.error
    assert [json.loads(line)["accelerator"] for line in lines(report)] == ["0", "1", "2"]


def test_a_recorded_robots_txt_is_obeyed(run, tmp_path):
    robots = Entry("GET", "https://api.provider.example/robots.txt", 200, "text/plain", b"User-agent: *\nDisallow: /")
    report = run(HTTPS, recorded=recorded(tmp_path, robots, Entry("GET", URL, 200, JSON, LIST)))
    assert report.error_class == "RobotsDisallowed"


def test_a_refusal_is_not_tried_again(run, tmp_path):
    report = run(HTTPS, recorded=recorded(tmp_path, Entry("GET", URL, 503, JSON, b"{}")))
    assert (report.error_class, report.error) == ("HttpError", f"GET {URL} answered 503")


def test_a_hostile_recording_does_no_harm(run, tmp_path):
    (tmp_path / "secret.txt").write_text("do not read")
    headers = (("X-Split", "a\r\nInjected: yes"), ("Content-Length", "99999"), ("Transfer-Encoding", "chunked"))
    good = recorded(tmp_path, Entry("GET", URL, 200, JSON, LIST, headers=headers))
    assert run(HTTPS, recorded=good).ok
    document = json.loads(good.read_text())
    for content in ({"_file": "../secret.txt"}, {"_file": str(tmp_path / "secret.txt")}, {"text": 5}):
        document["log"]["entries"][0]["response"]["content"] = content
        good.write_text(json.dumps(document))
        report = run(HTTPS, recorded=good)
        assert (report.ok, report.error_class) == (False, "SpiderError")
        assert "answers.har, entry 0" in report.error


def forms(token: str) -> list[bytes]:
    raw = token.encode()
    coded = [base64.b64encode(raw), base64.b64encode(f"user:{token}".encode()), base64.urlsafe_b64encode(raw)]
    return [raw, quote(token, safe="").encode(), *(code[4:-4] for code in coded), json.dumps(token)[1:-1].encode()]


def test_a_key_is_nowhere_in_what_a_crawl_leaves(server, say, run, tmp_path):
    echo = {"gpu": "H100", "price": 1, "you": TOKEN, "b64": base64.b64encode(f"id:{TOKEN}".encode()).decode()}
    cookie = {"Content-Type": JSON, "Set-Cookie": f"session={quote(TOKEN)}", "X-Echo": quote(TOKEN)}
    server.answers["/list"] = say(json.dumps([echo]).encode(), headers=cookie)
    server.answers["/fail"] = say(status=404)
    body = f"""
    async def start(self):
        from urllib.parse import quote
        key = self.key("LAMBDA_API_KEY")
        self.use("LAMBDA_API_KEY")
        headers = {{"Authorization": f"Bearer {{key}}", "X-Other": key}}
        yield Request(f"{server.url}/list?api_key={{quote(key, safe='')}}&page=1", headers=headers, callback=self.parse)
        yield scrapy.http.JsonRequest("{server.url}/list", data={{"token": key}}, callback=self.parse)
        yield scrapy.FormRequest("{server.url}/list", formdata={{"password": key, "a": "b"}}, callback=self.parse)
        yield Request(f"{server.url}/fail?x={{quote(key)}}", callback=self.parse)

    def parse(self, response):
        self.logger.error("got %s", self.key("LAMBDA_API_KEY"))
        print("printed", self.key("LAMBDA_API_KEY"), flush=True)
        yield from super().parse(response)
    """
    live = run(body, name="lambda", env={"LAMBDA_API_KEY": TOKEN})
    assert live.access == "LAMBDA_API_KEY"
    assert live.error_class == "HttpError"
    assert len(server.sent) == 5
    files = [path for path in (tmp_path / "work-1").rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"answers.har", "raw.jsonl", "log.txt", "report.json"}
    for path in files:
        for form in forms(TOKEN):
            assert form not in path.read_bytes(), (path.name, form)
    assert not any(form.decode() in json.dumps(live.as_json()) for form in forms(TOKEN))
    assert har.read(live.har_path).keys == ("LAMBDA_API_KEY",)
    again = run(body, name="lambda", recorded=live.har_path)
    assert again.access == live.access, "a replay goes the way that was recorded, whatever keys there are"
    assert again.error_class == "HttpError"
    assert (again.misses, again.unused) == ((), ())


def test_a_replay_never_sees_the_users_key(run, tmp_path, monkeypatch):
    monkeypatch.setenv("LAMBDA_API_KEY", TOKEN)
    body = f"""
    {HTTPS}

    def parse(self, response):
        assert self.key("LAMBDA_API_KEY") in (None, "gpufare-recorded-key")
        self.use("keyed" if self.key("LAMBDA_API_KEY") else "open")
        yield from super().parse(response)
    """
    entry = Entry("GET", URL, 200, JSON, LIST)
    assert run(body, name="lambda", recorded=recorded(tmp_path, entry)).access == "open"
    assert run(body, name="lambda", recorded=recorded(tmp_path, entry, keys=["LAMBDA_API_KEY"])).access == "keyed"


@pytest.mark.parametrize("case", ["hyperbolic/2026-11-29-night"])
def test_a_committed_recording_replays(tmp_path, case):
    from spiders.shared.crawl import crawl
    from spiders.shared.source import RECORDED

    report = crawl(case.split("/")[0], tmp_path, recorded=RECORDED / case)
    assert report.ok, report.error
    assert report.observed_at == datetime(2026, 11, 29, 2, 0, tzinfo=UTC)


def test_what_a_supplier_takes_is_not_even_recorded(server, say, run):
    answer = [{"gpu": "H100", "price": 3.19, "providerCostPerHourCents": 271}]
    server.answers["/list"] = say(json.dumps(answer).encode())
    live = run(f'start_urls = ["{server.url}/list"]', name="hyperbolic")
    assert live.ok, live.error
    (entry,) = [entry for entry in har.read(live.har_path).entries if entry.url.endswith("/list")]
    assert json.loads(entry.body) == [{"gpu": "H100", "price": 3.19, "providerCostPerHourCents": None}]

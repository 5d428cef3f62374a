"""One crawl in a child process: what becomes of it, and that nothing of it is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from schemas.scrape import ERROR_CLASSES
from spiders.shared.crawl import CrawlReport, crawl, replay_all, stop_crawls
from spiders.shared.source import RECORDED

ROOT = Path(__file__).resolve().parents[3]


def test_a_crawl_leaves_its_records_and_says_what_it_did(server, say, run, tmp_path):
    server.answers["/list"] = say()
    seen = []
    report = run(f'start_urls = ["{server.url}/list"]', progress=lambda *told: seen.append(told))
    assert (report.ok, report.error, report.finish_reason, report.offers) == (True, None, "finished", 2)
    records = [json.loads(line) for line in report.raw_path.read_text().splitlines()]
    assert [(record["accelerator"], record["price"]) for record in records] == [("H100", "2.5"), ("A100", "1.25")]
    assert records[0]["source_url"] == f"{server.url}/list"
    assert seen[-1] == (2, 2)  # robots.txt and the list
    assert report.requests == 2
    assert report.response_bytes > len(report.raw_path.read_bytes()) / 10
    assert report.har_path == tmp_path / "work-1" / "answers.har"
    assert report.cpu_s > 0
    assert report.observed_at == report.started_at < report.finished_at


def test_a_report_survives_json(server, say, run):
    server.answers["/list"] = say()
    report = run(f'start_urls = ["{server.url}/list"]')
    assert CrawlReport.from_json(json.loads(json.dumps(report.as_json()))) == report
    with pytest.raises(TypeError):
        CrawlReport.from_json({**report.as_json(), "unheard": 1})


def test_politeness_and_name(server, say, run):
    server.answers["/list"] = say()
    server.answers["/robots.txt"] = say()
    run(f'start_urls = ["{server.url}/list"]')
    assert server.asked == ["GET /robots.txt", "GET /list"]
    assert all(sent["User-Agent"].startswith("gpufare/") for sent in server.sent)
    assert all("Cookie" not in sent for sent in server.sent)


def test_W01_a_second_run_replaces_the_first(server, say, run, tmp_path):
    server.answers["/list"] = say()
    first = run(f'start_urls = ["{server.url}/list"]', workdir=tmp_path / "same")
    second = run(f'start_urls = ["{server.url}/gone"]', workdir=tmp_path / "same")
    third = run(f'start_urls = ["{server.url}/list"]', workdir=tmp_path / "same")
    assert (first.ok, second.ok, third.ok) == (True, False, True)
    assert second.offers == 0
    assert third.offers == 2 == len(third.raw_path.read_text().splitlines())


def test_W02_two_crawls_at_once_in_threads(server, say, run, tmp_path):
    server.answers["/list"] = say()
    body = f'start_urls = ["{server.url}/list"]'
    with ThreadPoolExecutor(2) as pool:
        started = [pool.submit(run, body, workdir=tmp_path / name) for name in ("one", "two")]
        reports = [each.result() for each in started]
    assert [report.ok for report in reports] == [True, True]
    assert reports[0].raw_path != reports[1].raw_path


def test_a_server_that_hangs_is_ended_at_the_deadline(server, say, run):
    server.answers["/list"] = say()
    server.answers["/hang"] = say(hang=True)
    begun = time.monotonic()
    report = run(f'start_urls = ["{server.url}/list", "{server.url}/hang"]', deadline_s=2.5)
    assert (report.ok, report.error_class) == (False, "TimedOut")
    assert "2.5 s" in report.error
    assert time.monotonic() - begun < 25  # the server itself lets go after 30


def test_a_spider_that_spins_is_ended_at_the_deadline(server, say, run):
    server.answers["/list"] = say()
    body = f"""
    start_urls = ["{server.url}/list"]

    def parse(self, response):
        while True:
            pass
    """
    begun = time.monotonic()
    report = run(body, deadline_s=4)
    assert (report.ok, report.error_class) == (False, "TimedOut")
    took = time.monotonic() - begun
    assert took < 60  # it spins for ever
    if "GET /list" in server.asked:  # not so on a machine too busy to come that far
        assert took >= 7  # 4 s, TERM, 1 s, TERM, 2 s, KILL


def test_all_crawls_can_be_stopped_at_once(server, say, run):
    server.answers["/hang"] = say(hang=True)
    with ThreadPoolExecutor(2) as pool:
        started = [pool.submit(run, f'start_urls = ["{server.url}/hang"]', deadline_s=60) for _ in range(2)]
        wait_for(lambda: server.asked.count("GET /hang") == 2)
        begun = time.monotonic()
        stop_crawls()
        reports = [each.result() for each in started]
    assert time.monotonic() - begun < 25  # the server itself lets go after 30
    assert [(report.ok, report.error_class) for report in reports] == [(False, "SpiderError")] * 2


def test_a_callback_for_progress_that_raises_stops_nothing(server, say, run):
    server.answers["/list"] = say()
    with pytest.raises(ZeroDivisionError):
        run(f'start_urls = ["{server.url}/list"]', progress=lambda *_: 1 / 0)


def test_what_a_spider_starts_ends_with_it(server, say, run, tmp_path):
    server.answers["/list"] = say()
    body = f"""
    start_urls = ["{server.url}/list"]

    def parse(self, response):
        import subprocess
        subprocess.Popen(["sleep", "60"], start_new_session=True)
        yield from super().parse(response)
    """
    assert run(body).ok  # the fixture looks for strays


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_child_dies_with_whoever_started_it(server, say, head, tmp_path, signum):
    server.answers["/hang"] = say(hang=True)
    package = tmp_path / "path"
    package.mkdir()
    (package / "probe_hang.py").write_text(
        f'{head}\nclass Probe(Base):\n    name = "probe"\n    start_urls = ["{server.url}/hang"]\n'
    )
    code = (
        "import signal; from pathlib import Path; from spiders.shared.crawl import crawl\n"
        # whoever runs the tests in the background has had this signal ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"crawl('probe', Path({str(tmp_path / 'work')!r}), module='probe_hang', deadline_s=60)"
    )
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{package}"}
    parent = subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: "GET /hang" in server.asked)
        child = psutil.Process(parent.pid).children()
        assert len(child) == 1
        parent.send_signal(signum)
        parent.wait(30)
        wait_for(lambda: not child[0].is_running() or child[0].status() == psutil.STATUS_ZOMBIE)
    finally:
        parent.kill()


def wait_for(condition, patience=60.0):
    until = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def test_a_module_that_fails_to_import_is_named_with_file_and_line(run):
    report = run("", source="import os\n\nraise RuntimeError('not today')\n")
    assert (report.ok, report.error_class) == (False, "SpiderError")
    assert "RuntimeError: not today" in report.error
    assert "probe_module_1.py, line 3" in report.error


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def broken(:\n", "line 1"),
        ("import no_such_module_at_all", "no_such_module_at_all"),
        ("raise SystemExit(3)", "SystemExit"),
        ("x = 1", "no spider named probe"),
    ],
)
def test_a_module_that_holds_no_spider(run, source, told):
    report = run("", source=source)
    assert report.error_class == "SpiderError"
    assert told in report.error
    assert "\n" not in report.error


def test_a_spider_that_cannot_be_made(run):
    report = run("def __init__(self, *args, **kwargs):\n    raise KeyError('nothing')")
    assert report.error_class == "SpiderError"
    assert "KeyError" in report.error


def test_a_child_that_falls_dead_is_no_success(run):
    report = run("async def start(self):\n    os._exit(7)\n    yield")
    assert (report.ok, report.error_class) == (False, "SpiderError")
    assert "exit code 7" in report.error


def test_nothing_offered_is_empty(server, say, run):
    server.answers["/list"] = say(b"[]")
    report = run(f'start_urls = ["{server.url}/list"]')
    assert (report.ok, report.error_class, report.finish_reason) == (False, "Empty", "finished")


def test_a_start_that_raises_fails_the_crawl(server, say, run):
    server.answers["/list"] = say()
    body = f"""
    async def start(self):
        yield Request("{server.url}/list", callback=self.parse)
        raise ValueError("no second page")
    """
    report = run(body)
    assert not report.ok
    assert "no second page" in report.error


def test_a_request_made_twice_is_no_silent_end(server, say, run):
    server.answers["/list"] = say()
    body = f"""
    start_urls = ["{server.url}/list"]

    def parse(self, response):
        yield from super().parse(response)
        for _ in range(2):
            yield Request("{server.url}/list?page=2", callback=super().parse)
    """
    report = run(body)
    assert (report.ok, report.error_class) == (False, "Truncated")


def test_an_item_of_another_kind_fails_the_crawl(server, say, run):
    server.answers["/list"] = say()
    report = run(f'start_urls = ["{server.url}/list"]\ndef parse(self, response):\n    yield {{"gpu": "H100"}}')
    assert (report.ok, report.error_class) == (False, "SchemaDrift")
    assert "Batch" in report.error


def test_what_a_spider_prints_goes_to_the_log(server, say, run):
    server.answers["/list"] = say()
    body = f"""
    start_urls = ["{server.url}/list"]

    def parse(self, response):
        print("a word", flush=True)
        print("\\x1eprogress many", flush=True)
        yield from super().parse(response)
    """
    report = run(body)
    assert report.ok
    assert "a word" in report.log_path.read_text()


def test_a_child_sees_no_key_of_another_provider(server, say, run):
    server.answers["/list"] = say()
    body = f"""
    start_urls = ["{server.url}/list"]

    def parse(self, response):
        assert os.environ.get("VULTR_API_KEY") is None
        self.use("open")
        yield from super().parse(response)
    """
    report = run(body)
    assert report.ok
    assert report.access == "open"


def test_every_error_class_of_the_spiders_is_one_of_the_scrapes():
    from spiders.shared import errors

    names = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert names - {"AnswerError"} <= set(ERROR_CLASSES)


def test_the_parent_needs_no_scrapy():
    code = (
        "import sys, spiders.shared.crawl; print([m for m in ('scrapy', 'pyarrow', 'playwright') if m in sys.modules])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_child_without_browser_loads_no_playwright(server, say, run):
    server.answers["/list"] = say()
    body = f"""
    start_urls = ["{server.url}/list"]

    def parse(self, response):
        import sys
        assert not {{"playwright", "pyarrow", "pandas"}} & set(sys.modules)
        yield from super().parse(response)
    """
    assert run(body).ok


def test_a_wrong_recording_is_one_line(tmp_path):
    (tmp_path / "answers.har").write_text("[]")
    report = crawl("hyperbolic", tmp_path / "work", recorded=tmp_path)
    assert (report.ok, report.error_class) == (False, "SpiderError")
    assert "log.entries" in report.error


def test_many_recordings_are_replayed_in_one_child(tmp_path):
    """Each has its own verdict, workdir and keys; a recording that cannot be read stops no other."""
    broken = tmp_path / "broken.har"
    broken.write_text("{")
    cases = [
        RECORDED / "lambda" / name for name in ("2026-11-30-keyed", "2026-11-30-changed-layout", "2026-11-29-night")
    ]
    keyed, unreadable, changed, night = replay_all("lambda", [cases[0], broken, *cases[1:]], tmp_path / "work")
    assert (keyed.ok, keyed.access) == (True, "LAMBDA_API_KEY")
    assert (unreadable.error_class, unreadable.offers) == ("SpiderError", 0)
    assert changed.error_class == "LayoutChanged"
    assert (night.ok, night.access) == (True, "open")
    alone = crawl("lambda", tmp_path / "alone", recorded=cases[2])
    assert night.raw_path.read_text() == alone.raw_path.read_text()
    assert (night.requests, night.offers, night.observed_at) == (alone.requests, alone.offers, alone.observed_at)
    assert len({report.raw_path for report in (keyed, unreadable, changed, night)}) == 4


def test_a_child_of_many_replays_that_dies_leaves_the_rest_as_failures(tmp_path, head):
    package = tmp_path / "package"
    package.mkdir()
    body = 'name = "lambda"\n    start_urls = ["https://lambda.ai/pricing"]\n    def parse(self, response): os._exit(3)'
    (package / "dying_spider.py").write_text(f"{head}\nclass Dying(Base):\n    {body}\n")
    cases = [RECORDED / "lambda" / "2026-11-29-night"] * 2
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(package))
        reports = replay_all("lambda", cases, tmp_path / "work", module="dying_spider")
    assert [report.error_class for report in reports] == ["SpiderError", "SpiderError"]
    assert all("exit code 3" in (report.error or "") for report in reports)

"""Saved answers through the real spiders, without network."""

from __future__ import annotations

import asyncio
import gzip
import os
import sys
import textwrap

import pytest

from spiders.shared import browser, har
from spiders.shared.har import Entry
from spiders.shared.offline import read_answers
from spiders.shared.source import RECORDED

JSON = "application/json"
API = "https://api.provider.example"


@pytest.fixture
def spider(tmp_path, head, monkeypatch):
    """Write a spider into a module of its own; gives a function that reads answers with it."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def read(body, *entries, **options):
        module = f"offline_probe_{tmp_path.name}".replace("-", "_")
        sys.modules.pop(module, None)
        (tmp_path / f"{module}.py").write_text(
            f"{head}\nclass Probe(Base):\n    name = 'probe'\n{textwrap.indent(textwrap.dedent(body), '    ')}"
        )
        return read_answers("probe", entries, module=module, **options)

    return read


def gpu(name):
    return b'[{"gpu": "%s", "price": 1.5}]' % name.encode()


def names(read):
    return [offer.accelerator for offer in read.offers]


PAGED = f"""
documents = (Document(r"/list", "parse"),)

async def start(self):
    yield Request("{API}/list?page=1&size=2", callback=self.parse, cb_kwargs={{"page": 1}})

def parse(self, response, page=None):
    yield from super().parse(response)
    if page and page < 3:
        yield Request(f"{API}/list?page={{page + 1}}&size=2", callback=self.parse, cb_kwargs={{"page": page + 1}})
"""


def test_the_real_start_and_callbacks_are_followed(spider):
    entries = [Entry("GET", f"{API}/list?size=2&page={page}", 200, JSON, gpu(str(page))) for page in (3, 1, 2)]
    read = spider(PAGED, *entries)
    assert names(read) == ["1", "2", "3"]
    assert (read.notes, read.errors) == ([], [])
    assert read.offers[0].source_url == f"{API}/list?size=2&page=1"


def test_a_request_that_nothing_answers_is_noted(spider):
    read = spider(PAGED, Entry("GET", f"{API}/list?page=1&size=2", 200, JSON, gpu("1")))
    assert names(read) == ["1"]
    assert read.notes == [f"nothing answers GET {API}/list?page=2&size=2"]
    assert read.errors == []


@pytest.mark.parametrize("url", [f"{API}/list", f"{API}/list?page=1", f"{API}/list?page=1&size=2&more=yes", ""])
def test_a_bare_body_answers_what_it_does_not_contradict(spider, url):
    read = spider(PAGED, har.bare(url, gpu("1")))
    assert names(read) == ["1"]


def test_an_answer_that_contradicts_goes_to_its_reader(spider):
    read = spider(PAGED, har.bare(f"{API}/list?page=7", gpu("7")))
    assert names(read) == ["7"]
    assert len(read.notes) == 1


def test_an_answer_of_no_document_is_noted(spider):
    read = spider(PAGED, har.bare(f"{API}/other", b"[]"), Entry("GET", f"{API}/more", 200, JSON, b"[]"))
    assert names(read) == []
    assert sum("reads no document at" in note for note in read.notes) == 2


def test_methods_must_agree_except_of_a_bare_body(spider):
    body = f"""
    async def start(self):
        yield scrapy.http.JsonRequest("{API}/graphql", data={{"q": 1}}, callback=self.parse)
    """
    assert names(spider(body, har.bare(f"{API}/graphql", gpu("1")))) == ["1"]
    same = Entry("POST", f"{API}/graphql", 200, JSON, gpu("1"), post_data=b'{"q":1}')
    other = Entry("POST", f"{API}/graphql", 200, JSON, gpu("2"), post_data=b'{"q":2}')
    assert names(spider(body, other, same)) == ["1", "2"]
    assert len(spider(body, Entry("GET", f"{API}/graphql", 200, JSON, gpu("1"))).notes) == 1


def test_asynchronous_callbacks(spider):
    body = f"""
    start_urls = ["{API}/list", "{API}/one"]
    documents = (Document("/one", "one"), Document("", "parse"))

    async def parse(self, response):
        await asyncio.sleep(0)
        for record in json_of(response):
            yield self.batch(response, [offer(record["gpu"])])

    async def one(self, response):
        await asyncio.sleep(0)
        return [self.batch(response, [offer("one")])]
    """
    read = spider(body, har.bare(f"{API}/list", gpu("1")), har.bare(f"{API}/one", b"[]"))
    assert sorted(names(read)) == ["1", "one"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (Entry("GET", f"{API}/list", 403), "Blocked: "),
        (Entry("GET", f"{API}/list", 200, "text/html", b"<title>Just a moment...</title>"), "Blocked: "),
        (Entry("GET", f"{API}/list", 200, "text/html", b"<title>Sign in</title><input type=password>"), "LoginWall: "),
        (Entry("GET", f"{API}/list", 200, JSON, b'[{"gpu": "x"}]'), "SchemaDrift: KeyError: 'price'"),
        (Entry("GET", f"{API}/list", 0), "HttpError: "),
        (Entry("GET", f"{API}/list", 200, JSON, b"\x1f\x8bno gzip"), "SpiderError: "),
    ],
)
def test_what_is_wrong_is_told_and_not_raised(spider, entry, told):
    read = spider(PAGED.replace("?page=1&size=2", ""), entry)
    assert len(read.errors) == 1
    assert read.errors[0].startswith(told), read.errors
    assert read.offers == []


def test_what_was_read_before_an_error_stays(spider):
    read = spider(PAGED, har.bare(f"{API}/list?page=1", gpu("1")), har.bare(f"{API}/list?page=2", b"{"))
    assert names(read) == ["1"]
    assert len(read.errors) == 1


def test_a_spider_sees_the_keys_that_were_given_and_no_others(spider, monkeypatch):
    monkeypatch.setenv("PROBE_KEY", "from the environment")
    body = f"""
    async def start(self):
        self.use("keyed" if self.key("PROBE_KEY") else "open")
        yield Request("{API}/" + (self.key("PROBE_KEY") or "open"), callback=self.parse)
    """
    entries = [har.bare(f"{API}/open", gpu("open")), har.bare(f"{API}/mine", gpu("keyed"))]
    assert names(spider(body, *entries)) == ["open", "keyed"]
    assert names(spider(body, *entries, keys={"PROBE_KEY": "mine"})) == ["keyed", "open"]
    assert os.environ["PROBE_KEY"] == "from the environment"


def test_a_running_loop_is_not_touched(spider):
    async def inside():
        loop = asyncio.get_running_loop()
        read = spider(PAGED, har.bare(f"{API}/list", gpu("1")))
        assert asyncio.get_running_loop() is loop
        return read

    assert names(asyncio.run(inside())) == ["1"]


def test_an_endless_chain_of_requests_ends(spider):
    body = f"""
    start_urls = ["{API}/list"]

    def parse(self, response):
        n = 0
        while True:
            yield Request(f"{API}/list?n={{n}}")
            n += 1
            if n > 20_000:
                return
    """
    read = spider(body, har.bare(f"{API}/list", b"[]"))
    assert read.errors == ["SpiderError: more than 10000 requests"]


def test_a_saved_gzip_file_is_opened(spider):
    assert names(spider(PAGED, har.bare(f"{API}/list", gzip.compress(gpu("1"))))) == ["1"]


def test_no_such_spider():
    with pytest.raises(LookupError, match="no spider named nobody"):
        read_answers("nobody", [])


@pytest.mark.parametrize(
    "case",
    sorted(
        path.parent
        for path in RECORDED.glob("*/2026-11-29-night/answers.har")
        if not browser.needed(path.parent.parent.name)  # such a page is empty until its scripts ran
    ),
)
def test_a_recorded_night_reads_the_same_offline(case):
    recorded = har.read(case)
    read = read_answers(case.parent.name, recorded.entries)
    assert (read.notes, read.errors) == ([], [])
    assert read.offers or read.rates

"""HAR files: what is written is read, what is hostile is refused in one line."""

from __future__ import annotations

import base64
import json
import os
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spiders.shared import har
from spiders.shared.har import Entry, Har, HarError

URL = "https://api.example/list?b=2&a=1"
NIGHT = datetime(2026, 11, 30, 2, 0, 1, 500_000, tzinfo=UTC)


def test_what_is_written_is_read(tmp_path):
    entries = (
        Entry("GET", URL, 200, "application/json", b'{"a": "\xc3\xa9"}', (("ETag", "1"),), (("Accept", "*/*"),)),
        Entry("POST", URL, 302, "", b"", (("Location", "/x"),), post_data=b'{"q": 1}', started=NIGHT),
        Entry("GET", "https://api.example/big", 200, "text/html", b"<p>" * 40_000, started=NIGHT),
        Entry("GET", "https://api.example/binary", 200, "image/png", b"\x89PNG\xff", started=NIGHT, optional=True),
        Entry("GET", "https://api.example/lost", 0, started=NIGHT),
    )
    path = tmp_path / "deep" / "answers.har"
    har.write(path, entries, keys=("A_KEY",), started=NIGHT)
    read = har.read(path.parent)
    assert (read.recorded_at, read.keys) == (NIGHT, ("A_KEY",))
    for wrote, got in zip(entries, read.entries, strict=True):
        assert got.body == wrote.body
        assert (got.method, got.url, got.status, got.mime) == (wrote.method, wrote.url, wrote.status, wrote.mime)
        assert (got.headers, got.request_headers, got.post_data) == (
            wrote.headers,
            wrote.request_headers,
            wrote.post_data,
        )
        assert got.optional == wrote.optional
    assert sorted(p.name for p in path.parent.iterdir()) == ["answers.har", "body-0002.html"]
    har.write(path, read.entries, keys=read.keys, started=read.recorded_at)
    assert har.read(path) == read, "bodies that lie beside it stay where they are"


def document(**entry):
    base = {"request": {"method": "GET", "url": URL}, "response": {"status": 200, "content": {"text": "[]"}}}
    return {"log": {"entries": [base | entry]}}


def test_the_least_that_an_author_must_write(tmp_path):
    (entry,) = har.parse(document(), tmp_path).entries
    assert (entry.method, entry.url, entry.status, entry.body, entry.started) == ("GET", URL, 200, b"[]", None)


@pytest.mark.parametrize(
    "broken",
    [
        [],
        {},
        {"log": []},
        {"log": {"entries": {}}},
        {"log": {"entries": [1]}},
        {"log": {"entries": [{}]}},
        {"log": {"entries": [], "_keys": "A"}},
        document(request={"method": "GET", "url": 5}),
        document(request={"method": "GET", "url": "file:///etc/passwd"}),
        document(request={"method": "GET", "url": "https://[::1"}),
        document(request={"method": "GET", "url": "https://a.example:99999/"}),
        document(request={"method": "GET", "url": "https://a.example/\ud800"}),
        document(response={"status": "200"}),
        document(response={"status": 7}),
        document(response={"status": 200, "content": []}),
        document(response={"status": 200, "content": {"text": "%%%", "encoding": "base64"}}),
        document(response={"status": 200, "content": {"text": "x", "encoding": "gzip"}}),
        document(response={"status": 200, "content": {"text": "\ud800"}}),
        document(response={"status": 200, "content": {"_file": "../answers"}}),
        document(response={"status": 200, "content": {"_file": "/etc/hostname"}}),
        document(response={"status": 200, "content": {"_file": "link"}}),
        document(response={"status": 200, "content": {"_file": "."}}),
        document(response={"status": 200, "content": {"_file": "a\0b"}}),
        document(response={"status": 200, "content": {"_file": "x" * 5000}}),
        document(response={"status": 200, "content": {"_file": 5}}),
        document(response={"status": 200, "headers": {}, "content": {}}),
    ],
)
def test_a_har_that_cannot_be_used_is_refused_in_one_line(tmp_path, broken):
    os.symlink("/etc/hostname", tmp_path / "link")
    path = tmp_path / "answers.har"
    path.write_text(json.dumps(broken))
    with pytest.raises(HarError) as refusal:
        har.read(path)
    assert "answers.har" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 200_000, b'{"log": NaN'])
def test_a_file_that_is_no_json(tmp_path, content):
    (tmp_path / "answers.har").write_bytes(content)
    with pytest.raises(HarError, match=r"answers\.har"):
        har.read(tmp_path)


def test_a_file_that_is_not_there_or_too_large(tmp_path):
    with pytest.raises(HarError, match="No such file"):
        har.read(tmp_path / "none.har")
    with (tmp_path / "huge.har").open("wb") as huge:
        huge.truncate(har.MAX_FILE + 1)
    with pytest.raises(HarError, match="more than"):
        har.read(tmp_path / "huge.har")
    with (tmp_path / "body").open("wb") as huge:
        huge.truncate(har.MAX_BODY + 1)
    with pytest.raises(HarError, match="more than"):
        har.parse(document(response={"status": 200, "content": {"_file": "body"}}), tmp_path)


def test_a_body_that_goes_away(tmp_path):
    (tmp_path / "body").write_bytes(b"x")
    (entry,) = har.parse(document(response={"status": 200, "content": {"_file": "body"}}), tmp_path).entries
    (tmp_path / "body").unlink()
    with pytest.raises(HarError, match="body"):
        _ = entry.body


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
words = st.sampled_from(["request", "response", "method", "url", "status", "content", "text", "encoding", "headers"])
shaped = st.dictionaries(
    words, st.dictionaries(words, json_values | st.just(URL), max_size=5) | json_values, max_size=4
)


@given(st.lists(shaped, max_size=3))
def test_whatever_an_entry_is_it_is_read_or_refused(tmp_path_factory, entries):
    try:
        read = har.parse({"log": {"entries": entries}}, tmp_path_factory.getbasetemp())
    except HarError:
        return
    assert isinstance(read, Har)
    for entry in read.entries:
        assert har.normalised_key(entry)


def test_recorded_at_is_the_first_page_else_the_first_entry(tmp_path):
    path = tmp_path / "answers.har"
    later = document(startedDateTime="2026-11-30T03:00:00+01:00")
    path.write_text(json.dumps(later))
    assert har.recorded_at(path) == datetime(2026, 11, 30, 2, 0, tzinfo=UTC)
    later["log"]["pages"] = [{"startedDateTime": "2026-11-29T00:00:00Z"}]
    path.write_text(json.dumps(later))
    assert har.recorded_at(path) == datetime(2026, 11, 29, tzinfo=UTC)
    path.write_text(json.dumps(document(startedDateTime="soon")))
    with pytest.raises(HarError, match="startedDateTime"):
        har.recorded_at(path)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("GET", "https://A.example:443/x?b=2&a=1", None), ("get", "https://a.example/x?a=1&b=2#top", None)),
        (("GET", "http://a.example:80/a%7Eb?x=%20", None), ("GET", "http://a.example/a~b?x=+", None)),
        (("GET", "https://a.example", None), ("GET", "https://a.example/", None)),
        (("GET", "https://a.example/?api_key=1&x=1", None), ("GET", "https://a.example/?api_key=2&x=1", None)),
        (("POST", URL, b'{"a": 1, "b": 2}'), ("POST", URL, b'{"b":2,"a":1}')),
        (("POST", URL, b"a=1&b=2&token=1"), ("POST", URL, b"b=2&a=1&token=2")),
    ],
)
def test_the_same_request_has_the_same_key(one, other):
    assert har.key_of(*one) == har.key_of(*other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("GET", URL, None), ("POST", URL, None)),
        (("GET", "https://a.example/x?a=1", None), ("GET", "https://a.example/x?a=2", None)),
        (("GET", "https://a.example/x?a=", None), ("GET", "https://a.example/x", None)),
        (("GET", "https://a.example/x", None), ("GET", "https://a.example:444/x", None)),
        (("GET", "https://a.example/x", None), ("GET", "http://a.example/x", None)),
        (("POST", URL, b'{"a": 1}'), ("POST", URL, b'{"a": 2}')),
        (("POST", URL, b'{"a": 1}'), ("POST", URL, None)),
    ],
)
def test_another_request_has_another_key(one, other):
    assert har.key_of(*one) != har.key_of(*other)


def test_post_data_of_browsers(tmp_path):
    params = {"params": [{"name": "a", "value": "1 2"}, {"name": "b", "value": "é"}]}
    (entry,) = har.parse(document(request={"method": "POST", "url": URL, "postData": params}), tmp_path).entries
    assert entry.post_data == b"a=1%202&b=%C3%A9"
    coded = {"text": base64.b64encode(b"\xff").decode(), "encoding": "base64"}
    (entry,) = har.parse(document(request={"method": "POST", "url": URL, "postData": coded}), tmp_path).entries
    assert entry.post_data == b"\xff"


@pytest.mark.parametrize(
    ("body", "mime"),
    [
        (b' \n{"a": 1}', "application/json"),
        (b"\xef\xbb\xbf[1]", "application/json"),
        (b"<?xml version='1.0'?><a/>", "text/xml"),
        (b"<!DOCTYPE html>", "text/html"),
        (b"a;b;c", "text/plain"),
        (b"", "text/plain"),
    ],
)
def test_a_bare_body_answers_any_method(body, mime):
    entry = har.bare(URL, body)
    assert (entry.method, entry.mime, entry.body) == (har.ANY, mime, body)

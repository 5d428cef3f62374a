"""Keys in every form that they take on the wire, and what must stay as it is."""

from __future__ import annotations

import base64
import json
from html import escape
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spiders.shared.secrets import Secrets, without_addresses, without_fields

KEY = 'a/b+c=d "e" & é'
tokens = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=8, max_size=40)


@given(tokens, st.binary(max_size=7))
def test_no_form_of_a_key_survives(token, before):
    secrets = Secrets.of(["K"], {"K": token})
    raw = token.encode()
    for form in (
        raw,
        quote(token, safe="").encode(),
        quote_plus(token).encode(),
        json.dumps(token).encode()[1:-1],
        escape(token).encode(),
        raw.hex().encode(),
    ):
        assert form not in secrets.scrub(b"<" + form + b">"), form
    coded = base64.b64encode(before + raw)
    middle = coded[-(-len(before) * 8 // 6) : (len(before) + len(raw)) * 8 // 6]
    assert middle not in secrets.scrub(coded)


def test_short_and_unset_values_hide_nothing():
    assert Secrets.of(["A", "B"], {"A": "eu"}).forms == ()
    assert Secrets().scrub_text("a ü") == "a ü"


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        (f"https://a.example/{quote(KEY, safe='')}/x", "https://a.example/removed/x"),
        ("https://a.example/?api_key=1234&page=2", "https://a.example/?api_key=removed&page=2"),
        ("https://a.example/?X-Amz-Signature=ab&b", "https://a.example/?X-Amz-Signature=removed&b="),
        ("https://user:pass@a.example/", "https://a.example/"),
        ("https://a.example/?keyword=gpu&b=%20", "https://a.example/?keyword=gpu&b=%20"),
    ],
)
def test_an_address_without_keys(url, clean):
    assert Secrets.of(["K"], {"K": KEY}).scrub_url(url) == clean


def test_headers_and_posts_without_keys():
    secrets = Secrets.of(["K"], {"K": KEY})
    headers = tuple(
        (name, "v") for name in ("Authorization", "cookie", "Set-Cookie", "X-Api-Key", "X-Auth-Token", "ETag")
    )
    assert secrets.scrub_headers((*headers, ("X-Echo", KEY))) == (("ETag", "v"), ("X-Echo", "removed"))
    assert secrets.scrub_post(b"a=1&password=x") == b"a=1&password=removed"
    assert secrets.scrub_post(json.dumps({"q": KEY}).encode()) == b'{"q": "removed"}'


@pytest.mark.parametrize(
    ("body", "clean"),
    [
        (b'{"mail": "jo.doe+x@mail.example.org"}', b'{"mail": "nobody@example.invalid"}'),
        (b"a@b.io, c@d.io", b"nobody@example.invalid, nobody@example.invalid"),
        (b"logo@2x.png @media react@18.2.0 a @ b", b"logo@2x.png @media react@18.2.0 a @ b"),
        (b"@", b"@"),
    ],
)
def test_addresses_of_persons_are_not_kept(body, clean):
    assert without_addresses(body) == clean


def test_withheld_fields_hold_null_and_nothing_else_changes():
    body = b'[{"cost": 250, "price": 319}, {"cost" : "2.5\\"0", "costs": 1}, {"cost":null}, {"a": "cost"}]'
    clean = without_fields(body, ["cost"])
    assert json.loads(clean) == [
        {"cost": None, "price": 319},
        {"cost": None, "costs": 1},
        {"cost": None},
        {"a": "cost"},
    ]

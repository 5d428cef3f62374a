"""The catalogue of messages: every language has every key, with the same placeholders, and code uses all of them."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from schemas.messages import Messages, UnknownMessage, language_of, languages, messages, placeholders, said

ROOT = Path(__file__).parents[2]
CODE = ("gpufare", "flows", "table", "planner", "schemas")
KINDS = {".py", ".html", ".js", ".css", ".tmpl"}
HELLO = Messages(
    "vi",
    {
        **messages("vi").texts,
        "a.hello": "{who}: {gib:0.0} GiB, {usd:0.00} USD, {day}",
        "a.plain": "xin chào",
    },
)


def in_code() -> tuple[set[str], set[str]]:
    """Keys that stand in code as they are, and beginnings of keys that code ends with a value."""
    topics = "|".join({key.partition(".")[0] for key in messages("en").texts})
    pattern = re.compile(rf"""["'`]((?:{topics})\.[a-z0-9_.]*)([{{$]?)""")
    found = [
        match.groups()
        for folder in CODE
        for path in (ROOT / folder).rglob("*")
        if path.suffix in KINDS
        for match in pattern.finditer(path.read_text(encoding="utf-8"))
    ]
    beginnings = {key for key, more in found if more or key.endswith(".")}
    return {key for key, more in found if not more} - beginnings, beginnings


def test_english_comes_first_and_vietnamese_is_there() -> None:
    assert languages()[0] == "en"
    assert "vi" in languages()


@pytest.mark.parametrize("language", languages())
def test_A33_every_language_has_the_same_keys_and_placeholders(language: str) -> None:
    english, other = messages("en").texts, messages(language).texts
    assert sorted(english) == sorted(other)
    assert {key: placeholders(text) for key, text in english.items()} == {
        key: placeholders(text) for key, text in other.items()
    }


def test_A33_every_key_is_used() -> None:
    whole, beginnings = in_code()
    unused = [key for key in messages("en").texts if key not in whole and not key.startswith(tuple(beginnings))]
    assert unused == []


def test_A33_every_key_in_code_exists() -> None:
    whole, beginnings = in_code()
    # A name such as "table.cells" is a module of ours, not a key.
    modules = {".".join(path.with_suffix("").relative_to(ROOT).parts) for path in ROOT.glob("table/**/*.py")}
    keys = messages("en").texts
    assert {key for key in whole if key not in keys and key not in modules} == set()
    assert {each for each in beginnings if not any(key.startswith(each) for key in keys)} == set()


def test_numbers_and_days_are_written_as_the_language_does() -> None:
    text = HELLO.say("a.hello", who="A", gib=1234.56, usd=Decimal("0.5"), day=date(2026, 11, 30))
    assert text == "A: 1234,6 GiB, 0,50 USD, 30/11/2026"
    assert messages("en").number(1234.5) == "1,234.5"
    assert messages("vi").number(1234.5) == "1.234,5"
    assert messages("en").instant(datetime(2026, 11, 30, 2, tzinfo=UTC)) == "2026-11-30 02:00Z"
    assert messages("vi").instant(datetime(2026, 11, 30, 2, tzinfo=UTC)) == "02:00 30/11/2026 UTC"


def test_what_was_said_is_told_in_the_language_of_the_reader() -> None:
    assert HELLO.tell(said("a.plain")) == "xin chào"
    assert HELLO.tell("us-east-1") == "us-east-1"
    assert HELLO.say("a.hello", who=said("a.plain"), gib=1, usd=2, day="-") == "xin chào: 1,0 GiB, 2,00 USD, -"
    assert str(said("format.day")) == "yyyy-MM-dd"


def test_a_key_or_value_that_is_none_raises() -> None:
    with pytest.raises(UnknownMessage, match=r"a\.helo"):
        HELLO.say("a.helo")
    with pytest.raises(UnknownMessage, match="gib"):
        HELLO.say("a.hello", who="A")
    with pytest.raises(UnknownMessage, match="no value"):
        HELLO.say("a.plain", who="A")
    with pytest.raises(UnknownMessage, match="None"):
        HELLO.say("a.hello", who=None, gib=1, usd=2, day="-")
    with pytest.raises(KeyError):
        messages("xx")


@pytest.mark.parametrize(
    ("environment", "language"),
    [
        ({}, "en"),
        ({"LANG": "vi_VN.UTF-8"}, "vi"),
        ({"LC_MESSAGES": "vi", "LANG": "en_US.UTF-8"}, "vi"),
        ({"LC_ALL": "en_GB", "LC_MESSAGES": "vi_VN", "LANG": "vi_VN"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANGUAGE": "de:vi", "LANG": "en_US.UTF-8"}, "vi"),
        ({"LANGUAGE": "vi"}, "vi"),
        ({"LANGUAGE": "vi", "LANG": "C.UTF-8"}, "en"),
        ({"LC_ALL": "POSIX", "LANG": "vi_VN"}, "en"),
        ({"LC_ALL": "", "LANG": "vi_VN@abc"}, "vi"),
    ],
)
def test_the_language_is_that_of_the_locale(environment: dict[str, str], language: str) -> None:
    assert language_of(environment, ("en", "vi")) == language


def test_the_import_is_light() -> None:
    code = "import schemas.messages, sys; print('babel' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"

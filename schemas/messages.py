"""What the program says to people, in each language: messages/<language>.toml, a text for each key.

A key is the path of tables to a text, such as `fit.assumed`. `{name}` stands for a value; numbers are written as the
language writes them, and `{gib:0.0}` gives the pattern (Unicode TR 35, as Babel reads it). Every language has the same
keys and placeholders: a test holds it. Codes that programs read (keys of JSON, columns of CSV) are no messages.
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().with_suffix("")
DEFAULT = "en"
NUMBER = "#,##0.##"
VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
_NO_LANGUAGE = {"C", "POSIX"}


class UnknownMessage(KeyError):
    """No language holds such a key, or the values do not match its placeholders."""


@dataclass(frozen=True, slots=True)
class Said:
    """Something that can be said in any language: a key and its values; `str` is the English of it."""

    key: str
    values: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return messages(DEFAULT).tell(self)


def said(key: str, **values: Any) -> Said:
    """A text to be told later, in the language of whoever reads it. A value may be such a text itself."""
    return Said(key, tuple(values.items()))


@dataclass(frozen=True)
class Messages:
    """The texts of one language, by key."""

    language: str
    texts: Mapping[str, str]

    def say(self, key: str, **values: Any) -> str:
        """The text of a key with its values. Raises UnknownMessage for a key or a value that is none of it."""
        if key not in self.texts:
            raise UnknownMessage(f"{self.language}.toml has no {key!r}")
        text = self.texts[key]
        if "{" not in text and not values:
            return text
        if (wanted := placeholders(text)) != set(values):
            raise UnknownMessage(f"{key!r} takes {', '.join(sorted(wanted)) or 'no value'}, not {', '.join(values)}")
        return _Filled(self).vformat(text, (), values)

    def tell(self, text: Said | str) -> str:
        """What was said, in this language; plain text, such as a provider's own words, stays as it is."""
        return self.say(text.key, **dict(text.values)) if isinstance(text, Said) else text

    def topic(self, name: str) -> dict[str, str]:
        """All texts under a table, by the rest of their keys, as a page carries them."""
        return {key.removeprefix(f"{name}."): text for key, text in self.texts.items() if key.startswith(f"{name}.")}

    def number(self, value: float | Decimal, pattern: str = NUMBER) -> str:
        """A number as the language writes it: 1,234.5 or 1.234,5."""
        from babel.numbers import format_decimal

        return str(format_decimal(value, format=pattern, locale=self.language))

    def day(self, value: date) -> str:
        """A day as the language writes it."""
        from babel.dates import format_date

        return str(format_date(value, format=self.say("format.day"), locale=self.language))

    def instant(self, value: datetime) -> str:
        """A moment in UTC as the language writes it."""
        from babel.dates import format_datetime

        return str(format_datetime(value, format=self.say("format.instant"), tzinfo=UTC, locale=self.language))


class _Filled(string.Formatter):
    """Puts values into a text as its language writes them."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages

    def format_field(self, value: Any, format_spec: str) -> str:
        match value:
            case Said() | str():
                return self._messages.tell(value)
            case bool():
                raise UnknownMessage(f"{value} is no text: say it in words")
            case int() | float() | Decimal():
                return self._messages.number(value, format_spec or NUMBER)
            case datetime():
                return self._messages.instant(value)
            case date():
                return self._messages.day(value)
            case _:
                raise UnknownMessage(f"{value!r} is no text, number, day or moment")


def languages() -> tuple[str, ...]:
    """Codes of all languages, English first."""
    found = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return tuple(sorted(found, key=lambda code: code != DEFAULT))


@lru_cache(maxsize=None)
def messages(language: str) -> Messages:
    """The texts of a language of `languages()`. Raises KeyError for another, ValueError for a file that is no texts."""
    if language not in languages():
        raise KeyError(language)
    name = f"{language}.toml"
    with (FOLDER / name).open("rb") as file:
        return Messages(language, dict(_flat(name, "", tomllib.load(file))))


def language_of(environment: Mapping[str, str], known: Sequence[str]) -> str:
    """The first of the `known` languages that the environment asks for, as POSIX and gettext name it; else English.

    LANGUAGE is a list parted by `:` and goes first, but for the locales C and POSIX, which ask for no language.
    """
    locale = next((environment[name] for name in VARIABLES[1:] if environment.get(name)), "")
    if locale.partition(".")[0] in _NO_LANGUAGE:
        return DEFAULT
    for word in (*environment.get(VARIABLES[0], "").split(":"), locale):
        code = word.partition(".")[0].partition("@")[0].partition("_")[0].lower()
        if code in known:
            return code
    return DEFAULT


def placeholders(text: str) -> set[str]:
    """Names of the values that a text takes."""
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


def _flat(file: str, path: str, table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        match value:
            case str() if path and value.strip():
                yield f"{path}{name}", value
            case dict():
                yield from _flat(file, f"{path}{name}.", value)
            case _:
                raise ValueError(f"{file}, {path}{name}: expected a text in a table, came {value!r}")

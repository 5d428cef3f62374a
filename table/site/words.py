"""Texts, numbers and days of a page in its language, out of the one catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from markupsafe import Markup

from schemas.messages import Messages, Said, messages
from table.cells import UNKNOWN, money, safe

PRICE = "#,##0.00########"
TABLES = ("js", "col", "unit", "purchase", "availability", "segment", "kind")
"""tables of the catalogue that the table's script needs"""


@dataclass(frozen=True)
class Words:
    """What templates say with: `t` for a text, the others for values; an unknown value is `?`."""

    messages: Messages

    @classmethod
    def of(cls, language: str) -> Words:
        """The words of a language of the catalogue."""
        return cls(messages(language))

    @property
    def language(self) -> str:
        """Code of the language."""
        return self.messages.language

    def t(self, key: str, **values: Any) -> str:
        """The text `site.<key>`."""
        return self.messages.say(f"site.{key}", **values)

    def prose(self, key: str) -> Markup:
        """The text `site.<key>`, written in Markdown, as HTML. Markup within it stays text."""
        return Markup(self._markdown.render(self.t(key)))  # noqa: S704 - our own catalogue, by a renderer that escapes

    @cached_property
    def _markdown(self) -> Any:
        from markdown_it import MarkdownIt

        return MarkdownIt("commonmark", {"html": False})

    def price(self, amount: Decimal | None) -> str:
        """An amount with as many digits as the command line shows."""
        if amount is None:
            return UNKNOWN
        if amount not in self._prices:  # Babel takes half a millisecond for a number, and prices come again and again
            self._prices[amount] = self.messages.number(Decimal(money(amount)), PRICE)
        return self._prices[amount]

    @cached_property
    def _prices(self) -> dict[Decimal, str]:
        return {}

    def number(self, value: float | Decimal | None) -> str:
        """Any other number."""
        return UNKNOWN if value is None else self.messages.number(value, "#,##0.####")

    def day(self, value: date | None) -> str:
        """A day."""
        return UNKNOWN if value is None else self.messages.day(value)

    def instant(self, value: datetime | None) -> str:
        """A moment in UTC."""
        return UNKNOWN if value is None else self.messages.instant(value)

    def country(self, code: str | None) -> str:
        """Name of a country by its code."""
        from babel import Locale

        return UNKNOWN if code is None else str(Locale.parse(self.language).territories.get(code, safe(code)))

    def percent(self, share: float | None) -> str:
        """A relative move with its sign: +12.5%."""
        if share is None:
            return UNKNOWN
        return self.messages.number(round(share * 100, 1), "+#,##0.0;-#,##0.0") + "%"

    def value(self, value: Any) -> str:
        """A fact: yes or no in words, a number, or the words that stand in the facts."""
        if isinstance(value, bool):
            return self.t("yes" if value else "no")
        if isinstance(value, int | float | Decimal):
            return self.number(value)
        if isinstance(value, datetime):
            return self.instant(value)
        if isinstance(value, date):
            return self.day(value)
        return UNKNOWN if value is None else safe(str(value))

    def script(self) -> Mapping[str, Mapping[str, str]]:
        """The texts that the table's script needs."""
        return {name: self.messages.topic(f"site.{name}") for name in TABLES}

    def of_planner(self, texts: Sequence[Said | str]) -> Mapping[str, Any]:
        """The texts that the planner's script needs; `texts` are its own."""
        names = {"js": "planner_js", "column": "planner_col", "copy": "js"}
        names |= {name: name for name in ("col", "purchase", "availability")}
        told = {name: self.messages.topic(f"site.{table}") for name, table in names.items()}
        told |= {name: self.messages.topic(f"fit.{name}") for name in ("term", "confidence")}
        return {**told, "texts": [self.messages.tell(text) for text in texts]}


def link(text: str | None) -> str | None:
    """The text where it is an address of the web, else None: nothing else becomes a link."""
    if text is None or any(sign.isspace() for sign in text) or safe(text) != text:
        return None
    parts = urlsplit(text)
    return text if parts.scheme in ("http", "https") and parts.hostname else None

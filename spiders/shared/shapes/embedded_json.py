"""JSON that a page carries in its scripts: plain, escaped as a string once or more, or cut into flight chunks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, ClassVar

from scrapy.http import Response, TextResponse

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, ProviderSpider, expect_anchors
from spiders.shared.errors import LayoutChanged

CHUNK = re.compile(r'self\.__next_f\.push\(\[1,\s*"((?:[^"\\]|\\.)*)"\]\)', re.DOTALL)
ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
PLAIN = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}
DEPTH = 4


class EmbeddedJsonSpider(ProviderSpider):
    """Set `start_urls`, `documents` (reader `parse`), `anchors` (at least three) and `json_key`; write `read_value`.

    `read_value(value)` yields the RawOffers of one value that stands under `json_key` somewhere in the page.
    """

    anchors: ClassVar[tuple[str, ...]] = ()
    json_key: ClassVar[str] = ""

    def parse(self, response: Response) -> Iterator[Batch]:
        """One batch of the whole page. Raises LayoutChanged without the anchors, or where the key is nowhere."""
        if not isinstance(response, TextResponse):
            raise LayoutChanged(f"expected a page at {response.url}, got {len(response.body)} bytes of no text")
        expect_anchors(response, self.anchors)
        found = embedded(response.text, self.json_key)
        if not found:
            raise LayoutChanged(f"expected JSON under {self.json_key!r} in {response.url}, got none")
        offers = (offer for value in found for offer in self.read_value(value))
        yield self.batch(response, {str(offer): offer for offer in offers}.values())

    def read_value(self, value: Any) -> Iterator[RawOffer]:
        """The RawOffers of one embedded value, in the provider's words."""
        raise NotImplementedError


def embedded(text: str, key: str) -> list[Any]:
    """Every whole value under `key`, of the least escaped level that holds any; numbers are Decimal."""
    return next((found for level in levels(text) if (found := list(_values(level, key)))), [])


def levels(text: str) -> Iterator[str]:
    """The text with its flight chunks joined, then the same with one escaping less each time."""
    text = "".join(CHUNK.findall(text)) or text
    for _ in range(DEPTH):
        yield text
        text = ESCAPE.sub(_unescaped, text)


def _values(text: str, key: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(parse_float=Decimal)
    for at in re.finditer(rf'(?<!\\)"{re.escape(key)}"\s*:\s*', text):
        try:
            yield decoder.raw_decode(text, at.end())[0]
        except json.JSONDecodeError:  # the same word in prose or in another language's source
            continue


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else PLAIN.get(found[2], found[2])

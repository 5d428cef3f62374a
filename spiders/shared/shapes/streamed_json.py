"""A JSON document too large to hold: only the members of its mappings that are wanted are ever built whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import ijson
from scrapy.http import Request

from spiders.shared.errors import SchemaDrift, Truncated

Wanted = Callable[[str, Any], bool]
PATIENCE_S = 1800


class JsonExcerpt:
    """The same document with nothing in it but what is wanted.

    wanted: by the path of a mapping (`terms.OnDemand`), whether a member is kept, asked with its key and value, in the
    order that they come. A mapping of which no member came is left out, so that a reader that needs it fails.
    """

    def __init__(self, wanted: Mapping[str, Wanted]) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.last = b""
        self._readers = []
        for path, keep in wanted.items():
            found = ijson.sendable_list()
            self._readers.append((path, keep, found, ijson.kvitems_coro(found, path)))

    def feed(self, piece: bytes) -> None:
        """Take the next piece. Raises SchemaDrift for what is no JSON."""
        self.last = piece.rstrip()[-1:] or self.last
        for path, keep, found, reader in self._readers:
            try:
                reader.send(piece)
            except ijson.JSONError as error:
                raise SchemaDrift(f"expected JSON ({' '.join(str(error).split())[:80]})") from None
            for key, value in found:
                members = self.kept.setdefault(path, {})
                if keep(key, value):
                    members[key] = value
            found.clear()

    def close(self) -> bytes:
        """The excerpt. Raises Truncated where the document has not ended."""
        try:
            for _, _, _, reader in self._readers:
                reader.close()
        except ijson.JSONError:
            self.last = b""
        if self.last != b"}":
            raise Truncated("the document ends before its end")
        document: dict[str, Any] = {}
        for path, members in self.kept.items():
            *parents, name = path.split(".")
            inner = document
            for parent in parents:
                inner = inner.setdefault(parent, {})
            inner[name] = members
        return json.dumps(document, default=str, indent=1).encode()


def streamed(url: str, callback: Any, excerpt: Callable[[], JsonExcerpt], **known: Any) -> Request:
    """A request for a large document; `callback` gets the excerpt, which `excerpt` makes anew for every try."""
    meta = {"excerpt": excerpt, "download_timeout": PATIENCE_S}
    return Request(url, callback=callback, dont_filter=True, meta=meta, cb_kwargs=known)

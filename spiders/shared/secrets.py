"""Keys must not reach a disk: what they look like on the wire, and how a text or body is rid of them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qsl, quote, quote_plus, urlencode, urlsplit, urlunsplit

from spiders.shared.har import Headers, is_secret_param

REMOVED = "removed"
RECORDED_KEY = "gpufare-recorded-key"
SHORTEST = 4
_HEADERS = re.compile(
    r"auth|cookie|token|api-?key|secret|signature|session|csrf|password|x-forwarded|^x-real-ip$", re.I
)
_ADDRESS_LEFT = re.compile(rb"[A-Za-z0-9._%+-]{1,64}\Z")
_ADDRESS_RIGHT = re.compile(rb"(?:[A-Za-z0-9-]{1,63}\.)+(?!(?:png|jpe?g|svg|gif|webp|css|m?js)\b)[A-Za-z]{2,24}\b")
_NOBODY = b"nobody", b"example.invalid"


@dataclass(frozen=True, slots=True)
class Secrets:
    """The values that must not be written, in every form that they may take."""

    forms: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str], env: Mapping[str, str]) -> Secrets:
        """The values of these variables; values under four letters hide nothing and are left."""
        values = {env[name] for name in names if len(env.get(name, "")) >= SHORTEST}
        forms = {form for value in values for form in _forms(value)}
        return cls(tuple(sorted(forms, key=lambda form: (-len(form), form))))

    def scrub(self, content: bytes) -> bytes:
        """The bytes without any form of any secret."""
        for form in self.forms:
            if form in content:
                content = content.replace(form, REMOVED.encode())
        return content

    def scrub_text(self, text: str) -> str:
        """As `scrub`, of a text."""
        return self.scrub(text.encode("utf-8", "replace")).decode("utf-8", "replace") if self.forms else text

    def scrub_url(self, url: str) -> str:
        """The address without secrets, also without the values of parameters that are named like one."""
        parts = urlsplit(self.scrub_text(url))
        pairs = parse_qsl(parts.query, keep_blank_values=True)
        if any(is_secret_param(name) for name, _ in pairs):
            kept = [(name, REMOVED if is_secret_param(name) else value) for name, value in pairs]
            parts = parts._replace(query=urlencode(kept))
        if "@" in parts.netloc:
            parts = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        return urlunsplit(parts)

    def scrub_headers(self, headers: Headers) -> Headers:
        """The headers without those that carry keys, sessions or addresses of a person."""
        return tuple((name, self.scrub_text(value)) for name, value in headers if not _HEADERS.search(name))

    def scrub_post(self, body: bytes) -> bytes:
        """A request body without secrets, also without the values of form fields that are named like one."""
        body = self.scrub(body)
        if body[:1] not in {b"{", b"["} and b"=" in body:
            pairs = parse_qsl(body.decode("latin-1"), keep_blank_values=True)
            if any(is_secret_param(name) for name, _ in pairs):
                return urlencode([(n, REMOVED if is_secret_param(n) else v) for n, v in pairs]).encode()
        return body


def without_fields(body: bytes, names: Iterable[str]) -> bytes:
    """A JSON body in which these fields hold null. Only plain values are known: text, numbers, true, false."""
    for name in names:
        field = rb'("' + re.escape(name.encode()) + rb'"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|[^\s,}\]\[{"]+)'
        body = re.sub(field, rb"\1null", body)
    return body


def _forms(value: str) -> set[bytes]:
    raw = value.encode("utf-8")
    forms = {raw, raw.hex().encode(), raw.hex().upper().encode()}
    quoted = json.dumps(value)[1:-1]
    texts = {quote(value), quote(value, safe=""), quote_plus(value), escape(value)}
    texts |= {quoted, quoted.replace("/", "\\/"), json.dumps(value, ensure_ascii=False)[1:-1]}
    forms |= {text.encode() for text in texts}
    forms |= {form.lower() for form in (quote(value, safe="").encode(),) if b"%" in form}
    for shift in range(3):
        # base64 of a longer text that holds the secret: cut to the letters that the secret alone decides
        head = -(-shift * 8 // 6)
        whole = base64.b64encode(b"\0" * shift + raw)
        sure = whole[head : (shift + len(raw)) * 8 // 6]
        if len(sure) >= SHORTEST + 2:
            forms |= {sure, sure.translate(bytes.maketrans(b"+/", b"-_"))}
    return {form for form in forms if len(form) >= SHORTEST}


def without_addresses(body: bytes) -> bytes:
    """The body without e-mail addresses: they are persons' data and no price hangs on them."""
    parts = body.split(b"@")
    for index in range(len(parts) - 1):
        left, right = _ADDRESS_LEFT.search(parts[index][-64:]), _ADDRESS_RIGHT.match(parts[index + 1])
        if left and right:
            parts[index] = parts[index][: len(parts[index]) - len(left[0])] + _NOBODY[0]
            parts[index + 1] = _NOBODY[1] + parts[index + 1][right.end() :]
    return b"@".join(parts)

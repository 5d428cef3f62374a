"""HAR 1.2: answers of providers, read and written.

One format for tests, for the archive of every refresh and for a user's bug report: every browser exports it. Bodies
stand inline, or beside the file where `_file` names them. A recording may come from anybody: whatever is wrong with one
is a HarError of one line, and nothing outside its folder is ever read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

INLINE_BYTES = 64 * 1024
MAX_FILE = 1 << 29
MAX_BODY = 1 << 28
ANY = "*"
SECRET_PARAMS = {
    *("key", "apikey", "accesskey", "secretkey", "subscriptionkey", "xamzcredential"),
    *("token", "accesstoken", "authtoken", "xamzsecuritytoken", "auth", "sessionid"),
    *("secret", "clientsecret", "password", "passwd", "signature", "sig", "xamzsignature"),
}

Headers = tuple[tuple[str, str], ...]


class HarError(ValueError):
    """The file is no HAR that can be used."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One request with its answer, decompressed.

    method: `*` answers any method (a bare body). status: 0 where the connection failed. optional: may stay unused in a
    replay, as what a browser loads beside the page. content: the body, or the file that holds it.
    """

    method: str
    url: str
    status: int = 200
    mime: str = ""
    content: bytes | Path = b""
    headers: Headers = ()
    request_headers: Headers = ()
    post_data: bytes | None = None
    started: datetime | None = None
    optional: bool = False

    @property
    def body(self) -> bytes:
        """The bytes of the answer. Raises HarError where its file has gone."""
        if isinstance(self.content, bytes):
            return self.content
        try:
            return self.content.read_bytes()
        except OSError as error:
            raise HarError(f"{self.content.name}: {error.strerror or error}") from None

    def header(self, name: str) -> str | None:
        """The first answer header of that name, None where there is none."""
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class Har:
    """What a file holds: its entries, when it was recorded, which key variables were set then (`log._keys`), and
    which options with their values (`log._options`)."""

    entries: tuple[Entry, ...]
    recorded_at: datetime | None = None
    keys: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)


def har_file(path: Path) -> Path:
    """The file itself; of a folder, its `answers.har`."""
    return path / "answers.har" if path.is_dir() else path


def read(path: Path) -> Har:
    """Read a HAR, or the `answers.har` of a folder. Raises HarError."""
    file = har_file(path)
    return parse(_load(file), file.parent, file.name)


def recorded_at(path: Path) -> datetime:
    """The time that a recording was made, UTC. Raises HarError where it does not say."""
    found = read(path).recorded_at
    if found is None:
        raise HarError(f"{har_file(path)}: expected startedDateTime in log.pages or an entry, found none")
    return found


def _load(file: Path) -> Any:
    try:
        size = file.stat().st_size
        if size > MAX_FILE:
            raise HarError(f"{file}: {size} bytes are more than {MAX_FILE}")
        return json.loads(file.read_bytes())
    except OSError as error:
        raise HarError(f"{file}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, HarError):
            raise
        raise HarError(f"{file}: expected a HAR, which is JSON ({type(error).__name__})") from None


def parse(document: Any, folder: Path, name: str = "HAR") -> Har:
    """The HAR that a JSON document is; `_file` bodies are looked for in `folder` only. Raises HarError."""
    log = document.get("log") if isinstance(document, dict) else None
    records = log.get("entries") if isinstance(log, dict) else None
    if not isinstance(log, dict) or not isinstance(records, list):
        raise HarError(f"{name}: expected log.entries, a list")
    entries = tuple(_entry(record, folder, f"{name}, entry {index}") for index, record in enumerate(records))
    pages = log.get("pages")
    times = [_time(page.get("startedDateTime")) for page in pages or () if isinstance(page, dict)] if pages else []
    known = [time for time in times if time] or [entry.started for entry in entries if entry.started]
    keys = log.get("_keys") or ()
    if not isinstance(keys, list | tuple) or not all(isinstance(key, str) for key in keys):
        raise HarError(f"{name}: expected log._keys, a list of names")
    options = log.get("_options") or {}
    if not isinstance(options, dict) or not all(isinstance(value, str) for value in options.values()):
        raise HarError(f"{name}: expected log._options, texts by name")
    return Har(entries, min(known) if known else None, tuple(keys), options)


def _entry(record: Any, folder: Path, where: str) -> Entry:
    request, response = _part(record, "request", where), _part(record, "response", where)
    method, url, status = request.get("method"), request.get("url"), response.get("status")
    if not isinstance(method, str) or not isinstance(url, str) or not isinstance(status, int):
        raise HarError(f"{where}: expected request.method and url as text, response.status as a whole number")
    if not _is_web(url):
        raise HarError(f"{where}: expected an http or https url, got {url[:80]!r}")
    if status and not 100 <= status <= 599 and status != -1:
        raise HarError(f"{where}: expected a status between 100 and 599 or 0, got {status}")
    content = {} if response.get("content") is None else response["content"]
    post = request.get("postData")
    if not isinstance(content, dict) or not isinstance(post, dict | None):
        raise HarError(f"{where}: expected response.content and request.postData as objects")
    return Entry(
        method=method.upper(),
        url=url,
        status=max(status, 0),
        mime=_text(content.get("mimeType")),
        content=_body(content, folder, where),
        headers=_headers(response.get("headers"), where),
        request_headers=_headers(request.get("headers"), where),
        post_data=_post_data(post, folder, where) if post else None,
        started=_time(record.get("startedDateTime")),
        optional=bool(record.get("_optional")),
    )


def _is_web(url: str) -> bool:
    try:
        url.encode()
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _part(record: Any, name: str, where: str) -> dict[str, Any]:
    part = record.get(name) if isinstance(record, dict) else None
    if not isinstance(part, dict):
        raise HarError(f"{where}: expected {name}, an object")
    return part


def _post_data(post: dict[str, Any], folder: Path, where: str) -> bytes:
    params = post.get("params")
    if not post.get("text") and not post.get("_file") and isinstance(params, list):
        pairs = [(_text(p.get("name")), _text(p.get("value"))) for p in params if isinstance(p, dict)]
        return "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in pairs).encode()
    post_data = _body(post, folder, where)
    return post_data if isinstance(post_data, bytes) else post_data.read_bytes()


def _body(content: dict[str, Any], folder: Path, where: str) -> bytes | Path:
    if (name := content.get("_file")) is not None:
        return _beside(name, folder, where)
    text = content.get("text", "")
    encoding = content.get("encoding")
    if not isinstance(text, str) or encoding not in {None, "", "base64"}:
        raise HarError(f"{where}: expected a body as text, plain or base64")
    try:
        return base64.b64decode(text, validate=True) if encoding else text.encode("utf-8")
    except (binascii.Error, ValueError) as error:
        raise HarError(f"{where}: the body cannot be read ({error})") from None


def _beside(name: Any, folder: Path, where: str) -> Path:
    """The file of a body: inside the folder of the HAR, links followed, or not at all."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise HarError(f"{where}: expected _file as the name of a file beside it")
    inside = folder.resolve()
    try:
        file = (inside / name).resolve()
        good = file.is_relative_to(inside) and file.is_file()
        size = file.stat().st_size if good else 0
    except (OSError, RuntimeError) as error:
        raise HarError(f"{where}: _file {name[:80]!r} cannot be read ({type(error).__name__})") from None
    if not good:
        raise HarError(f"{where}: expected _file {name[:80]!r} inside the folder of the HAR")
    if size > MAX_BODY:
        raise HarError(f"{where}: _file {name[:80]!r} has {size} bytes, more than {MAX_BODY}")
    return file


def _headers(found: Any, where: str) -> Headers:
    if found is None:
        return ()
    if not isinstance(found, list):
        raise HarError(f"{where}: expected headers as a list")
    return tuple(
        (_text(header.get("name")), _text(header.get("value"))) for header in found if isinstance(header, dict)
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _time(text: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)


def normalised_key(entry: Entry) -> str:
    """What makes two requests the same: method, address with sorted query, hash of the sorted post data."""
    return key_of(entry.method, entry.url, entry.post_data)


def key_of(method: str, url: str, post_data: bytes | None = None) -> str:
    """As `normalised_key`. Values of parameters that carry secrets do not count, for recordings hold none."""
    scheme, host, path, query = address_of(url)
    asked = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in sorted(query))
    posted = f" {hashlib.sha256(_canonical(post_data)).hexdigest()[:16]}" if post_data else ""
    return f"{method.upper()} {scheme}://{host}{path}{'?' if asked else ''}{asked}{posted}"


def address_of(url: str) -> tuple[str, str, str, list[tuple[str, str]]]:
    """Scheme, host with a port that is not the scheme's own, path, query pairs with secrets blanked."""
    parts = urlsplit(url)
    port = parts.port
    standing = f":{port}" if port and port != {"http": 80, "https": 443}.get(parts.scheme) else ""
    path = quote(unquote(parts.path or "/"), safe="/:@!$&'()*+,;=~-._")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    return parts.scheme, f"{(parts.hostname or '').lower()}{standing}", path, _without_secrets(pairs)


def is_secret_param(name: str) -> bool:
    """Is this the name of a parameter that carries a key or token?"""
    return "".join(filter(str.isalnum, name.lower())) in SECRET_PARAMS


def _without_secrets(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, "" if is_secret_param(name) else value) for name, value in pairs]


def _canonical(post_data: bytes) -> bytes:
    try:
        return json.dumps(json.loads(post_data), sort_keys=True, separators=(",", ":")).encode()
    except (ValueError, RecursionError):
        pass
    if b"=" in post_data and b"\n" not in post_data.strip():
        pairs = parse_qsl(post_data.decode("latin-1"), keep_blank_values=True)
        return repr(sorted(_without_secrets(pairs))).encode()
    return post_data


def write(
    path: Path,
    entries: Sequence[Entry],
    *,
    keys: Sequence[str] = (),
    options: Mapping[str, str] | None = None,
    started: datetime | None = None,
) -> None:
    """Write a HAR whole or not at all. Bodies over 64 KiB go beside it; those that lie there already stay."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [_record(entry, index, path.parent) for index, entry in enumerate(entries)]
    log: dict[str, Any] = {"version": "1.2", "creator": {"name": "gpufare", "version": "0.1.0"}}
    if started:
        page = {"startedDateTime": _stamp(started), "id": "crawl", "title": "crawl", "pageTimings": {}}
        log["pages"] = [page]
    if keys:
        log["_keys"] = list(keys)
    if options:
        log["_options"] = dict(options)
    text = json.dumps({"log": log | {"entries": records}}, ensure_ascii=False, indent=1)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)


def _record(entry: Entry, index: int, folder: Path) -> dict[str, Any]:
    content = {"mimeType": entry.mime, **_content(entry, f"body-{index:04}{suffix_of(entry.mime)}", folder)}
    request: dict[str, Any] = {
        "method": entry.method,
        "url": entry.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _pairs(entry.request_headers),
        "queryString": _pairs(parse_qsl(urlsplit(entry.url).query, keep_blank_values=True)),
        "headersSize": -1,
        "bodySize": len(entry.post_data or b""),
    }
    if entry.post_data:
        mime = next((value for name, value in entry.request_headers if name.lower() == "content-type"), "")
        request["postData"] = {"mimeType": mime, **_inline(entry.post_data)}
    record = {
        "startedDateTime": _stamp(entry.started or datetime.fromtimestamp(0, UTC)),
        "time": 0,
        "request": request,
        "response": {
            "status": entry.status,
            "statusText": "",
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": _pairs(entry.headers),
            "content": content,
            "redirectURL": entry.header("location") or "",
            "headersSize": -1,
            "bodySize": content["size"],
        },
        "cache": {},
        "timings": {"send": 0, "wait": 0, "receive": 0},
    }
    return record | ({"_optional": True} if entry.optional else {})


def _content(entry: Entry, name: str, folder: Path) -> dict[str, Any]:
    if isinstance(entry.content, Path) and entry.content.parent == folder:
        return {"size": entry.content.stat().st_size, "_file": entry.content.name}
    body = entry.body
    if len(body) <= INLINE_BYTES:
        return {"size": len(body), **_inline(body)}
    (folder / name).write_bytes(body)
    return {"size": len(body), "_file": name}


def _inline(body: bytes) -> dict[str, str]:
    try:
        return {"text": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(body).decode("ascii"), "encoding": "base64"}


def suffix_of(mime: str) -> str:
    """The ending of a body's file name."""
    kinds: Mapping[str, str] = {"json": ".json", "html": ".html", "xml": ".xml", "javascript": ".js", "css": ".css"}
    return next((suffix for kind, suffix in kinds.items() if kind in mime), ".bin")


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]


def _stamp(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def bare(url: str, body: bytes) -> Entry:
    """A saved body as the answer to any request for `url` (any address where that is empty); the type is guessed."""
    start = body[:512].lstrip().removeprefix(b"\xef\xbb\xbf").lstrip()[:64].lower()
    if start[:1] in {b"{", b"["}:
        mime = "application/json"
    elif start.startswith((b"<?xml", b"<rss")):
        mime = "text/xml"
    elif start.startswith(b"<"):
        mime = "text/html"
    else:
        mime = "text/plain"
    return Entry(ANY, url, mime=mime, content=body)

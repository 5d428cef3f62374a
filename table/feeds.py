"""Feeds of what moved: Atom (RFC 4287) and JSON Feed 1.1, in every language, for all changes, each GPU, each provider.

An event's id is made of its change's id, which the same two snapshots always give, so a reader that starts anew, or a
site that moves, shows each event once. A feed without news is written with the same bytes. What is shown is what
`gpufare changes` shows: small moves and those that came back are no events. Rows of providers that may not be passed on
are left out. Text of a provider is text: nothing here is markup.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from schemas.messages import languages
from schemas.providers import providers
from storage.filters import Filters
from storage.lake import Lake
from storage.news import changes
from storage.query import offers
from table.cells import safe, share
from table.exports import passed_on
from table.jsontext import dumps, iso
from table.offers import gpu_name, region_name
from table.site.pages import slug_of
from table.site.words import Words
from table.view import Row, rows_of

SPAN = timedelta(days=30)
MOST = 500
"""events of one feed, the newest"""
LONGEST = 200
"""characters of one text of a provider"""
FORMATS = ("atom", "json")
MEDIA = {"atom": "application/atom+xml", "json": "application/feed+json"}
ATOM = "http://www.w3.org/2005/Atom"
JSON_FEED = "https://jsonfeed.org/version/1.1"
EVENTS = uuid.uuid5(uuid.NAMESPACE_URL, "gpufare:change")
FEEDS = uuid.uuid5(uuid.NAMESPACE_URL, "gpufare:feed")
NO_XML = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}
"""characters that XML has no place for and no terminal minds"""
NEVER = datetime(1970, 1, 1, tzinfo=UTC)
"""when a feed without events was updated: a time of ours would be news to its readers"""
TOLD = (
    *("change_id", "provider", "offer_key", "observed_at", "previous_observed_at", "recorded_at", "kind", "cause"),
    *("column", "old", "new", "old_price", "new_price", "currency", "price_unit", "relative", "gpu", "form_factor"),
    *("gpu_count", "region", "country", "tier", "purchase", "usd_per_gpu_hour", "origin"),
)


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed in one language: which events it tells. `name` is its path below the language, without the ending."""

    name: str
    about: str | None
    events: Sequence[Row]


def path_of(language: str, name: str, format: str) -> str:
    """Where a feed lies below the site: `name` is `changes`, `gpu/h100` or `provider/lambda`."""
    return f"feeds/{language}/{name}.{format}"


def write(lake: Lake, folder: Path, *, now: datetime, base_url: str | None = None) -> list[str]:
    """Write every feed into the site's folder; the paths below it.

    now: the reader's time of the store (`Lake.clock`); events of the last SPAN are told. base_url: public address of
    the folder; without it no feed names its own address. Each file is replaced by one rename. Raises StoreError.
    """
    feeds, is_sample = list(read(lake, now)), lake.origin != "live"
    address = base_url.rstrip("/") if base_url else None
    written = []
    for language in languages():
        words = Words.of(language)
        for feed in feeds:
            for format, text in (("atom", atom), ("json", json_feed)):
                path = path_of(language, feed.name, format)
                _replace(folder / path, text(feed, words, is_sample=is_sample, base_url=address))
                written.append(path)
    return written


def read(lake: Lake, now: datetime) -> Iterator[Feed]:
    """The feeds and their events, newest first. A GPU or provider that is on offer has one, even without events."""
    table = offers(lake, Filters(purchase=(), serverless=True), now=now).table.select(["provider", "gpu"])
    on_offer = [row for row in table.group_by(["provider", "gpu"]).aggregate([]).to_pylist() if _is_open(row)]
    moved = [
        row for row in rows_of(changes(lake, Filters(purchase=()), since=now - SPAN, until=now).table) if _is_open(row)
    ]
    yield Feed("changes", None, moved[:MOST])
    for kind, column in (("gpu", "gpu"), ("provider", "provider")):
        by_name: dict[str, list[Row]] = {row[column]: [] for row in on_offer if row[column]}
        for row in moved:
            if row[column]:
                by_name.setdefault(row[column], []).append(row)
        for name in sorted(by_name):
            yield Feed(f"{kind}/{slug_of(name)}", _title_of(kind, name), by_name[name][:MOST])


def _is_open(row: Mapping[str, Any]) -> bool:
    return passed_on(providers().get(row["provider"]))


def _title_of(kind: str, name: str) -> str:
    known = providers().get(name) if kind == "provider" else None
    return known.title if known else name


def event_id(change_id: str) -> str:
    """The id of an event: the same wherever and however often it is told."""
    return uuid.uuid5(EVENTS, change_id).urn


def feed_id(feed: Feed, language: str, base_url: str | None) -> str:
    """The id of a feed of a site."""
    return uuid.uuid5(FEEDS, f"{base_url or ''} {language} {feed.name}").urn


def atom(feed: Feed, words: Words, *, is_sample: bool, base_url: str | None) -> str:
    """The feed as Atom."""
    Xml.register_namespace("", ATOM)
    root = Xml.Element(f"{{{ATOM}}}feed", {"{http://www.w3.org/XML/1998/namespace}lang": words.language})
    newest = max((row["recorded_at"] for row in feed.events), default=NEVER)
    head = (
        ("id", feed_id(feed, words.language, base_url)),
        ("title", heading(feed, words, is_sample)),
        ("subtitle", about(words, is_sample)),
        ("updated", iso(newest)),
    )
    _elements(root, head)
    Xml.SubElement(Xml.SubElement(root, f"{{{ATOM}}}author"), f"{{{ATOM}}}name").text = "gpufare"
    if base_url:
        for rel, format, place in (
            ("self", "atom", path_of(words.language, feed.name, "atom")),
            ("alternate", None, ""),
        ):
            kind = {"type": MEDIA[format]} if format else {}
            Xml.SubElement(root, f"{{{ATOM}}}link", {"rel": rel, "href": f"{base_url}/{place}", **kind})
    for row in feed.events:
        entry = Xml.SubElement(root, f"{{{ATOM}}}entry")
        told = (
            ("id", event_id(row["change_id"])),
            ("title", title(row, words, is_sample)),
            ("published", iso(row["observed_at"])),
            ("updated", iso(row["recorded_at"])),
            ("content", "\n".join(lines(row, words, is_sample))),
        )
        _elements(entry, told)
        for term in (row["kind"], row["cause"], row["provider"]):
            Xml.SubElement(entry, f"{{{ATOM}}}category", {"term": safe(term)})
        if base_url:
            Xml.SubElement(entry, f"{{{ATOM}}}link", {"rel": "alternate", "href": f"{base_url}/"})
    Xml.indent(root)
    return Xml.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _elements(parent: Xml.Element, texts: Iterable[tuple[str, str]]) -> None:
    for name, text in texts:
        kind = {"type": "text"} if name in {"title", "subtitle", "content"} else {}
        Xml.SubElement(parent, f"{{{ATOM}}}{name}", kind).text = text


def json_feed(feed: Feed, words: Words, *, is_sample: bool, base_url: str | None) -> str:
    """The feed as JSON Feed; `_gpufare` of an item holds the change's own columns."""
    place = path_of(words.language, feed.name, "json")
    addresses = {"home_page_url": f"{base_url}/", "feed_url": f"{base_url}/{place}"} if base_url else {}
    items = [
        {
            "id": event_id(row["change_id"]),
            **({"url": f"{base_url}/"} if base_url else {}),
            "title": title(row, words, is_sample),
            "content_text": "\n".join(lines(row, words, is_sample)),
            "date_published": iso(row["observed_at"]),
            "date_modified": iso(row["recorded_at"]),
            "tags": [row["kind"], row["cause"], safe(row["provider"])],
            "_gpufare": {name: row[name] for name in TOLD},
        }
        for row in feed.events
    ]
    whole = {
        "version": JSON_FEED,
        "title": heading(feed, words, is_sample),
        **addresses,
        "description": about(words, is_sample),
        "language": words.language,
        "authors": [{"name": "gpufare"}],
        "items": items,
    }
    return dumps(whole) + "\n"


def heading(feed: Feed, words: Words, is_sample: bool) -> str:
    """The title of a feed."""
    say = words.messages.say
    return _marked(say("feed.title_of", name=safe(feed.about)) if feed.about else say("feed.title"), words, is_sample)


def about(words: Words, is_sample: bool) -> str:
    """What a feed tells and what it leaves out."""
    say = words.messages.say
    return f"{say('feed.sample')} {say('feed.about')}" if is_sample else say("feed.about")


def title(row: Row, words: Words, is_sample: bool) -> str:
    """An event in one line: what it is about, what became of it."""
    say, what = words.messages.say, ", ".join(_about(row, words))
    change = words.t(f"change.{row['kind']}")
    if row["old_price"] is not None and row["new_price"] is not None and row["column"] == "price":
        old, new = (f"{words.price(row[name])} {row['currency']}" for name in ("old_price", "new_price"))
        told = say("feed.price", what=what, change=change, old=old, new=new, unit=safe(row["price_unit"] or "?"))
        told += f" ({words.percent(row['relative'])})" if row["relative"] is not None else ""
    elif row["kind"] == "changed" and row["column"]:
        column = words.messages.texts.get(f"site.col.{row['column']}", row["column"])
        told = say("feed.column", what=what, column=column, old=_cut(row["old"]), new=_cut(row["new"]))
    else:
        told = say("feed.plain", what=what, change=change)
    return _marked(told, words, is_sample)


def lines(row: Row, words: Words, is_sample: bool) -> Iterator[str]:
    """What stands below the title of an event."""
    say = words.messages.say
    if is_sample:
        yield say("feed.sample")
    yield say("feed.seen", at=row["observed_at"], before=row["previous_observed_at"])
    yield say("feed.cause", cause=words.t(f"cause.{row['cause']}"))
    if row["usd_per_gpu_hour"] is not None:
        yield say("feed.price_now", price=words.price(row["usd_per_gpu_hour"]))
    yield say("feed.offer", id=_cut(row["offer_key"]))


def _about(row: Row, words: Words) -> Iterator[str]:
    """What tells an offer from others, unknown parts left out."""
    count = row["gpu_count"]
    yield _cut(gpu_name(row)) + (f" ×{share(count)}" if count is not None else "")
    known = providers().get(row["provider"])
    yield _cut(known.title if known else row["provider"])
    if row["region"] or row["country"]:
        yield _cut(region_name(row))
    if row["tier"]:
        yield _cut(row["tier"])
    if row["purchase"]:
        yield words.t(f"purchase.{row['purchase']}")


def _marked(text: str, words: Words, is_sample: bool) -> str:
    return words.messages.say("feed.sample_title", title=text) if is_sample else text


def _cut(text: str | None) -> str:
    """A provider's text, harmless to readers and to XML, and not too long; unknown is `?`."""
    shown = "?" if text is None else safe(text).translate(NO_XML)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)

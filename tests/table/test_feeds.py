"""The feeds as their readers take them: ids, times, languages, hostile text, and what a reader sees who comes again."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import feedparser
import pytest

from schemas.change import Change
from schemas.offer import Offer
from schemas.record import to_arrow
from schemas.scrape import Scrape
from storage.lake import Lake
from table import feeds
from table.feeds import MOST, path_of

FIRST = datetime(2026, 11, 28, 2, tzinfo=UTC)
BASE = "https://prices.example/gpu"
HOSTILE = "<script>alert(1)</script> & \u202e\x1b[31m\x00\uffff ]]> " + "x" * 10_000
Night = Callable[..., None]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake.open(tmp_path / "data", origin="recording", create=True)


def night(lake: Lake, provider: str, number: int, *moved: Mapping[str, Any]) -> None:
    """One more night of a provider: an H100 on offer, and the changes given."""
    at, before = FIRST + timedelta(days=number), FIRST + timedelta(days=number - 1)
    scrape_id, previous = (f"{when:%Y%m%dT%H%M%SZ}-{provider}" for when in (at, before))
    known = {"provider": provider, "observed_at": at, "scrape_id": scrape_id, "origin": lake.origin, "gpu": "H100"}
    price = {"price": Decimal(2), "currency": "USD", "price_unit": "instance-hour", "usd_per_gpu_hour": Decimal(2)}
    row = Offer(
        **known, **price, offer_key=f"{provider}:h100", purchase="on_demand", availability="available", gpu_count=1.0
    )
    changes = [
        Change(
            **{
                **known, "change_id": f"{scrape_id}-{index}", "offer_key": f"{provider}:h100",
                "previous_observed_at": before, "recorded_at": at + timedelta(minutes=1),
                "previous_scrape_id": previous, "kind": "added", "cause": "market", "form_factor": "SXM",
                "gpu_count": 8.0, "purchase": "on_demand", "region": "us-east-1", **one,
            }
        )
        for index, one in enumerate(moved)
    ]  # fmt: skip
    scrape = Scrape(
        scrape_id=scrape_id, provider=provider, observed_at=at, recorded_at=at + timedelta(minutes=1),
        origin=lake.origin, verdict="accepted", offers=1, rejects=0, withheld=0, schema_version=1,
    )  # fmt: skip
    lake.commit(scrape, to_arrow([row], Offer), to_arrow(changes, Change) if changes else None)


def moved(old: str, new: str, **more: Any) -> dict[str, Any]:
    """A price that moved."""
    kind = "price_up" if Decimal(new) > Decimal(old) else "price_down"
    return {
        "kind": kind, "column": "price", "old": old, "new": new, "old_price": Decimal(old), "new_price": Decimal(new),
        "currency": "USD", "price_unit": "instance-hour", "relative": float(Decimal(new) / Decimal(old) - 1), **more,
    }  # fmt: skip


def written(lake: Lake, folder: Path, days: float = 3, base_url: str | None = BASE) -> list[str]:
    return feeds.write(lake, folder, now=FIRST + timedelta(days=days), base_url=base_url)


def atom(folder: Path, name: str, language: str = "en") -> Any:
    found = feedparser.parse((folder / path_of(language, name, "atom")).read_bytes())
    assert not found.bozo, found.get("bozo_exception")
    assert found.version == "atom10"
    return found


def json_feed(folder: Path, name: str, language: str = "en") -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / path_of(language, name, "json")).read_text())
    return found


def refuse_what_json_feed_forbids(feed: dict[str, Any]) -> None:
    """The rules of JSON Feed 1.1 as far as they can be held against one document."""
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert isinstance(feed["title"], str)
    assert feed["title"]
    assert all(urlsplit(feed[name]).scheme == "https" for name in ("home_page_url", "feed_url") if name in feed)
    assert all(author.keys() & {"name", "url", "avatar"} for author in feed["authors"])
    assert re.fullmatch(r"[a-z]{2}", feed["language"])
    ids = [item["id"] for item in feed["items"]]
    assert all(isinstance(one, str) and one for one in ids)
    assert len(set(ids)) == len(ids)
    for item in feed["items"]:
        assert isinstance(item["content_text"], str)
        assert item["content_text"]
        assert "content_html" not in item
        for name in ("date_published", "date_modified"):
            assert datetime.fromisoformat(item[name]).tzinfo is not None
        assert all(isinstance(tag, str) for tag in item["tags"])
        assert isinstance(item["_gpufare"], dict)  # what is not of the standard stands under an underscore


def test_C10_for_all_each_gpu_and_each_provider_in_both_languages(lake: Lake, tmp_path: Path) -> None:
    night(lake, "lambda", 1, moved("16", "13.2544"), {"kind": "removed"})
    night(lake, "nebius", 1, {"kind": "sold_out", "gpu": "A100", "column": "availability"})
    night(lake, "crusoe", 1)
    paths = written(lake, tmp_path)
    names = {"changes", "gpu/h100", "gpu/a100", "provider/lambda", "provider/nebius", "provider/crusoe"}
    assert set(paths) == {path_of(to, name, how) for to in ("en", "vi") for name in names for how in ("atom", "json")}
    assert all((tmp_path / path).is_file() for path in paths)
    for name, events in (
        ("changes", 3),
        ("gpu/h100", 2),
        ("gpu/a100", 1),
        ("provider/lambda", 2),
        ("provider/crusoe", 0),
    ):
        for language in ("en", "vi"):
            found, told = atom(tmp_path, name, language), json_feed(tmp_path, name, language)
            refuse_what_json_feed_forbids(told)
            assert len(found.entries) == len(told["items"]) == events
            assert [entry.id for entry in found.entries] == [item["id"] for item in told["items"]]
            assert [entry.title for entry in found.entries] == [item["title"] for item in told["items"]]
            assert found.feed.language == told["language"] == language
            assert told["feed_url"] == f"{BASE}/{path_of(language, name, 'json')}"
            (own,) = [link.href for link in found.feed.links if link.rel == "self"]
            assert own == f"{BASE}/{path_of(language, name, 'atom')}"


def test_C10_an_event_says_what_moved_in_the_language_of_the_feed(lake: Lake, tmp_path: Path) -> None:
    night(lake, "lambda", 1, moved("16", "13.2544"))
    written(lake, tmp_path)
    (english,), (vietnamese,) = (atom(tmp_path, "changes", language).entries for language in ("en", "vi"))
    assert english.title == (
        "SAMPLE: H100 SXM ×8, Lambda, us-east-1, on demand: cheaper, 16.00 USD → 13.2544 USD (instance-hour) (-17.2%)"
    )
    assert vietnamese.title == (
        "DỮ LIỆU MẪU: H100 SXM ×8, Lambda, us-east-1, theo nhu cầu: giảm giá, 16,00 USD → 13,2544 USD (instance-hour)"
        " (-17,2%)"
    )
    assert english.id == vietnamese.id
    assert (english.published, english.updated) == ("2026-11-29T02:00:00Z", "2026-11-29T02:01:00Z")
    assert {tag.term for tag in english.tags} == {"price_down", "market", "lambda"}
    (item,) = json_feed(tmp_path, "changes")["items"]
    assert (item["_gpufare"]["old_price"], item["_gpufare"]["new_price"]) == (16, 13.2544)
    assert item["_gpufare"]["change_id"] == "20261129T020000Z-lambda-0"


def test_C10_a_sample_says_so_and_a_live_store_does_not(lake: Lake, tmp_path: Path) -> None:
    live = Lake.open(tmp_path / "live", origin="live", create=True)
    for store, name in ((lake, "sample"), (live, "market")):
        night(store, "lambda", 1, moved("3", "2"))
        written(store, tmp_path / name)
    for language, word in (("en", "SAMPLE"), ("vi", "DỮ LIỆU MẪU")):
        for name in ("changes", "gpu/h100", "provider/lambda"):
            sample, market = (atom(tmp_path / where, name, language) for where in ("sample", "market"))
            for text in (sample.feed.title, sample.feed.subtitle, sample.entries[0].title, sample.entries[0].summary):
                assert text.startswith(word)
            assert word not in (tmp_path / "market" / path_of(language, name, "atom")).read_text()
            assert len(market.entries) == 1
            assert json_feed(tmp_path / "sample", name, language)["title"].startswith(word)
            assert word not in (tmp_path / "market" / path_of(language, name, "json")).read_text()


def test_C9_a_reader_that_starts_anew_sees_each_event_once(lake: Lake, tmp_path: Path) -> None:
    seen: dict[str, str] = {}
    told: list[str] = []

    def read() -> None:
        """A reader remembers ids, as all of them do, and nothing else."""
        for entry in atom(tmp_path, "changes").entries:
            if entry.id not in seen:
                told.append(entry.title)
            seen[entry.id] = entry.title

    night(lake, "lambda", 1, moved("3", "2"))
    written(lake, tmp_path)
    read()
    read()
    night(lake, "lambda", 2, moved("2", "1.5"))
    night(lake, "nebius", 2, {"kind": "added"})
    written(lake, tmp_path)
    read()
    written(Lake.open(lake.path), tmp_path, base_url="https://moved.example")  # another process, another address
    read()
    assert len(told) == len(set(told)) == 3


def test_C9_without_news_a_feed_is_the_same_file(lake: Lake, tmp_path: Path) -> None:
    night(lake, "lambda", 1, moved("3", "2"))
    paths = written(lake, tmp_path, days=3)
    before = {path: (tmp_path / path).read_bytes() for path in paths}
    assert written(lake, tmp_path, days=4) == paths
    assert {path: (tmp_path / path).read_bytes() for path in paths} == before
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]


def test_C8_small_moves_and_those_that_came_back_are_no_events(lake: Lake, tmp_path: Path) -> None:
    night(lake, "lambda", 1, moved("100", "100.5"), moved("3", "2", offer_key="lambda:flaps"))
    night(lake, "lambda", 2, moved("2", "3", offer_key="lambda:flaps"), moved("4", "5", offer_key="lambda:stays"))
    written(lake, tmp_path, days=3)
    (item,) = json_feed(tmp_path, "changes")["items"]
    assert item["_gpufare"]["offer_key"] == "lambda:stays"


def test_C10_text_of_a_provider_is_text(lake: Lake, tmp_path: Path) -> None:
    words = {"gpu": None, "accelerator_raw": HOSTILE, "region": HOSTILE, "tier": HOSTILE}
    night(lake, "lambda", 1, {"kind": "changed", "column": "tier", "old": HOSTILE, "new": None, **words})
    written(lake, tmp_path)
    (entry,), (item,) = atom(tmp_path, "changes").entries, json_feed(tmp_path, "changes")["items"]
    assert entry.title_detail.type == "text/plain"
    assert entry.content[0].type == "text/plain"
    assert "<script>alert(1)</script> & \\u202e\\x1b[31m\\x00\\uffff ]]>" in item["title"]
    assert entry.title == item["title"]
    assert len(item["title"]) < 1200
    raw = (tmp_path / path_of("en", "changes", "atom")).read_text()
    assert "<script" not in raw
    assert "\u202e" not in raw + (tmp_path / path_of("en", "changes", "json")).read_text()


def test_rows_that_may_not_be_passed_on_are_in_no_feed(lake: Lake, tmp_path: Path) -> None:
    night(lake, "vast", 1, moved("3", "2"))
    night(lake, "lambda", 1, moved("3", "2"))
    paths = written(lake, tmp_path)
    assert not [path for path in paths if "vast" in path]
    assert [item["_gpufare"]["provider"] for item in json_feed(tmp_path, "gpu/h100")["items"]] == ["lambda"]


def test_old_and_many_events_are_cut_newest_first(lake: Lake, tmp_path: Path) -> None:
    night(lake, "lambda", -40, moved("3", "2"))
    night(lake, "lambda", 1, *({"kind": "added", "offer_key": f"lambda:{i:04}"} for i in range(MOST + 5)))
    night(lake, "lambda", 2, moved("3", "2"))
    written(lake, tmp_path)
    items = json_feed(tmp_path, "changes")["items"]
    assert len(items) == MOST
    assert items[0]["_gpufare"]["kind"] == "price_down"
    assert min(item["date_published"] for item in items) == "2026-11-29T02:00:00Z"


def test_an_empty_store_has_feeds_that_validate(lake: Lake, tmp_path: Path) -> None:
    assert written(lake, tmp_path, base_url=None) == [
        path_of(language, "changes", format) for language in ("en", "vi") for format in ("atom", "json")
    ]
    found, told = atom(tmp_path, "changes"), json_feed(tmp_path, "changes")
    refuse_what_json_feed_forbids(told)
    assert (found.entries, told["items"]) == ([], [])
    assert "feed_url" not in told
    assert found.feed.id.startswith("urn:uuid:")

"""The site as files: whole or not at all, what is in it and what is not, charts, numbers, words."""

from __future__ import annotations

import hashlib
import html
import itertools
import json
import re
import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from schemas.messages import languages, messages
from schemas.providers import providers
from storage.lake import Lake
from table.exports import NotOurs
from table.site import build
from table.site.charts import Line, nice_ticks, step_chart
from table.site.columns import encoded, script
from table.site.content import Point
from table.site.figures import spans, steps
from table.site.words import Words, link

from .conftest import HOSTILE, LAST, LONG, store

NOW = LAST + timedelta(hours=1)


def live(site: Path) -> Path:
    """Folder of the version that the pointer names."""
    return site / json.loads((site / "latest.json").read_text())["path"]


def test_B24_the_manifest_lists_every_file_with_its_sha256(site: Path) -> None:
    version = live(site)
    manifest = json.loads((version / "manifest.json").read_text())
    listed = {file["path"]: file for file in manifest["files"]}
    there = {path.relative_to(version).as_posix() for path in version.rglob("*") if path.is_file()}
    assert set(listed) == there - {"manifest.json"}
    for name, file in listed.items():
        data = (version / name).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (file["bytes"], file["sha256"])


def test_B28_licence_and_terms_stand_in_the_manifest_and_rows_that_may_not_be_passed_on_nowhere(site: Path) -> None:
    version = live(site)
    manifest = json.loads((version / "manifest.json").read_text())
    assert manifest["licence"]["name"] == "CC BY 4.0"
    assert [source["provider"] for source in manifest["sources"]] == ["hyperstack", "lambda", "nebius"]
    assert [(left["provider"], left["rows"]) for left in manifest["left_out"]] == [("vast", 18)]
    assert manifest["left_out"][0]["terms_note"] == providers()["vast"].terms_note
    for path in (version / "data").rglob("*.*"):
        if path.suffix == ".parquet":
            sellers = duckdb.sql(f"SELECT DISTINCT provider FROM '{path}'").fetchall()
            assert ("vast",) not in sellers
        else:
            assert "vast:" not in path.read_text(), path
    assert "vast" in (version / "en" / "data.html").read_text()


def test_C23_latest_and_days_are_there_as_parquet_csv_and_json(site: Path) -> None:
    data = live(site) / "data"
    rows = json.loads((data / "offers.json").read_text())["rows"]
    ((count,),) = duckdb.sql(f"SELECT count(*) FROM '{data / 'offers.parquet'}'").fetchall()
    assert len(rows) == count == 3 * 18 + 4
    assert {row["notice"] for row in rows} == {"SAMPLE, not market prices"}
    assert (data / "offers.csv").read_text().splitlines()[0].startswith("provider,offer_key,")
    assert sorted(path.stem for path in (data / "days").iterdir()) == [f"2026-11-{day}" for day in range(24, 31)]
    assert "data/offers.json" in (live(site) / "llms.txt").read_text()


def test_every_page_says_in_both_languages_that_a_sample_is_one(site: Path) -> None:
    told = [messages(language).say("site.sample") for language in languages()]
    pages = list(live(site).rglob("*.html"))
    assert len(pages) > 2 * (len(providers()) + 5)
    for page in [*pages, site / "index.html"]:
        text = page.read_text()
        assert all(word in text for word in told), page


def test_B17_the_status_page_has_a_bar_of_90_days_for_each_provider_that_was_asked(site: Path) -> None:
    page = (live(site) / "en" / "status.html").read_text()
    bars = re.findall(r'<svg class="health".*?</svg>', page)
    assert len(bars) == 4
    assert [bar.count("<rect") - 1 for bar in bars].count(10) == 4
    assert all('viewBox="0 0 360 20"' in bar for bar in bars)
    assert sum(bar.count('class="day-failed"') for bar in bars) == 1
    assert "2026-11-26: failed (TimedOut)" in page


def test_no_page_names_a_foreign_host_but_as_a_link_and_none_has_inline_script(site: Path) -> None:
    for page in live(site).rglob("*.html"):
        text = page.read_text()
        assert not re.search(r'<(script|link|img|iframe|object)[^>]*(src|href)="(https?:)?//', text), page
        assert not re.search(r"<script(?![^>]*\b(src|type=\"application/json\"))", text), page
        assert not re.search(r"<[^>]+\son\w+=", text), page
        assert "style=" not in text, page
        assert "script-src 'self'" in html.unescape(text)


def test_hostile_text_is_text_in_every_file(site: Path) -> None:
    for page in live(site).rglob("*.html"):
        text = page.read_text()
        assert HOSTILE not in text, page
        assert "\u202e" not in text, page
        assert 'href="javascript:' not in text, page
        assert LONG not in text, page
    assert "</script" not in (live(site) / "data" / "offers.js").read_text()


@pytest.mark.slow
def test_B23_an_interrupted_publish_leaves_the_former_version_live(tmp_path: Path) -> None:
    store(tmp_path / "store")
    folder = tmp_path / "site"
    command = [sys.executable, "-m", "gpufare", "--data", str(tmp_path / "store"), "publish", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    before = (folder / "index.html").read_text(), (folder / "latest.json").read_text()
    versions = set((folder / "v").iterdir())
    steps = ("reading the store", "writing data", "writing pages: en", "writing pages: vi")
    for step in steps:  # killed where it says what it begins with
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
            for line in process.stderr:
                if line.strip() == step:
                    process.kill()
                    break
        assert ((folder / "index.html").read_text(), (folder / "latest.json").read_text()) == before
        assert {path for path in (folder / "v").iterdir() if not path.name.startswith(".")} == versions
        assert live(folder) in versions
    subprocess.run(command, check=True, capture_output=True)
    assert live(folder) not in versions


def test_old_versions_are_swept_and_strange_folders_left_alone(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "store", origin="live", create=True)
    for hour in range(5):
        build.publish(lake, tmp_path / "s", now=NOW, made_at=LAST + timedelta(hours=hour // 2))
    names = sorted(path.name for path in (tmp_path / "s" / "v").iterdir())
    assert names == ["20261130T030000Z", "20261130T030000Z-2", "20261130T040000Z"]
    assert live(tmp_path / "s").name == names[-1]
    strange = tmp_path / "home"
    strange.mkdir()
    (strange / "letter.txt").write_text("dear")
    with pytest.raises(NotOurs, match="is no site of gpufare"):
        build.publish(lake, strange, now=NOW, made_at=NOW)
    assert [path.name for path in strange.iterdir()] == ["letter.txt"]


def test_an_empty_store_gives_a_page_that_says_what_to_run(tmp_path: Path) -> None:
    lake = Lake.open(tmp_path / "store", origin="live", create=True)
    result = build.publish(lake, tmp_path / "site", now=NOW, made_at=NOW)
    for language in languages():
        page = (result.folder / language / "index.html").read_text()
        assert "gpufare refresh" in page
        assert messages(language).say("site.sample") not in page


def test_A33_each_language_has_the_same_keys_and_every_key_of_the_templates(site: Path) -> None:
    keys = [set(messages(language).topic("site")) for language in languages()]
    assert keys[0] == keys[1]
    asked = {
        key
        for path in Path(build.__file__).parent.glob("templates/*.html")
        for key in re.findall(r"""\bt\(["']([\w.]+)["'](?! ~)[,)]""", path.read_text())
    }
    assert asked - keys[0] == set()


@pytest.mark.parametrize("language", ["en", "vi"])
def test_A33_numbers_and_days_follow_the_language(language: str) -> None:
    words = Words.of(language)
    expected = {"en": ("1,234.50", "0.0041", "2026-11-30"), "vi": ("1.234,50", "0,0041", "30/11/2026")}[language]
    assert (words.price(Decimal("1234.5")), words.price(Decimal("0.0041")), words.day(date(2026, 11, 30))) == expected
    assert words.price(None) == "?"


def test_prose_is_text_but_for_its_own_markdown() -> None:
    words = Words.of("en")
    assert "<h2>Begin with memory</h2>" in words.prose("guide.memory")
    assert "<script" not in words._markdown.render("<script>alert(1)</script>")


@pytest.mark.parametrize(
    "text", ["javascript:alert(1)", "data:text/html,x", "//evil.example", "https://a b", "ftp://x", "https://", None]
)
def test_only_addresses_of_the_web_become_links(text: str | None) -> None:
    assert link(text) is None
    assert link("https://lambda.ai/pricing") == "https://lambda.ai/pricing"


def test_columns_are_read_back_as_they_were_and_end_no_script() -> None:
    values = [Decimal("1.50"), None, "</script><b>", "</script><b>", 0]
    column = encoded(values)
    assert [([None, *column["d"]])[number] for number in column["i"]] == values
    text = script("X", column)
    assert "</" not in text
    told = json.loads(text.removeprefix("window.X=JSON.parse(").removesuffix(");\n"))
    assert json.loads(told)["d"] == [1.5, "</script><b>", 0]


def points(*prices: tuple[int, str | None, str]) -> list[Point]:
    return [
        Point(date(2026, 11, day), None if price is None else Decimal(price), None, state, "lambda", 1)
        for day, price, state in prices
    ]


def test_C4_carried_days_are_dashed_and_missing_days_are_open() -> None:
    told = points(
        (1, "1", "observed"), (2, "2", "observed"), (3, "2", "carried"), (4, None, "missing"), (5, "1", "observed")
    )
    line = Line("lowest", [(point.day, point.lowest, point.state) for point in told])
    chart = step_chart([line], date(2026, 11, 1), date(2026, 11, 5), title="t", number="{:g}".format, day=str)
    assert chart is not None
    paths = re.findall(r'<path class="([\w ]+)" d="([^"]+)"', chart)
    assert [style for style, _ in paths] == ["lowest", "lowest carried", "lowest"]
    solid, dashed, after = (re.findall(r"[MHV][\d. ]+", path) for _, path in paths)
    width = (720 - 56 - 12) / 5
    assert solid[0].startswith("M56.0")
    assert solid[-1] == f"H{56 + 2 * width:.1f}"
    assert dashed[0].startswith(f"M{56 + 2 * width:.1f}")
    assert dashed[-1] == f"H{56 + 3 * width:.1f}"
    assert after[0].startswith(f"M{56 + 4 * width:.1f}"), "day 4 is open"
    assert step_chart([line], date(2026, 12, 1), date(2026, 12, 5), title="t", number=str, day=str) is None


@pytest.mark.parametrize(("low", "high"), [(0.3, 0.31), (1, 1), (0.0041, 12.5), (2.0, 40.0)])
def test_ticks_are_round_and_hold_all_prices(low: float, high: float) -> None:
    ticks = nice_ticks(low, high)
    assert ticks[0] <= low <= high <= ticks[-1]
    assert 2 <= len(ticks) <= 8
    assert len({round(b - a, 9) for a, b in itertools.pairwise(ticks)}) == 1


def test_spans_and_steps_of_a_series() -> None:
    told = points((1, "5", "observed"), (29, "2", "observed"), (30, "3", "observed"))
    month, quarter, year = spans(told, date(2026, 11, 30))
    assert (month.lowest, month.median, month.priced) == (Decimal(2), Decimal("3"), 3)
    assert spans(told, date(2026, 12, 1))[0].median == Decimal("2.5"), "the first of November is 31 days away"
    assert (quarter.lowest, year.lowest) == (Decimal(2), Decimal(2))
    same = points((1, "5", "observed"), (2, "5", "observed"), (3, "5", "carried"), (4, "4", "observed"))
    assert [point.day.day for point in steps(same)] == [4, 3, 1]

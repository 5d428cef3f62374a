"""The site in a real Chromium, from a loopback server: one browser and one published store for all of this file."""

from __future__ import annotations

import csv
import functools
import http.server
import io
import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from spiders.shared.browser import MISSING, chromium

from .conftest import HOSTILE, LONG

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason=MISSING),
]
PRICES = {  # USD per GPU-hour on demand, of one lambda H100 SXM: 3.00
    "gpu": "3.00",
    "instance": "3.00",
    "gib": "0.0375",
    "month": "2,190.00",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def root(site: Path) -> Iterator[str]:
    """Address of the site's folder."""
    handler = functools.partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


@pytest.fixture(scope="module")
def version(site: Path, root: str) -> str:
    """Address of the live version's folder."""
    return root + json.loads((site / "latest.json").read_text())["path"]


@pytest.fixture
def faults() -> Iterator[list[str]]:
    """What a page complained of or asked of a foreign host; nothing, or the test fails."""
    found: list[str] = []
    yield found
    assert found == []


@pytest.fixture
def fresh(browser: Any, faults: list[str], root: str) -> Iterator[Any]:
    """Opens a page in a browser that knows nothing yet."""
    contexts = []

    def open_page(address: str, **wishes: Any) -> Any:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | wishes))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: message.type in ("error", "warning") and faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append("a dialog opened"), dialog.dismiss()))
        page.on("request", lambda r: r.url.startswith((root, "data:", "blob:", "file:")) or faults.append(r.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()


def column(page: Any, name: str) -> list[str]:
    """The texts of a column, top to bottom."""
    heads = page.locator("#offers thead th").evaluate_all("all => all.map(one => one.dataset.column)")
    cells = page.locator(f"#offers tbody tr > :nth-child({heads.index(name) + 1})")
    texts: list[str] = cells.all_inner_texts()
    return texts


def count(page: Any) -> int:
    """How many offers match, as the page says."""
    return int(re.match(r"[\d.,]+", page.inner_text("#told"))[0].replace(",", ""))  # type: ignore[index]


def test_A34_the_table_opens_from_the_root_and_from_a_folder_without_a_server(
    fresh: Any, site: Path, root: str
) -> None:
    page = fresh(root)
    page.wait_for_selector("#offers tbody tr")
    assert "/en/index.html" in page.url
    assert count(page) == 3 * 12 + 4  # on demand is the default
    assert "/vi/index.html" in fresh(root, locale="vi-VN").url
    page = fresh((site / "index.html").as_uri())
    page.wait_for_selector("#offers tbody tr")
    page.fill("[name=gpu]", "L4")
    assert count(page) == 6
    assert "gpu=L4" in page.url


@pytest.mark.parametrize(
    ("field", "text", "wanted"),
    [
        ("vram", ">=24", 30), ("vram", "20..40", 12), ("vram", "<24", 6), ("vram", "80", 18), ("vram", "..24", 18),
        ("price", "<3 && >1", 14), ("price", "<=3 && >1", 16), ("count", "8", 18), ("count", "2..", 18),
        ("gpu", "h100", 12), ("gpu", "H100-SXM", 6), ("gpu", "rtx4090", 6), ("gpu", "4090", 6), ("gpu", "H100:8", 6),
        ("gpu", "h100:8, l4", 12), ("provider", "lambda", 12), ("provider", "lambda,nebius", 24),
        ("country", "Finland", 12), ("country", "us, FI", 24), ("region", "us-east", 12),
        ("interconnect", "nvlink", 12), ("total_vram", ">=640", 9), ("ram", "<=64", 18), ("billing", "<=60", 40),
    ],
)  # fmt: skip
def test_A31_typed_filters(shared: Any, field: str, text: str, wanted: int) -> None:
    shared.fill(f"[name={field}]", text, force=True)
    assert count(shared) == wanted
    assert shared.inner_text("#fault") == ""
    assert shared.get_attribute(f"[name={field}]", "aria-invalid") in ("false", None)


@pytest.fixture(scope="module")
def shared_page(browser: Any, version: str) -> Iterator[Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(version + "en/index.html")
    page.click("#more summary")
    yield page
    page.close()


@pytest.fixture
def shared(shared_page: Any) -> Any:
    """One open page with no filter set, for many questions."""
    shared_page.click("button[type=reset]")
    return shared_page


@pytest.mark.parametrize("text", [">=", "abc", "1...3", "..", "3 && ", "5 6"])
def test_a_filter_that_cannot_be_read_is_named_and_not_heeded(shared: Any, text: str) -> None:
    shared.fill("[name=vram]", text)
    assert count(shared) == 40
    assert "VRAM (GiB)" in shared.inner_text("#fault")
    assert shared.get_attribute("[name=vram]", "aria-invalid") == "true"


def test_A29_stock_purchase_precision_and_kinds(shared: Any) -> None:
    shared.select_option("[name=stock]", "in_stock")
    assert set(column(shared, "availability")) == {"in stock", "limited"}
    shared.select_option("[name=stock]", "sold_out")
    assert set(column(shared, "availability")) == {"sold out"}
    shared.select_option("[name=stock]", "")
    shared.check("[name=purchase][value=spot]")
    assert count(shared) == 40 + 18
    shared.uncheck("[name=purchase][value=on_demand]")
    assert set(column(shared, "purchase")) == {"spot"}
    shared.uncheck("[name=purchase][value=spot]")
    assert count(shared) == 40 + 18, "none chosen is any"
    shared.select_option("[name=precision]", "fp8")
    assert {name.split()[0] for name in column(shared, "gpu")} == {"H100", "RTX", "L4"}
    shared.select_option("[name=segment]", "hyperscaler")
    assert count(shared) == 0
    assert "No offer matches" in shared.inner_text("#offers tbody")


def test_rows_are_sorted_and_unknown_comes_last(shared: Any) -> None:
    prices = [float(text) for text in column(shared, "price")]
    assert prices == sorted(prices)
    shared.click('#offers th[data-column="vram_gib"] button')
    assert column(shared, "vram_gib")[:3] == ["16"] * 3
    assert column(shared, "vram_gib")[-4:] == ["?"] * 4
    shared.click('#offers th[data-column="vram_gib"] button')
    assert column(shared, "vram_gib")[0] == "80"
    assert column(shared, "vram_gib")[-1] == "?"
    assert shared.get_attribute('#offers th[data-column="vram_gib"]', "aria-sort") == "descending"


def test_A32_unit_changes_numbers_and_heading_together(shared: Any) -> None:
    shared.fill("[name=gpu]", "H100-SXM")
    shared.fill("[name=provider]", "lambda")
    shared.fill("[name=count]", "1")
    for unit, heading in (("gpu", "USD/GPU-h"), ("instance", "USD/h"), ("gib", "USD/GiB-h"), ("month", "USD/month")):
        shared.select_option("[name=unit]", unit)
        assert column(shared, "price") == [PRICES[unit]]
        assert shared.inner_text('#offers th[data-column="price"] button') == heading
    shared.fill("[name=count]", "8")
    shared.select_option("[name=unit]", "instance")
    assert column(shared, "price") == ["24.00"]
    shared.fill("[name=count]", "")
    shared.fill("[name=price]", ">20")
    assert column(shared, "price") == ["24.00"], "the filter is of the unit that is shown"


def test_A28_currency_by_the_dated_rate(shared: Any) -> None:
    shared.fill("[name=gpu]", "H100-SXM:1")
    shared.fill("[name=provider]", "lambda")
    shared.select_option("[name=currency]", "EUR")
    assert column(shared, "price") == ["2.40"]
    assert shared.inner_text("#rate") == "1 USD = 0.8 EUR (ecb, Nov 29, 2026)"
    shared.select_option("[name=currency]", "VND")
    assert column(shared, "price") == ["78,000"]
    assert shared.inner_text('#offers th[data-column="price"] button') == "VND/GPU-h"
    assert "vietcombank" in shared.inner_text("#rate")


def test_A35_badge_against_the_median_and_the_low_only_where_there_are_seven_observations(shared: Any) -> None:
    shared.fill("[name=gpu]", "H100-SXM:1")
    assert column(shared, "trend") == ["-9.1%, 90-day low"] * 3  # 1 / 1.1, the median of ten nights
    shared.fill("[name=gpu]", "")
    shared.fill("[name=price]", "9")
    assert column(shared, "trend") == [""] * 4


def test_ages_and_stock_are_told_in_words(shared: Any) -> None:
    assert set(column(shared, "age")) == {"1h"}
    assert {"in stock", "limited", "sold out", "unknown"} == set(column(shared, "availability"))


def test_grouped_by_gpu(shared: Any) -> None:
    shared.select_option("[name=group]", "gpu")
    shared.fill("[name=gpu]", "h100")
    assert column(shared, "gpu") == ["H100 PCIe", "H100 SXM"]
    assert column(shared, "price") == ["2.16", "2.70"]
    assert column(shared, "median") == ["2.40", "3.00"]
    assert column(shared, "offers") == ["6", "6"]
    assert column(shared, "providers") == ["3", "3"]


def test_A29_the_address_holds_everything_and_shows_the_same_in_a_fresh_browser(fresh: Any, version: str) -> None:
    page = fresh(version + "en/index.html")
    page.fill("[name=vram]", ">=24 && <100")
    page.fill("[name=price]", "<60000")
    page.select_option("[name=unit]", "instance")
    page.select_option("[name=currency]", "VND")
    page.check("[name=purchase][value=spot]")
    page.click("#choose summary")
    for name in ("country", "interconnect", "tier"):
        page.check(f"[name=column][value={name}]")
    page.uncheck("[name=column][value=age]")
    page.click('#offers th[data-column="provider"] button')
    page.click('#offers th[data-column="provider"] button')
    page.click("#copy-link")
    page.wait_for_selector("#done code")
    link = page.inner_text("#done code")
    assert link.endswith("?p=en/index.html&" + urlsplit(page.url).query)
    other = fresh(link)
    other.wait_for_selector("#offers tbody tr")
    assert urlsplit(other.url) == urlsplit(page.url)
    assert other.inner_text("#offers") == page.inner_text("#offers")
    assert other.input_value("[name=vram]") == ">=24 && <100"
    assert "tier" in parse_qs(urlsplit(other.url).query)["columns"][0].split(",")


def test_A30_csv_is_the_view(fresh: Any, version: str) -> None:
    query = "?purchase=any&unit=month&currency=EUR&columns=gpu,gpu_count,price,provider,tier,age,instance_type&sort=gpu"
    page = fresh(version + "en/index.html" + query)
    with page.expect_download() as download:
        page.click("#save-csv")
    rows = list(csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"), newline="")))
    assert download.value.suggested_filename == "gpufare-sample.csv"
    shown = page.locator("#offers tr").evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    page.click("#next")
    shown += page.locator("#offers tbody tr").evaluate_all(
        "all => all.map(row => [...row.cells].map(cell => cell.textContent))"
    )
    assert len(rows) == len(shown) == 1 + count(page) == 1 + 58
    assert rows[0] == [*shown[0], "notice"]
    for told, seen in zip(rows[1:], shown[1:], strict=True):
        assert told[-1] == "SAMPLE, not market prices"
        wanted = ["" if cell == "?" else cell for cell in seen]
        wanted[2] = wanted[2].replace(",", "")
        for cell, on_page in zip(told[:-1], wanted, strict=True):
            plain = cell.removeprefix("'")
            assert plain.startswith(on_page[:-1]) if on_page.endswith("…") else plain == on_page
    assert '\'=cmd|"/c calc"' in {row[6] for row in rows}, "no spreadsheet takes it for a formula"


def test_the_view_as_a_command_gives_the_same_offers(fresh: Any, version: str, sample_store: Path) -> None:
    query = "?gpu=h100,l4&vram=%3E%3D24&count=1&provider=lambda,nebius&purchase=on_demand,spot&country=US&price=%3C%3D3"
    page = fresh(version + "en/index.html" + query)
    page.click("#copy-command")
    page.wait_for_selector("#done code")
    command = shlex.split(page.inner_text("#done code"))
    assert command[:4] == ["gpufare", "offers", "h100", "l4"]
    done = subprocess.run(
        [sys.executable, "-m", "gpufare", "--data", str(sample_store), *command[1:], "-o", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = json.loads(done.stdout)["rows"]
    assert [f"{row['usd_per_gpu_hour']:.2f}" for row in rows] == [f"{float(p):.2f}" for p in column(page, "price")]
    assert len(rows) == count(page) == 6
    page = fresh(version + "en/index.html?precision=fp8&price=%3E1")
    page.click("#copy-command")
    page.wait_for_selector("#done:not(:empty)")
    assert "The command has no way to ask for: price, Precision" in page.inner_text("#done")


def test_A33_vietnamese_with_its_numbers_and_the_link_that_keeps_the_filters(fresh: Any, version: str) -> None:
    page = fresh(version + "en/index.html?gpu=H100-SXM&unit=month")
    page.click("a.language")
    page.wait_for_selector("#offers tbody tr")
    assert page.evaluate("document.documentElement.lang") == "vi"
    assert page.input_value("[name=gpu]") == "H100-SXM"
    assert column(page, "price")[:3] == ["1.971,00", "2.190,00", "2.409,00"]
    assert page.inner_text('#offers th[data-column="price"] button') == "USD/tháng"
    assert page.inner_text("#told") == "6 trong 58 chào giá"
    assert "DỮ LIỆU MẪU" in page.inner_text(".sample")


def test_A33_dark_and_light_by_the_system_and_by_the_button(fresh: Any, version: str) -> None:
    def back(page: Any) -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light, dark = "rgb(253, 253, 252)", "rgb(20, 23, 27)"
    page = fresh(version + "en/index.html", color_scheme="dark")
    assert back(page) == dark
    page.click("#theme")
    assert back(page) == light
    page.goto(version + "en/status.html")
    assert back(page) == light, "the choice is kept"
    assert back(fresh(version + "en/status.html", color_scheme="light")) == light


def test_hostile_text_is_shown_as_text(fresh: Any, version: str) -> None:
    page = fresh(version + "en/index.html?price=9&columns=gpu,region,tier,instance_type,provider")
    assert f"? {HOSTILE}" in column(page, "gpu")
    assert "safe\\u202egnp.exe" in column(page, "tier")
    assert f"{HOSTILE} CA" in column(page, "region")
    assert max(len(text) for text in column(page, "region")) <= 121
    assert page.locator("#offers img, #offers script").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.goto(version + "en/provider/hyperstack.html")
    assert HOSTILE in page.inner_text("main")
    assert page.locator("main img").count() == 0
    assert LONG not in page.content()


def test_a_phone_sees_the_table_without_the_page_growing_wider(fresh: Any, version: str) -> None:
    for name in ("index", "gpus", "gpu/h100", "providers", "provider/lambda", "changes", "status", "guide", "data"):
        page = fresh(version + f"vi/{name}.html", viewport={"width": 390, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page = fresh(version + "en/index.html", viewport={"width": 390, "height": 844})
    assert page.locator("#offers thead th").count() == 5


def test_the_keyboard_reaches_everything(fresh: Any, version: str) -> None:
    page = fresh(version + "en/index.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    page.focus("[name=vram]")
    page.keyboard.type(">=80")
    assert count(page) == 18
    page.focus('#offers th[data-column="provider"] button')
    page.keyboard.press("Enter")
    assert page.get_attribute('#offers th[data-column="provider"]', "aria-sort") == "ascending"
    assert page.evaluate("document.activeElement.textContent") == "Provider", "the focus stays"


def test_charts_and_the_numbers_beside_them(fresh: Any, version: str) -> None:
    page = fresh(version + "en/gpu/h100.html")
    charts = page.locator("figure:visible")
    assert charts.count() == 2
    assert charts.first.get_attribute("data-days") == "90"
    page.locator(".charts").first.get_by_role("button", name="30 days").click()
    assert page.locator("figure:visible").first.get_attribute("data-days") == "30"
    section = page.locator("section", has_text="Price of H100 SXM")
    cells = section.locator("table").first.locator("tbody tr").first.locator("td").all_inner_texts()
    assert cells == ["2.70", "3.00", "1.35", "1.50"]
    assert section.locator("svg path.lowest").count() > 0


def test_changes_are_filtered_and_their_state_is_in_the_address(fresh: Any, version: str) -> None:
    page = fresh(version + "en/changes.html")
    assert page.inner_text("#told") == "3 of 3 changes"
    page.fill("[name=text]", "h100")
    assert page.inner_text("#told") == "2 of 3 changes"
    page.select_option("[name=kind]", "price_down")
    (row,) = page.locator("#changes tbody tr:visible").all_inner_texts()
    assert "3.30 USD" in row
    assert "-9.1%" in row
    other = fresh(page.evaluate("location.href"))
    assert other.inner_text("#changes") == page.inner_text("#changes")


@pytest.mark.parametrize(
    ("language", "scheme", "names"),
    [
        ("en", "light", ("index", "gpu/h100", "provider/lambda", "changes", "guide")),
        ("vi", "dark", ("index", "gpu/h100", "gpus", "providers", "status", "method", "data")),
    ],
)
def test_axe_finds_no_violation(fresh: Any, version: str, language: str, scheme: str, names: tuple[str, ...]) -> None:
    from axe_playwright_python.sync_playwright import Axe

    page = fresh(version + f"{language}/index.html", color_scheme=scheme, bypass_csp=True)
    for name in names:
        page.goto(version + f"{language}/{name}.html")
        found = Axe().run(page)
        told = [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found.response["violations"]]
        assert told == [], name

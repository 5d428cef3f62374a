"""The planner on the page, in a real Chromium: it tells what `planner` tells, and a reader can use it."""

from __future__ import annotations

import functools
import http.server
import json
import random
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from planner.demand import demand_of, on_node
from planner.fit import Job, estimate
from planner.grid import METHODS, SIZES, TOLERANCE
from planner.job_cost import Terms, Work, assumed_rate, job_cost, terms_of
from planner.page import COLUMNS, page
from planner.plan import PLANNED, plan
from planner.terms import NAMES
from schemas.models import find_model, models
from schemas.providers import providers
from spiders.shared.browser import MISSING, chromium
from storage.filters import Filters
from storage.lake import Lake
from storage.query import offers
from table.exports import passed_on

from .conftest import LAST

pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(chromium() is None, reason=MISSING),
]
NOW = LAST + timedelta(hours=5)
HUNDREDTHS_GIB = 0.05
"""what rounding nine terms to hundredths may make; 1 % of 5 GiB"""
OF_HOURS = 0.003
"""share by which billed hours along the lines may differ from `planner.job_cost`"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def root(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the live version of a site that has the planner's page."""
    from table.site.build import publish

    folder = tmp_path_factory.mktemp("planned") / "site"
    lake = Lake.open(sample_store)
    publish(lake, folder, now=lake.clock(NOW), made_at=NOW, plan=lambda table: page(table.select(COLUMNS).to_pylist()))
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/" + json.loads((folder / "latest.json").read_text())["path"]
        server.shutdown()


@pytest.fixture
def opened(browser: Any, root: str) -> Iterator[Any]:
    """Opens a page; anything that it complains of or asks of a foreign host fails the test."""
    contexts, faults = [], []

    def open_page(path: str, **wishes: Any) -> Any:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | wishes))
        contexts.append(context)
        tab = context.new_page()
        tab.set_default_timeout(10_000)
        tab.on("console", lambda message: message.type in ("error", "warning") and faults.append(message.text))
        tab.on("pageerror", lambda error: faults.append(str(error)))
        tab.on("request", lambda request: request.url.startswith(root) or faults.append(request.url))
        tab.goto(root + path)
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert [fault for fault in faults if not fault.startswith("data:")] == []


def test_memory_on_the_page_is_that_of_the_planner(opened: Any) -> None:
    chance = random.Random(11)
    names = list(models())
    asked = [
        (chance.choice(names), chance.choice(METHODS), chance.choice(SIZES), round(2 ** chance.uniform(4, 20)))
        for _ in range(300)
    ]
    tab = opened("en/fit.html")
    told = tab.evaluate("asked => asked.map((one) => gpufareFit.memory(...one))", asked)
    for (name, method, size, tokens), found in zip(asked, told, strict=True):
        spread = on_node(Job(model=models()[name], method=method, seq_len=tokens), size)
        assert spread is not None
        true = estimate(spread)
        for end in ("low", "expected", "high"):
            wanted = getattr(true, f"{end}_gib")
            assert found[end] == pytest.approx(wanted, rel=TOLERANCE, abs=HUNDREDTHS_GIB), (name, method, size, tokens)
        assert len(found["terms"]) == len(NAMES)
        assert sum(found["terms"]) == pytest.approx(found["expected"])


def rows_of(store: Path) -> list[dict[str, Any]]:
    """The offers as the site has them."""
    lake = Lake.open(store)
    answer = offers(lake, Filters(purchase=(), serverless=True), now=lake.clock(NOW))
    return [dict(row) for row in answer.rows if passed_on(providers().get(row["provider"]))]


def test_costs_on_the_page_are_those_of_the_planner(opened: Any, sample_store: Path) -> None:
    chance = random.Random(13)
    rows = [row for row in rows_of(sample_store) if row["usd_per_hour"] is not None]
    asked = [
        (chance.choice(rows), chance.choice([round(10 ** chance.uniform(-1.5, 3), 3), chance.randint(1, 48)]))
        for _ in range(200)
    ]
    tab = opened("en/fit.html")
    told = tab.evaluate(
        """asked => {
            const keys = Array.from({ length: gpufareLedger.count }, (_, row) => gpufareLedger.value("offer_key", row));
            return asked.map(([key, hours]) => gpufareFit.cost(keys.indexOf(key), hours));
        }""",
        [[row["offer_key"], hours] for row, hours in asked],
    )
    for (row, hours), found in zip(asked, told, strict=True):
        true = job_cost(Work(run_s=round(3600 * hours)), terms_of(row))
        near = 1e-9 if row["purchase"] == "on_demand" else OF_HOURS
        assert found["compute"] == pytest.approx(float(true.compute.expected or 0), rel=1e-9, abs=1e-9)
        for place, end in enumerate(("low", "expected", "high")):
            wanted = float(getattr(true.total, end))
            assert found["total"][place] == pytest.approx(wanted, rel=near, abs=1e-9), (row["offer_key"], hours, end)
        assert found["unknown"] == list(true.unknown)


def test_billed_terms_that_nobody_tells_widen_the_page_as_they_do_the_planner(opened: Any) -> None:
    """The arithmetic alone, with every pair of facts known and unknown, for the sample tells most of them."""
    chance = random.Random(17)
    asked = [
        (chance.choice([None, 1, 60, 3600]), chance.choice([None, 0, 60, 3600]), chance.randint(60, 20_000), taken)
        for taken in (False, True)
        for _ in range(60)
    ]
    tab = opened("en/fit.html")
    told = tab.evaluate(
        """asked => asked.map(([step, minimum, run, taken]) => {
            const real = { value: gpufareLedger.value, numeric: gpufareLedger.numeric };
            const own = { billing_increment_s: step ?? NaN, minimum_billing_s: minimum ?? NaN, usd_per_hour: 2.5 };
            gpufareLedger.numeric = (name) => [own[name]];
            gpufareLedger.value = (name) => (name === "purchase" ? (taken ? "spot" : "on_demand") : "nobody");
            try { return gpufareFit.cost(0, run / 3600); } finally { Object.assign(gpufareLedger, real); }
        })""",
        asked,
    )
    for (step, minimum, run_s, taken), found in zip(asked, told, strict=True):
        terms = Terms(
            usd_per_hour=Decimal("2.5"), billing_increment_s=step, minimum_billing_s=minimum,
            rate=assumed_rate() if taken else None,
        )  # fmt: skip
        true = job_cost(Work(run_s=run_s), terms)
        wanted = [float(getattr(true.total, end)) for end in ("low", "expected", "high")]
        assert found["total"] == pytest.approx(wanted, rel=OF_HOURS if taken else 1e-9), (step, minimum, run_s)
        assert found["unknown"] == list(true.unknown)


@pytest.mark.parametrize(("method", "hours", "tokens"), [("lora", 6, 2048), ("qlora", 0.4, 4096), ("full", 24, 1024)])
def test_offers_stand_in_the_planner_s_order(
    opened: Any, sample_store: Path, method: str, hours: float, tokens: int
) -> None:
    model = find_model("8b")
    made = plan(
        rows_of(sample_store),
        demand_of(Job(model=model, method=method, seq_len=tokens)),
        Work(run_s=round(3600 * hours)),
        why_not=lambda row: () if row["purchase"] in PLANNED else ("other purchase",),
    )
    wanted = [choice.offer["offer_key"] for choice in made.choices]
    tab = opened(f"en/fit.html?method={method}&hours={hours}&seq={tokens}")
    shown = tab.locator("#offers tbody tr[data-key]").evaluate_all("all => all.map((row) => row.dataset.key)")
    assert shown == wanted
    assert wanted
    assert f"{len(wanted)} of 58 offers hold it" in tab.inner_text("#told")


def test_a_reader_changes_the_job_and_shares_it(opened: Any, root: str) -> None:
    tab = opened("en/fit.html")
    assert "Llama-3.1-8B, lora: " in tab.inner_text("#told")
    tab.select_option("[name=method]", "qlora")
    tab.fill("[name=seq]", "4096")
    tab.fill("[name=hours]", "12")
    tab.uncheck("[name=purchase][value=spot]")
    tab.check("[name=stock]")
    assert "method=qlora" in tab.url
    assert "spot" not in tab.locator("#offers tbody td.word").all_inner_texts()
    told = tab.inner_text("#answer")
    other = opened(tab.url.removeprefix(root))
    assert other.inner_text("#answer") == told
    assert other.input_value("[name=seq]") == "4096"
    tab.click("a.language")
    tab.wait_for_selector("#offers tbody tr[data-key]")
    assert tab.evaluate("document.documentElement.lang") == "vi"
    assert tab.input_value("[name=hours]") == "12"
    assert re.search(r"cần \d+,\d GiB trên một GPU", tab.inner_text("#told"))


def test_the_job_as_a_command_gives_the_same_best_offer(opened: Any, sample_store: Path) -> None:
    tab = opened("vi/fit.html?method=qlora&hours=2,5&purchase=on_demand&stock=in_stock")
    tab.click("#copy-command")
    tab.wait_for_selector("#done code")
    command = shlex.split(tab.inner_text("#done code"))
    assert command[:3] == ["gpufare", "fit", "--model"]
    assert command[command.index("--hours") + 1] == "2.5"
    done = subprocess.run(
        [sys.executable, "-m", "gpufare", "--data", str(sample_store), *command[1:], "--provider",
         "lambda,nebius,hyperstack", "-o", "json"], capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = json.loads(done.stdout)["rows"]
    shown = tab.locator("#offers tbody tr[data-key]").evaluate_all("all => all.map((row) => row.dataset.key)")
    assert shown[: len(rows)] == [row["offer_key"] for row in rows][: len(shown)]
    assert rows


def test_cards_and_numbers_that_do_not_do_are_told(opened: Any) -> None:
    tab = opened("en/fit.html")
    tab.click("#left-told")
    assert "no BF16: Turing" in tab.inner_text("#left")
    assert "sold out" in tab.inner_text("#left")
    for field, text in (("seq", "0"), ("batch", "two"), ("hours", "-1"), ("seq", "9999999")):
        tab.fill(f"[name={field}]", text)
        assert tab.get_attribute(f"[name={field}]", "aria-invalid") == "true"
        assert "Not understood" in tab.inner_text("#fault")
        assert not tab.is_visible("#answer")
        tab.click("button[type=reset]")
        assert tab.is_visible("#answer")
    tab.select_option("[name=method]", "full")
    tab.fill("[name=seq]", "1000000")
    assert "too little memory" in tab.inner_text("#left")
    assert "exceed the" in tab.inner_text("#widths")


@pytest.mark.parametrize(("language", "scheme"), [("en", "light"), ("vi", "dark")])
def test_axe_finds_no_violation_and_a_phone_does_not_scroll_sideways(opened: Any, language: str, scheme: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    tab = opened(f"{language}/fit.html", color_scheme=scheme, bypass_csp=True)
    tab.click("#left-told")
    found = Axe().run(tab).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found] == []
    phone = opened(f"{language}/fit.html", viewport={"width": 390, "height": 844})
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390

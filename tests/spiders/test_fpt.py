"""FPT: a page that exists only after its scripts ran, in a real Chromium, answered through the proxy."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest

from schemas.normalise import Context, normalise
from schemas.offer import Offer
from schemas.providers import provider
from schemas.raw_offer import RawOffer
from spiders.shared import har
from spiders.shared.browser import chromium
from spiders.shared.crawl import crawl
from spiders.shared.har import Entry
from spiders.shared.offline import Offline, read_answers
from spiders.shared.source import RECORDED

NIGHT = "2026-11-29-night"
URL = "https://ai.fptcloud.com/pricing/gpu-virtual-machine"


def page(price: str, note: str = "Prices in USD, tax included.", instance: str = "8x GPU B300") -> Offline:
    """The page as it stands after its scripts ran, saved by somebody, read alone."""
    head = "".join(f"<th>{label}</th>" for label in ("Instance", "GPU Memory", "RAM", "CPU", "Price"))
    row = "".join(f"<td>{cell}</td>" for cell in (instance, "2304 GB", "1536 GB", "224 cores", price))
    table = f"<table><thead><tr>{head}</tr></thead><tbody><tr>{row}</tr></tbody></table>"
    html = f"<html><body><h1>GPU Virtual Machine</h1><p>{note}</p>{table}</body></html>"
    return read_answers("fpt", [Entry("*", URL, mime="text/html", content=html.encode())])


def offers_of(read: Offline) -> list[Offer]:
    context = Context(provider("fpt"), "test", har.recorded_at(RECORDED / "fpt" / NIGHT), "recording")
    return normalise(read.offers, context).offers


@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine; make chromium installs it")
def test_the_rows_are_made_by_the_pages_own_scripts(tmp_path: Path) -> None:
    recorded = har.read(RECORDED / "fpt" / NIGHT)
    assert not [entry for entry in recorded.entries if b"<td" in entry.body]
    report = crawl("fpt", tmp_path, recorded=RECORDED / "fpt" / NIGHT)
    raw = [RawOffer.from_json(json.loads(line)) for line in report.raw_path.read_text().splitlines()]
    assert (report.ok, report.misses, report.unused) == (True, (), ())
    assert {(o.accelerator, o.price) for o in raw if "B300" in (o.accelerator or "")} == {
        ("1x GPU B300", "$6.99"),
        ("2x GPU B300", "$13.98"),
        ("4x GPU B300", "$27.96"),
        ("8x GPU B300", "$55.92"),
    }


def test_the_shell_alone_is_a_changed_layout_not_an_empty_list() -> None:
    shell = har.read(RECORDED / "fpt" / NIGHT).entries[0]
    read = read_answers("fpt", [shell])
    assert read.offers == []
    assert read.errors[0].startswith("LayoutChanged")


def test_the_price_is_of_the_whole_machine() -> None:
    (offer,) = offers_of(page("$55.92/Hour"))
    assert (offer.gpu, offer.gpu_count, offer.usd_per_hour, offer.usd_per_gpu_hour) == (
        "B300",
        8,
        Decimal("55.92"),
        Decimal("6.99"),
    )
    assert (offer.vcpus, offer.ram_gib, offer.vram_gib, offer.country) == (224, 1536, 288, "VN")


def test_tax_is_included_only_where_the_page_says_so() -> None:
    assert [o.tax_included for o in page("$55.92/Hour").offers] == [True]
    assert [o.tax_included for o in page("$55.92/Hour", note="Prices in USD.").offers] == [None]


@pytest.mark.parametrize("floor", ["from $2.0/GPU/Hour", "From $2.0/Hour", "Contact us", "Sold out", ""])
def test_a_floor_or_no_price_gives_no_row(floor: str) -> None:
    read = page(floor)
    assert (read.offers, read.errors) == ([], [])


@pytest.mark.parametrize("price", ["66.400 ₫/Hour", "€6.40/Hour", "$6.99/Month", "$6.99", "$6.99/GPU/Hour", "6.99"])
def test_another_currency_or_unit_is_not_read_as_dollars_per_hour(price: str) -> None:
    read = page(price)
    assert read.offers == []
    assert read.errors[0].startswith("LayoutChanged")


def test_n06_the_variant_is_kept_where_it_is_told() -> None:
    assert offers_of(page("$2.54/Hour", instance="1x GPU H100 SXM5"))[0].form_factor == "SXM"
    assert offers_of(page("$6.99/Hour", instance="1x GPU B300"))[0].form_factor is None


def test_a_malformed_price_is_told_and_not_passed_over() -> None:
    read = page("$-55.92/Hour")
    context = Context(provider("fpt"), "test", har.recorded_at(RECORDED / "fpt" / NIGHT), "recording")
    assert (read.errors, [reject.raw.price for reject in normalise(read.offers, context).rejects]) == ([], ["$-55.92"])


def test_a_malformed_amount_is_a_changed_layout() -> None:
    assert page("55.92/Hour").errors[0].startswith("LayoutChanged")

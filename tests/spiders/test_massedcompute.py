"""Massed Compute: rows of a table that only the page's script holds, each there twice."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from scrapy.http import HtmlResponse

from spiders.massedcompute import MassedcomputeSpider, said

NIGHT = "2026-11-29-night"
FRAGMENT = (
    '"L40S-x 2-0",{"children":[["$","td",null,{"children":["×","2"]}],["$","td",null,{"children":"52"}],'
    '["$","td",null,{"children":"256 GB"}],["$","td",null,{"children":1250}],'
    '["$","td",null,{"children":["$$1.72",["$","small",null,{"children":"/hr"}]]}]]}]\n'
    '"L40S-mobile-x 2-0",{"children":["vCPU","RAM","Storage"]}]'
)


def test_the_price_is_that_of_the_whole_machine(replay: Any) -> None:
    offer = next(o for o in replay("massedcompute", NIGHT).offers if o.gpu == "B300")
    assert (offer.price, offer.gpu_count, offer.usd_per_gpu_hour) == (Decimal("52.80"), 8, Decimal("6.6"))
    assert (offer.form_factor, offer.vcpus, offer.ram_gib, offer.disk_gib) == ("SXM", 280, 2800, None)


def test_a_copy_for_small_screens_is_no_second_offer(replay: Any) -> None:
    raw = replay("massedcompute", NIGHT).raw
    assert len(raw) == 4
    assert not [offer for offer in raw if "mobile" in str(offer)]


def test_a_machine_on_request_is_no_offer(replay: Any) -> None:
    assert [o.gpu_count for o in replay("massedcompute", NIGHT).offers if o.gpu == "H100"] == [1]


@pytest.mark.parametrize("escaped", [0, 1, 2])
def test_a_bare_fragment_is_read_however_often_it_is_escaped(escaped: int) -> None:
    text = FRAGMENT
    for _ in range(escaped):
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    response = HtmlResponse("https://massedcompute.com/pricing", body=text, encoding="utf-8")
    (batch,) = MassedcomputeSpider().read_page(response)
    (offer,) = batch.offers
    assert (offer.accelerator, offer.gpu_count, offer.vcpus, offer.ram, offer.price) == (
        "L40S",
        "2",
        "52",
        "256 GB",
        "$1.72",
    )


def test_a_count_that_the_name_does_not_tell_fails_loudly(failing: Any) -> None:
    report = failing("massedcompute", NIGHT, lambda url, body: body.replace("B300 SXM6-x 8", "B300 SXM6-x 4"))
    assert (report.error_class, "B300 SXM6-x 4" in report.error) == ("LayoutChanged", True)


def test_a_cell_more_fails_loudly(failing: Any) -> None:
    more = '[\\"$\\",\\"td\\",null,{\\"children\\":\\"2800 GB\\"}],'
    report = failing("massedcompute", NIGHT, lambda url, body: body.replace(more, more + more))
    assert report.error_class == "SchemaDrift"


def test_what_an_element_says() -> None:
    assert said(["$$52.80", ["$", "small", None, {"children": "/hr"}]]) == "$52.80/hr"
    assert said(["$", "br", None, {}]) == ""


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    whole = replay("massedcompute", NIGHT)
    read = replay("massedcompute", NIGHT, lambda url, body: body.replace("$$52.80", "-$$52.80"))
    assert [reject.raw.accelerator for reject in read.rejects] == ["B300 SXM6"]
    assert len(read.offers) == len(whole.offers) - 1

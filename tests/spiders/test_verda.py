"""Verda: prices as text, spot that may be null, stock only with credentials."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import HtmlResponse

from schemas.normalise import Context, normalise
from schemas.providers import provider
from spiders.shared.crawl import crawl
from spiders.shared.source import RECORDED
from spiders.verda import VerdaSpider


def test_s06_a_null_spot_price_is_not_filled(replay: Any) -> None:
    h100 = [o for o in replay("verda", "2026-11-29-night").offers if o.gpu == "H100"]
    assert [(o.purchase, o.price) for o in h100] == [("on_demand", Decimal("3.25"))]


def test_s06_an_absent_spot_price_is_not_filled(replay: Any) -> None:
    def without(url: str, body: Any) -> Any:
        return [{key: value for key, value in record.items() if key != "spot_price"} for record in body]

    assert {o.purchase for o in replay("verda", "2026-11-29-night", without).offers} == {"on_demand"}


def test_f06_a_record_without_any_price_is_left_out_and_the_others_kept(replay: Any) -> None:
    def priceless(url: str, body: Any) -> Any:
        return [body[0] | {"price_per_hour": None, "spot_price": None}, *body[1:]]

    offers = replay("verda", "2026-11-29-night", priceless).offers
    assert not [o for o in offers if o.gpu == "B300"]
    assert len(offers) == 17


def test_text_prices_are_of_the_whole_instance(replay: Any) -> None:
    eight = next(o for o in replay("verda", "2026-11-29-night").offers if o.gpu_count == 8 and o.purchase == "spot")
    assert (eight.price, eight.usd_per_gpu_hour) == (Decimal("16.00"), Decimal("2.00"))


def test_memory_is_told_for_all_gpus_together(replay: Any) -> None:
    h200 = {o.gpu_count: o.vram_gib for o in replay("verda", "2026-11-29-night").offers if o.gpu == "H200"}
    assert h200 == {1: 141, 8: 141}


def test_without_credentials_stock_is_unknown(replay: Any) -> None:
    read = replay("verda", "2026-11-29-night")
    assert {(o.availability, o.region) for o in read.offers} == {("unknown", None)}


def test_a02_the_places_are_those_of_the_answer(replay: Any) -> None:
    read = replay("verda", "2026-11-30-keyed")
    stock = {(o.instance_type, o.purchase, o.region, o.availability) for o in read.offers}
    assert stock == {
        ("1H200.141S.44V", "on_demand", None, "sold_out"),
        ("1H200.141S.44V", "spot", None, "sold_out"),
        ("1H100.80S.30V", "on_demand", "FIN-01", "available"),
        ("1A100.22V", "on_demand", "FIN-01", "available"),
        ("1A100.22V", "on_demand", "FIN-02", "available"),
        ("1A100.22V", "spot", "FIN-02", "available"),
    }


def test_a02_a_place_that_no_table_knows_appears_and_a_closed_one_is_gone(replay: Any) -> None:
    def moved(url: str, body: Any) -> Any:
        if "instance-availability" not in url:
            return body
        return [place | {"location_code": place["location_code"].replace("FIN-01", "NOR-07")} for place in body]

    places = {o.region for o in replay("verda", "2026-11-30-keyed", moved).offers}
    assert places == {None, "NOR-07", "FIN-02"}


def test_cpu_nodes_are_no_offers(replay: Any) -> None:
    assert not [o for o in replay("verda", "2026-11-29-night").offers if o.instance_type == "CPU.4V.16G"]


@pytest.mark.parametrize(("case", "access"), [("2026-11-29-night", "open"), ("2026-11-30-keyed", "VERDA_CLIENT_ID")])
def test_which_way_in_was_taken(tmp_path: Path, case: str, access: str) -> None:
    assert crawl("verda", tmp_path, recorded=RECORDED / "verda" / case).access == access


def test_one_half_of_the_credentials_opens_nothing(tmp_path: Path) -> None:
    half = {"VERDA_CLIENT_ID": "somebody"}
    assert crawl("verda", tmp_path, recorded=RECORDED / "verda" / "2026-11-29-night", env=half).access == "open"


def test_a_malformed_type_is_told_and_the_others_stay(replay: Any) -> None:
    whole = replay("verda", "2026-11-29-night")
    prices: tuple[Any, ...] = ("soon", "-7.50", 0, [])
    for price in prices:
        change = {"price_per_hour": price}
        read = replay("verda", "2026-11-29-night", lambda url, body, c=change: [body[0] | c, *body[1:]])
        assert [reject.raw.instance_type for reject in read.rejects] == ["1B300.30V"]
        assert len(read.offers) == len(whole.offers) - 1


def node(name: str, description: str, price: object) -> dict[str, object]:
    """An Offer as the page's JSON-LD holds it."""
    return {"@type": "Offer", "name": name, "description": description, "price": price, "priceCurrency": "USD"}


def test_a_saved_page_tells_instances_alone_and_a_twin_once() -> None:
    on_demand = node("8x H200 SXM5 141GB on-demand", "Hourly on-demand instance price", 32.0)
    graph = [
        {"@type": "WebPage", "name": "Pricing"},
        on_demand,
        on_demand,
        node("1x H200 SXM5 141GB spot", "Hourly spot instance price", "2.00"),
        node(" on-demand", "Hourly on-demand instance price", 0.03),
        node("1x H200 SXM5 141GB serverless spot", "Hourly serverless spot container price", 2.2),
        node("16x H200 SXM5 141GB instant cluster", "Hourly instant cluster price", 64),
        node("NVMe storage", "Monthly storage price per GiB", 0.2),
    ]
    page = f'<script type="application/ld+json">{json.dumps({"@graph": graph})}</script>'
    response = HtmlResponse("https://verda.com/pricing", body=page.encode())
    (batch,) = VerdaSpider().parse_page(response)
    context = Context(provider("verda"), "test", datetime(2026, 11, 29, 2, tzinfo=UTC), "recording")
    read = normalise(batch.offers, context)
    assert read.rejects == []
    assert [(o.gpu, o.form_factor, o.vram_gib, o.gpu_count, o.purchase, o.usd_per_gpu_hour) for o in read.offers] == [
        ("H200", "SXM", 141.0, 8.0, "on_demand", Decimal(4)),
        ("H200", "SXM", 141.0, 1.0, "spot", Decimal(2)),
    ]

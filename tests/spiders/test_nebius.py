"""Nebius: a table escaped inside the page's script, floors that are no prices, preemptible as spot."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from scrapy.http import HtmlResponse

from spiders.nebius import NebiusSpider
from spiders.shared.shapes.embedded_json import embedded

TABLE = {"table": {"content": [["Item", "On-demand, GPU-hour"], ["NVIDIA HGX H100", "$3.85"]]}}


def test_preemptible_is_spot(replay: Any) -> None:
    prices = {(o.gpu, o.purchase): o.usd_per_gpu_hour for o in replay("nebius", "2026-11-29-night").offers}
    assert prices["H100", "spot"] == Decimal("2.15")
    assert prices["H100", "on_demand"] == Decimal("3.85")
    assert len(prices) == 10


def test_a_floor_is_no_price(replay: Any) -> None:
    assert not [o for o in replay("nebius", "2026-11-29-night").offers if o.gpu == "L40S"]


def test_storage_and_cpu_tables_are_no_offers(replay: Any) -> None:
    assert {raw.price_unit for raw in replay("nebius", "2026-11-29-night").raw} == {"gpu-hour"}
    assert not [raw for raw in replay("nebius", "2026-11-29-night").raw if "Genoa" in str(raw)]


def test_every_row_is_one_gpu(replay: Any) -> None:
    offers = replay("nebius", "2026-11-29-night").offers
    assert {(o.gpu_count, o.usd_per_hour == o.usd_per_gpu_hour) for o in offers} == {(1, True)}


def test_one_factor_over_all_prices(replay: Any) -> None:
    before, after = (
        {o.offer_key: o.price for o in replay("nebius", f"2026-11-{day}-night").offers} for day in ("29", "30")
    )
    assert before.keys() == after.keys()
    assert all(Decimal("1.15") < after[key] / before[key] < Decimal("1.17") for key in before)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_however_often_the_page_escapes_it(depth: int) -> None:
    text = json.dumps(TABLE)
    for _ in range(depth):
        text = json.dumps(text)[1:-1]
    assert embedded(f"<script>{text}</script>", "content") == [TABLE["table"]["content"]]


def test_a_table_that_is_cut_into_chunks() -> None:
    text = json.dumps(TABLE)
    chunks = "".join(
        f"<script>self.__next_f.push([1,{json.dumps(part)}])</script>\n" for part in (text[:40], text[40:])
    )
    assert embedded(chunks, "content") == [TABLE["table"]["content"]]


def test_another_currency_is_not_read_as_dollars(failing: Any) -> None:
    report = failing("nebius", "2026-11-29-night", lambda url, body: body.replace("$", "€"))
    assert report.error_class == "LayoutChanged"


def test_a_bare_fragment_is_read_alone() -> None:
    cells = [["Item", "vCPUs", "RAM, GB", "Preemptible, GPU-hour", "On-demand, GPU-hour"]]
    block = {
        "title": "NVIDIA GPU Instances",
        "table": {"content": [*cells, ["NVIDIA HGX H100", "16", "200", "––", "$3.85"]]},
    }
    fragment = json.dumps(json.dumps(block, ensure_ascii=False), ensure_ascii=False)[2:-2]
    response = HtmlResponse("https://nebius.com/prices", body=fragment, encoding="utf-8")
    (batch,) = NebiusSpider().parse(response)
    assert [(offer.accelerator, offer.purchase, offer.price) for offer in batch.offers] == [
        ("NVIDIA HGX H100", "on_demand", "$3.85")
    ]


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    whole = replay("nebius", "2026-11-29-night")
    read = replay("nebius", "2026-11-29-night", lambda url, body: body.replace("$7.15", "$-7.15"))
    assert [reject.raw.price for reject in read.rejects] == ["$-7.15"]
    assert len(read.offers) == len(whole.offers) - 1


@pytest.mark.parametrize("cell", ["7.15", "null"])
def test_a_malformed_cell_fails_by_name(failing: Any, cell: str) -> None:
    report = failing("nebius", "2026-11-29-night", lambda url, body: body.replace('\\"$7.15\\"', cell))
    assert report.error_class == "SchemaDrift"

"""Lambda: the page without a key, the list of types with one."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from spiders.shared.crawl import crawl
from spiders.shared.source import RECORDED


def test_a03_available_exactly_where_the_list_says(replay: Any) -> None:
    offers = replay("lambda", "2026-11-30-keyed").offers
    there = {(o.instance_type, o.region) for o in offers if o.availability == "available"}
    assert there == {
        ("gpu_1x_a10", "us-west-1"),
        ("gpu_1x_a10", "us-east-1"),
        ("gpu_1x_gh200", "us-east-3"),
        ("gpu_1x_h100_pcie", "us-west-3"),
        ("gpu_8x_b200_sxm6", "us-south-2"),
    }


def test_a03_a_type_without_regions_is_one_sold_out_row_with_its_price(replay: Any) -> None:
    offers = [o for o in replay("lambda", "2026-11-30-keyed").offers if o.instance_type == "gpu_8x_a100"]
    assert [(o.availability, o.region, o.price, o.usd_per_gpu_hour) for o in offers] == [
        ("sold_out", None, Decimal(1592), Decimal("1.99"))
    ]


def test_n21_only_types_of_the_answer_are_current(replay: Any) -> None:
    def renamed(url: str, body: Any) -> Any:
        record = body["data"].pop("gpu_8x_a100")
        record["instance_type"]["name"] = "gpu_8x_a100_80gb_sxm4"
        body["data"]["gpu_8x_a100_80gb_sxm4"] = record
        return body

    types = {o.instance_type for o in replay("lambda", "2026-11-30-keyed", renamed).offers}
    assert "gpu_8x_a100_80gb_sxm4" in types
    assert "gpu_8x_a100" not in types


def test_memory_and_form_come_from_the_description(replay: Any) -> None:
    read = {o.instance_type: o for o in replay("lambda", "2026-11-30-keyed").offers}
    assert (read["gpu_1x_h100_pcie"].form_factor, read["gpu_1x_h100_pcie"].vram_gib) == ("PCIe", 80)
    assert (read["gpu_8x_a100"].form_factor, read["gpu_8x_a100"].vram_gib) == ("SXM", 40)
    assert (read["gpu_1x_gh200"].form_factor, read["gpu_1x_gh200"].vram_gib) == (None, 96)


def test_cpu_types_are_no_offers(replay: Any) -> None:
    assert not [o for o in replay("lambda", "2026-11-30-keyed").offers if o.instance_type == "cpu_4x_general"]


def test_the_count_is_that_of_the_tab(replay: Any) -> None:
    offers = replay("lambda", "2026-11-29-night").offers
    assert Counter(o.gpu_count for o in offers) == {8: 4, 2: 1, 1: 6}
    b200 = {o.gpu_count: (o.usd_per_gpu_hour, o.usd_per_hour) for o in offers if o.gpu == "B200"}
    assert b200 == {1: (Decimal("6.99"), Decimal("6.99")), 8: (Decimal("6.69"), Decimal("53.52"))}


def test_clusters_are_not_sold_on_demand(replay: Any) -> None:
    offers = replay("lambda", "2026-11-29-night").offers
    assert {o.purchase for o in offers} == {"on_demand"}
    assert not {Decimal("9.86"), Decimal("9.36"), Decimal("6.16")} & {o.price for o in offers}


def test_two_memories_of_one_card_are_two_offers(replay: Any) -> None:
    a100 = [o for o in replay("lambda", "2026-11-29-night").offers if o.gpu == "A100" and o.gpu_count == 8]
    assert {(o.vram_gib, o.price) for o in a100} == {(80, Decimal("2.79")), (40, Decimal("1.99"))}
    assert len({o.offer_key for o in a100}) == 2


def test_a_row_with_a_dash_is_no_offer(replay: Any) -> None:
    read = replay("lambda", "2026-11-29-night", lambda url, body: body.replace("$2.29", "—"))
    assert not [o for o in read.offers if o.gpu == "GH200"]
    assert len(read.offers) == 10


def test_a_panel_without_its_tab_is_a_changed_layout(failing: Any) -> None:
    report = failing("lambda", "2026-11-29-night", lambda url, body: body.replace('role="tab" ', ""))
    assert (report.error_class, report.offers) == ("LayoutChanged", 0)
    assert "expected one tab" in report.error


@pytest.mark.parametrize(("case", "access"), [("2026-11-29-night", "open"), ("2026-11-30-keyed", "LAMBDA_API_KEY")])
def test_which_way_in_was_taken(tmp_path: Path, case: str, access: str) -> None:
    assert crawl("lambda", tmp_path, recorded=RECORDED / "lambda" / case).access == access


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    whole = replay("lambda", "2026-11-29-night")
    read = replay("lambda", "2026-11-29-night", lambda url, body: body.replace("$6.69<", "-$6.69<"))
    assert {reject.raw.price for reject in read.rejects} == {"-$6.69"}
    assert len(read.offers) + len(read.rejects) == len(whole.offers)


def test_a_malformed_type_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        body["data"]["gpu_1x_a10"]["instance_type"]["price_cents_per_hour"] = "soon"
        return body

    read = replay("lambda", "2026-11-30-keyed", broken)
    assert {reject.raw.instance_type for reject in read.rejects} == {"gpu_1x_a10"}
    assert len(read.offers) + len(read.rejects) == len(replay("lambda", "2026-11-30-keyed").offers)

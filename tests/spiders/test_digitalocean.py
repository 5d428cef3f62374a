"""DigitalOcean: the page without a token, the list of sizes in pages with one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from scrapy.http import Request, TextResponse

from spiders.digitalocean import DigitaloceanSpider
from spiders.shared import har
from spiders.shared.crawl import crawl
from spiders.shared.source import RECORDED

KEYED = "2026-11-30-keyed"


def sizes(read: Any, slug: str) -> set[tuple[Any, ...]]:
    return {(o.region, o.purchase, o.availability, o.price) for o in read.offers if o.instance_type == slug}


def test_a10_a_size_without_regions_is_sold_out_with_its_price(replay: Any) -> None:
    assert sizes(replay("digitalocean", KEYED), "gpu-mi300x1-192gb") == {
        (None, "on_demand", "sold_out", Decimal("2.59"))
    }


def test_a10_a_size_that_is_not_available_is_sold_out_where_it_stands(replay: Any) -> None:
    assert sizes(replay("digitalocean", KEYED), "gpu-h100x1-80gb") == {
        ("nyc2", "on_demand", "sold_out", Decimal("4.41"))
    }


def test_r055_the_price_of_a_month_is_a_cap_and_no_offer(replay: Any) -> None:
    def another_cap(url: str, body: Any) -> Any:
        for size in body["sizes"]:
            size["price_monthly"] = 1
        return body

    read = replay("digitalocean", KEYED, another_cap)
    assert [o.price for o in read.offers] == [o.price for o in replay("digitalocean", KEYED).offers]
    assert {o.price_unit for o in read.offers} == {"instance-hour"}


def test_both_pages_are_read_and_sizes_without_gpus_left_out(replay: Any) -> None:
    offers = replay("digitalocean", KEYED).offers
    assert {o.instance_type for o in offers} >= {"gpu-4000adax1-20gb", "gpu-h100x8-640gb"}
    assert all(o.instance_type.startswith("gpu-") for o in offers)
    assert [o.vram_gib for o in offers if o.instance_type == "gpu-h100x8-640gb"] == [80, 80, 80]


def test_a_size_for_spot_is_known_by_its_slug(replay: Any) -> None:
    assert sizes(replay("digitalocean", KEYED), "gpu-mi350x1-288gb-spot") == {
        ("ric1", "spot", "available", Decimal("2.46"))
    }


def test_the_report_says_which_way_in_was_taken(tmp_path: Any) -> None:
    ways = {}
    for case in ("2026-11-29-night", KEYED):
        recorded = RECORDED / "digitalocean" / case / "answers.har"
        ways[case] = crawl("digitalocean", tmp_path / case, recorded=recorded).access
    assert ways == {"2026-11-29-night": "open", KEYED: "DIGITALOCEAN_TOKEN"}


def test_eight_times_is_the_whole_droplet(replay: Any) -> None:
    offers = replay("digitalocean", "2026-11-29-night").offers
    h100 = {(o.gpu_count, o.usd_per_hour, o.usd_per_gpu_hour) for o in offers if o.gpu == "H100"}
    assert h100 == {(1, Decimal("4.41"), Decimal("4.41")), (8, Decimal("35.28"), Decimal("4.41"))}


def test_spot_is_what_stands_below_its_heading(replay: Any) -> None:
    offers = replay("digitalocean", "2026-11-29-night").offers
    assert {o.gpu for o in offers if o.purchase == "spot"} == {"MI350X", "MI355X", "B300"}
    assert len(offers) == 19


def test_air_and_liquid_cooled_are_two_offers_of_one_price(replay: Any) -> None:
    b300 = [o for o in replay("digitalocean", "2026-11-29-night").offers if o.gpu == "B300"]
    assert len({o.offer_key for o in b300}) == 4
    assert {o.usd_per_gpu_hour for o in b300} == {Decimal("11.19")}


def test_the_second_page_is_asked_for_with_the_token() -> None:
    first = har.read(RECORDED / "digitalocean" / KEYED).entries[0]
    spider = DigitaloceanSpider()
    spider.environ = {"DIGITALOCEAN_TOKEN": "word"}
    *_, following = spider.parse_page(TextResponse(first.url, body=first.body))
    assert isinstance(following, Request)
    assert following.headers["Authorization"] == b"Bearer word"
    assert "page=2" in following.url


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    night = "2026-11-29-night"
    read = replay("digitalocean", night, lambda url, body: body.replace("$20.72 ", "$-20.72 "))
    assert [reject.raw.price for reject in read.rejects] == ["$-20.72"]
    assert len(read.offers) == len(replay("digitalocean", night).offers) - 1


def test_a_malformed_size_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        for size in body["sizes"]:
            if size["slug"] == "gpu-mi300x1-192gb":
                size["price_hourly"] = "soon"
        return body

    read = replay("digitalocean", KEYED, broken)
    assert [reject.raw.instance_type for reject in read.rejects] == ["gpu-mi300x1-192gb"]
    assert len(read.offers) == len(replay("digitalocean", KEYED).offers) - 1

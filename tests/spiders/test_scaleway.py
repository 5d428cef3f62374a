"""Scaleway: stock and types by zone and page, euro, shares and retired types left out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from scrapy.http import TextResponse

from schemas.places import regions
from spiders.scaleway import ScalewaySpider
from spiders.shared import har
from spiders.shared.source import RECORDED

ZONE = "https://api.scaleway.com/instance/v1/zones/fr-par-2/products/servers"


def test_every_zone_of_the_table_is_asked_and_every_page_read(replay: Any) -> None:
    entries = har.read(RECORDED / "scaleway" / "2026-11-29-night").entries
    assert {entry.url.split("/")[6] for entry in entries} == {zone.region for zone in regions("scaleway")}
    assert {o.instance_type for o in replay("scaleway", "2026-11-29-night").offers if o.zone == "fr-par-2"} == {
        "B300-SXM-8-288G",
        "H100-1-80G",
        "H100-2-80G",
        "H100-SXM-2-80G",
        "H100-SXM-8-80G",
        "L40S-1-48G",
    }


def test_stock_is_that_of_the_zone(replay: Any) -> None:
    stock = {(o.instance_type, o.zone): o.availability for o in replay("scaleway", "2026-11-30-night").offers}
    assert stock["H100-1-80G", "fr-par-2"] == "sold_out"
    assert stock["H100-1-80G", "pl-waw-2"] == "available"
    assert stock["L40S-1-48G", "fr-par-2"] == "limited"


def test_euro_without_tax_is_not_dollars(replay: Any) -> None:
    offers = replay("scaleway", "2026-11-29-night").offers
    assert {(o.currency, o.tax_included, o.usd_per_hour) for o in offers} == {("EUR", False, None)}
    assert next(o for o in offers if o.instance_type == "H100-1-80G").price == Decimal("2.8665")


def test_bytes_are_read_as_bytes(replay: Any) -> None:
    h100 = next(o for o in replay("scaleway", "2026-11-29-night").offers if o.instance_type == "H100-SXM-8-80G")
    assert (h100.vram_gib, h100.ram_gib, h100.gpu_count, h100.network_gbps) == (80, 960, 8, 20)


def test_shares_and_retired_types_are_no_offers(replay: Any) -> None:
    types = {o.instance_type for o in replay("scaleway", "2026-11-29-night").offers}
    assert not types & {"H100-1-80G-MIG-1", "GPU-3070-S", "DEV1-S"}


def test_a_type_without_an_answer_about_stock_is_unknown() -> None:
    alone = TextResponse(f"{ZONE}?page=1&per_page=100", body=SERVERS, encoding="utf-8")
    (batch,) = ScalewaySpider().parse_page(alone)
    assert [(offer.instance_type, offer.zone, offer.availability) for offer in batch.offers] == [
        ("L4-1-24G", "fr-par-2", None)
    ]


SERVERS = b"""{"servers": {"L4-1-24G": {"ncpus": 8, "ram": 51539607552, "gpu": 1, "mig_profile": null,
"gpu_info": {"gpu_manufacturer": "NVIDIA", "gpu_name": "L4", "gpu_memory": 25769803776}, "hourly_price": 0.7875,
"network": {"sum_internal_bandwidth": 2500000000}, "end_of_service": false}}}"""


def test_p03_a_page_that_never_came_fails_the_crawl(failing: Any) -> None:
    def short(url: str, body: Any) -> Any:
        if url.startswith(ZONE + "?page=2"):
            body["servers"].popitem()
        return body

    report = failing("scaleway", "2026-11-29-night", short)
    assert report.error_class == "Truncated"
    assert "expected 9 records, got 8" in report.error


def test_a_malformed_type_is_told_and_the_others_stay(replay: Any) -> None:
    whole = replay("scaleway", "2026-11-29-night")
    for price in ("soon", -1, True):

        def broken(url: str, body: Any, price: Any = price) -> Any:
            if "fr-par-1" in url and "availability" not in url:
                body["servers"]["L4-1-24G"]["hourly_price"] = price
            return body

        read = replay("scaleway", "2026-11-29-night", broken)
        assert [(reject.raw.instance_type, reject.raw.zone) for reject in read.rejects] == [("L4-1-24G", "fr-par-1")]
        assert len(read.offers) == len(whole.offers) - 1

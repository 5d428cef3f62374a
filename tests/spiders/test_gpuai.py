"""GPU.ai: offerings in pages by cursor, priced as a whole."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

NIGHT = "2026-11-29-night"


def of(read: Any, gpu: str) -> Any:
    (offer,) = [o for o in read.offers if o.gpu == gpu]
    return offer


def last_page(url: str, body: Any, **fields: Any) -> Any:
    """The second page with fields of every record set."""
    if "cursor=" in url:
        body["data"] = [{**record, **fields} for record in body["data"]]
    return body


def test_p03_both_pages_are_read(replay: Any) -> None:
    read = replay("gpuai", NIGHT)
    assert len(read.offers) == len({o.offer_key for o in read.offers}) == 10
    assert {"B200", "H200"} <= {o.gpu for o in read.offers}


def test_the_price_is_that_of_all_gpus_together(replay: Any) -> None:
    h100 = next(o for o in replay("gpuai", NIGHT).offers if o.form_factor == "SXM" and o.gpu == "H100")
    assert (h100.gpu_count, h100.usd_per_hour, h100.usd_per_gpu_hour) == (2, Decimal("3.47"), Decimal("1.735"))
    assert of(replay("gpuai", NIGHT), "RTX 3090").gpu_count == 7


def test_tier_is_how_it_is_bought_and_the_class_of_capacity_the_tier(replay: Any) -> None:
    read = replay("gpuai", NIGHT, lambda url, body: last_page(url, body, tier="spot"))
    assert {o.purchase for o in read.offers} == {"on_demand", "spot"}
    assert {o.tier for o in read.offers} == {"secure", "community"}


def test_a_class_that_is_not_told_stays_unknown(replay: Any) -> None:
    read = replay("gpuai", NIGHT, lambda url, body: last_page(url, body, capacity_class=""))
    assert of(read, "RTX 3090").tier is None


def test_a_size_of_zero_is_not_told(replay: Any) -> None:
    ada = of(replay("gpuai", NIGHT), "RTX 2000 Ada")
    assert (ada.vcpus, ada.ram_gib, ada.disk_gib) == (None, None, None)


def test_the_disk_is_what_is_rented_not_the_host_s(replay: Any) -> None:
    assert of(replay("gpuai", NIGHT), "RTX 3090").disk_gib == 100


def test_a_count_of_none_is_sold_out_with_its_price(replay: Any) -> None:
    read = replay("gpuai", NIGHT, lambda url, body: last_page(url, body, available=0))
    assert (of(read, "L40S").availability, of(read, "L40S").price) == ("sold_out", Decimal("0.79"))
    assert (of(read, "B200").availability, of(read, "B200").available_count) == ("available", 4)


def test_whose_capacity_it_is_is_not_made_up(replay: Any) -> None:
    offers = replay("gpuai", NIGHT).offers
    assert {o.reseller_of for o in offers} == {None}
    assert {o.segment for o in offers} == {"reseller"}


def test_a_country_is_known_where_the_region_names_one(replay: Any) -> None:
    countries = {o.region: o.country for o in replay("gpuai", NIGHT).offers}
    assert countries == {
        "asia-pacific": None,
        "ca-central": "CA",
        "eu-east": None,
        "eu-west": None,
        "india-south": "IN",
        "us-east": "US",
        "us-west": "US",
    }


def test_an_answer_that_does_not_tell_whether_more_follows_fails(failing: Any) -> None:
    def silent(url: str, body: Any) -> Any:
        body.pop("next_cursor")
        return body

    report = failing("gpuai", NIGHT, silent)
    assert (report.error_class, "next_cursor" in report.error) == ("SchemaDrift", True)


@pytest.mark.parametrize(
    "fields", [{"price_per_hour": "soon"}, {"price_per_hour": -1}, {"gpu_count": 0}, {"gpu_type": 1}]
)
def test_a_malformed_offering_is_told_and_the_others_stay(replay: Any, fields: dict[str, Any]) -> None:
    def broken(url: str, body: Any) -> Any:
        for record in body["data"]:
            if record["offering_id"] == "3d05b7f41c92":
                record.update(fields)
        return body

    read = replay("gpuai", NIGHT, broken)
    assert [reject.raw.listing_id for reject in read.rejects] == ["3d05b7f41c92"]
    assert len(read.offers) == len(replay("gpuai", NIGHT).offers) - 1

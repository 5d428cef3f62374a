"""Spheron: offers of many suppliers, priced for the machine, in groups and pages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def with_first(**fields: Any) -> Any:
    """A change that sets fields of the first offer, the spot machine with a B300."""

    def change(url: str, body: Any) -> Any:
        if "page=1" in url:
            body["data"][0]["offers"][0] |= fields
        return body

    return change


def of(read: Any, gpu: str) -> Any:
    (offer,) = [o for o in read.offers if o.gpu == gpu]
    return offer


def test_the_price_is_that_of_the_machine(replay: Any) -> None:
    cluster = next(o for o in replay("spheron", NIGHT).offers if o.tier == "CLUSTER")
    assert (cluster.gpu_count, cluster.usd_per_hour, cluster.usd_per_gpu_hour) == (8, Decimal("16.08"), Decimal("2.01"))


def test_p03_both_pages_are_read(replay: Any) -> None:
    read = replay("spheron", NIGHT)
    assert len(read.offers) == len({o.offer_key for o in read.offers}) == 10
    assert {"B300", "A100"} <= {o.gpu for o in read.offers}


def test_a_dedicated_machine_with_a_spot_price_is_sold_both_ways_in_each_cluster(replay: Any) -> None:
    single = [o for o in replay("spheron", NIGHT).offers if o.gpu == "H100" and o.gpu_count == 1]
    assert sorted((o.region, o.purchase, o.price) for o in single) == [
        ("EU North 1", "on_demand", Decimal("2.01")),
        ("EU North 1", "spot", Decimal("1.67")),
        ("US Central 1", "on_demand", Decimal("2.01")),
        ("US Central 1", "spot", Decimal("1.67")),
    ]


def test_a_spot_machine_is_one_row_and_its_own_price_wins(replay: Any) -> None:
    assert of(replay("spheron", NIGHT, with_first(spot_price=5.34)), "B300").price == Decimal("5.34")
    spot = of(replay("spheron", NIGHT, with_first(spot_price=None)), "B300")
    assert (spot.purchase, spot.price) == ("spot", Decimal("5.8455"))


def test_what_is_under_maintenance_cannot_be_rented(replay: Any) -> None:
    ada = of(replay("spheron", NIGHT), "RTX 4090")
    assert (ada.availability, ada.price) == ("sold_out", Decimal("0.53"))


def test_whose_capacity_it_is_stands_in_the_row(replay: Any) -> None:
    owners = {o.reseller_of for o in replay("spheron", NIGHT).offers}
    assert owners == {"spheron-es", "voltage-park", "sesterce", "data-crunch"}


def test_without_clusters_the_region_is_unknown(replay: Any) -> None:
    b300 = of(replay("spheron", NIGHT, with_first(clusters=[])), "B300")
    assert (b300.region, b300.country) == (None, None)


def test_a_malformed_offer_is_told_and_the_others_stay(replay: Any) -> None:
    for fields in ({"price": "soon", "spot_price": None}, {"spot_price": -1}, {"gpuCount": None, "spot_price": "?"}):
        read = replay("spheron", NIGHT, with_first(**fields))
        assert (len(read.offers), len(read.rejects)) == (9, 1)


def test_p03_the_next_page_is_asked_for_where_no_answer_tells_its_number(replay: Any) -> None:
    def unnumbered(url: str, body: Any) -> Any:
        del body["page"]
        return body

    assert replay("spheron", NIGHT, unnumbered).offers == replay("spheron", NIGHT).offers

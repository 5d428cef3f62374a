"""Hyperbolic: cents for a whole option, stock where it is told, the supplier's price kept out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def test_u18_cents_are_of_the_whole_option(replay: Any) -> None:
    eight = [o for o in replay("hyperbolic", "2026-11-29-night").offers if o.region == "uk-southeast-3"]
    assert [(o.gpu_count, o.price, o.usd_per_hour, o.usd_per_gpu_hour) for o in eight] == [
        (8, Decimal(2552), Decimal("25.52"), Decimal("3.19"))
    ]


def test_what_the_supplier_takes_is_in_no_record(replay: Any) -> None:
    def marked(url: str, body: Any) -> Any:
        return [record | {"providerCostPerHourCents": 98765} for record in body]

    read = replay("hyperbolic", "2026-11-29-night", marked)
    assert read.raw
    assert not [raw for raw in read.raw if "98765" in str(raw)]


def test_stock_is_what_the_option_says(replay: Any) -> None:
    stock = {o.region: (o.availability, o.available_count) for o in replay("hyperbolic", "2026-11-30-night").offers}
    assert stock["us-east-1"] == ("available", None)
    assert stock["ca-east-1"] == ("sold_out", 0)
    assert stock["eu-north-5"] == ("available", 3)


def test_a_disabled_option_is_sold_out_with_its_price(replay: Any) -> None:
    read = replay("hyperbolic", "2026-11-30-sold-out")
    assert {o.availability for o in read.offers} == {"sold_out"}
    assert all(o.usd_per_gpu_hour for o in read.offers)


def test_an_option_of_two_nodes_counts_both(replay: Any) -> None:
    def doubled(url: str, body: Any) -> Any:
        return [record | {"nodes": record["nodes"] * 2} for record in body]

    one, two = replay("hyperbolic", "2026-11-29-night"), replay("hyperbolic", "2026-11-29-night", doubled)
    assert [o.ram_gib * 2 for o in one.offers] == [o.ram_gib for o in two.offers]
    assert [o.vcpus * 2 for o in one.offers] == [o.vcpus for o in two.offers]
    assert [o.price for o in one.offers] == [o.price for o in two.offers]


def test_a_malformed_option_is_told_and_the_others_stay(replay: Any) -> None:
    whole = replay("hyperbolic", "2026-11-29-night")
    for fields in ({"costPerHourCents": "soon"}, {"costPerHourCents": -319}, {"gpuCount": 0}):
        change = fields.copy()
        read = replay("hyperbolic", "2026-11-29-night", lambda url, body, c=change: [body[0] | c, *body[1:]])
        assert (len(read.offers), len(read.rejects)) == (len(whole.offers) - 1, 1)

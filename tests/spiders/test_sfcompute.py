"""SF Compute: cents for the whole order, eight GPUs a node, nobody who sells."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def first(**fields: Any) -> Any:
    def change(url: str, body: Any) -> Any:
        if "=h100i&" in url:
            body["quote"] |= fields
        return body

    return change


def test_a_quote_is_cents_of_one_node_of_eight(replay: Any) -> None:
    node = replay("sfcompute", NIGHT).offers[0]
    assert (node.gpu, node.gpu_count, node.purchase) == ("H100", 8, "capacity_block")
    assert (node.usd_per_hour, node.usd_per_gpu_hour) == (Decimal("16.08"), Decimal("2.01"))


def test_the_whole_order_is_divided_by_its_nodes_and_hours(replay: Any) -> None:
    longer = first(price=4800, quantity=2, end_at="2026-11-29T07:00:00.000Z")
    node = replay("sfcompute", NIGHT, longer).offers[0]
    assert (node.usd_per_hour, node.usd_per_gpu_hour) == (Decimal("6.00"), Decimal("0.75"))


def test_no_quote_is_sold_out_without_a_price(replay: Any) -> None:
    h200 = replay("sfcompute", NIGHT).offers[2]
    assert (h200.gpu, h200.availability, h200.price) == ("H200", "sold_out", None)


def test_the_hour_asked_for_is_no_part_of_the_identity(replay: Any) -> None:
    nights = [{o.offer_key for o in replay("sfcompute", f"2026-11-{day}-night").offers} for day in (29, 30)]
    assert nights[0] == nights[1]


def test_a_malformed_price_is_refused_alone(replay: Any) -> None:
    for price in ("n/a", -1):
        read = replay("sfcompute", NIGHT, first(price=price))
        assert (len(read.offers), len(read.rejects)) == (2, 1)

"""GreenNode: a table in the page's state, with prices struck through and shares of a card."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_the_price_struck_through_is_not_the_price(replay: Any) -> None:
    prices = {o.price for o in replay("greennode", NIGHT).offers}
    assert not {Decimal("2.99"), Decimal("5.98")} & prices


def test_the_price_is_that_of_the_machine(replay: Any) -> None:
    two = {
        o.purchase: (o.usd_per_hour, o.usd_per_gpu_hour) for o in replay("greennode", NIGHT).offers if o.gpu_count == 2
    }
    assert two == {"on_demand": (Decimal("5.38"), Decimal("2.69")), "reserved": (Decimal("4"), Decimal("2"))}


def test_a_share_stays_a_share(replay: Any) -> None:
    (mini,) = [o for o in replay("greennode", NIGHT).offers if "mini" in (o.instance_type or "")]
    assert (mini.gpu, mini.gpu_count, mini.vram_gib, mini.usd_per_gpu_hour) == ("H100", 0.125, 80, Decimal("3.12"))
    assert (mini.vcpus, mini.ram_gib) == (2, 30)


def test_decimals_with_a_comma_are_read(replay: Any) -> None:
    assert {o.disk_gib for o in replay("greennode", NIGHT).offers if o.gpu_count == 2} == {7.5 * 1024}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("greennode", NIGHT, lambda url, body: body.replace("$0.39", "$0.00"))
    assert (len(read.offers), [reject.raw.gpu_count for reject in read.rejects]) == (4, ["1/8"])

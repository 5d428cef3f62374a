"""UpCloud: euro cents by zone, spot plans beside their plan, stock by zone and plan."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from schemas.providers import provider

NIGHT = "2026-11-29-night"


def of(read: Any, zone: str, spot: bool = False) -> Any:
    (offer,) = [o for o in read.offers if o.region == zone and (o.purchase == "spot") is spot]
    return offer


def first_price(price: Any, **top: Any) -> Any:
    def change(url: str, body: Any) -> Any:
        if url.endswith("/price"):
            body["prices"] |= top
            body["prices"]["zone"][0]["server_plan_GPU-8xCPU-64GB-1xL40S"]["price"] = price
        return body

    return change


def test_u18_the_price_is_in_cents(replay: Any) -> None:
    offer = of(replay("upcloud", NIGHT, first_price(150, currency="USD")), "fi-hel2")
    assert (offer.usd_per_hour, offer.usd_per_gpu_hour) == (Decimal("1.50"), Decimal("1.50"))
    assert of(replay("upcloud", NIGHT), "fi-hel2").currency == "EUR"


def test_a_spot_plan_has_the_sizes_of_its_plan_and_a_price_of_its_own(replay: Any) -> None:
    spot = of(replay("upcloud", NIGHT), "fi-hel2", spot=True)
    assert (spot.gpu, spot.gpu_count, spot.vcpus, spot.ram_gib, spot.price) == ("L4", 1, 8, 64, Decimal(57))


def test_stock_is_told_by_zone_and_a_zone_that_is_not_named_is_unknown(replay: Any) -> None:
    stock = {zone: of(replay("upcloud", NIGHT), zone).availability for zone in ("fi-hel2", "de-fra1", "au-syd1")}
    assert stock == {"fi-hel2": "available", "de-fra1": "sold_out", "au-syd1": "unknown"}


def test_a_month_has_the_hours_that_are_charged_at_most() -> None:
    assert provider("upcloud").fact("hours_per_month") == 672


def test_a_malformed_price_is_refused_alone(replay: Any) -> None:
    for price in ("n/a", -1):
        read = replay("upcloud", NIGHT, first_price(price))
        assert (len(read.offers), len(read.rejects)) == (3, 1)

"""OVHcloud: hundred-millionths of two currencies, by the hour or the month as the plan's code ends."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def plans_with(code: str, **fields: Any) -> Any:
    """A change that sets fields of the plans with this code."""

    def change(url: str, body: Any) -> Any:
        for plan in body["addons"]:
            if plan["planCode"] == code:
                plan.update(fields)
        return body

    return change


def test_the_unit_is_the_hour_as_the_price_page_shows_it(replay: Any) -> None:
    """The page of prices showed 1.80 USD an hour for one L40S and 1.00 for one L4 on 2026-08-01."""
    american = {o.gpu: o for o in replay("ovhcloud", NIGHT).offers if o.currency == "USD"}
    assert {gpu: o.usd_per_gpu_hour for gpu, o in american.items()} == {"L40S": Decimal("1.8"), "L4": Decimal(1)}


def test_the_price_is_that_of_the_whole_instance(replay: Any) -> None:
    four = next(o for o in replay("ovhcloud", NIGHT).offers if o.instance_type == "h100-1520")
    assert (four.gpu, four.gpu_count, four.vram_gib, four.price) == ("H100", 4, 80, Decimal("11.2"))


def test_a_month_is_a_commitment_whatever_the_interval_says(replay: Any) -> None:
    pricing = [{"price": 194000000000, "interval": 0, "intervalUnit": "none"}]
    read = replay("ovhcloud", NIGHT, plans_with("h100-380.monthly.postpaid", pricings=pricing))
    assert [(o.price, o.price_unit, o.term_months) for o in read.offers if o.purchase == "reserved"] == [
        (Decimal(1940), "instance-month", 1)
    ]


def test_a_plan_by_the_minute_is_never_read_as_hourly(replay: Any) -> None:
    assert not any("minute" in raw.price_unit or "ai-" in str(raw.sku) for raw in replay("ovhcloud", NIGHT).raw)
    read = replay("ovhcloud", NIGHT, plans_with("l40s-90.consumption", planCode="ai-app.l40s-1-gpu.minute.consumption"))
    assert {str(reject.raw.instance_type) for reject in read.rejects} == {"ai-app"}


def test_u26_each_row_has_the_currency_of_its_catalogue_and_the_day_of_its_rate(replay: Any) -> None:
    rows = [o for o in replay("ovhcloud", NIGHT).offers if o.gpu == "L40S"]
    assert {o.currency: o.price for o in rows} == {"EUR": Decimal("1.4"), "USD": Decimal("1.8")}
    assert len({o.offer_key for o in rows}) == 2
    assert all(o.usd_per_hour is None or o.rate_date for o in rows if o.currency == "EUR")


def test_windows_is_an_offer_of_its_own_and_what_is_still_to_come_is_none(replay: Any) -> None:
    offers = replay("ovhcloud", NIGHT).offers
    assert {o.os: o.price for o in offers if o.gpu == "V100"} == {"linux": Decimal("0.7"), "windows": Decimal("0.9776")}
    assert "A10" not in {o.gpu for o in offers}


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    for price in (-280000000, 0):
        read = replay("ovhcloud", NIGHT, plans_with("h100-380.consumption", pricings=[{"price": price}]))
        assert [reject.raw.sku for reject in read.rejects] == ["FR h100-380.consumption"]
        assert len(read.offers) == 7

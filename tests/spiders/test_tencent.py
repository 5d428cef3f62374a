"""Tencent Cloud: the signature, spot prices beside the hourly ones, stock in grades, errors that come as answers."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from spiders.tencent.signature import Call, authorization

NIGHT = "2026-11-29-night"


def test_the_signature_is_that_of_the_documented_example() -> None:
    body = '{"Limit": 1, "Filters": [{"Values": ["\\u672a\\u547d\\u540d"], "Name": "instance-name"}]}'
    kind = "application/json; charset=utf-8"
    call = Call("cvm", "DescribeInstances", "2017-03-12", body, site="tencentcloudapi.com", kind=kind)
    key = "AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE", "Gu5t9xGARNpq86cd98joQYCN3EXAMPLE"
    assert authorization(call, key, datetime(2019, 2, 25, 16, 44, 25, tzinfo=UTC)) == (
        "TC3-HMAC-SHA256 Credential=AKIDz8krbsJ5yKBZQpn74WFkmLPx3EXAMPLE/2019-02-25/cvm/tc3_request, "
        "SignedHeaders=content-type;host, "
        "Signature=72e494ea809ad7a8c8f7a4507b9bddcbaa8e581f516e8da2f66e2c5a96525168"
    )


def first(change: dict[str, Any]) -> Any:
    """The first machine with a GPU, otherwise."""

    def changed(url: str, body: Any) -> Any:
        for record in body["Response"].get("InstanceTypeQuotaSet", []):
            if record["GpuCount"] and record["Zone"] == "ap-guangzhou-6":
                record.update(change)
        return body

    return changed


def test_a_spot_row_s_unit_price_is_the_hourly_one(replay: Any) -> None:
    prices = {(o.gpu, o.purchase): o.price for o in replay("tencent", NIGHT).offers if o.zone == "ap-shanghai-2"}
    assert prices == {
        ("T4", "on_demand"): Decimal("8.68"),
        ("T4", "spot"): Decimal("1.736"),
        ("V100", "on_demand"): Decimal("11.88"),
        ("V100", "spot"): Decimal("2.376"),
    }


def test_on_demand_is_the_list_price_whatever_the_account_s_discount(replay: Any) -> None:
    price = {"UnitPrice": 8.68, "UnitPriceDiscount": 4.34, "UnitPriceSecondStep": 4.1, "ChargeUnit": "HOUR"}
    (found,) = (o for o in replay("tencent", NIGHT, first({"Price": price})).offers if o.region == "ap-guangzhou")
    assert found.usd_per_gpu_hour == Decimal("8.68")


def test_stock_is_told_by_zone_and_what_is_sold_out_stays(replay: Any) -> None:
    stock = {(o.zone, o.availability, o.price is None) for o in replay("tencent", NIGHT).offers if o.gpu == "T4"}
    assert stock == {
        ("ap-guangzhou-6", "available", False),
        ("ap-shanghai-2", "limited", False),
        ("ap-shanghai-5", "sold_out", True),
    }


def test_a_quarter_of_a_card_costs_four_times_as_much_by_the_gpu(replay: Any) -> None:
    (found,) = (o for o in replay("tencent", NIGHT, first({"GpuCount": 0.25})).offers if o.region == "ap-guangzhou")
    assert (found.gpu_count, found.usd_per_gpu_hour) == (0.25, Decimal("34.72"))


def test_an_unknown_family_is_read_by_its_remark_or_not_at_all(replay: Any) -> None:
    for remark, gpu in (("8 * NVIDIA A100", "A100"), ("", None)):
        change = {"InstanceType": "HCCX9.24XLARGE9", "Remark": remark}
        (found,) = (o for o in replay("tencent", NIGHT, first(change)).offers if o.region == "ap-guangzhou")
        assert (found.gpu, found.vram_gib) == (gpu, None)


@pytest.mark.parametrize(("price", "reason"), [(-1, "price -1 is not above zero"), (0, "price 0 is not above zero")])
def test_a_malformed_price_is_a_reject_and_the_rest_stays(replay: Any, price: int, reason: str) -> None:
    told = {"Price": {"UnitPrice": price, "UnitPriceDiscount": price, "ChargeUnit": "HOUR"}}
    read = replay("tencent", NIGHT, first(told))
    assert ([reject.reason for reject in read.rejects], len(read.offers)) == ([reason], 5)


def test_a_price_by_another_unit_fails(failing: Any) -> None:
    report = failing("tencent", NIGHT, first({"Price": {"UnitPrice": 8, "UnitPriceDiscount": 8, "ChargeUnit": "GB"}}))
    assert (report.error_class, "by GB" in report.error) == ("SchemaDrift", True)

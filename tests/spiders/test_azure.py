"""Azure: which row of a price list of all meters is an offer, and that the walk over its pages is whole."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from typing import Any

import pytest

from spiders.shared import har
from spiders.shared.har import Entry
from spiders.shared.offline import Offline, read_answers
from spiders.shared.source import RECORDED

NIGHT = "2026-11-29-night"
URL = "https://prices.azure.com/api/retail/prices?api-version=2023-01-01-preview"
ROW = {
    "currencyCode": "USD",
    "retailPrice": Decimal("3.673"),
    "armRegionName": "eastus",
    "effectiveStartDate": "2026-09-01T00:00:00Z",
    "meterName": "NC24ads_A100_v4",
    "productName": "NCads A100 v4 Series Linux",
    "skuName": "NC24ads_A100_v4",
    "unitOfMeasure": "1 Hour",
    "type": "Consumption",
    "armSkuName": "Standard_NC24ads_A100_v4",
}


def page(*rows: dict[str, Any], link: str | None = None, count: int | None = None) -> Offline:
    """One saved page, read alone, as of 2026-11-29."""
    started = har.recorded_at(RECORDED / "azure" / NIGHT)
    body = json.dumps(
        {"Items": [ROW | row for row in rows], "NextPageLink": link, "Count": len(rows) if count is None else count},
        default=float,
    )
    return read_answers("azure", [Entry("*", URL, mime="application/json", content=body.encode(), started=started)])


def purchases(*rows: dict[str, Any]) -> list[str]:
    read = page(*rows)
    assert read.errors == []
    return [offer.purchase for offer in read.offers]


def test_a_row_is_an_offer() -> None:
    assert purchases({}) == ["on_demand"]


def test_s09_on_demand_spot_and_low_priority_are_kept_apart() -> None:
    names = ("NC24ads_A100_v4", "NC24ads_A100_v4 Spot", "NC24ads_A100_v4 Low Priority")
    prices = (Decimal("3.673"), Decimal("0.67877"), Decimal("0.7346"))
    rows = [{"meterName": n, "skuName": n, "retailPrice": p} for n, p in zip(names, prices, strict=True)]
    read = page(*rows)
    assert [(o.purchase, o.price) for o in read.offers] == [("on_demand", prices[0]), ("spot", prices[1])]


def test_either_name_may_say_spot_and_either_way_of_writing_it() -> None:
    assert purchases({"skuName": "Standard_NC24ads_A100_v4 Spot"}) == ["spot"]
    assert purchases({"meterName": "NC24ads_A100_v4 Spot"}) == ["spot"]


@pytest.mark.parametrize(
    "row",
    [
        {"productName": "NCads A100 v4 Series Windows"},
        {"productName": "Virtual Machines NCasT4 v3 Series CloudServices"},
        {"productName": "NCasT4_v3 Series Cloud Services"},
        {"meterName": "NC24ads_A100_v4 Low Priority"},
        {"retailPrice": 0.0},
        {"armSkuName": ""},
        {"armSkuName": "Standard_D2s_v5"},
        {"armSkuName": "Standard_NP10s"},
        {"effectiveStartDate": "2026-11-29T02:00:01Z"},
        {"effectiveEndDate": "2026-11-29T02:00:00Z"},
        {"productName": "NCads A100 v4 Series Dedicated Host"},
        {"type": "DevTestConsumption"},
        {"armRegionName": "usgovvirginia"},
        {"armRegionName": "usdodcentral"},
    ],
    ids=str,
)
def test_what_is_no_offer_of_a_linux_machine_with_gpus(row: dict[str, Any]) -> None:
    assert purchases(row) == []


def test_u09_the_total_of_a_reservation_is_no_price_per_hour() -> None:
    whole_term = {"type": "Reservation", "reservationTerm": "1 Year", "retailPrice": Decimal("20615.0")}
    read = page({}, whole_term)
    assert [(o.purchase, o.price) for o in read.offers] == [("on_demand", Decimal("3.673"))]


def test_an_interval_holds_from_its_start_to_its_end() -> None:
    assert purchases({"effectiveStartDate": "2026-11-29T02:00:00Z"}) == ["on_demand"]
    assert purchases({"effectiveEndDate": "2026-11-29T02:00:01Z"}) == ["on_demand"]


def test_one_instant_holds_for_the_whole_crawl(replay: Any) -> None:
    """Both nights hold both prices of this spot machine; which one is valid tells the night."""

    def price(night: str) -> list[Decimal]:
        offers = replay("azure", night).offers
        return [o.price for o in offers if o.instance_type == "Standard_NC24ads_A100_v4" and is_moved(o)]

    def is_moved(offer: Any) -> bool:
        return bool(offer.region == "westeurope" and offer.purchase == "spot")

    assert price(NIGHT) == [Decimal("0.88242")]
    assert price("2026-11-30-night") == [Decimal("0.80742")]


def test_d06_a_shuffled_answer_with_other_pages_is_the_same_but_for_the_one_move(replay: Any) -> None:
    first, second = ({str(o) for o in replay("azure", n).raw} for n in (NIGHT, "2026-11-30-night"))
    shown = [{row.split("source_url")[0] for row in night} for night in (first, second)]
    assert len(shown[0] ^ shown[1]) == 2


def test_d06_the_order_of_the_rows_changes_nothing(replay: Any) -> None:
    def shuffled(url: str, body: Any) -> Any:
        random.Random(1).shuffle(body["Items"])
        return body

    one, other = (sorted(map(str, replay("azure", NIGHT, change).raw)) for change in (None, shuffled))
    assert one == other


def test_n06_the_variant_stands_beside_the_model(replay: Any) -> None:
    variants = {(o.instance_type, o.form_factor) for o in replay("azure", NIGHT).offers if o.gpu == "H100"}
    assert ("Standard_NC40ads_H100_v5", "NVL") in variants
    assert ("Standard_ND96isr_H100_v5", "SXM") in variants


def test_a_share_of_a_gpu_is_no_whole_one(replay: Any) -> None:
    share = next(o for o in replay("azure", NIGHT).offers if o.instance_type == "Standard_NV6ads_A10_v5")
    assert share.gpu_count == pytest.approx(1 / 6)
    assert share.usd_per_gpu_hour == share.usd_per_hour * 6


def test_s05_spot_as_dear_as_the_list_is_kept_as_it_is(replay: Any) -> None:
    h200 = {o.purchase: o.price for o in replay("azure", NIGHT).offers if o.region == "uksouth" and o.gpu == "H200"}
    assert h200 == {"on_demand": Decimal(106), "spot": Decimal(106)}


def test_a_type_that_no_table_knows_is_kept(replay: Any) -> None:
    (new,) = [o for o in replay("azure", NIGHT).offers if o.gpu is None]
    assert (new.instance_type, new.gpu_count, new.usd_per_gpu_hour) == ("Standard_NE64ads_R200_v1", None, None)
    assert new.usd_per_hour == Decimal("11.4")


def test_f14_a_price_of_null_is_unknown_not_zero(replay: Any) -> None:
    def priceless(url: str, body: Any) -> Any:
        for row in body["Items"]:
            if row["armSkuName"] == "Standard_NC64as_T4_v3":
                row["retailPrice"] = None
        return body

    read = replay("azure", NIGHT, priceless)
    assert {o.price for o in read.offers if o.instance_type == "Standard_NC64as_T4_v3"} == {None}
    assert read.rejects == []


def test_f16_a_region_in_other_case_is_the_same_place(replay: Any) -> None:
    def shouting(url: str, body: Any) -> Any:
        for row in body["Items"]:
            row["armRegionName"] = row["armRegionName"].title()
        return body

    assert None not in {o.country for o in replay("azure", NIGHT, shouting).offers}


def test_another_unit_is_refused_by_name(replay: Any) -> None:
    def monthly(url: str, body: Any) -> Any:
        for row in body["Items"]:
            if row["armSkuName"] == "Standard_NC64as_T4_v3":
                row["unitOfMeasure"] = "1/Month"
        return body

    read = replay("azure", NIGHT, monthly)
    assert {r.raw.instance_type for r in read.rejects} == {"Standard_NC64as_T4_v3"}
    assert all("1/Month" in r.reason for r in read.rejects)


def test_p06_a_page_that_holds_other_than_it_counts_is_truncated() -> None:
    read = page({}, count=1000)
    assert read.offers == []
    assert read.errors[0].startswith("Truncated")


@pytest.mark.parametrize(
    "link", ["https://prices.azure.com.example.net/x?$skip=1", "http://prices.azure.com/x?$skip=1"]
)
def test_the_next_page_stays_on_the_host(link: str) -> None:
    assert page({}, link=link).errors[0].startswith("Truncated")


def test_a_first_page_alone_says_which_page_is_missing() -> None:
    read = page({}, link=f"{URL}&$skip=1000")
    assert len(read.offers) == 1
    assert any("skip=1000" in note for note in read.notes)


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        for row in body["Items"]:
            if row["armSkuName"] == "Standard_NC64as_T4_v3":
                row["retailPrice"] = -1
        return body

    whole, read = replay("azure", NIGHT), replay("azure", NIGHT, broken)
    assert {reject.reason for reject in read.rejects} == {"price -1 is not above zero"}
    assert len(read.offers) + len(read.rejects) == len(whole.offers)

"""Google Cloud: machines out of the prices of their parts, ways of buying kept apart, prices spaced at random."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from parsel import Selector

from spiders.gcp import machines, skus
from spiders.gcp.tables import in_html
from spiders.gcp.ways import way_of

NIGHT, KEYED = "2026-11-29-night", "2026-11-30-keyed"


def sku(description: str, price: str, region: str = "us-central1", usage: str = "OnDemand", **said: Any) -> Any:
    units, _, nanos = price.partition(".")
    tier = {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "units": units, "nanos": int(f"{nanos:0<9}")}}
    unit = "GiBy.mo" if "Local" in description else "GiBy.h" if " Ram" in description else "h"
    expression = {"usageUnit": unit, "tieredRates": [tier]}
    return {
        "description": description,
        "category": {"usageType": usage},
        "serviceRegions": [region],
        "pricingInfo": [{"pricingExpression": expression, "effectiveTime": "2026-11-28T00:00:00Z"}],
    } | said


def a2(region: str = "us-central1") -> list[Any]:
    return [
        sku("Nvidia Tesla A100 GPU running in Americas", "2.933908", region),
        sku("A2 Instance Core running in Americas", "0.031611", region),
        sku("A2 Instance Ram running in Americas", "0.004237", region),
    ]


def offers(records: list[Any]) -> dict[tuple[str | None, str, str | None], Decimal]:
    read = list(machines.offers(skus.newest({}, records), 730))
    found: dict[tuple[str | None, str, str | None], Decimal] = {
        (offer.instance_type, offer.purchase, offer.region): Decimal(str(offer.price)) for offer in read
    }
    assert len(found) == len(read)
    return found


def test_u10_a_machine_is_the_sum_of_all_its_parts() -> None:
    assert offers(a2())["a2-highgpu-1g", "on_demand", "us-central1"] == Decimal("3.673385")
    assert min(offers(a2()).values()) > Decimal("2.933908")


@pytest.mark.parametrize("missing", range(3))
def test_u10_a_machine_with_a_part_that_has_no_price_is_left_out(missing: int) -> None:
    assert not offers([part for at, part in enumerate(a2()) if at != missing])


def test_u11_a_free_first_tier_is_no_price() -> None:
    gpu, *rest = a2()
    paid = {"startUsageAmount": 1, "unitPrice": {"currencyCode": "USD", "units": "0", "nanos": 10_000_000}}
    free = {"startUsageAmount": 0, "unitPrice": {"currencyCode": "USD", "nanos": 0}}
    gpu["pricingInfo"][0]["pricingExpression"]["tieredRates"] = [free, paid]
    ((_, price),) = {rate for key, rate in skus.newest({}, [gpu]).items()}
    assert price == Decimal("0.01")
    gpu["pricingInfo"][0]["pricingExpression"]["tieredRates"] = [free]
    assert not offers([gpu, *rest])


def test_s10_spot_is_ranked_by_its_own_price(replay: Any) -> None:
    """The total prices of one V100 that were reported; only how they split into parts is ours."""
    reported = {"us-central1": ("2.953", "1.037"), "asia-east1": ("3.1", "0.811")}

    def instead(url: str, body: Any) -> Any:
        return {"skus": list(v100s()) if "pageToken" not in url else [], "nextPageToken": body["nextPageToken"]}

    def v100s() -> Iterator[Any]:
        for region, prices in reported.items():
            for way, usage, price in zip(
                ("{}", "Spot Preemptible {}"), ("OnDemand", "Preemptible"), prices, strict=True
            ):
                yield sku(way.format("N1 Predefined Instance Core running in X"), "0.005", region, usage)
                yield sku(way.format("N1 Predefined Instance Ram running in X"), "0.001", region, usage)
                gpu = "Nvidia Tesla V100 GPU" + (" attached to Spot Preemptible VMs" if usage == "Preemptible" else "")
                yield sku(f"{gpu} running in X", str(Decimal(price) - Decimal("0.092")), region, usage)

    read = [offer for offer in replay("gcp", KEYED, instead).offers if offer.gpu_count == 1]
    cheapest = {
        way: min((o.usd_per_gpu_hour, o.region) for o in read if o.purchase == way) for way in ("spot", "on_demand")
    }
    assert cheapest == {"spot": (Decimal("0.811"), "asia-east1"), "on_demand": (Decimal("2.953"), "us-central1")}


def test_n22_key_and_page_tell_the_same_machine(replay: Any) -> None:
    def told(case: str) -> dict[str, Any]:
        read = replay("gcp", case).offers
        return {o.offer_key: (o.gpu, o.vram_gib, o.gpu_count, o.vcpus, o.ram_gib, o.usd_per_gpu_hour) for o in read}

    page, keyed = told(NIGHT), told(KEYED)
    assert len(set(page) & set(keyed)) >= 7
    assert {key: page[key][:5] for key in set(page) & set(keyed)} == {
        key: keyed[key][:5] for key in set(page) & set(keyed)
    }


def test_t10_a_part_that_stands_twice_has_its_later_price() -> None:
    gpu, *rest = a2()
    later = sku(gpu["description"], "3")
    later["pricingInfo"][0]["effectiveTime"] = "2026-11-29T00:00:00Z"
    for records in ([gpu, later, *rest], [later, gpu, *rest], [later, later, *rest]):
        assert offers(records)["a2-highgpu-1g", "on_demand", "us-central1"] == Decimal("3.739477")


def test_t10_no_machine_stands_twice(replay: Any) -> None:
    keys = [offer.offer_key for offer in replay("gcp", KEYED).offers]
    assert len(set(keys)) == len(keys) > 30


@pytest.mark.parametrize(
    ("description", "usage", "way", "part"),
    [
        ("Spot Preemptible A3 Instance Ram running in Iowa", "OnDemand", ("spot", None), "a3 ram"),
        ("DWS Defined Duration A3 Core running in Americas", "OnDemand", ("queued", None), "a3 core"),
        ("DWS Calendar Mode A3 Core running in Americas", "OnDemand", ("capacity_block", None), "a3 core"),
        ("Commitment v1: A2 Cpu in Americas for 1 Year", "Commit1Yr", ("reserved", 12), "a2 core"),
        ("Commitment v1: Nvidia L4 GPU running in Americas for 3 Years", "Commit3Yr", ("reserved", 36), "nvidia l4"),
        ("Commitment v1: Local SSD in Americas for 3 Years", "Commit3Yr", ("reserved", 36), skus.SSD),
        ("SSD backed Local Storage attached to Spot Preemptible VMs", "Preemptible", ("spot", None), skus.SSD),
        ("H200 141GB GPU running in Netherlands", "OnDemand", ("on_demand", None), "h200 141gb"),
    ],
)  # fmt: skip
def test_what_a_sku_prices_and_how_it_is_bought(description: str, usage: str, way: Any, part: str) -> None:
    assert skus.read(description, usage) == (way, part)


@pytest.mark.parametrize(
    "description",
    [
        "Nvidia Tesla A100 GPU attached to Sole Tenancy VMs running in Americas",
        "Reserved Nvidia Tesla A100 GPU in Americas",
        "Nvidia Tesla A100 Virtual Workstation GPU running in Americas",
    ],
)
def test_what_is_sold_otherwise_is_not_taken_for_the_plain_part(description: str) -> None:
    _, *rest = a2()
    assert not offers([sku(description, "0.5"), *rest])


def test_local_disk_is_priced_by_the_month_of_730_hours() -> None:
    parts = [
        sku("Nvidia Tesla A100 80GB GPU running in X", "3.92808"),
        *a2()[1:],
        sku("SSD backed Local Storage", "0.08"),
    ]
    assert round(offers(parts)["a2-ultragpu-1g", "on_demand", "us-central1"], 3) == Decimal("5.069")


def test_what_is_only_sold_with_a_commitment_has_no_plain_price(replay: Any) -> None:
    ways = {offer.purchase for offer in replay("gcp", KEYED).offers if offer.gpu == "B200"}
    assert ways == {"spot", "capacity_block", "reserved"}


def test_another_currency_is_no_price() -> None:
    gpu, *rest = a2()
    gpu["pricingInfo"][0]["pricingExpression"]["tieredRates"][0]["unitPrice"]["currencyCode"] = "IDR"
    assert not offers([gpu, *rest])


def test_a_cell_is_read_however_it_is_spaced_and_a_price_of_nothing_is_a_reject(replay: Any) -> None:
    def spaced(url: str, body: str) -> str:
        return body.replace("$0.706832276 / 1 hour", "$2 .0000/ 1 hour").replace("$3.673385 /", "$0.00 /")

    read = replay("gcp", NIGHT, spaced)
    assert [o.price for o in read.offers if o.gpu == "L4" and o.purchase == "on_demand"] == [Decimal(2)]
    assert [reject.reason for reject in read.rejects] == ["price $0.00 is not above zero"]


def test_another_unit_of_time_fails(failing: Any) -> None:
    report = failing("gcp", NIGHT, lambda url, body: body.replace("$3.673385 / 1 hour", "$2681 / 1 month"))
    assert (report.error_class, "1 month" in report.error) == ("LayoutChanged", True)


def test_a_table_is_of_the_region_that_the_list_box_before_it_shows() -> None:
    table = "<table><tr><th>Machine type</th></tr><tr><td>g2-standard-4</td></tr></table>"
    box = "<div role='listbox'><i aria-selected='true'>Johannesburg (africa-south1)</i><i>Iowa (us-central1)</i></div>"
    assert [found.region for found in in_html(Selector(text=f"{table}{box}{table}"))] == [
        "us-central1",
        "africa-south1",
    ]


def test_a_flexible_commitment_is_no_flex_start() -> None:
    assert way_of("Flexible CUD 1 year") == ("reserved", 12)
    assert way_of("Price (USD)*") == ("on_demand", None)


def test_sizes_may_stand_in_columns_of_their_own_and_a_count_is_no_card(replay: Any) -> None:
    def columns(url: str, body: str) -> str:
        body = body.replace(">GPU</th>", ">GPUs</th>").replace("NVIDIA L4", "1")
        return body.replace("GPUs: 1 vCPUs: 4 Memory: 16GB", "GPU: 1 vCPU: 4 Memory: 16 GiB")

    (found,) = (o for o in replay("gcp", NIGHT, columns).offers if o.gpu == "L4" and o.purchase == "spot")
    assert (found.gpu_count, found.vcpus, found.ram_gib, found.accelerator_raw) == (1, 4, 16, None)

"""AWS: on-demand documents of every location, one spot price list, and the advisor's bands that belong to it."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from typing import Any

import pytest

from spiders.shared import har
from spiders.shared.crawl import crawl
from spiders.shared.har import Entry
from spiders.shared.offline import Offline, read_answers
from spiders.shared.source import RECORDED

NIGHT = "2026-11-29-night"


def entries(*parts: str) -> list[Entry]:
    """The recorded answers whose address holds one of these words."""
    return [entry for entry in har.read(RECORDED / "aws" / NIGHT).entries if any(part in entry.url for part in parts)]


def alone(*parts: str) -> Offline:
    read = read_answers("aws", entries(*parts))
    assert read.errors == []
    return read


def linux(body: Any, size: str, *prices: str) -> None:
    """Let the spot price list say these Linux prices for a size, one row each."""
    for place in body["config"]["regions"]:
        for group in place["instanceTypes"]:
            for row in [row for row in group["sizes"] if row["size"] == size]:
                group["sizes"].remove(row)
            if group["type"].startswith("gpu"):
                group["sizes"] += [
                    {"size": size, "valueColumns": [{"name": "linux", "prices": {"USD": price}}]} for price in prices
                ]


def spot_list(size: str, *prices: str) -> Any:
    def change(url: str, body: Any) -> Any:
        if url.endswith("/spot.json"):
            linux(body, size, *prices)
        return body

    return change


def test_s01_every_region_with_gpus_has_its_spot_rows(replay: Any) -> None:
    offers = replay("aws", NIGHT).offers
    assert {o.region for o in offers if o.purchase == "spot"} == {"us-east-1", "us-west-2"}
    assert sum(o.instance_type == "p3.2xlarge" and o.purchase == "spot" for o in offers) == 1


def test_s02_one_price_for_a_region_is_not_said_of_a_zone(replay: Any) -> None:
    spot = [o for o in replay("aws", NIGHT).offers if o.purchase == "spot"]
    assert {o.zone for o in spot} == {None}
    assert len({(o.region, o.instance_type) for o in spot}) == len(spot)


def test_s05_spot_above_on_demand_is_kept_as_it_is(replay: Any) -> None:
    offers = replay("aws", NIGHT, spot_list("g6e.xlarge", "9.99")).offers
    assert {o.price for o in offers if o.instance_type == "g6e.xlarge" and o.purchase == "spot"} == {Decimal("9.99")}


def test_spot_is_the_linux_column_even_where_windows_is_cheaper(replay: Any) -> None:
    price = {(o.region, o.instance_type): o.price for o in replay("aws", NIGHT).offers if o.purchase == "spot"}
    assert price["us-west-2", "g6e.xlarge"] == Decimal("1.4962")


def test_spot_without_a_price_is_no_offer_and_scientific_notation_is_a_price(replay: Any) -> None:
    offers = replay("aws", NIGHT).offers
    assert not [
        o for o in offers if (o.region, o.instance_type, o.purchase) == ("us-east-1", "p6-b300.48xlarge", "spot")
    ]
    tiny = replay("aws", NIGHT, spot_list("g6f.large", "9.0E-4")).offers
    assert {o.price for o in tiny if o.instance_type == "g6f.large" and o.purchase == "spot"} == {Decimal("0.0009")}


def test_a_size_listed_twice_is_one_offer_unless_the_prices_differ(replay: Any) -> None:
    def count(*prices: str) -> int:
        raw = replay("aws", NIGHT, spot_list("p4de.24xlarge", *prices)).raw
        return sum(o.instance_type == "p4de.24xlarge" and o.purchase == "spot" for o in raw)

    assert count("15.0971", "15.0971") == 2  # one in each of two regions
    assert count("15.0971", "16.0") == 4  # which of them holds is for the gate to ask


def test_the_advisors_band_stands_with_the_spot_offer_only(replay: Any) -> None:
    offers = replay("aws", NIGHT).offers
    bands = {(o.region, o.instance_type): o.interruption_rate for o in offers if o.purchase == "spot"}
    assert bands["us-east-1", "p5.48xlarge"] == ">20%"
    assert bands["us-east-1", "p5en.48xlarge"] == "<5%"
    assert bands["us-west-2", "dl1.24xlarge"] is None  # the advisor does not know it
    assert {o.interruption_rate for o in offers if o.purchase == "on_demand"} == {None}


def test_windows_bands_are_not_linux_bands(replay: Any) -> None:
    offers = replay("aws", NIGHT).offers
    assert {o.interruption_rate for o in offers if (o.region, o.instance_type) == ("us-east-1", "g4dn.xlarge")} == {
        "5-10%",
        None,
    }


def test_the_spot_list_alone_has_no_bands_and_the_advisor_alone_no_offers() -> None:
    spot = alone("/spot.json").offers
    assert len(spot) == 10 + 17
    assert {o.interruption_rate for o in spot} == {None}
    assert alone("advisor").offers == []


def test_a_location_alone_is_called_by_the_code_that_the_table_knows() -> None:
    assert {o.region for o in alone("Frankfurt").offers} == {"eu-central-1"}


def test_in_a_crawl_the_code_is_the_one_aws_says(replay: Any) -> None:
    def renamed(url: str, body: Any) -> Any:
        if "locations.json" in url:
            body["Europe (Frankfurt)"]["code"] = "eu-central-9"
        return body

    offers = replay("aws", NIGHT, renamed).offers
    assert "eu-central-9" in {o.region for o in offers}
    assert "eu-central-1" not in {o.region for o in offers}


def test_f15_a_location_that_is_refused_fails_the_crawl_one_without_instances_does_not(
    replay: Any, failing: Any
) -> None:
    assert any(entry.status == 404 for entry in entries("Verizon"))
    assert len(replay("aws", NIGHT).offers) == 80

    def broken(url: str, body: Any) -> Any:
        return {"message": "try later"} if "Ohio" in url else body

    assert failing("aws", NIGHT, broken).error_class == "SchemaDrift"


def test_cpu_fpga_and_media_instances_are_left_out(replay: Any) -> None:
    families = {o.instance_type.split(".")[0] for o in replay("aws", NIGHT).offers}
    assert not families & {"m6g", "c7i", "f2", "vt1", "t4g", "c3"}
    assert {"trn1", "inf2", "dl1"} <= families


def test_a_gpu_instance_that_no_table_knows_is_kept(replay: Any) -> None:
    (new,) = [o for o in replay("aws", NIGHT).offers if o.gpu is None]
    assert (new.instance_type, new.gpu_count, new.usd_per_gpu_hour) == ("p9-x100.48xlarge", None, None)
    assert new.usd_per_hour == Decimal(310)


def test_n11_the_model_comes_from_the_type(replay: Any) -> None:
    p5en = next(o for o in replay("aws", NIGHT).offers if o.instance_type == "p5en.48xlarge")
    assert (p5en.gpu, p5en.form_factor, p5en.vram_gib, p5en.gpu_count) == ("H200", "SXM", 141, 8)
    assert not {o.gpu for o in replay("aws", NIGHT).offers} & {"NVIDIA", "AMD", "GPU", ""}


def test_u03_memory_is_that_of_one_gpu(replay: Any) -> None:
    g6 = next(o for o in replay("aws", NIGHT).offers if o.instance_type == "g6.48xlarge")
    assert (g6.gpu, g6.vram_gib, g6.gpu_count) == ("L4", 24, 8)


def test_a14_a_share_of_a_gpu_is_priced_as_one(replay: Any) -> None:
    share = next(o for o in replay("aws", NIGHT).offers if o.instance_type == "g6f.large" and o.purchase == "on_demand")
    assert (share.gpu, share.gpu_count) == ("L4", 0.125)
    assert share.usd_per_gpu_hour == Decimal("0.202") * 8


def test_u19_a_price_of_zero_is_no_price(replay: Any) -> None:
    def free(url: str, body: Any) -> Any:
        for place in body.get("regions", {}).values() if "Ohio" in url else ():
            for record in place.values():
                record["price"] = "0.0000000000" if record["Instance Type"] == "p4d.24xlarge" else record["price"]
        return body

    read = replay("aws", NIGHT, free)
    assert [r.raw.instance_type for r in read.rejects] == ["p4d.24xlarge"]
    assert not [o for o in read.offers if (o.region, o.instance_type) == ("us-east-2", "p4d.24xlarge")]


def test_d06_the_order_of_the_answers_changes_nothing(replay: Any) -> None:
    def shuffled(url: str, body: Any) -> Any:
        if url.endswith("/spot.json"):
            for place in body["config"]["regions"]:
                for group in place["instanceTypes"]:
                    random.Random(2).shuffle(group["sizes"])
            random.Random(2).shuffle(body["config"]["regions"])
        return body

    one, other = (sorted(map(str, replay("aws", NIGHT, change).raw)) for change in (None, shuffled))
    assert one == other


@pytest.mark.parametrize("name", ["apac-tokyo", "EU (Frankfurt)"])
def test_old_names_of_regions_lead_to_their_codes(name: str) -> None:
    body: Any = {"config": {"rate": "perhr", "regions": [{"region": name, "instanceTypes": []}]}}
    linux_row = {"size": "g5.xlarge", "valueColumns": [{"name": "linux", "prices": {"USD": "0.4"}}]}
    body["config"]["regions"][0]["instanceTypes"] = [{"type": "gpuCurrentGen", "sizes": [linux_row]}]
    entry = Entry("*", "https://website.spot.ec2.aws.a2z.com/spot.json", content=json.dumps(body).encode())
    (offer,) = read_answers("aws", [entry]).offers
    assert offer.region in {"ap-northeast-1", "eu-central-1"}


BLOCKS = "https://aws.amazon.com/ec2/capacityblocks/pricing/"
OLD_BLOCKS = """<h1>Amazon EC2 Capacity Blocks for ML Pricing</h1><table>
<tr><td>Instance Type</td><td>Region</td><td>Effective Instance Hourly Rate</td>
    <td>Effective Accelerator Hourly Rate</td><td>GPU</td><td>vCPU</td></tr>
<tr><td>p5.48xlarge</td><td>US East (Ohio)</td><td>$39.33 USD</td><td>$4.916 USD</td><td>8 x H100</td><td>192</td></tr>
</table>"""


def blocks(replay: Any, old: str = "", new: str = "") -> Any:
    """What the page of Capacity Blocks says with a word changed, by type and region."""
    read = replay("aws", NIGHT, lambda url, body: body.replace(old, new) if url == BLOCKS and old else body)
    return {(o.instance_type, o.region): o for o in read.offers if o.purchase == "capacity_block"}, read.rejects


def test_u19_a_type_sold_by_block_alone_is_no_offer_on_demand(replay: Any) -> None:
    offers, _ = blocks(replay)
    rack = offers["u-p6e-gb200x72", "us-east-1-dfw-2"]
    assert (rack.gpu, rack.gpu_count, rack.price) == ("GB200", 72, Decimal("761.904"))
    assert rack.usd_per_gpu_hour == Decimal("10.582")
    others = [o for o in replay("aws", NIGHT).offers if o.instance_type == "u-p6e-gb200x72"]
    assert {o.purchase for o in others} == {"capacity_block"}


def test_a05_a_block_is_offered_where_the_page_says_and_nowhere_else(replay: Any) -> None:
    offers, _ = blocks(replay)
    assert {region for name, region in offers if name == "p5.48xlarge"} == {"us-east-1", "us-west-1", "ap-southeast-2"}
    assert {region for name, region in offers if name == "p6-b300.48xlarge"} == {"us-west-2"}
    assert not {o.purchase for o in offers.values()} - {"capacity_block"}


def test_a_cell_with_one_amount_does_not_say_whose_it_is(replay: Any) -> None:
    offers, rejects = blocks(replay, "$761.904 ($10.582 USD)", "$10.582 USD")
    assert offers["u-p6e-gb200x72", "us-east-1-dfw-2"].price is None
    assert rejects == []


def test_a_malformed_block_is_told_and_the_others_stay(replay: Any) -> None:
    whole, _ = blocks(replay)
    for wrong in ("$-93.60", "$9.3.6"):
        offers, rejects = blocks(replay, "$93.60", wrong)
        assert [r.raw.instance_type for r in rejects] == ["p6-b300.48xlarge"]
        assert set(whole) - set(offers) == {("p6-b300.48xlarge", "us-west-2")}


def test_the_older_page_has_a_column_for_each_rate() -> None:
    read = read_answers("aws", [Entry("*", BLOCKS, mime="text/html", content=OLD_BLOCKS.encode())])
    (offer,) = read.offers
    assert (offer.price, offer.region, offer.gpu_count, offer.vcpus) == ("39.33", "us-east-2", "8", "192")


def test_a_page_without_a_column_of_regions_is_not_half_read() -> None:
    body = OLD_BLOCKS.replace("<td>Region</td>", "<td>Place</td>")
    read = read_answers("aws", [Entry("*", BLOCKS, mime="text/html", content=body.encode())])
    assert read.offers == []
    assert read.errors[0].startswith("SchemaDrift")


ZONES = "2026-11-30-spot-zones"


def test_s02_with_keys_each_zone_keeps_its_own_price(replay: Any) -> None:
    spot = [o for o in replay("aws", ZONES).offers if o.purchase == "spot" and o.region == "us-east-1"]
    assert {(o.instance_type, o.zone): o.price for o in spot} == {
        ("p5.48xlarge", "use1-az6"): Decimal("19.9678"),  # the later of two pages' changes, whatever their order
        ("p5.48xlarge", "use1-az1"): Decimal("22.41"),
        ("g6e.xlarge", "use1-az6"): Decimal("0.801"),
        ("g6e.xlarge", "us-east-1c"): Decimal("0.9115"),
    }
    assert {o.interruption_rate for o in spot if o.instance_type == "p5.48xlarge"} == {">20%"}


def test_a_region_that_the_account_lacks_keeps_the_one_price_of_the_list(replay: Any) -> None:
    with_keys, without = replay("aws", ZONES).offers, replay("aws", "2026-11-30-night").offers
    west = [
        {o.offer_key for o in read if (o.region, o.purchase) == ("us-west-2", "spot")} for read in (with_keys, without)
    ]
    assert west[0] == west[1] != set()


def test_the_run_says_which_way_was_used_and_writes_no_key_down(tmp_path: Any) -> None:
    secret = "wJalr-a-secret-of-mine"
    keys = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLEOFMINE", "AWS_SECRET_ACCESS_KEY": secret}
    keyed = crawl("aws", tmp_path / "keyed", recorded=RECORDED / "aws" / ZONES, env=keys)
    bare = crawl("aws", tmp_path / "bare", recorded=RECORDED / "aws" / NIGHT, env={})
    assert (keyed.ok, keyed.access, bare.access) == (True, "AWS_ACCESS_KEY_ID", "open")
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in written if secret in text or "AKIAEXAMPLEOFMINE" in text]

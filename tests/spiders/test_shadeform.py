"""Shadeform: cents for the machine, one offer a region, whose cloud it is."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from scrapy.http import HtmlResponse

from spiders.shadeform import ShadeformSpider
from spiders.shared import har
from spiders.shared.har import Entry
from spiders.shared.offline import read_answers
from spiders.shared.source import RECORDED

NIGHT = "2026-11-29-night"


def changed(**fields: Any) -> Any:
    """The first type with fields set, at both places where the answer repeats them."""

    def change(url: str, body: Any) -> Any:
        body["instance_types"][0] |= fields
        body["instance_types"][0]["configuration"] |= {k: v for k, v in fields.items() if k != "hourly_price"}
        return body

    return change


def test_u18_the_price_is_in_cents_of_the_machine(replay: Any) -> None:
    first = replay("shadeform", NIGHT, changed(hourly_price=210)).offers[0]
    assert (first.price, first.usd_per_hour, first.usd_per_gpu_hour) == (210, Decimal("2.10"), Decimal("2.10"))
    eight = replay("shadeform", NIGHT, changed(hourly_price=1120, num_gpus=8)).offers[0]
    assert (eight.usd_per_hour, eight.usd_per_gpu_hour) == (Decimal("11.20"), Decimal("1.40"))


def test_a_type_is_one_offer_in_each_region_and_the_cpu_machine_is_none(replay: Any) -> None:
    read = replay("shadeform", NIGHT)
    assert len(read.offers) == len({o.offer_key for o in read.offers}) == 7
    assert {o.region: o.availability for o in read.offers if o.reseller_of == "lambdalabs"} == {
        "us-south-1": "sold_out",
        "us-west-3": "available",
    }


def test_two_clouds_with_the_same_type_are_two_offers(replay: Any) -> None:
    found = {o.reseller_of: o.usd_per_hour for o in replay("shadeform", NIGHT).offers if o.gpu == "RTX A6000"}
    assert found == {"hyperstack": Decimal("0.5"), "massedcompute": Decimal("0.57")}


def test_what_the_configuration_does_not_tell_stands_beside_it(replay: Any) -> None:
    bare = replay("shadeform", "2026-11-30-bare-list").offers[1]
    assert (bare.gpu, bare.form_factor, bare.gpu_count, bare.vram_gib) == ("A100", "SXM", 8, None)


def test_a_type_whose_regions_are_not_told_is_one_offer_of_unknown_stock(replay: Any) -> None:
    first = replay("shadeform", NIGHT, changed(availability=[])).offers[0]
    assert (first.region, first.availability) == (None, "unknown")


def test_the_mount_in_the_gpu_s_name_goes_before_interconnect(replay: Any) -> None:
    first = replay("shadeform", NIGHT, changed(gpu_type="H100_nvl", interconnect="pcie")).offers[0]
    assert (first.gpu, first.form_factor) == ("H100", "NVL")
    unsaid = replay("shadeform", NIGHT, changed(interconnect="")).offers[0]
    assert (unsaid.gpu, unsaid.form_factor) == ("H100", None)


def test_a_malformed_price_is_refused_alone(replay: Any) -> None:
    for price in (-5, "call us", 0):
        read = replay("shadeform", NIGHT, changed(hourly_price=price))
        assert (len(read.offers), len(read.rejects)) == (5, 2)


def test_a_saved_homepage_tells_the_same_as_the_list(replay: Any) -> None:
    (entry,) = har.read(RECORDED / "shadeform" / NIGHT).entries
    types = json.dumps(json.loads(entry.body)["instance_types"], separators=(",", ":"))
    script = f"<script>self.__next_f.push([1,{json.dumps('7:' + types)}])</script>"
    response = HtmlResponse("https://www.shadeform.ai/", body=(script + script).encode())
    (batch,) = ShadeformSpider().parse_page(response)
    told = replay("shadeform", NIGHT).raw
    assert [str(o) for o in batch.offers] == [str(o).replace(str(o.source_url), response.url) for o in told]


def test_a_saved_homepage_is_a_page_and_no_broken_list() -> None:
    body = b'<!doctype html><html><script>[{"cloud":"a","shade_instance_type":"H100","num_gpus":1,'
    body += b'"gpu_type":"H100","hourly_price":190}]</script></html>'
    read = read_answers("shadeform", [Entry("*", "https://www.shadeform.com/", mime="text/html", content=body)])
    assert (read.errors, [offer.price for offer in read.offers]) == ([], [190])

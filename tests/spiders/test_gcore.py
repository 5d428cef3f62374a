"""Gcore: machines priced as a whole in the account's currency, sizes as numbers or words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def of(read: Any, flavor: str) -> Any:
    (offer,) = [o for o in read.offers if o.instance_type == flavor]
    return offer


def test_the_default_project_is_asked_and_regions_without_gpus_are_not(replay: Any) -> None:
    assert {(o.region, o.country) for o in replay("gcore", NIGHT).offers} == {("Luxembourg-2", "LU")}


def test_numbers_are_mib_and_gib_and_words_are_as_they_say(replay: Any) -> None:
    read = replay("gcore", NIGHT)
    one, metal = of(read, "g3-ai-24-192-1500-l40s-48-1"), of(read, "bm3-ai-1xlarge-h100-80-8")
    assert (one.ram_gib, one.disk_gib, one.kind, one.flags) == (192, 1500, "vm", ["rate_missing"])
    assert (metal.ram_gib, metal.disk_gib, metal.kind) == (2048, 30720, "bare_metal")


def test_the_price_is_for_all_gpus_in_the_account_s_currency(replay: Any) -> None:
    def dollars(url: str, body: Any) -> Any:
        for flavor in body["results"] if "/v3/gpu/" in url else ():
            flavor["price"]["currency_code"] = "USD"
        return body

    assert {o.currency for o in replay("gcore", NIGHT).offers} == {"EUR"}
    metal = of(replay("gcore", NIGHT, dollars), "bm3-ai-1xlarge-h100-80-8")
    assert (metal.usd_per_hour, metal.usd_per_gpu_hour) == (Decimal("26.4"), Decimal("3.3"))


def test_a_hidden_price_is_no_offer_and_no_capacity_is_sold_out(replay: Any) -> None:
    read = replay("gcore", NIGHT)
    assert "H200" not in {o.gpu for o in read.offers}
    assert of(read, "g3-ai-192-1536-12000-l40s-48-8").availability == "sold_out"


def test_a_malformed_price_is_refused_alone(replay: Any) -> None:
    def change(url: str, body: Any) -> Any:
        if "/virtual/" in url:
            body["results"][0]["price"]["price_per_hour"] = "n/a"
        return body

    read = replay("gcore", NIGHT, change)
    assert (len(read.offers), len(read.rejects)) == (3, 1)

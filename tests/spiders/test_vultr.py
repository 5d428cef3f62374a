"""Vultr: plans in pages and by region, shares of a GPU, preemptible prices."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def plans_with(plan_id: str, **fields: Any) -> Any:
    """A change that sets fields of one plan."""

    def change(url: str, body: Any) -> Any:
        for plan in body.get("plans", body.get("plans_metal")):
            if plan["id"] == plan_id:
                plan.update(fields)
        return body

    return change


def test_p03_both_pages_and_both_lists_are_read(replay: Any) -> None:
    types = {o.instance_type for o in replay("vultr", "2026-11-29-night").offers}
    assert len(types) == 9
    assert {"vcg-a100-1c-6g-4vram", "vcg-mi325x-252c-2872g-1536vram", "vbm-112c-2048gb-8-h100-gpu"} <= types


def test_a_share_stays_a_share(replay: Any) -> None:
    offers = replay("vultr", "2026-11-29-night").offers
    share = next(o for o in offers if o.instance_type == "vcg-a100-1c-6g-4vram")
    whole = next(o for o in offers if o.instance_type == "vcg-a100-12c-120g-80vram")
    assert (share.gpu, share.gpu_count, share.vram_gib) == ("A100", 0.05, 80)
    assert (whole.gpu, whole.gpu_count, whole.vram_gib) == ("A100", 1, 80)
    assert share.usd_per_gpu_hour == Decimal("2.46")


def test_a_share_is_known_without_its_count(replay: Any) -> None:
    read = replay("vultr", "2026-11-29-night", plans_with("vcg-a40-6c-30g-12vram", gpu_count=None))
    assert [o.gpu_count for o in read.offers if o.instance_type == "vcg-a40-6c-30g-12vram"] == [0.25]


def test_a_count_that_the_answer_does_not_tell_is_not_made_up(replay: Any) -> None:
    # 1536 GB are 6 cards of 256 GB or 8 of 192: the plan tells neither
    offer = next(o for o in replay("vultr", "2026-11-29-night").offers if o.gpu == "MI325X")
    assert (offer.gpu_count, offer.usd_per_hour, offer.usd_per_gpu_hour) == (None, Decimal(16), None)


def test_a_whole_card_is_known_by_its_memory(replay: Any) -> None:
    offer = next(o for o in replay("vultr", "2026-11-29-night").offers if o.instance_type == "vcg-a40-24c-120g-48vram")
    assert (offer.gpu, offer.gpu_count, offer.kind) == ("A40", 1, None)


def test_preemptible_is_spot_where_it_can_be_bought(replay: Any) -> None:
    offers = replay("vultr", "2026-11-29-night").offers
    kinds = {(o.instance_type, o.purchase): o.price for o in offers if o.instance_type.startswith(("vbm", "vcg-b200"))}
    assert kinds == {
        ("vbm-112c-2048gb-8-h100-gpu", "on_demand"): Decimal("23.92"),
        ("vbm-112c-2048gb-8-h100-gpu", "spot"): Decimal("18.40"),
        ("vbm-256c-2048gb-8-mi300x-gpu", "on_demand"): Decimal("17.52"),
        ("vbm-256c-2048gb-8-mi300x-gpu", "spot"): Decimal("14.72"),
        ("vcg-b200-248c-2826g-1536vram", "spot"): Decimal("25.60"),
    }


def test_u20_a_price_of_zero_is_told_and_no_offer(replay: Any) -> None:
    zero = plans_with("vcg-l40s-16c-180g-48vram", hourly_cost=0, monthly_cost=0)
    read = replay("vultr", "2026-11-29-night", zero)
    assert not [o for o in read.offers if o.gpu == "L40S"]
    assert {reject.raw.instance_type for reject in read.rejects} == {"vcg-l40s-16c-180g-48vram"}
    assert len(read.offers) == 11


def test_f03_a_plan_without_its_price_key_fails_loudly(failing: Any) -> None:
    def keyless(url: str, body: Any) -> Any:
        body.get("plans", body.get("plans_metal"))[1].pop("hourly_cost")
        return body

    report = failing("vultr", "2026-11-29-night", keyless)
    assert report.error_class == "SchemaDrift"
    assert "hourly_cost" in report.error


def test_a_region_with_its_own_price(replay: Any) -> None:
    prices = {
        o.region: o.price
        for o in replay("vultr", "2026-11-29-night").offers
        if o.instance_type == "vcg-a100-12c-120g-80vram"
    }
    assert prices == {"ewr": Decimal("2.397"), "sgp": Decimal("2.637")}


def test_a05_a_region_outside_locations_has_no_row(replay: Any) -> None:
    read = replay("vultr", "2026-11-29-night", plans_with("vcg-a100-12c-120g-80vram", locations=["ewr"]))
    assert {o.region for o in read.offers if o.instance_type == "vcg-a100-12c-120g-80vram"} == {"ewr"}


def test_a02_regions_are_those_of_the_answer(replay: Any) -> None:
    read = replay("vultr", "2026-11-29-night", plans_with("vcg-l40s-16c-180g-48vram", locations=["fra", "xyz"]))
    assert {(o.region, o.country) for o in read.offers if o.gpu == "L40S"} == {("fra", "DE"), ("xyz", None)}


def test_a_plan_without_locations_is_sold_out_everywhere(replay: Any) -> None:
    rows = [o for o in replay("vultr", "2026-11-29-night").offers if o.instance_type == "vcg-a40-6c-30g-12vram"]
    assert [(o.region, o.availability, o.gpu_count) for o in rows] == [(None, "sold_out", 0.25)]


def test_cpu_plans_are_no_offers(replay: Any) -> None:
    types = {o.instance_type for o in replay("vultr", "2026-11-29-night").offers}
    assert not types & {"vc2-1c-1gb", "vbm-4c-32gb"}


def test_a_malformed_plan_is_told_and_the_others_stay(replay: Any) -> None:
    whole = replay("vultr", "2026-11-29-night")
    for price in ("soon", -1):
        read = replay("vultr", "2026-11-29-night", plans_with("vcg-a40-6c-30g-12vram", hourly_cost=price))
        assert {reject.raw.instance_type for reject in read.rejects} == {"vcg-a40-6c-30g-12vram"}
        assert len(read.offers) + len(read.rejects) == len(whole.offers)

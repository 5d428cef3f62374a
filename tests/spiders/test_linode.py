"""Linode: where GPUs are, the stock of every plan there, and types that the stock calls otherwise."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def types_with(type_id: str, **fields: Any) -> Any:
    """A change that sets fields of one type."""

    def change(url: str, body: Any) -> Any:
        for record in body["data"]:
            if record.get("id") == type_id:
                record.update(fields)
        return body

    return change


def test_p03_both_pages_of_stock_and_all_types_are_read(replay: Any) -> None:
    offers = replay("linode", NIGHT).offers
    assert len(offers) == len({o.instance_type for o in offers}) == 13
    assert {o.gpu for o in offers} == {"Quadro RTX 6000", "RTX 4000 Ada"}


def test_the_price_is_that_of_the_whole_machine(replay: Any) -> None:
    offer = next(o for o in replay("linode", NIGHT).offers if o.instance_type == "g1-gpu-rtx6000-4")
    assert (offer.price, offer.gpu_count, offer.usd_per_gpu_hour) == (Decimal(6), 4, Decimal("1.5"))
    assert (offer.vram_gib, offer.ram_gib, offer.disk_gib, offer.network_gbps) == (24, 128, 2560, 10)


def test_stock_is_told_where_gpus_are(replay: Any) -> None:
    rows = {o.region: o for o in replay("linode", NIGHT).offers if o.instance_type == "g1-gpu-rtx6000-1"}
    assert {region: (o.availability, o.country) for region, o in rows.items()} == {"us-southeast": ("available", "US")}
    after = {o.instance_type: o.availability for o in replay("linode", "2026-11-30-night").offers}
    assert after["g1-gpu-rtx6000-4"] == "sold_out"


def test_a_type_that_the_stock_calls_otherwise_has_no_region(replay: Any) -> None:
    rows = [o for o in replay("linode", NIGHT).offers if o.gpu == "RTX 4000 Ada"]
    assert len(rows) == 9
    assert {(o.region, o.availability) for o in rows} == {(None, "unknown")}


def test_a_region_with_its_own_price(replay: Any) -> None:
    rows = replay("linode", "2026-11-30-region-prices").offers
    prices = {o.region: o.price for o in rows if o.instance_type == "g2-gpu-rtx4000a1-s"}
    assert prices == {None: Decimal("0.52"), "br-gru": Decimal("0.728"), "id-cgk": Decimal("0.624")}


def test_video_cards_and_cpu_types_are_no_offers(replay: Any) -> None:
    types = {o.instance_type for o in replay("linode", NIGHT).offers}
    assert not types & {"g6-nanode-1", "g1-accelerated-netint-vpu-t1u1-s"}


def test_u20_a_price_of_zero_is_told_and_no_offer(replay: Any) -> None:
    zero = types_with("g2-gpu-rtx4000a1-m", price={"hourly": 0, "monthly": 0})
    read = replay("linode", NIGHT, zero)
    assert [reject.raw.instance_type for reject in read.rejects] == ["g2-gpu-rtx4000a1-m"]
    assert len(read.offers) == 12


def test_f03_a_type_without_its_regional_prices_fails_loudly(failing: Any) -> None:
    def keyless(url: str, body: Any) -> Any:
        for record in body["data"]:
            record.pop("region_prices", None)
        return body

    report = failing("linode", NIGHT, keyless)
    assert (report.error_class, "region_prices" in report.error) == ("SchemaDrift", True)


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    for price in ("soon", -1.53, True):
        read = replay("linode", NIGHT, types_with("g2-gpu-rtx4000a1-m", price={"hourly": price, "monthly": 0}))
        assert [reject.raw.instance_type for reject in read.rejects] == ["g2-gpu-rtx4000a1-m"]
        assert len(read.offers) == 12

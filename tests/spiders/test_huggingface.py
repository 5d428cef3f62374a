"""Hugging Face: minutes and hours, memory of all GPUs together, three products of one name."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def of(read: Any, tier: str, name: str) -> Any:
    (offer,) = [o for o in read.offers if (o.tier, o.instance_type) == (tier, name)]
    return offer


def flavours(change: dict[str, Any], product: str = "jobs") -> Any:
    """Fields of the flavour t4-small of a product set."""

    def changed(url: str, body: Any) -> Any:
        if f"/{product}/" in url:
            next(r for r in body if r["name"] == "t4-small").update(change)
        return body

    return changed


def test_the_unit_is_read_where_it_stands(replay: Any) -> None:
    assert of(replay("huggingface", NIGHT), "jobs", "a10g-largex2").usd_per_hour == 3
    hourly = replay("huggingface", NIGHT, flavours({"unitLabel": "hour", "unitCostUSD": 0.4}))
    assert of(hourly, "jobs", "t4-small").usd_per_hour == Decimal("0.4")
    assert of(hourly, "spaces", "t4-small").price_unit == "instance-minute"


def test_u07_memory_is_that_of_all_gpus_together(replay: Any) -> None:
    read = replay("huggingface", NIGHT)
    eight, four = of(read, "spaces", "a100x8"), of(read, "endpoints", "nvidia-h200-x4")
    assert (eight.gpu_count, eight.vram_gib, four.gpu_count, four.vram_gib) == (8, 80, 4, 141)


def test_what_is_free_is_no_offer_and_a_tpu_is_one(replay: Any) -> None:
    read = replay("huggingface", NIGHT, flavours({"unitCostUSD": 0}, "spaces"))
    assert {o.instance_type for o in read.offers if o.tier == "spaces"} == {"a100-large", "a100x8"}
    assert {o.vendor for o in read.offers} == {"nvidia", "google", "aws"}
    assert (of(read, "jobs", "v5e-1x1").gpu, of(read, "endpoints", "inf2-x1").gpu) == ("TPU v5e", "Inferentia2")
    assert not read.rejects


def test_an_endpoint_is_had_where_vendor_region_and_size_are_available(replay: Any) -> None:
    read = replay("huggingface", NIGHT)
    assert of(read, "endpoints", "nvidia-l4-x4").availability == "available"
    assert of(read, "endpoints", "nvidia-l4-x1").availability == "sold_out"
    assert {o.availability for o in read.offers if o.tier != "endpoints"} == {"unknown"}
    assert {o.reseller_of for o in read.offers} == {None, "aws", "gcp"}


def test_a_flavour_whose_price_is_no_number_is_told_and_the_rest_stays(replay: Any) -> None:
    read = replay("huggingface", NIGHT, flavours({"unitCostUSD": "soon"}))
    assert (len(read.offers), [r.raw.instance_type for r in read.rejects]) == (14, ["t4-small"])


def test_older_lists_tell_no_disk(replay: Any) -> None:
    def older(url: str, body: Any) -> Any:
        for record in body if isinstance(body, list) else []:
            record.pop("ephemeralStorage")
        return body

    assert of(replay("huggingface", NIGHT, older), "jobs", "t4-small").disk_gib is None


def test_sizes_that_are_not_told_stay_unknown(replay: Any) -> None:
    def without(url: str, body: Any) -> Any:
        if "/jobs/" in url:
            flavour = next(r for r in body if r["name"] == "t4-small")
            del flavour["cpu"], flavour["ram"], flavour["accelerator"]["vram"]
        return body

    t4 = of(replay("huggingface", NIGHT, without), "jobs", "t4-small")
    assert (t4.vcpus, t4.ram_gib, t4.gpu_count) == (None, None, 1)

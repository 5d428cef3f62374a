"""NVIDIA Brev: sizes that run together, places, whose capacity it is."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def each(**fields: Any) -> Any:
    """Fields of every type set."""

    def changed(url: str, body: Any) -> Any:
        for record in body["items"]:
            record.update(fields)
        return body

    return changed


def test_u03_memory_of_a_running_together_size_is_the_nominal_class(replay: Any) -> None:
    read = replay("brev", NIGHT)
    assert {o.gpu: o.vram_gib for o in read.offers} == {"T4": 16, "A10G": 24, "L4": 24, "L40S": 48, "H100": 80}
    assert not any(o.flags for o in read.offers)


def test_memory_is_read_from_its_text_where_the_number_is_missing(replay: Any) -> None:
    def without(url: str, body: Any) -> Any:
        for record in body["items"]:
            for gpu in record["supported_gpus"]:
                gpu.pop("memory_bytes")
        return body

    assert next(o for o in replay("brev", NIGHT, without).offers if o.gpu == "T4").vram_gib == 16


def test_a_type_is_offered_in_its_place_or_in_every_place_listed(replay: Any) -> None:
    places = {o.region for o in replay("brev", NIGHT).offers if o.gpu == "L4"}
    assert places == {"us-east-1", "us-west-2"}
    own = replay("brev", NIGHT, each(location="us-east-1", available_locations=["us-east-1", "eu-west-1"]))
    assert (len(own.offers), {o.region for o in own.offers}) == (5, {"us-east-1"})
    assert {o.region for o in replay("brev", NIGHT, each(location="", available_locations=[])).offers} == {None}


def test_whose_capacity_it_is_is_told(replay: Any) -> None:
    offers = replay("brev", NIGHT).offers
    assert {o.reseller_of for o in offers} == {"aws", "lambda-labs"}
    assert {o.availability for o in offers} == {"unknown"}
    assert next(o for o in offers if o.gpu == "T4").price == Decimal("0.63")


def test_a_price_that_is_none_is_told_and_the_rest_stays(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        body["items"][1]["base_price"]["amount"] = ""
        return body

    read = replay("brev", NIGHT, broken)
    assert (len(read.offers), [r.raw.instance_type for r in read.rejects]) == (5, ["g4dn.xlarge"])


def test_sizes_that_are_not_told_stay_unknown(replay: Any) -> None:
    def without(url: str, body: Any) -> Any:
        for record in body["items"]:
            del record["vcpu"], record["memory"]
        return body

    assert {(o.vcpus, o.ram_gib) for o in replay("brev", NIGHT, without).offers} == {(None, None)}

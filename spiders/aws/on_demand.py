"""The document of one location: on-demand price of every Linux instance, in USD per instance-hour, all values text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from schemas.raw_offer import RawOffer
from spiders.shared.base import dig, having

KEYS = ("price", "Location", "Instance Family", "Instance Type", "vCPU", "Memory", "Storage", "Network Performance")
ACCELERATED = re.compile(r"GPU|Machine Learning")


def offers(document: Any, url: str, code: str | None, code_of: Callable[[str], str]) -> Iterator[RawOffer]:
    """Instances whose family says that they hold accelerators; CPU, FPGA and media transcoders are left out."""
    places = dig(document, ("regions",), url)
    for record in having((record for place in places.values() for record in place.values()), KEYS, url):
        if ACCELERATED.search(record["Instance Family"]):
            yield RawOffer(
                purchase="on_demand",
                price=record["price"],
                currency="USD",
                price_unit="instance-hour",
                instance_type=record["Instance Type"],
                vcpus=record["vCPU"],
                ram=record["Memory"],
                disk=record["Storage"],
                network=record["Network Performance"],
                region=code or code_of(record["Location"]),
                kind=kind_of(record["Instance Type"]),
            )


def kind_of(type_name: str) -> str:
    """AWS calls its bare metal by the size: `g4dn.metal`, `g7e.metal-48xl`."""
    return "bare_metal" if ".metal" in type_name else "vm"

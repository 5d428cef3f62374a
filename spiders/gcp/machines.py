"""Machines out of the prices of their parts: a part that is missing is not made up for, the machine is left out."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from schemas.machine_types import MachineType, machine_types
from schemas.raw_offer import RawOffer
from spiders.gcp.skus import SSD, Rates
from spiders.gcp.ways import Way


def offers(rates: Rates, hours_per_month: int) -> Iterator[RawOffer]:
    """Every machine in every region and way of buying that has a price for each of its parts, USD per machine-hour."""
    for way in dict.fromkeys(way for way, _, _ in rates):
        for machine in machine_types("gcp"):
            if machine.on_demand or way[0] != "on_demand":
                yield from _of_machine(rates, way, machine, hours_per_month)


def _of_machine(rates: Rates, way: Way, machine: MachineType, hours_per_month: int) -> Iterator[RawOffer]:
    """One offer in each region; where the GPU goes by two names there, the first of the table counts."""
    done: set[str] = set()
    for word in machine.gpu_sku:
        sizes = _sizes(machine, word, hours_per_month)
        for region in sorted({place for how, part, place in rates if (how, part) == (way, word.casefold())} - done):
            if all((way, part, region) in rates for part in sizes):
                done.add(region)
                price = sum((rates[way, part, region][1] * size for part, size in sizes.items()), Decimal(0))
                yield _offer(machine, word, region, price, way)


def _sizes(machine: MachineType, word: str, hours_per_month: int) -> dict[str, Decimal]:
    """How much of each part is billed for one hour of a machine; disk is priced by the month."""
    sizes = {word.casefold(): Decimal(machine.gpu_skus)}
    if machine.host_sku:
        host = machine.host_sku.casefold()
        sizes |= {f"{host} core": Decimal(machine.vcpus), f"{host} ram": Decimal(machine.ram_gib)}
    if machine.local_ssd_gib:
        sizes[SSD] = Decimal(machine.local_ssd_gib) / hours_per_month
    return sizes


def _offer(machine: MachineType, word: str, region: str, price: Decimal, way: Way) -> RawOffer:
    purchase, months = way
    return RawOffer(
        purchase=purchase,
        term_months=months,
        price=price,
        currency="USD",
        price_unit="instance-hour",
        accelerator=word,
        instance_type=machine.machine_type,
        sku=word if machine.attached else None,
        gpu_count=str(machine.gpu_count),
        vcpus=machine.vcpus,
        ram=f"{machine.ram_gib} GiB",
        disk=f"{machine.local_ssd_gib} GiB" if machine.local_ssd_gib else None,
        region=region,
        kind="vm",
    )

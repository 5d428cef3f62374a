"""One instance type in one zone, charged one way."""

from __future__ import annotations

import re
from typing import Any

from schemas.raw_offer import RawOffer
from spiders.shared.errors import SchemaDrift

CARD = re.compile(r"NVIDIA [\w -]*\w")


def gpus(record: dict[str, Any]) -> Any:
    """GPUs of a type, a share of one too; nought for a plain machine. An older answer has whole ones only."""
    return record.get("GpuCount") or record.get("Gpu")


def read(record: dict[str, Any]) -> RawOffer:
    """The offer of a record with GPUs. Raises SchemaDrift for a price by another unit than the hour."""
    price, spot = record.get("Price") or {}, record["InstanceChargeType"] == "SPOTPAID"
    if price and price["ChargeUnit"] != "HOUR":
        raise SchemaDrift(f"expected a price by the HOUR of {record['InstanceType']}, got one by {price['ChargeUnit']}")
    card = CARD.search(record.get("Remark") or "")
    return RawOffer(
        purchase="spot" if spot else "on_demand",
        price=price["UnitPriceDiscount" if spot else "UnitPrice"] if price else None,
        currency="USD",
        price_unit="instance-hour",
        accelerator=card[0] if card else None,
        instance_type=record["InstanceType"],
        gpu_count=gpus(record),
        vcpus=record["Cpu"],
        ram=f"{record['Memory']} GiB",
        network=f"{bandwidth} Gbps" if (bandwidth := record.get("InstanceBandwidth")) else None,
        region=record["Zone"].rpartition("-")[0],
        zone=record["Zone"],
        kind="vm",
        availability=record["Status"] if record["Status"] != "SELL" else record.get("StatusCategory") or "SELL",
    )

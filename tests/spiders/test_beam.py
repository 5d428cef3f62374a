"""Beam: dollars a second for functions; what is priced by the hour is another product."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def test_prices_are_by_the_second_of_one_gpu(replay: Any) -> None:
    offers = {(o.gpu, o.form_factor): (o.usd_per_gpu_hour, o.kind) for o in replay("beam", NIGHT).offers}
    assert offers == {
        ("H100", "PCIe"): (Decimal("3.4992"), "serverless"),
        ("A10G", None): (Decimal("1.0512"), "serverless"),
        ("RTX 4090", None): (Decimal("0.6900012"), "serverless"),
    }


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("beam", NIGHT, lambda url, body: body.replace("$0.000292", "$0.000000"))
    assert (len(read.offers), [reject.raw.accelerator for reject in read.rejects]) == (2, ["A10G"])

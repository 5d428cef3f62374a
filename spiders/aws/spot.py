"""The spot price list: one price for a size in a region, text in USD per instance-hour, some in scientific notation.

A size may stand in a region twice. `N/A*` is no price. The columns are operating systems; Windows may be the cheaper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from schemas.raw_offer import RawOffer
from spiders.aws.advisor import Bands
from spiders.aws.on_demand import kind_of
from spiders.shared.base import dig
from spiders.shared.errors import SchemaDrift


def offers(document: Any, url: str, bands: Bands, code_of: Callable[[str], str]) -> Iterator[RawOffer]:
    """Every size of a GPU group, which holds the other accelerators too. Raises SchemaDrift on another unit of time."""
    if (rate := dig(document, ("config", "rate"), url)) != "perhr":
        raise SchemaDrift(f"expected prices 'perhr' in {url}, got {rate!r}")
    for place in dig(document, ("config", "regions"), url):
        region = code_of(place["region"])
        for size, price in dict.fromkeys(_accelerated(place)):
            yield RawOffer(
                purchase="spot",
                price=price,
                currency="USD",
                price_unit="instance-hour",
                instance_type=size,
                region=region,
                kind=kind_of(size),
                interruption_rate=bands.get((region, size)),
            )


def _accelerated(place: dict[str, Any]) -> Iterator[tuple[str, str]]:
    groups = (group for group in place["instanceTypes"] if "gpu" in group["type"].casefold())
    for row in (row for group in groups for row in group["sizes"]):
        prices = {column["name"]: column["prices"]["USD"] for column in row["valueColumns"]}
        if not prices["linux"].startswith("N/A"):
            yield row["size"], prices["linux"]

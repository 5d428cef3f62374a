"""The spot advisor: how often a type was interrupted in a region over the last month, as one of a few bands.

It is published months apart and holds no prices; `s` (savings in percent) compares with prices that are not told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from spiders.shared.base import dig

Bands: TypeAlias = Mapping[tuple[str, str], str]


def bands(document: Any, url: str) -> Bands:
    """The label of the Linux band (`<5%`) by region and type. Raises SchemaDrift, KeyError on an unknown index."""
    labels = {band["index"]: band["label"] for band in dig(document, ("ranges",), url)}
    return {
        (region, type_name): labels[row["r"]]
        for region, systems in dig(document, ("spot_advisor",), url).items()
        for type_name, row in systems["Linux"].items()
    }

"""Ways of buying, by the words that SKUs and the price page have in common."""

from __future__ import annotations

import re

from schemas.raw_offer import Purchase

Way = tuple[Purchase, int | None]
YEARS = re.compile(r"(\d)[ -]?(?:year|yr)")


def way_of(said: str) -> Way:
    """How a SKU or a column says that something is bought, and the months of a commitment.

    DWS Calendar Mode is capacity for a fixed window (`capacity_block`); DWS Flex-start, which SKUs call Defined
    Duration, is waited for (`queued`). Spot is the newer name of preemptible.
    """
    text = said.casefold()
    years = YEARS.search(text)
    if "calendar mode" in text:
        return "capacity_block", None
    if re.search(r"\bdws\b|flex.?start", text):
        return "queued", None
    if re.search(r"preemptible|\bspot\b", text):
        return "spot", None
    return ("reserved", 12 * int(years[1])) if years else ("on_demand", None)

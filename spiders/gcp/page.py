"""The price page of accelerator-optimized machines: one row a machine type, one column a way of buying.

A cell is `$88.49 / 1 hour`, however it is spaced, N/A or a dash. Columns are known by their headings alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapy.http import Response, TextResponse

from schemas.raw_offer import RawOffer
from spiders.gcp.tables import Table, in_html, in_scripts
from spiders.gcp.ways import way_of
from spiders.shared.base import expect_anchors
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.html_table import dollars

MACHINE = re.compile(r"[a-z]+\d+[a-z]*-[a-z]+-\d+[a-z]*(-[a-z]+)?")
PRICED = re.compile(r"\bpric(e|ing)\b|on-demand|(?<!flexible )\bCUDs?\b", re.IGNORECASE)


def offers(response: Response) -> list[RawOffer]:
    """Every price of every machine. Raises LayoutChanged without the anchors, or without any machine that is priced."""
    if not isinstance(response, TextResponse):
        raise LayoutChanged(f"expected a page at {response.url}, got {len(response.body)} bytes of no text")
    expect_anchors(response, ("Machine type", "Components", "Spot", "hour"))
    read = [offer for table in in_scripts(response.text) for offer in _of_table(table)]
    read = read or [offer for table in in_html(response.selector) for offer in _of_table(table)]
    if not read:
        raise LayoutChanged(f"expected prices of machine types in {response.url}, got none")
    return list({str(offer): offer for offer in read}.values())


def _of_table(table: Table) -> Iterator[RawOffer]:
    """Rows that begin with a machine type, of a table that has such a column."""
    for cells in (cells for cells in table.rows if cells and MACHINE.fullmatch(cells[0]) and table.headings):
        if len(cells) != len(table.headings):
            raise LayoutChanged(f"expected {len(table.headings)} cells of {cells[0]}, got {len(cells)}")
        row = dict(zip(table.headings, cells, strict=True))
        sizes = " ".join(f"{heading}: {cell}" for heading, cell in row.items())
        gpu = next((cell for heading, cell in row.items() if heading.startswith("GPU") and not cell.isdigit()), None)
        for heading, cell in row.items():
            if PRICED.search(heading) and (price := _hourly(cell)):
                purchase, months = way_of(heading)
                yield RawOffer(
                    purchase=purchase,
                    term_months=months,
                    price=price,
                    currency="USD",
                    price_unit="instance-hour",
                    accelerator=gpu or None,
                    instance_type=cells[0],
                    gpu_count=_size(sizes, "GPUs?"),
                    vcpus=_size(sizes, "vCPUs?"),
                    ram=_size(sizes, "Memory"),
                    disk=_size(sizes, "SSD"),
                    region=table.region,
                    kind="vm",
                )


def _hourly(cell: str) -> str | None:
    """The dollars of `$88.49 / 1 hour`, however it is spaced; None for N/A and a dash. Raises LayoutChanged."""
    amount, _, per = cell.replace(" ", "").partition("/")
    price = dollars(amount)
    if price and per != "1hour":
        raise LayoutChanged(f"expected a price per hour, got {cell!r}")
    return price


def _size(sizes: str, name: str) -> str | None:
    found = re.search(rf"\b{name}:\s*([\d,.]*\d(/\d+)?( ?[GT]i?B)?)", sizes)
    return found[1] if found else None

"""The page of Capacity Blocks: what an instance-hour costs, paid ahead for a block of days, by type and region.

The tables stand as JSON in the page's scripts, each cell a scrap of HTML: one cell holds the price of the instance-hour
and, in brackets, that of one accelerator. An older page had HTML tables with a column for each. A cell with one amount
does not say of which of the two it is. The page calls the GPUs of a GB200 rack B200, so the type names the GPU here.

Unproved: that today's page has these columns; both layouts are known from what others read, not from a saved page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from parsel import Selector
from scrapy.http import Response, TextResponse

from schemas.raw_offer import RawOffer
from spiders.aws.on_demand import kind_of
from spiders.shared.base import expect_anchors
from spiders.shared.errors import LayoutChanged
from spiders.shared.shapes.html_table import column as label_of
from spiders.shared.shapes.html_table import labelled, words

ANCHOR_KEYS = ("Capacity Blocks", "Pricing", "Effective", "Hourly Rate")
SCRIPTS = "//script[@type='application/json'][contains(., 'itemTableData')]"
TABLES = "//table[contains(., 'Hourly Rate')]"
AMOUNT = re.compile(r"\$\s?(-?[\d,.]+)")
COUNT = re.compile(r"\d+(?=\s*x\s)")


def offers(response: Response, code_of: Callable[[str], str]) -> list[RawOffer]:
    """Every row of every table with an hourly rate. Raises LayoutChanged where there is no table."""
    if not isinstance(response, TextResponse):
        raise LayoutChanged(f"expected a page at {response.url}, got {len(response.body)} bytes of no text")
    expect_anchors(response, ANCHOR_KEYS)
    rows = [*scripted(response.selector), *tabled(response.selector)]
    if not rows and not response.selector.xpath(f"{SCRIPTS} | {TABLES}"):
        raise LayoutChanged(f"expected tables with an hourly rate in {response.url}, got none")
    return list({str(offer): offer for offer in (read(row, code_of) for row in rows)}.values())


def scripted(page: Selector) -> Iterator[dict[str, str]]:
    """The rows of the tables in the page's scripts, each cell under its column's heading in lower case."""
    for script in page.xpath(f"{SCRIPTS}/text()").getall():
        for fields in (item.get("fields", {}) for item in json.loads(script)["data"]["items"]):
            if "itemTableData" in fields and "hourly rate" in fields["itemTableColumns"].casefold():
                columns = json.loads(fields["itemTableColumns"])
                headings = {column["accessor"]: text_of(column["Heading"]).casefold() for column in columns}
                groups = {group["id"]: group["label"] for group in json.loads(fields["itemTableRowGroups"])}
                for row in json.loads(fields["itemTableData"]):
                    cells = {headings[key]: text_of(cell) for key, cell in row.items() if key in headings}
                    yield {label_of(headings.values(), "type"): groups[row["idProperty"]], **cells}


def tabled(page: Selector) -> Iterator[dict[str, str]]:
    """The rows of the older page's tables; the first row holds the headings."""
    for table in page.xpath(TABLES):
        head, *rows = table.xpath(".//tr")
        labels = [words(cell).casefold() for cell in head.xpath("./th | ./td")]
        yield from (labelled(labels, row.xpath("./th | ./td")) for row in rows)


def read(row: dict[str, str], code_of: Callable[[str], str]) -> RawOffer:
    """One row, in the page's words."""
    amounts = [amount for label in row if "hourly rate" in label for amount in AMOUNT.findall(row[label])]
    count = COUNT.match(row.get("accelerator") or row.get("gpu") or "")
    type_name = row[label_of(row, "type")]
    return RawOffer(
        purchase="capacity_block",
        price=amounts[0] if len(amounts) > 1 else None,
        currency="USD",
        price_unit="instance-hour",
        instance_type=type_name,
        gpu_count=count[0] if count else None,
        vcpus=row.get("vcpu"),
        ram=row.get("instance memory"),
        network=row.get("network performance"),
        region=code_of(row["region"].removesuffix(" Local Zone")),
        kind=kind_of(type_name),
    )


def text_of(cell: Any) -> str:
    """What a cell's scrap of HTML says, in one line."""
    return words(Selector(text=f"<p>{cell}</p>"))

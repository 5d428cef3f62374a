"""The tables of a Google price page: of one region in its HTML, of all regions in a script.

The script's data is nested lists without names: a region is [headings, rows, "Iowa (us-central1)"], both lists hold
rows whose first element is the list of cells, a cell has its HTML at [3][1][1]. The tables of the HTML are of the
region that the list box before them shows, else of Iowa (us-central1), with which the page opens.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from parsel import Selector

from spiders.shared.shapes.html_table import words

DATA = re.compile(r"AF_initDataCallback\(\{[^<]*?\bdata:\s*(?=\[)")
PLACE = re.compile(r"\(([a-z]+-[a-z]+\d+)\)")
OPENS_WITH = "us-central1"


@dataclass(frozen=True, slots=True)
class Table:
    """A table of one region, in the page's words; without headings where it is not one of machine types."""

    region: str
    headings: list[str]
    rows: list[list[str]]


def in_html(page: Selector) -> Iterator[Table]:
    """Every table of the HTML."""
    for node in page.xpath("//table"):
        rows = [[words(cell) for cell in row.xpath("th|td")] for row in node.xpath(".//tr")]
        box = node.xpath("preceding::*[@role='listbox' or @aria-haspopup='listbox'][1]")
        shown = box.xpath(".//*[@aria-selected='true']") or box
        places = {place for one in shown for place in PLACE.findall(words(one))}
        yield Table(next(iter(places)) if len(places) == 1 else OPENS_WITH, _headings(rows), rows)


def in_scripts(text: str) -> Iterator[Table]:
    """Every table of every region, wherever it lies in the data of a script."""
    for found in DATA.finditer(text):
        yield from _regions(json.JSONDecoder().raw_decode(text, found.end())[0])


def _regions(node: Any) -> Iterator[Table]:
    if not isinstance(node, list):
        return
    if len(node) > 2 and isinstance(node[2], str) and isinstance(node[1], list) and (place := PLACE.search(node[2])):
        rows = [[_text(cell) for cell in row[0]] for row in (node[0][0], *node[1])]
        yield Table(place[1], _headings(rows[:1]), rows)
    else:
        for part in node:
            yield from _regions(part)


def _text(cell: Any) -> str:
    """What a cell says; an empty one ends before its text."""
    for step in (3, 1, 1):
        cell = cell[step] if isinstance(cell, list) and len(cell) > step else None
    return words(Selector(text=cell)) if isinstance(cell, str) else ""


def _headings(rows: list[list[str]]) -> list[str]:
    return next((row for row in rows if "Machine type" in row), [])

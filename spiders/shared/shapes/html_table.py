"""Tables of prices in a page's own HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import ClassVar

from parsel import Selector, SelectorList
from scrapy.http import Response, TextResponse

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, ProviderSpider, expect_anchors
from spiders.shared.errors import LayoutChanged

FOOTNOTE = re.compile(r"\s*(\^\S*|[⁰¹²³⁴-⁹]+)\s*$")
DOLLARS = re.compile(r"(?=.*\d)-?\$\s?-?[\d,.]+")
OTHER_CURRENCY = re.compile(r"\d.*[€£¥₹]|[€£¥₹].*\d")


class HtmlTableSpider(ProviderSpider):
    """Set `start_urls`, `documents` (reader `parse`) and `anchors`, at least three words that any page of this layout
    holds, be it an excerpt; write `read_page`.

    `read_page(page)` yields the RawOffers of the page. What it says word for word a second time (a copy for small
    screens) is one offer.
    """

    anchors: ClassVar[tuple[str, ...]] = ()

    def parse(self, response: Response) -> Iterator[Batch]:
        """One batch of the whole page. Raises LayoutChanged without the anchors."""
        if not isinstance(response, TextResponse):
            raise LayoutChanged(f"expected a page at {response.url}, got {len(response.body)} bytes of no text")
        expect_anchors(response, self.anchors)
        yield self.batch(response, {str(offer): offer for offer in self.read_page(response.selector)}.values())

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """The RawOffers of one page, in the provider's words."""
        raise NotImplementedError


def words(node: Selector) -> str:
    """What an element says in one line, without footnote marks (`<sup>1</sup>`, `4^1`, `Price²`)."""
    text = " ".join(" ".join(node.xpath(".//text()[not(ancestor::sup)]").getall()).split())
    return FOOTNOTE.sub("", text)


def tab_of(row: Selector) -> str:
    """What stands on the tab of the panel (ARIA) around an element. Raises LayoutChanged unless there is one."""
    panel = row.xpath("ancestor::*[@role='tabpanel'][1]")
    tabs = row.xpath(
        "//*[@role='tab'][@aria-controls=$panel or @id=$label]",
        panel=panel.xpath("@id").get("?"),
        label=panel.xpath("@aria-labelledby").get("?"),
    )
    if len(tabs) != 1:
        raise LayoutChanged(f"expected one tab of panel {panel.xpath('@id').get()}, got {len(tabs)}")
    return words(tabs[0])


def labelled(labels: list[str], cells: SelectorList[Selector]) -> dict[str, str]:
    """What each cell says under its column's label, counted from the left; a row may hold fewer or more."""
    return dict(zip(labels, map(words, cells), strict=False))


def column(labels: Iterable[str], *parts: str) -> str:
    """The one label that holds all these words, whatever the case. Raises LayoutChanged."""
    found = [label for label in labels if all(part.casefold() in label.casefold() for part in parts)]
    if len(found) != 1:
        raise LayoutChanged(f"expected one column with {' '.join(parts)!r} among {', '.join(labels)}, got {len(found)}")
    return found[0]


def with_unit(label: str, cell: str) -> str | None:
    """A size whose unit stands in its column's label: `4,096` under `RAM (GB)` is `4096 GB`; None for a blank."""
    unit = re.search(r"\(\s*([A-Za-z]+)\s*\)", label)
    return f"{cell.replace(',', '')} {unit[1]}" if unit and cell else None


def dollars(cell: str) -> str | None:
    """A cell that quotes dollars, as it is; None for a blank, a dash, "N/A", "Contact us" or a floor ("from $1.55").

    A price that cannot be ("$-1.29", "$1.2.9") is quoted too: the normaliser counts it, here it would go unseen.
    Raises LayoutChanged for another currency: a page that turned to it must not be read as dollars.
    """
    if OTHER_CURRENCY.search(cell):
        raise LayoutChanged(f"expected dollars, got {cell!r}")
    return cell if DOLLARS.fullmatch(cell) else None

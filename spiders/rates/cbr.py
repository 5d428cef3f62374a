"""Bank of Russia: official rates of the rouble, one set for each working day.

Docs:  https://www.cbr.ru/development/SXML/
Gives: roubles for a number (`Nominal`) of units of some fifty currencies
Lacks: weekends; market rates
Quirk: windows-1251, a decimal comma; the date is the day that the rates hold for, often tomorrow
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

from lxml import etree
from scrapy.http import Response

from schemas.rate import Rate
from spiders.shared.base import Document, ProviderSpider, RateBatch
from spiders.shared.errors import SchemaDrift
from spiders.shared.xml_answer import xml_of


class CbrSpider(ProviderSpider):
    """Reads the table of the day; each rate is what one unit of `base` costs in roubles."""

    name = "cbr"
    start_urls = ["https://www.cbr.ru/scripts/XML_daily.asp"]
    documents = (Document(r"/XML_daily(_eng)?\.asp", "parse"),)

    def parse(self, response: Response) -> Iterator[RateBatch]:
        root = xml_of(response)
        if root.tag != "ValCurs":
            raise SchemaDrift(f"expected ValCurs in {response.url}, got {root.tag}")
        day = datetime.strptime(str(root.attrib["Date"]), "%d.%m.%Y").replace(tzinfo=UTC).date()
        yield RateBatch([self.read(quote, day, response.url) for quote in root.iterfind("Valute")])

    def read(self, quote: etree._Element, day: date, url: str) -> Rate:
        """One rate. Raises SchemaDrift where a word is missing or an amount is not above zero."""
        words = " ".join(quote.findtext(name, "").strip() for name in ("CharCode", "Nominal", "Value"))
        if not re.fullmatch(r"[A-Z]{3} [1-9]\d* (?=.*[1-9])\d+(,\d+)?", words):
            raise SchemaDrift(f"expected a code, a number of units and an amount like 75,5273 in {url}, got {words!r}")
        code, units, amount = words.split()
        return Rate(
            source=self.name,
            day=day,
            base=code,
            currency="RUB",
            rate=Decimal(amount.replace(",", ".")) / Decimal(units),
            kind="mid",
            observed_at=self.instant,
            origin="live",
        )

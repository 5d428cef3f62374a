"""Vietcombank: what a large Vietnamese bank pays for foreign currency, in dong.

Docs:  https://portal.vietcombank.com.vn/ (the document says of itself that it is a reference)
Gives: dong for one unit of some twenty currencies, as cash, by transfer, and as sold
Lacks: history; a rate that the bank does not quote is "-"
Quirk: the comma parts thousands; the day is written as in the USA, in local time; one request in five minutes is asked
       for. Read here: the rate by transfer
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from lxml import etree
from scrapy.http import Response

from schemas.rate import Rate
from spiders.shared.base import Document, ProviderSpider, RateBatch
from spiders.shared.errors import SchemaDrift
from spiders.shared.xml_answer import xml_of

HANOI = ZoneInfo("Asia/Ho_Chi_Minh")
UNQUOTED = "-"


class VietcombankSpider(ProviderSpider):
    """Reads the table of the day; each rate is what one unit of `base` costs in dong."""

    name = "vietcombank"
    start_urls = ["https://portal.vietcombank.com.vn/Usercontrols/TVPortal.TyGia/pXML.aspx?b=10"]
    documents = (Document(r"/pXML\.aspx", "parse"),)

    def parse(self, response: Response) -> Iterator[RateBatch]:
        root = xml_of(response)
        if root.tag != "ExrateList":
            raise SchemaDrift(f"expected ExrateList in {response.url}, got {root.tag}")
        told = datetime.strptime(root.findtext("DateTime", ""), "%m/%d/%Y %I:%M:%S %p").replace(tzinfo=HANOI)
        quotes = [quote for quote in root.iterfind("Exrate") if str(quote.attrib["Transfer"]).strip() != UNQUOTED]
        yield RateBatch([self.read(quote, told.date(), response.url) for quote in quotes])

    def read(self, quote: etree._Element, day: date, url: str) -> Rate:
        """One rate. Raises SchemaDrift where the comma does not part thousands: it would be off by a thousand."""
        code, amount = (str(quote.attrib[name]).strip() for name in ("CurrencyCode", "Transfer"))
        if not re.fullmatch(r"[A-Z]{3} (?=.*[1-9])\d{1,3}(,\d{3})*(\.\d{1,4})?", f"{code} {amount}"):
            raise SchemaDrift(f"expected a currency and an amount like 26,122.00 in {url}, got {code} {amount!r}")
        return Rate(
            source=self.name,
            day=day,
            base=code,
            currency="VND",
            rate=Decimal(amount.replace(",", "")),
            kind="transfer",
            observed_at=self.instant,
            origin="live",
        )

"""Narodowy Bank Polski: mid rates of the zloty; table B tells the rarer currencies, once a week.

Docs:  https://api.nbp.pl/en.html
Gives: zloty for one unit: table A some thirty currencies daily, table B some hundred on Wednesdays
Lacks: the dollar in table B, so that table A of the same day is read with it
Quirk: a day without a table answers 404
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from scrapy.http import Request, Response

from schemas.rate import Rate
from spiders.shared.base import Document, ProviderSpider, RateBatch, json_of
from spiders.shared.errors import SchemaDrift


class NbpSpider(ProviderSpider):
    """Reads the last table B, then table A of its day; each rate is what one unit of `base` costs in zloty."""

    name = "nbp"
    tables = "https://api.nbp.pl/api/exchangerates/tables/{}/?format=json"
    start_urls = [tables.format("B")]
    documents = (Document(r"/tables/B/", "parse_rare"), Document(r"/tables/A/", "parse"))
    expect = "json"

    def parse_rare(self, response: Response) -> Iterator[RateBatch | Request]:
        """Table B, and the way to table A of the same day."""
        (table,) = json_of(response)
        yield self.rates(table, response.url)
        yield Request(self.tables.format(f"A/{date.fromisoformat(table['effectiveDate'])}"), self.parse)

    def parse(self, response: Response) -> Iterator[RateBatch]:
        """Table A, of one day or more."""
        for table in json_of(response):
            yield self.rates(table, response.url)

    def rates(self, table: dict[str, Any], url: str) -> RateBatch:
        """One table. Raises SchemaDrift for a rate that is no number above zero."""
        day = date.fromisoformat(table["effectiveDate"])
        read = []
        for quote in table["rates"]:
            rate = quote["mid"]
            if not isinstance(rate, Decimal | int) or isinstance(rate, bool) or not rate > 0:
                raise SchemaDrift(f"expected a rate above zero of {quote['code']} in {url}, got {rate!r}")
            read.append(
                Rate(
                    source=self.name,
                    day=day,
                    base=quote["code"],
                    currency="PLN",
                    rate=Decimal(rate),
                    kind="mid",
                    observed_at=self.instant,
                    origin="live",
                )
            )
        return RateBatch(read)

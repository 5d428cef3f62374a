"""European Central Bank: euro foreign exchange reference rates, one set each working day.

Docs:  https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/html/index.en.html
Gives: units of some thirty currencies for one euro, with the day they hold for
Lacks: weekends and TARGET holidays; VND, RUB, TWD, KZT
Quirk: published about 16:00 CET, so that a nightly run reads the rates of the last working day
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from scrapy.http import Response

from schemas.rate import Rate
from spiders.shared.base import Document, ProviderSpider, RateBatch
from spiders.shared.errors import SchemaDrift
from spiders.shared.xml_answer import xml_of

NAMES = {
    "gesmes": "http://www.gesmes.org/xml/2002-08-01",
    "ecb": "http://www.ecb.int/vocabulary/2002-08-01/eurofxref",
}


class EcbSpider(ProviderSpider):
    """Reads the reference rates; the base of each is one euro."""

    name = "ecb"
    start_urls = ["https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"]
    documents = (Document(r"/eurofxref-(daily|hist|hist-90d)\.xml", "parse"),)

    def parse(self, response: Response) -> Iterator[RateBatch]:
        root = xml_of(response)
        table, days = root.find("ecb:Cube", NAMES), root.findall("ecb:Cube/ecb:Cube", NAMES)
        if root.tag != f"{{{NAMES['gesmes']}}}Envelope" or table is None or not all(len(day) for day in days):
            raise SchemaDrift(f"expected an envelope of reference rates by day in {response.url}, got {root.tag}")
        yield RateBatch(
            [
                self.read(day.get("time", ""), rate.get("currency", ""), rate.get("rate", ""), response.url)
                for day in days
                for rate in day
            ]
        )

    def read(self, day: str, currency: str, rate: str, url: str) -> Rate:
        """One rate. Raises SchemaDrift where a word is missing or the rate is not above zero: it would move prices."""
        words = f"{day} {currency} {rate}"
        if not re.fullmatch(r"\d{4}-\d\d-\d\d [A-Z]{3} (?=.*[1-9])\d+(\.\d+)?", words):
            raise SchemaDrift(f"expected a day, a currency and a rate above zero in {url}, got {words!r}")
        return Rate(
            source=self.name,
            day=date.fromisoformat(day),
            base="EUR",
            currency=currency,
            rate=Decimal(rate),
            kind="mid",
            observed_at=self.instant,
            origin="live",
        )

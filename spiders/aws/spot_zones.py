"""Spot prices by zone, with the user's keys: `DescribeSpotPriceHistory` of EC2, signed.

The answer holds the last change before the time that is asked for, so asking from now on gives what holds now: one row
for a type and zone, of more the latest. Letters of zones differ by account; where the answer has the zone's ID, which
does not, that is the zone. A region that the account has not switched on refuses it, so the list of those it has is
asked first. Signing needs botocore (`pip install gpufare[aws]`), which is imported for whoever has keys only.

Unproved: read by the API's reference, never with a real account.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from scrapy.http import Request, Response

from schemas.raw_offer import RawOffer
from spiders.aws.advisor import Bands
from spiders.aws.on_demand import kind_of
from spiders.shared.base import Batch, ProviderSpider
from spiders.shared.xml_answer import xml_of

VERSION = "2016-11-15"
HOME = "us-east-1"  # EC2 lists the regions of an account there
Prices = dict[tuple[str, str], tuple[str, str]]
Key = Callable[[str], str | None]


def signed(key: Key, region: str, action: dict[str, str], callback: Any, known: dict[str, Any]) -> Request:
    """A signed question to EC2 in a region."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    query = urlencode({**action, "Version": VERSION}, quote_via=quote, safe="-_.~")
    question = AWSRequest("GET", f"https://ec2.{region}.amazonaws.com/?{query}")
    owner = Credentials(key("AWS_ACCESS_KEY_ID"), key("AWS_SECRET_ACCESS_KEY"), key("AWS_SESSION_TOKEN"))
    SigV4Auth(owner, "ec2", region).add_auth(question)
    return Request(question.url, callback, headers=dict(question.headers), dont_filter=True, cb_kwargs=known)


def question(key: Key, region: str, instant: datetime, known: dict[str, Any], callback: Any) -> Request:
    """The spot prices of `known["sizes"]` in a region from an instant on; `known["token"]` leads to a later page."""
    action = {"Action": "DescribeSpotPriceHistory", "StartTime": f"{instant.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"}
    action["ProductDescription.1"], action["MaxResults"] = "Linux/UNIX", "1000"
    action |= {f"InstanceType.{place}": size for place, size in enumerate(known["sizes"], 1)}
    action |= {"NextToken": known["token"]} if known["token"] else {}
    return signed(key, region, action, callback, {"region": region, "known": known})


def newest(prices: Prices, response: Response) -> Prices:
    """The prices with those of this page: the latest of each type and zone, as (time, price)."""
    found = dict(prices)
    for item in xml_of(response).iterfind("{*}spotPriceHistorySet/{*}item"):
        told = {str(part.tag).rpartition("}")[2]: part.text or "" for part in item}
        place = told["instanceType"], told.get("availabilityZoneId") or told["availabilityZone"]
        found[place] = max(found.get(place, ("", "")), (told["timestamp"], told["spotPrice"]))
    return found


def offers(prices: Prices, region: str, bands: Bands) -> Iterator[RawOffer]:
    """One offer for each type and zone."""
    for (size, zone), (_, price) in prices.items():
        yield RawOffer(
            purchase="spot",
            price=price,
            currency="USD",
            price_unit="instance-hour",
            instance_type=size,
            region=region,
            zone=zone,
            kind=kind_of(size),
            interruption_rate=bands.get((region, size)),
        )


class ByZone(ProviderSpider):
    """The part of a spider that asks for zones."""

    @property
    def keyed(self) -> bool:
        """Has the user keys to sign with?"""
        return bool(self.key("AWS_ACCESS_KEY_ID") and self.key("AWS_SECRET_ACCESS_KEY"))

    def regions_question(self, listed: list[RawOffer], bands: Bands) -> Request:
        """Which regions has the account switched on?"""
        known = {"listed": listed, "bands": bands}
        return signed(self.key, HOME, {"Action": "DescribeRegions"}, self.ask_zones, known)

    def ask_zones(self, response: Response, listed: list[RawOffer], bands: Bands) -> Iterator[Batch | Request]:
        """A question for each region of the account's; of the others the list's one price stays."""
        own = {str(name.text) for name in xml_of(response).iterfind("{*}regionInfo/{*}item/{*}regionName")}
        yield self.batch(response, (offer for offer in listed if offer.region not in own))
        for region in sorted(own & {offer.region or "" for offer in listed}):
            sizes = sorted({offer.instance_type or "" for offer in listed if offer.region == region})
            known = {"sizes": sizes, "token": "", "bands": bands, "prices": {}}
            yield question(self.key, region, self.instant, known, self.read_zones)

    def read_zones(self, response: Response, region: str, known: dict[str, Any]) -> Iterator[Batch | Request]:
        """One page of a region; the last gives its offers."""
        prices = newest(known["prices"], response)
        if token := xml_of(response).findtext("{*}nextToken"):
            yield question(self.key, region, self.instant, {**known, "token": token, "prices": prices}, self.read_zones)
        else:
            yield self.batch(response, offers(prices, region, known["bands"]))

"""Amazon Web Services: EC2 instances with accelerators, from the documents behind its own price pages.

Docs:  https://aws.amazon.com/ec2/pricing/on-demand/, https://aws.amazon.com/ec2/spot/pricing/,
       https://aws.amazon.com/ec2/spot/instance-advisor/, https://aws.amazon.com/ec2/capacityblocks/pricing/
Gives: on-demand price of every location (regions, local zones, wavelength zones), one spot price for a region, the
       band of interruption of a type in a region, Capacity Blocks, vCPUs, memory, disk, network
Lacks: GPU model, count and memory (all stand in the type's name only), stock, China, the previous generation; without
       keys spot prices by zone; reserved terms, but for regions that are asked for by name
Quirk: none of these documents is documented; a location without instances answers 404. Without the advisor the crawl
       fails, for a risk that was there yesterday must not look unknown today. With AWS_ACCESS_KEY_ID and
       AWS_SECRET_ACCESS_KEY spot prices are by zone. GPUFARE_AWS_OFFERS=us-east-1,eu-west-1 reads the offer files of
       these regions instead of their small documents: about 450 MB and two minutes each, never in the default run
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from urllib.parse import quote

from scrapy.http import Request, Response

from schemas.places import regions
from spiders.aws import advisor, capacity_blocks, offer_file, on_demand, spot, spot_zones
from spiders.shared.base import Batch, Document, having, json_of
from spiders.shared.shapes.streamed_json import streamed

LOCATIONS = "https://b0.p.awsstatic.com/locations/1.0/aws/current/locations.json"
ON_DEMAND = "https://b0.p.awsstatic.com/pricing/2.0/meteredUnitMaps/ec2/USD/current/ec2-ondemand-without-sec-sel"
SPOT = "https://website.spot.ec2.aws.a2z.com/spot.json"
ADVISOR = "https://spot-bid-advisor.s3.amazonaws.com/spot-advisor-data.json"
BLOCKS = "https://aws.amazon.com/ec2/capacityblocks/pricing/"
OFFERS = "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current"


class AwsSpider(spot_zones.ByZone):
    """Asks for every location that AWS lists, and for the spot prices once the advisor's bands are there."""

    name = "aws"
    allowed_domains = ("website.spot.ec2.aws.a2z.com", "amazonaws.com")
    documents = (
        Document(r"/aws/current/locations\.json", "read_locations"),
        Document(r"/ec2-ondemand-without-sec-sel/[^/]+/Linux/index\.json", "read_on_demand"),
        Document(r"/spot\.js(on)?($|\?)", "read_spot"),
        Document(r"/spot-advisor-data\.json", "read_advisor"),
        Document(r"/ec2/capacityblocks/pricing", "read_blocks"),
        Document(r"/AmazonEC2/[^/]+/[^/]+/index\.json", "read_offer_file"),
    )

    @property
    def regions(self) -> set[str]:
        """Whose offer files are asked for."""
        return set(re.findall(r"[\w-]+", self.key("GPUFARE_AWS_OFFERS") or ""))

    async def start(self) -> AsyncIterator[Request]:
        """The list of locations and the advisor, which all else follows from, and the page of Capacity Blocks."""
        self.use("AWS_ACCESS_KEY_ID" if self.keyed else "open")
        yield Request(LOCATIONS, callback=self.read_locations, dont_filter=True)
        yield Request(ADVISOR, callback=self.read_advisor, dont_filter=True)
        yield Request(BLOCKS, callback=self.read_blocks, dont_filter=True, meta={"expect": "html"})
        for region in sorted(self.regions):
            yield streamed(f"{OFFERS}/{region}/index.json", self.read_offer_file, offer_file.excerpt)

    def read_locations(self, response: Response) -> Iterator[Request]:
        """One document for each location that no offer file is read of."""
        places = having(json_of(response).values(), ("name", "code"), response.url)
        for place in (place for place in places if place["code"] not in self.regions):
            url = f"{ON_DEMAND}/{quote(place['name'], safe='()')}/Linux/index.json"
            meta = {"handle_httpstatus_list": [404]}
            yield Request(url, callback=self.read_on_demand, meta=meta, cb_kwargs={"code": place["code"]})

    def read_on_demand(self, response: Response, code: str | None = None) -> Iterator[Batch]:
        """The on-demand offers of one location; `code` is its region's code as the list of locations says."""
        if response.status != 404:
            yield self.batch(response, on_demand.offers(json_of(response), response.url, code, region_code))

    def read_advisor(self, response: Response) -> Iterator[Request]:
        """The bands of interruption go on to the spot prices; they are no offers."""
        bands = advisor.bands(json_of(response), response.url)
        yield Request(SPOT, callback=self.read_spot, cb_kwargs={"bands": bands})

    def read_spot(self, response: Response, bands: advisor.Bands | None = None) -> Iterator[Batch | Request]:
        """The spot offers of every region; with keys, first which regions have them by zone."""
        listed = self.batch(response, spot.offers(json_of(response), response.url, bands or {}, region_code))
        if self.keyed and bands is not None:
            yield self.regions_question(listed.offers, bands)
        else:
            yield listed

    def read_offer_file(self, response: Response) -> Iterator[Batch]:
        """On demand and reserved, of one region."""
        yield self.batch(response, offer_file.offers(json_of(response), response.url))

    def read_blocks(self, response: Response) -> Iterator[Batch]:
        """The Capacity Blocks of every region."""
        yield self.batch(response, capacity_blocks.offers(response, region_code))


def region_code(name: str) -> str:
    """The code of a region that is called by its location's or its old name; the name itself where none is known."""
    return next((place.region for place in regions("aws") if name == place.alias), name)

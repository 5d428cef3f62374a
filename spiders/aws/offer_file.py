"""The bulk offer file of one region: on demand and reserved, in USD, of instances with accelerators that run Linux.

`products` come before `terms`, so that one pass knows which terms to keep. The same type stands there for every system,
tenancy and kind of capacity; rows of reserved capacity and of Capacity Blocks cost 0. A reserved term has an amount by
the hour, one ahead, or both: what is paid ahead is spread over its years, and the price is then that of a year.
Unproved: how large the file is today and whether it is packed; nothing here depends on either.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from schemas.raw_offer import RawOffer
from schemas.units import HOURS_PER
from spiders.aws.on_demand import ACCELERATED, kind_of
from spiders.shared.base import dig
from spiders.shared.errors import SchemaDrift
from spiders.shared.shapes.streamed_json import JsonExcerpt


def excerpt() -> JsonExcerpt:
    """What is kept of the file while it arrives: the products that are offers, then their terms."""
    wanted: set[str] = set()
    seen: set[bool] = set()

    def product(sku: str, found: dict[str, Any]) -> bool:
        seen.add(True)
        wanted.update({sku} if is_offer(found) else ())
        return sku in wanted

    def term(sku: str, found: dict[str, Any]) -> bool:
        if not seen:
            raise SchemaDrift("expected products before terms")
        return sku in wanted

    return JsonExcerpt({"products": product, "terms.OnDemand": term, "terms.Reserved": term})


def is_offer(product: dict[str, Any]) -> bool:
    """Is this a plain Linux machine with accelerators? A word that older files lack says nothing against it."""
    told = product["attributes"]
    if not ACCELERATED.search(told.get("instanceFamily", "")) or told.get("locationType") == "AWS Local Zone":
        return False
    plain = told["operatingSystem"] == "Linux" and told["tenancy"] == "Shared" and told["capacitystatus"] == "Used"
    return (
        plain and told.get("preInstalledSw") in {None, "", "NA"} and told.get("marketoption") in {None, "", "OnDemand"}
    )


def offers(document: Any, url: str) -> Iterator[RawOffer]:
    """The prices of every product that is an offer. Raises SchemaDrift where there are no products or terms."""
    on_demand = dig(document, ("terms", "OnDemand"), url)
    reserved = document["terms"].get("Reserved", {})
    for sku, product in dig(document, ("products",), url).items():
        if is_offer(product):
            for term in on_demand.get(sku, {}).values():
                hourly, _ = amounts(term)
                yield offer(product["attributes"], purchase="on_demand", price=hourly)
            for term in reserved.get(sku, {}).values():
                yield offer(product["attributes"], purchase="reserved", **reservation(term))


def offer(told: dict[str, Any], **known: Any) -> RawOffer:
    """The machine that a product's attributes tell, with its price."""
    return RawOffer(
        currency="USD",
        instance_type=told["instanceType"],
        vcpus=told["vcpu"],
        ram=told["memory"],
        disk=told["storage"],
        network=told["networkPerformance"],
        region=told["regionCode"],
        kind=kind_of(told["instanceType"]),
        **{"price_unit": "instance-hour"} | known,
    )


def amounts(term: dict[str, Any]) -> tuple[str | None, str | None]:
    """What a term costs by the hour and ahead."""
    rates = {rate["unit"]: rate["pricePerUnit"]["USD"] for rate in term["priceDimensions"].values()}
    return rates.get("Hrs"), rates.get("Quantity")


def reservation(term: dict[str, Any]) -> dict[str, Any]:
    """Price, length and kind of a reserved term."""
    told = term["termAttributes"]
    hourly, ahead = amounts(term)
    years = int(told["LeaseContractLength"].removesuffix("yr"))
    known: dict[str, Any] = {
        "price": hourly,
        "term_months": 12 * years,
        "tier": f"{told['OfferingClass']} {told['PurchaseOption']}",
    }
    if ahead:
        by_hour = Decimal(hourly or 0) * int(HOURS_PER["year"])
        known |= {"price": by_hour + Decimal(ahead) / years, "price_unit": "instance-year", "upfront": ahead}
    return known

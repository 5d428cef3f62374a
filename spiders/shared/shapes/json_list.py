"""One JSON document that holds all records in a list or mapping."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from scrapy.http import Response

from schemas.raw_offer import RawOffer
from spiders.shared.base import Batch, ProviderSpider, dig, json_of
from spiders.shared.errors import SchemaDrift


class JsonListSpider(ProviderSpider):
    """Set `start_urls`, `documents` (reader `parse`) and, where the list lies deeper, `records_path`; write `read`.

    `read(record, response)` yields the RawOffers of one record; of a mapping, the key arrives as `record["_key"]`.
    """

    records_path: ClassVar[tuple[str, ...]] = ()

    def parse(self, response: Response) -> Iterator[Batch]:
        """One batch of everything that the document holds."""
        records = self.records(response)
        yield self.batch(response, (offer for record in records for offer in self.read(record, response)))

    def records(self, response: Response) -> Iterator[dict[str, Any]]:
        """The records under `records_path`. Raises SchemaDrift where no list or mapping of objects lies there."""
        found = dig(json_of(response), self.records_path, response.url)
        if isinstance(found, dict):
            found = [{"_key": key, **record} if isinstance(record, dict) else record for key, record in found.items()]
        if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
            raise SchemaDrift(f"expected a list of objects from {response.url}, got {type(found).__name__}")
        yield from found

    def read(self, record: dict[str, Any], response: Response) -> Iterator[RawOffer]:
        """The RawOffers of one record, in the provider's words."""
        raise NotImplementedError

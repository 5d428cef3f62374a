"""XML answers: read strictly, with everything refused that a price or rate list has no use for."""

from __future__ import annotations

from lxml import etree
from scrapy.http import Response, TextResponse

from spiders.shared.errors import SchemaDrift


def xml_of(response: Response) -> etree._Element:
    """The root of a well-formed document without a document type. Raises SchemaDrift.

    A document type is refused before it is parsed: it brings entities, which can grow without bound or name files.
    """
    if not isinstance(response, TextResponse):
        raise SchemaDrift(f"expected XML from {response.url}, got {len(response.body)} bytes of no text")
    if "<!doctype" in response.text.casefold():
        raise SchemaDrift(f"expected plain XML from {response.url}, got a document type declaration")
    strict = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)
    try:
        return etree.fromstring(response.text.encode(), strict)
    except etree.XMLSyntaxError as error:
        start = " ".join(response.text[:60].split())
        raise SchemaDrift(f"expected XML from {response.url}, got {start!r} ({error})") from None

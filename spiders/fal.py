"""fal: GPUs for functions that scale to none, on demand.

Docs:  https://fal.ai/pricing, https://fal.ai/docs/documentation/serverless/pricing
Gives: list price of one GPU, with its memory
Lacks: stock, regions, form factor; the second price of a row is "as low as" by commitment, so it is nobody's price
Quirk: a row says name, memory and two prices without labels of their own; prices of models stand on the same page.
       Setting up, waiting and draining are billed like running
"""

from __future__ import annotations

import re

from spiders.shared.base import Document
from spiders.shared.shapes.text_rows import TextRowsSpider


class FalSpider(TextRowsSpider):
    """Reads the GPUs on the price page, wherever their rows stand."""

    name = "fal"
    start_urls = ["https://fal.ai/pricing"]
    documents = (Document(r"fal\.ai/pricing", "parse"),)
    anchors = ("GPU", "/h", "GB")
    row = re.compile(
        r"(?P<gpu>(?:RTX |GTX )?(?:PRO )?[A-Z]*\d+\w*)\s+(?P<vram>\d+ ?GB)\s+"
        r"(?P<price>\$ ?[\d,.]+) ?/ ?hr?\b\s+\$ ?[\d,.]+ ?/ ?hr?\b"
    )
    price_unit = "gpu-hour"
    kind = "serverless"

"""Baseten: instances for models that scale to none, on demand, billed by the minute.

Docs:  https://www.baseten.co/pricing/, https://docs.baseten.co/observability/usage
Gives: price of the instance a minute, GPU, memory
Lacks: stock, regions, vCPUs, RAM, larger counts; which share of a card `H100 MIG` is, so it is not read
Quirk: prices are dollars a MINUTE. Instances without a GPU have no VRAM; prices of models, by the million of tokens,
       stand on the same page. Minutes in which a model loads or fails to start are billed as well
"""

from __future__ import annotations

import re

from spiders.shared.base import Document
from spiders.shared.shapes.text_rows import TextRowsSpider


class BasetenSpider(TextRowsSpider):
    """Reads the GPU instances on the price page, wherever their rows stand."""

    name = "baseten"
    start_urls = ["https://www.baseten.co/pricing/"]
    documents = (Document(r"baseten\.co/pricing", "parse"),)
    anchors = ("GPU", "GiB VRAM", "$")
    row = re.compile(
        r"\b(?P<gpu>(?:RTX )?(?:PRO )?[A-Z]*\d+[A-Z]?)\s+(?P<vram>\d+ ?GiB) VRAM\b[^$]{0,60}?(?P<price>\$ ?[\d.]+\d)"
    )
    price_unit = "instance-minute"
    kind = "serverless"

"""Beam: GPUs for functions that scale to none, on demand, billed by the second.

Docs:  https://www.beam.cloud/pricing, https://docs.beam.cloud/v2/resources/pricing-and-billing
Gives: price of one GPU a second, memory, form factor where the name says it
Lacks: stock, regions; CPU cores and RAM are billed beside the GPU; what is priced by the hour on the same page
Quirk: a row says the memory twice. The list in the documentation is older and differs, so the page is read. Starting a
       machine and pulling an image cost nothing, keeping a container warm does
"""

from __future__ import annotations

import re

from spiders.shared.base import Document
from spiders.shared.shapes.text_rows import TextRowsSpider


class BeamSpider(TextRowsSpider):
    """Reads the GPUs on the price page, wherever their rows stand."""

    name = "beam"
    start_urls = ["https://www.beam.cloud/pricing"]
    documents = (Document(r"beam\.cloud/pricing", "parse"),)
    anchors = ("GPU", "GB VRAM", "/sec")
    row = re.compile(
        r"\b(?P<gpu>(?:RTX )?(?:PRO )?[A-Z]*\d+\w*(?: (?:Ada|PCIE|PCIe|SXM\d?|NVL))?)\s+(?P<vram>\d+ GB) VRAM\s+"
        r"(?:\d+ GB\s+)?(?P<price>\$ ?[\d.]+) ?/ ?sec\b"
    )
    price_unit = "gpu-second"
    kind = "serverless"

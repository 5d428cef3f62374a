"""Modal: GPUs for functions that scale to none, billed by the second, always interruptible.

Docs:  https://modal.com/pricing, https://modal.com/docs/guide/preemption
Gives: price of one GPU a second, memory where a card is sold with two sizes
Lacks: stock, regions, form factor where the name says none; CPU and memory are billed beside the GPU
Quirk: functions with a GPU can be preempted and cannot be kept from it, so every row is `spot`. A chosen region costs a
       multiple. The list of CPU and memory stands on the same page, by core and by GiB
"""

from __future__ import annotations

import re

from spiders.shared.base import Document
from spiders.shared.shapes.text_rows import TextRowsSpider


class ModalSpider(TextRowsSpider):
    """Reads the GPUs on the price page, wherever their rows stand."""

    name = "modal"
    start_urls = ["https://modal.com/pricing"]
    documents = (Document(r"modal\.com/pricing", "parse"),)
    anchors = ("GPU", "Nvidia", "sec")
    row = re.compile(
        r"(?:Nvidia|NVIDIA|AMD) (?P<gpu>[A-Za-z]+[\w ]*?)(?:,? (?P<vram>\d+ ?GB))?\s+(?P<price>\$ ?[\d.]+) ?/ ?sec\b"
    )
    price_unit = "gpu-second"
    kind = "serverless"
    purchase = "spot"

"""LeaderGPU: servers with GPUs by the month.

Docs:  https://www.leadergpu.com/
Gives: price of the server, GPU, count, memory, NVLink
Lacks: stock, regions, sizes, prices by the minute, day and week (an account's API tells them)
Quirk: the page first says what one card of the server costs a month, then the server; neither has a label. A badge may
       stand between name and count. The server is what is rented, so its price is read
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from parsel import Selector

from schemas.raw_offer import RawOffer
from spiders.shared.base import Document
from spiders.shared.shapes.html_table import HtmlTableSpider, words

ROW = re.compile(
    r"NVIDIA (?P<gpu>(?:(?!NVIDIA)[\w ])+?)(?: New| Popular)? (?P<count>\d+)x (?P<link>NVLink )?(?P<vram>\d+ ?GB) "
    r"\w+(?: ECC)? € ?[\d,.]+ (?P<price>€ ?[\d,.]+)"
)


class LeadergpuSpider(HtmlTableSpider):
    """Reads the servers on the front page, wherever their rows stand."""

    name = "leadergpu"
    start_urls = ["https://www.leadergpu.com/"]
    documents = (Document(r"leadergpu\.com/", "parse"),)
    anchors = ("NVIDIA", "LeaderGPU", "€")

    def read_page(self, page: Selector) -> Iterator[RawOffer]:
        """Every server that has both prices."""
        for row in ROW.finditer(words(page.xpath("//body")[0])):
            yield RawOffer(
                purchase="reserved",
                price=row["price"],
                currency="EUR",
                price_unit="instance-month",
                accelerator=f"NVIDIA {row['gpu']}",
                gpu_count=row["count"],
                vram=row["vram"],
                interconnect=row["link"] and row["link"].strip(),
                term_months=1,
                kind="bare metal",
            )

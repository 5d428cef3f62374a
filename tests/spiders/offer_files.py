"""Offer files of the real shape, made while they are sent, and a spider that asks a loopback server for one."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from spiders.shared.crawl import crawl

EVERY = 200  # one product in so many has a GPU and is an offer
SPIDER = """
from scrapy.http import Request
from spiders.aws import offer_file
from spiders.shared.base import Document, ProviderSpider, json_of
from spiders.shared.shapes.streamed_json import streamed

class Large(ProviderSpider):
    name = "large"
    documents = (Document("index", "read"),)

    async def start(self):
        yield streamed("{url}", self.read, offer_file.excerpt)

    def read(self, response):
        yield self.batch(response, offer_file.offers(json_of(response), response.url))
        # not ru_maxrss: that of whoever started this process counts there too
        peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        (HERE / "peak").write_text(str(int(peak.split()[1]) / 1024))
"""


@dataclass(frozen=True)
class Read:
    """What became of a crawl, with the most memory that its process ever had."""

    ok: bool
    error: str | None
    offers: int
    peak_mb: float
    recorded_bytes: int


def product(number: int) -> dict[str, Any]:
    """One product; most are no GPU instances."""
    gpu = number % EVERY == 0
    told = {
        "servicecode": "AmazonEC2",
        "location": "US East (Ohio)",
        "locationType": "AWS Region",
        "instanceType": "p3.8xlarge" if gpu else "m6g.large",
        "currentGeneration": "Yes",
        "instanceFamily": "GPU instance" if gpu else "General purpose",
        "vcpu": "32",
        "memory": "244 GiB",
        "storage": "EBS only",
        "networkPerformance": "10 Gigabit",
        "tenancy": "Shared",
        "operatingSystem": "Linux",
        "licenseModel": "No License required",
        "usagetype": f"USE2-BoxUsage:{number}",
        "operation": "RunInstances",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "preInstalledSw": "NA",
        "regionCode": "us-east-2",
        "servicename": "Amazon Elastic Compute Cloud",
    }
    return {"sku": sku(number), "productFamily": "Compute Instance", "attributes": told}


def sku(number: int) -> str:
    return f"EXAMPLE{number:09d}"


def term(number: int, code: str, told: dict[str, str]) -> dict[str, Any]:
    """One term with its price."""
    key = f"{sku(number)}.{code}"
    rate: dict[str, Any] = {
        "rateCode": f"{key}.R",
        "description": "per instance hour, made up",
        "beginRange": "0",
        "endRange": "Inf",
    }
    rate |= {"unit": "Hrs", "pricePerUnit": {"USD": f"{1 + number / 1e6:.10f}"}, "appliesTo": []}
    return {key: {"offerTermCode": code, "sku": sku(number), "priceDimensions": {f"{key}.R": rate}} | told}


def members(numbers: range, make: Any) -> Iterator[bytes]:
    for number in numbers:
        yield f"{',' if number else ''}{json.dumps(sku(number))}:{json.dumps(make(number))}".encode()


def document(megabytes: float) -> Iterator[bytes]:
    """A file of about this size: products, their terms on demand, and two reserved terms each."""
    reserved = {"LeaseContractLength": "1yr", "OfferingClass": "standard", "PurchaseOption": "No Upfront"}

    def on_demand(number: int) -> dict[str, Any]:
        return term(number, "JRTCKXETXF", {"termAttributes": {}})  # type: ignore[dict-item]

    def ahead(number: int) -> dict[str, Any]:
        kinds = [reserved, reserved | {"OfferingClass": "convertible"}]
        return {
            key: value
            for at, kind in enumerate(kinds)
            for key, value in term(number, f"TERM{at}", {"termAttributes": kind}).items()  # type: ignore[dict-item]
        }

    each = sum(len(json.dumps(make(1))) + 24 for make in (product, on_demand, ahead))
    numbers = range(int(megabytes * 1e6 / each))
    yield b'{"formatVersion":"v1.0","offerCode":"AmazonEC2","products":{'
    yield from members(numbers, product)
    yield b'},"terms":{"OnDemand":{'
    yield from members(numbers, on_demand)
    yield b'},"Reserved":{'
    yield from members(numbers, ahead)
    yield b'}},"attributesList":{}}'


class OfferServer:
    """Answers every path with a file of a size: chunked, packed with gzip or not, to its end or cut off."""

    def __init__(self, megabytes: float, *, packed: bool = False, cut: bool = False) -> None:
        owner = self
        self.sent = 0

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.path == "/robots.txt":
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                if packed:
                    self.send_header("Content-Encoding", "gzip")
                self.end_headers()
                for piece in pieces(megabytes, packed):
                    owner.sent += len(piece)
                    if cut and owner.sent > megabytes * 1e4:
                        break
                    self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/index.json"

    def __enter__(self) -> OfferServer:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def pieces(megabytes: float, packed: bool) -> Iterator[bytes]:
    """The file in pieces of a megabyte at most, each a gzip member of its own where it is packed."""
    gathered: list[bytes] = []
    size = 0
    for part in document(megabytes):
        gathered.append(part)
        size += len(part)
        if size > 1 << 19:
            yield gzip.compress(b"".join(gathered), 1) if packed else b"".join(gathered)
            gathered, size = [], 0
    yield gzip.compress(b"".join(gathered), 1) if packed else b"".join(gathered)


def crawled(server: OfferServer, folder: Path) -> Read:
    """Crawl it in a child, recording."""
    module = folder / "large_offer_file.py"
    source = f"import pathlib\nHERE = pathlib.Path({str(folder)!r})\n" + SPIDER.replace("{url}", server.url)
    module.write_text(source)
    report = crawl("large", folder / "crawl", module=module.stem, deadline_s=600, env={"PYTHONPATH": str(folder)})
    peak = folder / "peak"
    recorded = sum(path.stat().st_size for path in (folder / "crawl").glob("*") if path.name != "raw.jsonl")
    return Read(report.ok, report.error, report.offers, float(peak.read_text()) if peak.exists() else 0.0, recorded)

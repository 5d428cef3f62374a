"""The bulk offer file: a large one costs little memory, a broken one is named, and its traps are withstood."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from spiders.aws import offer_file
from spiders.shared import har
from spiders.shared.crawl import crawl
from spiders.shared.errors import SchemaDrift, Truncated
from spiders.shared.source import RECORDED
from spiders.shared.streamed import Sink

from .offer_files import OfferServer, crawled, document

CASE = "2026-11-30-offer-file"
REGION = "us-east-2"


def excerpt(body: bytes, size: int = 1000) -> Any:
    """What is kept of a document that arrives in pieces."""
    sink = Sink(offer_file.excerpt())
    for at in range(0, len(body), size):
        sink.write(body[at : at + size])
    kept = sink.getvalue()
    if sink.error:
        raise sink.error
    return json.loads(kept)


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_file_of_60_mb_takes_at_most_200_mb_and_is_recorded_as_an_excerpt(tmp_path: Path, packed: bool) -> None:
    with OfferServer(60 if not packed else 10, packed=packed) as server:
        read = crawled(server, tmp_path)
    assert read.ok, read.error
    assert read.offers > (300 if not packed else 50)
    assert 40 < read.peak_mb < 200
    assert read.recorded_bytes < 3_000_000


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_file_that_ends_early_is_truncated(tmp_path: Path, packed: bool) -> None:
    with OfferServer(2, packed=packed, cut=True) as server:
        read = crawled(server, tmp_path)
    assert not read.ok
    assert read.offers == 0
    assert "ends" in (read.error or "")


def test_the_excerpt_gives_the_offers_of_the_whole() -> None:
    whole = b"".join(document(1))
    kept = excerpt(whole)
    assert list(offer_file.offers(kept, "x")) == list(offer_file.offers(json.loads(whole), "x"))
    assert 0 < len(json.dumps(kept)) < len(whole) / 20


def test_what_arrives_is_named_where_it_is_no_offer_file() -> None:
    with pytest.raises(SchemaDrift, match="expected JSON"):
        excerpt(b'{"products": {"A": nonsense}}')
    with pytest.raises(SchemaDrift, match="products before terms"):
        excerpt(b'{"terms": {"OnDemand": {"A": {}}}, "products": {}}')
    with pytest.raises(Truncated):
        excerpt(b'{"products": {"A": {"attributes": {}}}')


def test_a_gzip_bomb_and_an_endless_page_are_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spiders.shared.streamed.MOST_UNPACKED", 4000)
    monkeypatch.setattr("spiders.shared.streamed.MOST_HELD", 4000)
    with pytest.raises(Truncated, match="more than"):
        excerpt(b'{"products": {"A": "' + b"x" * 8000)
    with pytest.raises(Truncated, match="more than"):
        excerpt(b"<html>" + b"x" * 8000)


def test_u19_reserved_capacity_and_blocks_at_zero_are_no_offers(replay: Any) -> None:
    read = replay("aws", CASE)
    p4d = [o for o in read.offers if o.instance_type == "p4d.24xlarge" and o.region == REGION]
    assert {o.price for o in p4d if o.purchase == "on_demand"} == {Decimal("21.957642")}
    assert read.rejects == []


def test_a05_a_file_speaks_for_its_own_region_alone(replay: Any) -> None:
    offers = [o for o in replay("aws", CASE).raw if "AmazonEC2" in (o.source_url or "")]
    assert {o.region for o in offers} == {REGION}
    assert not {o.instance_type for o in offers} & {"g4dn.xlarge", "m6g.large"}


def test_t10_a_region_of_the_file_has_no_second_row_from_the_small_document(replay: Any) -> None:
    keys = [o.offer_key for o in replay("aws", CASE).offers]
    assert len(keys) == len(set(keys))


def test_a_reserved_term_costs_what_is_paid_ahead_too(replay: Any) -> None:
    terms = {o.tier: o for o in replay("aws", CASE).offers if o.purchase == "reserved"}
    none, part, whole = (terms[f"standard {word} Upfront"] for word in ("No", "Partial", "All"))
    assert (none.usd_per_hour, none.upfront, none.term_months) == (Decimal("7.96"), None, 12)
    assert part.usd_per_hour == pytest.approx(Decimal("3.79") + Decimal(33215) / 8760)
    assert (whole.upfront, whole.term_months) == (138267, 36)
    assert whole.usd_per_hour == pytest.approx(Decimal(138267) / (3 * 8760))


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    def broken(url: str, body: Any) -> Any:
        if "AmazonEC2" in url:
            (term,) = body["terms"]["OnDemand"]["EXAMPLESKU00002A"].values()
            next(iter(term["priceDimensions"].values()))["pricePerUnit"]["USD"] = "soon"
        return body

    whole, read = replay("aws", CASE), replay("aws", CASE, broken)
    assert [r.raw.instance_type for r in read.rejects] == ["p4d.24xlarge"]
    assert len(read.offers) + 1 == len(whole.offers)


def test_the_option_is_recorded_and_replayed_and_a_users_own_does_not_leak_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert har.read(RECORDED / "aws" / CASE).options == {"GPUFARE_AWS_OFFERS": REGION}
    monkeypatch.setenv("GPUFARE_AWS_OFFERS", "eu-west-1")
    assert crawl("aws", tmp_path / "with", recorded=RECORDED / "aws" / CASE).ok
    assert crawl("aws", tmp_path / "without", recorded=RECORDED / "aws" / "2026-11-30-night").ok


def test_options_of_a_recording_are_texts(tmp_path: Path) -> None:
    har.write(tmp_path / "a.har", [], options={"A": "b"})
    assert har.read(tmp_path / "a.har").options == {"A": "b"}
    (tmp_path / "b.har").write_text('{"log": {"entries": [], "_options": ["A"]}}')
    with pytest.raises(har.HarError, match="_options"):
        har.read(tmp_path / "b.har")

"""Vast.ai: a list cut to 64 that is walked by price, and a price that holds a disk."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from schemas.offer import Offer
from schemas.record import to_arrow
from spiders.shared import har
from spiders.shared.crawl import crawl
from spiders.shared.har import Entry
from spiders.shared.offline import Offline, read_answers
from spiders.shared.source import RECORDED
from storage.listings import grouped

NIGHT = "2026-11-29-night"
URL = "https://console.vast.ai/api/v0/bundles/"
OFFER = {
    "id": 1,
    "is_bid": False,
    "dph_base": 0.4,
    "dph_total": 0.4208333333333333,
    "min_bid": 0.2,
    "storage_cost": 0.15,
    "gpu_name": "RTX 4090",
    "num_gpus": 2,
    "gpu_ram": 24564,
    "geolocation": "Quebec, CA",
    "rentable": True,
}


def page(*offers: dict[str, Any]) -> Offline:
    """One saved answer, read alone."""
    body = json.dumps({"offers": [OFFER | offer for offer in offers]})
    return read_answers("vast", [Entry("*", URL, mime="application/json", content=body.encode())])


def one(**fields: Any) -> Any:
    (offer,) = page(fields).offers
    return offer


def listed(kind: str) -> list[dict[str, Any]]:
    """What the recorded answers of one kind hold, with repetitions."""
    entries = [e for e in har.read(RECORDED / "vast" / NIGHT).entries if json.loads(e.post_data or b"")["type"] == kind]
    return [offer for entry in entries for offer in json.loads(entry.body)["offers"]]


def test_p01_a_full_answer_is_followed_by_what_is_dearer(replay: Any) -> None:
    raw = [o for o in replay("vast", NIGHT).raw if o.purchase == "on_demand"]
    assert len(listed("on-demand")) > 64
    assert len(raw) == len({o.listing_id for o in raw}) == 84
    assert {o.listing_id for o in raw} == {str(offer["id"]) for offer in listed("on-demand")}


def test_p01_a_listing_at_the_price_of_the_cut_is_neither_lost_nor_doubled(replay: Any) -> None:
    twice = [offer["id"] for offer in listed("on-demand")]
    repeated = {i for i in twice if twice.count(i) == 2}
    assert repeated  # the second answer begins at the last price of the first
    ids = [o.listing_id for o in replay("vast", NIGHT).raw if o.purchase == "on_demand"]
    assert all(ids.count(str(i)) == 1 for i in repeated)


def test_p01_a_full_answer_in_another_order_is_truncated(failing: Any) -> None:
    def reversed_(url: str, body: Any) -> Any:
        return {"offers": body["offers"][::-1]}

    assert failing("vast", NIGHT, reversed_).error_class == "Truncated"


def test_each_question_is_for_its_kind_in_rising_order() -> None:
    posted = [json.loads(entry.post_data or b"") for entry in har.read(RECORDED / "vast" / NIGHT).entries]
    assert {ask["limit"] for ask in posted} == {64}
    assert {json.dumps(ask["order"]) for ask in posted} == {'[["dph_total", "asc"]]'}
    assert [ask["type"] for ask in posted].count("bid") == 1


def test_u13_a_bid_and_the_price_on_demand_hold_the_same_disk() -> None:
    on_demand, bid = one(), one(is_bid=True)
    assert round(on_demand.price, 4) == Decimal("0.4208")
    assert round(bid.price, 4) == Decimal("0.2208")
    assert (on_demand.purchase, bid.purchase) == ("on_demand", "bid")
    assert on_demand.disk == bid.disk


def test_u13_the_stated_disk_is_what_the_recorded_prices_hold() -> None:
    for offer in listed("on-demand"):
        disk_gb = (offer["dph_total"] - offer["dph_base"]) / offer["storage_cost"] * 720
        assert abs(disk_gb - 8) < 0.01


def test_a_listing_is_another_offer_when_it_is_bid_for(replay: Any) -> None:
    offers = replay("vast", NIGHT).offers
    assert len({o.offer_key for o in offers}) == len(offers) == 98


def test_n10_memory_as_the_answer_says(replay: Any) -> None:
    vram = {(o.accelerator_raw, o.gpu): o.vram_gib for o in replay("vast", NIGHT).offers}
    assert vram["H100 NVL", "H100"] == 94
    assert vram["RTX 4080S", "RTX 4080 SUPER"] == 16
    assert vram["RTX 3090 Ti", "RTX 3090 Ti"] == 24
    assert vram["RTX 4090D", "RTX 4090 D"] == 24


def test_n16_the_memory_of_a_converted_card_wins_over_the_table(replay: Any) -> None:
    sizes = {o.vram_gib for o in replay("vast", NIGHT).offers if o.gpu == "RTX 4090"}
    assert sizes == {24, 48}


def test_n10_a_slice_under_the_name_of_the_whole_card_is_flagged(replay: Any) -> None:
    (slice_,) = [o for o in replay("vast", NIGHT).offers if o.flags]
    assert (slice_.gpu, slice_.vram_gib, slice_.flags) == ("H100", 19.625, ["vram_unknown_for_card"])


def test_the_share_of_the_machine_is_no_share_of_a_gpu() -> None:
    assert one(num_gpus=1, gpu_frac=0.125).gpu_count == 1


def test_ram_is_this_offers_share_and_unknown_where_the_cores_are() -> None:
    share = {"cpu_ram": 257878, "cpu_cores": 112, "cpu_cores_effective": 56.0}
    assert one(**share).ram == "128939 MiB"
    assert one(**share | {"cpu_cores": None}).ram is None
    assert one().ram is None


def test_a_place_may_be_half_told_or_not_at_all() -> None:
    assert [(o.region, o.country) for o in page({"geolocation": "Japan, JP"}).offers] == [("Japan, JP", "JP")]
    assert [(o.region, o.country) for o in page({"geolocation": ", US"}).offers] == [(None, "US")]
    assert [(o.region, o.country) for o in page({"geolocation": None}).offers] == [(None, None)]


def test_what_is_listed_as_rented_is_not_to_be_had(replay: Any) -> None:
    def rented(url: str, body: Any) -> Any:
        return {"offers": [offer | {"rentable": False} for offer in body["offers"]]}

    assert {o.availability for o in replay("vast", NIGHT, rented).offers} == {"sold_out"}
    assert {o.availability for o in replay("vast", NIGHT).offers} == {"available"}


def test_d06_a_listing_that_goes_moves_no_other_group(replay: Any) -> None:
    """With this many groups Arrow gives them in an order of its own; each must keep its own price."""
    offers = replay("vast", NIGHT).offers

    def prices(rows: list[Offer]) -> dict[str, Any]:
        table = grouped(to_arrow(rows, Offer))
        return dict(zip(table["offer_key"].to_pylist(), table["price"].to_pylist(), strict=True))

    whole = prices(offers)
    assert len(whole) > 64
    for gone in (0, 40, len(offers) - 1):
        left = prices(offers[:gone] + offers[gone + 1 :])
        assert all(whole[key] == price for key, price in left.items())


def test_a_card_that_no_table_knows_is_kept(replay: Any) -> None:
    (new,) = [o for o in replay("vast", NIGHT).offers if o.gpu is None]
    assert (new.accelerator_raw, new.vram_gib, new.gpu_count) == ("CMP 170X", 8, 4)


def test_the_users_own_key_is_named_and_never_written_down(tmp_path: Path) -> None:
    key = "s3cret-of-mine"
    keyed = crawl("vast", tmp_path / "keyed", recorded=RECORDED / "vast" / NIGHT, env={"VAST_API_KEY": key})
    bare = crawl("vast", tmp_path / "bare", recorded=RECORDED / "vast" / NIGHT, env={"VAST_API_KEY": None})
    assert (keyed.access, keyed.offers) == ("VAST_API_KEY", 98)
    assert (bare.access, bare.offers) == ("open", 98)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and key in path.read_text()]


def test_an_answer_may_be_saved_without_its_question() -> None:
    entry = replace(har.read(RECORDED / "vast" / NIGHT).entries[0], method="*", post_data=None)
    read = read_answers("vast", [entry])
    assert len(read.offers) == 64
    assert any("nothing answers POST" in note for note in read.notes)


def test_a_malformed_listing_is_told_and_the_others_stay(replay: Any) -> None:
    for fields in ({"num_gpus": 0}, {"gpu_name": 4090}, {"num_gpus": "many"}):

        def broken(url: str, body: Any, fields: Any = fields) -> Any:
            for record in body["offers"]:
                if record["id"] == 41285117:
                    record.update(fields)
            return body

        whole, read = replay("vast", NIGHT), replay("vast", NIGHT, broken)
        assert {reject.raw.listing_id for reject in read.rejects} == {"41285117"}
        assert len(read.offers) + len(read.rejects) == len(whole.offers)


def test_a_malformed_price_fails_the_walk_by_price(failing: Any) -> None:
    def worded(url: str, body: Any) -> Any:
        body["offers"][0]["dph_total"] = "soon"
        return body

    assert failing("vast", NIGHT, worded).error_class == "SchemaDrift"

"""SaladCloud: classes of GPUs at several priorities, for who has a key."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"


def with_5090(**fields: Any) -> Any:
    """A change that sets fields of the first class."""
    return lambda url, body: {"items": [body["items"][0] | fields, *body["items"][1:]]}


def test_every_priority_is_a_row_and_only_the_highest_is_not_preempted(replay: Any) -> None:
    rows = {o.tier: (o.purchase, o.usd_per_gpu_hour) for o in replay("salad", NIGHT).offers if o.gpu == "RTX 4080"}
    assert rows == {
        "community high": ("on_demand", Decimal("0.28")),
        "community medium": ("spot", Decimal("0.22")),
        "community low": ("spot", Decimal("0.16")),
        "community batch": ("spot", Decimal("0.11")),
    }


def test_a_class_that_is_no_gpu_is_no_offer(replay: Any) -> None:
    assert not any("Stable" in (o.accelerator_raw or "") for o in replay("salad", NIGHT).offers)


def test_a_priority_without_a_price_is_not_sold(replay: Any) -> None:
    (card,) = [o for o in replay("salad", NIGHT).offers if o.gpu == "RTX 3060"]
    assert (card.tier, card.price) == ("community low", Decimal("0.047"))


def test_much_asked_for_is_not_sold_out(replay: Any) -> None:
    assert {o.availability for o in replay("salad", NIGHT).offers} == {"unknown"}


def test_the_same_card_in_two_kinds_of_nodes_is_two_offers(replay: Any) -> None:
    def twice(url: str, body: Any) -> Any:
        return {"items": [*body["items"], body["items"][0] | {"id": "other", "gpu_class_type": "secure"}]}

    rows = [o for o in replay("salad", NIGHT, twice).offers if o.gpu == "RTX 5090"]
    assert {o.tier for o in rows} == {"community high", "community batch", "secure high", "secure batch"}
    assert len({o.offer_key for o in rows}) == 4


def test_the_way_in_is_told(failing: Any) -> None:
    report = failing("salad", NIGHT, lambda url, body: {"items": []})
    assert report.access == "SALAD_API_KEY"


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    for price in ("soon", "-0.3", "0"):
        read = replay("salad", NIGHT, with_5090(prices=[{"priority": "high", "price": price}]))
        assert (len(read.offers), len(read.rejects)) == (9, 1)

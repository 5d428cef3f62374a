"""Hot Aisle: cents for the machine in the list, dollars for one GPU on the page, a rate that is nobody's."""

from __future__ import annotations

from decimal import Decimal
from typing import Any


def test_u18_the_list_is_in_cents_of_the_machine(replay: Any) -> None:
    def doubled(url: str, body: Any) -> Any:
        body[0]["Specs"]["gpus"][0]["count"] = 2
        body[0]["OnDemandPrice"] = "598"
        return body

    two, one = replay("hotaisle", "2026-11-30-keyed", doubled).offers
    assert (two.gpu_count, two.price, two.usd_per_hour, two.usd_per_gpu_hour) == (
        2,
        Decimal(598),
        Decimal("5.98"),
        Decimal("2.99"),
    )
    assert (one.usd_per_gpu_hour, one.vcpus, one.availability) == (Decimal("2.99"), 8, "available")


def test_the_rate_of_earlier_customers_is_no_offer(replay: Any) -> None:
    read = replay("hotaisle", "2026-11-29-night")
    assert sorted((o.gpu_count, o.price, o.purchase, o.term_months) for o in read.offers) == [
        (1, Decimal("2.99"), "on_demand", None),
        (8, Decimal("3.39"), "reserved", 1),
    ]


def test_bare_metal_is_no_guess_where_the_cards_name_two_gpus(replay: Any) -> None:
    def another(url: str, body: str) -> str:
        start, end = body.index('<div><p class="mb-2'), body.index("</section>\n</main>")
        return body[:end] + body[start:end].replace("MI300x", "MI355X").replace("192GB", "288GB") + body[end:]

    gpus = {o.kind: o.gpu for o in replay("hotaisle", "2026-11-29-night", another).offers}
    assert gpus["bare_metal"] is None


def test_a_size_of_two_words_is_unknown_not_one_of_them(replay: Any) -> None:
    assert {o.vcpus for o in replay("hotaisle", "2026-11-29-night").offers} == {None}


def test_a_block_that_stands_twice_is_one_offer(replay: Any) -> None:
    def twice(url: str, body: str) -> str:
        start, end = body.index('<div class="rounded-lg'), body.index('<p class="mt-5')
        return body[:end] + body[start:end] + body[end:]

    assert len(replay("hotaisle", "2026-11-29-night", twice).offers) == 2

"""JarvisLabs: a table on the page, pools in the currency of the account with a key."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

NIGHT = "2026-11-29-night"
KEYED = "2026-11-30-keyed"


def test_two_sizes_of_one_name_are_two_offers(replay: Any) -> None:
    a100 = {o.vram_gib: o.usd_per_gpu_hour for o in replay("jarvislabs", NIGHT).offers if o.gpu == "A100"}
    assert a100 == {80: Decimal("1.49"), 40: Decimal("0.89")}


def test_q01_cpu_machines_and_what_is_on_request_are_no_offers(replay: Any) -> None:
    offers = replay("jarvislabs", NIGHT).offers
    assert len(offers) == 7
    assert not {Decimal("0.05"), Decimal("0.10")} & {o.price for o in offers}


def test_pools_that_are_alike_are_one_offer_with_what_both_have_free(replay: Any) -> None:
    (a100,) = [o for o in replay("jarvislabs", KEYED).offers if o.gpu == "A100"]
    assert (a100.available_count, a100.usd_per_gpu_hour, a100.gpu_count, a100.country) == (5, Decimal("1.49"), 1, "IN")


def test_pools_that_are_alike_at_two_prices_fail(failing: Any) -> None:
    def dearer(url: str, body: Any) -> Any:
        body["server_meta"][3]["price_per_hour"] = 1.59
        return body

    report = failing("jarvislabs", KEYED, dearer)
    assert (report.error_class, "A100-80GB" in report.error) == ("SchemaDrift", True)


def test_spot_is_a_row_of_its_own_and_for_containers_alone(replay: Any) -> None:
    def for_machines(url: str, body: Any) -> Any:
        body["server_meta"][4]["workload_type"] = "vm"
        return body

    (spot,) = [o for o in replay("jarvislabs", KEYED).offers if o.purchase == "spot"]
    assert (spot.gpu, spot.price, spot.available_count) == ("RTX PRO 6000", Decimal("0.99"), 6)
    assert {o.purchase for o in replay("jarvislabs", KEYED, for_machines).offers} == {"on_demand"}


def test_rupees_of_an_indian_account_are_told_as_rupees(replay: Any) -> None:
    offers = replay("jarvislabs", KEYED, lambda url, body: {**body, "currency": "INR"}).offers
    assert {(o.currency, o.usd_per_gpu_hour) for o in offers} == {("INR", None)}


def test_a_list_that_does_not_say_its_currency_fails(failing: Any) -> None:
    def silent(url: str, body: Any) -> Any:
        body.pop("currency")
        return body

    report = failing("jarvislabs", KEYED, silent)
    assert (report.error_class, "currency" in report.error) == ("SchemaDrift", True)


def test_a_price_that_is_no_number_is_rejected_and_the_others_stay(replay: Any) -> None:
    def words(url: str, body: Any) -> Any:
        body["server_meta"][0]["price_per_hour"] = "ask"
        return body

    read = replay("jarvislabs", KEYED, words)
    assert (len(read.rejects), len(read.offers)) == (1, 5)

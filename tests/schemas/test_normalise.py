"""The pure step from a provider's words to an Offer."""

from __future__ import annotations

import dataclasses
import random
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.corrections import Correction
from schemas.normalise import Context, Rates, normalise, offer_key
from schemas.offer import Offer
from schemas.providers import Provider
from schemas.rate import UsdRate
from schemas.raw_offer import RawOffer
from schemas.record import to_arrow, violations

FACTS = Provider(slug="acme", title="Acme", homepage="https://acme.test", segment="neocloud")
AT = datetime(2026, 11, 30, 2, tzinfo=UTC)
EUR = Rates({"EUR": {date(2026, 11, 27): UsdRate(Decimal("1.16"), "ecb")}})
CONTEXT = Context(FACTS, "s1", AT, "recording", "ab" * 32, EUR)


def raw(**fields: Any) -> RawOffer:
    base: dict[str, Any] = {"purchase": "on_demand", "price": "2.50", "currency": "USD", "price_unit": "instance-hour"}
    return RawOffer(**{**base, "accelerator": "H100 SXM5 80GB", "gpu_count": 1, **fields})


def one(**fields: Any) -> Offer:
    (offer,) = normalise([raw(**fields)], CONTEXT).offers
    return offer


def reason(**fields: Any) -> str:
    (reject,) = normalise([raw(**fields)], CONTEXT).rejects
    return reject.reason


def test_price_of_the_whole_becomes_price_of_one() -> None:
    offer = one(price=2552, price_unit="cent/instance-hour", gpu_count=8)
    assert (offer.price, offer.usd_per_hour, offer.usd_per_gpu_hour) == (
        Decimal(2552),
        Decimal("25.52"),
        Decimal("3.19"),
    )


def test_price_of_one_becomes_price_of_the_whole() -> None:
    offer = one(price="3.99", price_unit="gpu-hour", gpu_count=8)
    assert (offer.usd_per_hour, offer.usd_per_gpu_hour) == (Decimal("31.92"), Decimal("3.99"))


def test_U18_cents_and_dollars() -> None:
    for published, unit, dollars in (
        (249, "cent/instance-hour", "2.49"),
        ("2.10", "instance-hour", "2.10"),
        (39, "cent/instance-hour", "0.39"),
    ):
        assert one(price=published, price_unit=unit).usd_per_hour == Decimal(dollars)


def test_U31_month_is_730_hours() -> None:
    assert one(price="730", price_unit="instance-month").usd_per_hour == Decimal(1)


def test_U21_small_prices_keep_their_digits() -> None:
    assert one(price="0.0041").usd_per_hour == Decimal("0.0041")
    assert one(price="9.0E-4").usd_per_hour == Decimal("0.0009")


def test_U28_decimals_have_no_dust() -> None:
    assert one(price=Decimal("1.6468") + Decimal("0.01")).price == Decimal("1.6568")


def test_U26_currency_is_the_answers_and_the_rate_is_dated() -> None:
    offer = one(price="2.8665", currency="eur", tax_included=False)
    assert (offer.price, offer.currency, offer.rate_date) == (Decimal("2.8665"), "EUR", date(2026, 11, 27))
    assert offer.usd_per_hour == Decimal("3.32514")
    assert offer.tax_included is False


def test_no_rate_is_no_price_in_dollars() -> None:
    offer = one(currency="VND", price="65000")
    assert (offer.usd_per_hour, offer.usd_per_gpu_hour, offer.rate_date) == (None, None, None)
    assert offer.flags == ["rate_missing"]


def test_an_old_rate_is_no_rate() -> None:
    stale = Rates({"EUR": {date(2026, 11, 1): UsdRate(Decimal("1.16"), "ecb")}})
    (offer,) = normalise([raw(currency="EUR")], dataclasses.replace(CONTEXT, rates=stale)).offers
    assert offer.usd_per_hour is None


def test_a_rate_of_tomorrow_is_not_used() -> None:
    assert Rates({"EUR": {date(2026, 12, 1): UsdRate(Decimal("1.2"), "ecb")}}).on("EUR", AT.date()) is None


@pytest.mark.parametrize("price", ["0", "-1", "NaN", "Infinity", "1e308", "0.00000000001", "Contact us", "free"])
def test_B11_what_is_no_price_is_rejected_with_a_reason(price: str) -> None:
    assert "price" in reason(price=price)


@pytest.mark.parametrize("price", ["from $1.99", "€3.81", "2.10 EUR", ["2.10"], True, 2.5, {}])
def test_a_floor_another_currency_and_no_text_at_all_are_no_price(price: Any) -> None:
    assert reason(price=price).startswith("price ")


def test_a_price_in_words_of_its_own_currency_is_read() -> None:
    assert one(price="$2.10").price == Decimal("2.10")
    assert one(price="€3.81", currency="EUR").price == Decimal("3.81")


def test_U19_U20_a_zero_price_is_no_offer() -> None:
    assert reason(price="0.0000000000") == "price 0.0000000000 is not above zero"


def test_F06_F14_an_unknown_price_stays_unknown() -> None:
    offer = one(price=None)
    assert (offer.price, offer.usd_per_hour, offer.usd_per_gpu_hour) == (None, None, None)


def test_F03_one_bad_record_leaves_the_others() -> None:
    read = normalise([raw(), raw(price="-1"), raw(region="b")], CONTEXT)
    assert (len(read.offers), len(read.rejects)) == (2, 1)


def test_A11_stock_words_and_their_absence() -> None:
    words = {
        "scarce": "limited",
        "shortage": "sold_out",
        "available": "available",
        True: "available",
        False: "sold_out",
    }
    assert {word: one(availability=word).availability for word in words} == words
    assert one(availability=None).availability == "unknown"
    assert one(availability=True, available_count=0).availability == "sold_out"
    odd = one(availability="ask Bob")
    assert (odd.availability, odd.flags) == ("unknown", ["availability_word_unknown"])


def test_N10_N16_the_answers_memory_wins_over_the_table() -> None:
    assert one(accelerator="RTX 4090", gpu_count=2, vram_total="98280 MiB").vram_gib == 48
    assert one(accelerator="H100 NVL", vram="95830 MiB").vram_gib == 94
    assert one(accelerator="RTX 4090D", vram="24564 MiB").gpu == "RTX 4090 D"


def test_U07_total_memory_is_not_multiplied() -> None:
    for count in (1, 2, 4, 8):
        assert one(accelerator="A100", gpu_count=count, vram_total=f"{80 * count} GB").vram_gib == 80


def test_U06_memory_of_the_host_is_not_memory_of_the_card() -> None:
    offer = one(accelerator="A100-80GB", vram="80 GB", ram="117 GB")
    assert (offer.vram_gib, offer.ram_gib) == (80, 117)


def test_U17_nominal_classes() -> None:
    mib = {"H100": (81559, 80), "A10": (23028, 24), "L40S": (46068, 48), "L4": (23034, 24), "T4": (15360, 16)}
    for gpu, (size, nominal) in mib.items():
        assert one(accelerator=gpu, vram=f"{size} MiB").vram_gib == nominal


def test_B08_memory_that_no_such_card_has_is_kept_and_flagged() -> None:
    offer = one(accelerator="H100", vram="12 GB")
    assert (offer.vram_gib, offer.flags) == (12, ["vram_unknown_for_card"])


def test_B12_unknown_words_keep_the_row() -> None:
    read = normalise([raw(accelerator="Zorblax 9000"), raw(accelerator="Zorblax 9000", region="b")], CONTEXT)
    assert [(o.gpu, o.accelerator_raw) for o in read.offers] == [(None, "Zorblax 9000")] * 2
    assert read.unmapped == {"Zorblax 9000": 2}


def test_A23_a_share_of_a_gpu_costs_by_the_whole() -> None:
    offer = one(accelerator="NVIDIA-A100-SXM4-40GB-MIG-1g.5gb", gpu_count=None, price="0.50")
    assert offer.gpu_count == pytest.approx(1 / 7)
    assert (offer.vram_gib, offer.usd_per_gpu_hour) == (40, Decimal("3.5"))


def test_N11_the_instance_type_speaks_where_the_words_say_nothing() -> None:
    facts = dataclasses.replace(FACTS, slug="aws")
    offers = normalise(
        [raw(accelerator="NVIDIA", gpu_count=None, instance_type="p5en.48xlarge")],
        dataclasses.replace(CONTEXT, provider=facts),
    ).offers
    assert (offers[0].gpu, offers[0].gpu_count, offers[0].vram_gib) == ("H200", 8, 141)


def test_N12_words_that_contradict_the_type_are_flagged() -> None:
    offer = one(accelerator="L40", instance_type="g3-l40s-large", gpu_count=8)
    assert "gpu_words_disagree" in (offer.flags or [])


def test_offer_key_depends_on_the_providers_words_only() -> None:
    base = offer_key("acme", raw(region="eu"))
    assert base == offer_key("acme", raw(region="eu", price="9.99", availability="shortage", vcpus=3))
    different = [
        raw(region="us"),
        raw(region="eu", purchase="spot"),
        raw(region="eu", gpu_count=2),
        raw(region="eu", tier="secure"),
    ]
    assert len({base, *(offer_key("acme", r) for r in different)}) == 5


def test_A20_tiers_are_never_one_offer() -> None:
    assert one(tier="community").offer_key != one(tier="secure").offer_key


def test_D06_order_of_records_says_nothing() -> None:
    records = [raw(region=str(n), price=str(n + 1)) for n in range(50)]
    want = {o.offer_key: o for o in normalise(records, CONTEXT).offers}
    random.Random(7).shuffle(records)
    assert {o.offer_key: o for o in normalise(records, CONTEXT).offers} == want


ERRATUM = Correction(
    name="acme_l40s",
    provider="acme",
    reason="The plan g3-l40s-large is sold as L40.",
    source="https://acme.test",
    checked_on=date(2026, 11, 30),
    match={"instance_type": "g3-l40s-large"},
    expect={"accelerator": "L40"},
    set={"accelerator": "L40S"},
)


def test_a_known_error_is_mended_flagged_and_keeps_its_identity() -> None:
    record = raw(accelerator="L40", instance_type="g3-l40s-large", gpu_count=8)
    read = normalise([record, raw()], dataclasses.replace(CONTEXT, corrections=(ERRATUM,)))
    assert [(offer.gpu, offer.accelerator_raw) for offer in read.offers] == [
        ("L40S", "L40S"),
        ("H100", "H100 SXM5 80GB"),
    ]
    assert read.offers[0].flags == ["corrected_acme_l40s"]
    assert read.offers[0].offer_key == offer_key("acme", record)
    assert read.outlived == set()


def test_a_correction_that_the_provider_made_itself_is_told() -> None:
    record = raw(accelerator="L40S", instance_type="g3-l40s-large", gpu_count=8)
    read = normalise([record], dataclasses.replace(CONTEXT, corrections=(ERRATUM,)))
    assert read.outlived == {"acme_l40s"}
    assert read.offers[0].flags is None


TEXTS = st.text(max_size=40) | st.none()


@given(
    accelerator=TEXTS,
    instance_type=TEXTS,
    price=st.text(max_size=20) | st.integers() | st.decimals(),
    gpu_count=st.text(max_size=8) | st.integers() | st.none(),
    vram=TEXTS,
    ram=TEXTS,
    disk=TEXTS,
    network=TEXTS,
    region=TEXTS,
    country=TEXTS,
    availability=TEXTS | st.booleans(),
    currency=st.sampled_from(["USD", "EUR", "VND", "?"]),
    form_factor=TEXTS,
    vcpus=TEXTS,
)
def test_nothing_a_record_says_can_crash_or_break_the_declaration(**fields: Any) -> None:
    read = normalise([raw(**fields)], CONTEXT)
    assert len(read.offers) + len(read.rejects) == 1
    assert violations(to_arrow(read.offers, Offer), Offer) == []

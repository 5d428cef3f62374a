"""The comparison table: which rows, in which order, how old."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from schemas.offer import Offer
from schemas.record import columns
from storage.filters import Filters, Gpu
from storage.lake import NotFound
from storage.query import FACT_COLUMNS, SORTS, offers, show

EVERY = ("on_demand", "spot", "reserved")


@pytest.fixture
def ask(world, lake) -> Callable:
    def run(sort="usd_per_gpu_hour", limit=None, now=None, as_of=None, known_at=None, **filters):
        wanted = {key: v if isinstance(v, tuple) or key not in TUPLES else (v,) for key, v in filters.items()}
        return offers(
            lake, Filters(**wanted), now=now or world.at(2), sort=sort, limit=limit, as_of=as_of, known_at=known_at
        )

    return run


TUPLES = {"gpus", "vendors", "providers", "regions", "countries", "continents", "purchase", "tiers", "segments"}


def keys(answer):
    return [key.split(":")[1] for key in answer.table["offer_key"].to_pylist()]


def test_A1_rows_come_cheapest_card_hour_first_and_none_above_the_limit(world, lake, ask):
    prices = ["3.2", "1.9", None, "2.4", "2.9", "2.4"]
    world.put(lake, 1, *[world.offer(i, p) for i, p in enumerate(prices)])
    answer = ask(gpus=Gpu("H100"))
    assert keys(answer) == ["1", "3", "5", "4", "0", "2"]
    assert [float(p) for p in ask(max_price=Decimal(3)).table["usd_per_gpu_hour"].to_pylist()] == [1.9, 2.4, 2.4, 2.9]
    cut = ask(limit=2)
    assert (keys(cut), cut.total) == (["1", "3"], 6)
    beside = {"age_s", "stale", "carried_forward", *FACT_COLUMNS}
    assert set(columns(Offer)) | beside == set(cut.table.column_names)


def test_F14_F06_an_unknown_price_comes_last_and_is_never_the_cheapest(world, lake, ask):
    world.put(lake, 1, world.offer("none", None), world.offer("low", "0.4"), world.offer("high", "9"))
    for sort in SORTS:
        answer = ask(sort)
        assert answer.total == 3
        if sort in ("usd_per_gpu_hour", "usd_per_hour", "price"):
            assert keys(answer) == ["low", "high", "none"]
    assert keys(ask(unknown_price=False)) == ["low", "high"]


def test_U29_the_cheapest_host_of_a_card_is_found(world, lake, ask):
    world.put(lake, 1, world.offer("g4-48", "4.49993"), world.offer("g4-6", "1.51825"))
    assert keys(ask(counts=(1, 1), limit=1)) == ["g4-6"]


def test_A14_form_factors_stay_apart_and_a_name_finds_all_that_its_memory_finds(world, lake, ask):
    kinds = [("SXM", 80.0), ("PCIe", 80.0), ("NVL", 94.0), (None, 80.0)]
    world.put(lake, 1, *[world.offer(i, form_factor=f, vram_gib=v) for i, (f, v) in enumerate(kinds)])
    assert ask(gpus=Gpu("H100")).total == ask(vram=(80, None)).total == 4
    assert keys(ask(gpus=Gpu("H100", "SXM"))) == ["0"]
    assert keys(ask(gpus=Gpu("H100", vram_gib=94))) == ["2"]
    assert ask(gpus=Gpu("h100")).total == 0  # names are canonical here; the command line reads what people write


def test_A16_Q04_name_and_count(world, lake, ask):
    world.put(lake, 1, *[world.offer(n, gpu_count=float(n)) for n in (1, 2, 4, 8)], world.offer("a", gpu="A100"))
    assert keys(ask(gpus=Gpu("H100", count=4))) == ["4"]
    assert sorted(keys(ask(gpus=(Gpu("H100", count=8), Gpu("A100"))))) == ["8", "a"]
    assert ask(gpus=(Gpu("H100", count=8), Gpu("A100"))).filters["gpu"] == ["H100:8", "A100"]


def test_A13_one_machine_in_four_sizes_is_four_rows(world, lake, ask):
    world.put(lake, 1, *[world.offer(n, "2.5", gpu_count=float(n), price_unit="gpu-hour") for n in (1, 2, 4, 8)])
    rows = ask(sort="count").table.select(["gpu_count", "usd_per_hour", "usd_per_gpu_hour"]).to_pylist()
    assert [(r["gpu_count"], float(r["usd_per_hour"]), float(r["usd_per_gpu_hour"])) for r in rows] == [
        (8.0, 20.0, 2.5),
        (4.0, 10.0, 2.5),
        (2.0, 5.0, 2.5),
        (1.0, 2.5, 2.5),
    ]


def test_A17_ranges_and_places(world, lake, ask):
    world.put(
        lake,
        1,
        world.offer("l4", gpu="L4", vram_gib=24.0, region="fsn1", country="DE"),
        world.offer("node", gpu_count=8.0, region="US-East", country="US"),
        world.offer("a100", gpu="A100", vram_gib=40.0, gpu_count=2.0, country=None, region=None),
    )
    assert sorted(keys(ask(vram=(48, None)))) == ["node"]
    assert sorted(keys(ask(vram=(24, 40)))) == ["a100", "l4"]
    assert keys(ask(total_vram=(160, None))) == ["node"]
    assert sorted(keys(ask(counts=(1, 4)))) == ["a100", "l4"]
    assert keys(ask(regions="us-EAST")) == ["node"]
    assert keys(ask(countries="de")) == ["l4"]
    assert keys(ask(continents="eu")) == ["l4"]
    assert ask(providers="lambda").total == 0
    assert sorted(keys(ask(providers=("hyperbolic", "lambda")))) == ["a100", "l4", "node"]
    assert ask(vendors="AMD").total == 0
    assert ask(vendors="nvidia", segments="reseller").total == 3
    assert ask(segments="hyperscaler").total == 0


def test_A18_the_defaults_in_force_are_told(world, lake, ask):
    world.put(lake, 1, world.offer("od"), world.offer("sp", "1", purchase="spot"))
    assert keys(ask()) == ["od"]
    assert ask().filters == {"purchase": ["on_demand"]}
    assert keys(ask(purchase=EVERY)) == ["sp", "od"]
    assert ask(purchase=()).filters == {"purchase": ["any"]}
    said = ask(counts=(1, 4), vram=(24, None), total_vram=(None, 80), max_price=Decimal("2.5"), in_stock=True).filters
    assert said == {
        "count": "1..4",
        "vram_gib": "24..",
        "total_vram_gib": "..80",
        "purchase": ["on_demand"],
        "in_stock": True,
        "max_usd_per_gpu_hour": 2.5,
    }


def test_A19_sort_by_the_spot_price_of_the_same_shape(world, lake, ask):
    def shape(name, price, spot):
        return [
            world.offer(f"{name}-od", price, instance_type=name),
            *([world.offer(f"{name}-sp", spot, instance_type=name, purchase="spot")] if spot else []),
        ]

    world.put(lake, 1, *shape("a", "2", "1.5"), *shape("b", "3", "0.9"), *shape("c", "1", None))
    answer = ask(sort="spot")
    assert keys(answer) == ["b-od", "a-od", "c-od"]
    assert [p and float(p) for p in answer.table["spot_usd_per_gpu_hour"].to_pylist()] == [0.9, 1.5, None]
    assert keys(ask(sort="spot", purchase="spot")) == ["b-sp", "a-sp"]
    assert ask(sort="spot", purchase=()).total == 5


def test_A20_A12_tiers_of_one_provider_are_never_merged(world, lake, ask):
    world.put(lake, 1, world.offer("c", "0.34", tier="community"), world.offer("s", "0.69", tier="secure"))
    assert ask().table.select(["tier"]).to_pylist() == [{"tier": "community"}, {"tier": "secure"}]
    assert keys(ask(tiers="secure")) == ["s"]


def test_A22_reserved_rows_are_not_mixed_in_by_default(world, lake, ask):
    world.put(lake, 1, world.offer("od"), world.offer("res", "1", purchase="reserved", term_months=12))
    assert keys(ask()) == ["od"]


def test_A23_A14_a_share_of_a_card_is_no_whole_card(world, lake, ask):
    share = world.offer("mig", "0.6", gpu="L4", gpu_count=0.125, vram_gib=24.0)
    world.put(lake, 1, share, world.offer("one", gpu="L4", vram_gib=24.0), world.offer("unsaid", gpu_count=None))
    assert keys(ask(counts=(1, None))) == ["one"]
    assert keys(ask(counts=(0, 0))) == []
    assert keys(ask(counts=(1, 1), fractional=True)) == ["mig", "one"]
    assert sorted(keys(ask())) == ["mig", "one", "unsaid"]
    assert keys(ask(gpus=Gpu("L4", count=1))) == ["one"]


def test_A9_A10_in_stock_means_seen_within_the_window(world, lake, ask):
    words = ("available", "limited", "sold_out", "unknown")
    world.put(lake, 1, *[world.offer(word, availability=word) for word in words])
    fresh = world.at(2)
    assert sorted(keys(ask(in_stock=True, now=fresh))) == ["available", "limited"]
    assert keys(ask(in_stock=True, now=world.at(9))) == []
    assert ask(sort="availability").table["availability"].to_pylist() == [
        "available",
        "limited",
        "unknown",
        "sold_out",
    ]


def test_A11_every_row_says_how_old_it_is(world, lake, ask):
    world.put(lake, 1, world.offer(1))
    three_hours = ask(now=world.at(1) + timedelta(hours=3))
    assert three_hours.table.select(["age_s", "stale"]).to_pylist() == [{"age_s": 10800.0, "stale": False}]
    assert three_hours.stale == []
    late = ask(now=world.at(1) + timedelta(hours=36, seconds=1))
    assert late.table["stale"].to_pylist() == [True]
    assert late.stale == ["hyperbolic"]
    assert (late.newest, late.origin) == (world.at(1), "recording")


@pytest.mark.parametrize("verdict", ["failed", "quarantined"])
def test_F04_B02_C7_a_provider_that_fails_keeps_its_last_rows_and_says_so(world, lake, ask, verdict):
    for provider in ("hyperbolic", "lambda", "nebius"):
        world.put(lake, 1, world.offer(provider, provider=provider), provider=provider)
    world.put(lake, 2, world.offer("lambda", "3", provider="lambda"), provider="lambda")
    world.put(lake, 2, world.offer("x", provider="nebius"), provider="nebius", verdict=verdict)
    answer = ask(now=world.at(2, 6))
    assert answer.carried_forward == ["nebius"]
    rows = {r["provider"]: r for r in answer.table.to_pylist()}
    assert rows["nebius"]["offer_key"] == "nebius:nebius"
    assert (rows["nebius"]["carried_forward"], rows["nebius"]["availability"]) == (True, "available")
    assert rows["lambda"]["carried_forward"] is False
    assert float(rows["lambda"]["price"]) == 3
    assert ask(as_of=world.at(1, 12)).carried_forward == []


def test_rows_that_are_held_back_never_come_out(world, lake, ask):
    world.put(
        lake, 1, world.offer("bad", "0.01", flags=["price_out_of_range", "withheld"]), world.offer("odd", flags=["x"])
    )
    assert keys(ask()) == ["odd"]


def test_C2_the_two_clocks(world, lake, ask):
    old = world.put(lake, 1, world.offer(1, "2.5"))
    world.put(lake, 1, world.offer(1, "2.6"), scrape_id="fix", supersedes=old.scrape_id, recorded_at=world.at(5))

    def price(**when):
        return float(ask(**when).table["price"][0].as_py())

    assert price(now=world.at(9)) == 2.6
    assert price(now=world.at(9), as_of=world.at(2)) == 2.6
    assert price(now=world.at(9), as_of=world.at(2), known_at=world.at(4)) == 2.5


def test_an_empty_store_answers(world, lake, ask):
    answer = ask(gpus=Gpu("H100"))
    assert (answer.total, answer.table.num_rows, answer.newest, answer.gpus) == (0, 0, None, ["H100"])
    with pytest.raises(KeyError):
        ask(sort="beauty")


def test_A12_show_tells_where_a_row_comes_from(world, lake):
    first = world.offer(1, "2.5", source_url="https://example.test/prices", recording_sha256="a" * 64)
    world.put(lake, 1, first, world.offer(2), parser_version="p1")
    world.put(lake, 2, replace(first, price=Decimal("2.4")), parser_version="p2")
    shown = show(lake, "hyperbolic:1", now=world.at(2, 3))
    assert float(shown.offer["price"]) == 2.4
    assert shown.offer["source_url"] == "https://example.test/prices"
    assert (shown.offer["age_s"], shown.offer["stale"]) == (3600.0, False)
    assert (shown.scrape.parser_version, shown.scrape.observed_at) == ("p2", world.at(2))
    assert (shown.recording, shown.gone, shown.origin) == (None, False, "recording")
    assert shown.history["event"].to_pylist() == ["first", "price"]
    gone = show(lake, "hyperbolic:2", now=world.at(3))
    assert gone.gone
    assert gone.history["event"].to_pylist() == ["first", "gone"]
    with pytest.raises(NotFound, match="no offer hyperbolic:9"):
        show(lake, "hyperbolic:9", now=world.at(3))

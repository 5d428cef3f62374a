"""What a price buys: per GiB, per BF16 TFLOP, per GB/s, from the facts and from nothing else."""

from __future__ import annotations

from decimal import Decimal

import pytest

from schemas.gpu_table import gpu_models, rows_by_model
from storage.figures import HEARSAY, UNIT_PRICES, bf16_tflops
from storage.filters import Filters
from storage.query import offers


@pytest.fixture
def prices(world, lake):
    def ask(**facts):
        world.put(lake, 1, world.offer(1, **facts))
        (row,) = offers(lake, Filters(), now=world.at(2), unit_prices=tuple(UNIT_PRICES)).rows
        return [None if row[name] is None else float(row[name]) for name in UNIT_PRICES]

    return ask


def test_C19_per_gib_tflop_and_bandwidth_by_the_table_of_cards(prices):
    (card,) = [r for r in gpu_models() if (r.gpu, r.form_factor, r.vram_gib) == ("H100", "SXM", 80)]
    assert (card.fp16_tflops_dense, card.mem_bandwidth_gbs) == (989, 3350)  # NVIDIA's datasheet
    assert card.source
    assert prices(price="2.5") == [pytest.approx(2.5 / n, abs=1e-10) for n in (80, 989, 3350)]


def test_C19_a_share_of_a_card_is_measured_by_the_whole(prices):
    assert prices(price="2.5", gpu_count=0.125)[0] == 2.5 / 80


@pytest.mark.parametrize(
    ("facts", "known"),
    [
        ({"form_factor": None}, (True, False, False)),  # SXM or PCIe: two figures, so none
        ({"form_factor": None, "vram_gib": 94.0}, (True, True, True)),  # only the NVL has 94
        ({"vram_gib": None}, (False, True, True)),  # the SXM card without a size is the usual one
        ({"vram_gib": 20.0}, (True, False, False)),  # no such card
        ({"gpu": None}, (True, False, False)),
        ({"gpu": "V100", "vram_gib": 16.0}, (True, False, True)),  # no BF16
        ({"gpu": "H20", "vram_gib": 96.0}, (True, False, True)),  # its TFLOPS are only reported
        ({"price": None}, (False, False, False)),
    ],
)
def test_C19_what_is_not_known_is_null(prices, facts, known):
    assert tuple(figure is not None for figure in prices(**facts)) == known


def test_C19_only_told_or_measured_tflops_with_bf16_count():
    for row in gpu_models():
        if bf16_tflops(row) is not None:
            assert row.bf16 == "yes"
            assert row.tflops_basis not in (None, *HEARSAY)
    assert {row.tflops_basis for row in rows_by_model()["H20"]} & set(HEARSAY)


@pytest.mark.parametrize("sort", list(UNIT_PRICES))
def test_C19_sorted_by_what_a_price_buys(world, lake, sort):
    cards = {
        "h100": world.offer("h100", "2"),
        "h200": world.offer("h200", "3.5", gpu="H200", vram_gib=141.0),
        "l4": world.offer("l4", "0.6", gpu="L4", form_factor="PCIe", vram_gib=24.0),
        "odd": world.offer("odd", "0.1", gpu=None, vram_gib=None),
    }
    world.put(lake, 1, *cards.values())
    answer = offers(lake, Filters(), now=world.at(2), sort=sort)
    figures = [row[sort] for row in answer.rows]
    assert figures[-1] is None
    assert figures[:-1] == sorted(figures[:-1])
    assert answer.table[sort].type.scale == 10
    assert sort not in offers(lake, Filters(), now=world.at(2)).rows[0]
    limited = offers(lake, Filters(), now=world.at(2), sort=sort, limit=2)
    assert (len(limited.rows), limited.total) == (2, 4)


def test_a_disk_in_the_price_is_in_what_it_buys(world, lake):
    world.put(lake, 1, world.offer(1, "2", storage_usd_per_gib_month=Decimal("0.73")))
    (row,) = offers(lake, Filters(disk_gib=100), now=world.at(2), unit_prices=("usd_per_gib_hour",)).rows
    assert float(row["usd_per_gib_hour"]) == pytest.approx((2 + 100 * 0.73 / 730) / 80, abs=1e-9)

"""What a price buys: USD per GiB-hour, per BF16 TFLOP-hour, per GB/s-hour, by the figures of gpus.csv.

The price is that of one whole GPU, the memory what the offer itself says. TFLOPS (dense BF16) and GB/s stand in
gpus.csv, each with its source; a figure is taken only where every row that the offer can mean has the same one, so an
H100 whose form factor is not said has none. Of the TFLOPS only those count that a vendor states or that follow from a
measured rate.
"""

# ruff: noqa: S608 - what is put into the SQL stands in this package and in gpus.csv

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from storage.reading import literal

if TYPE_CHECKING:
    from schemas.gpu_table import Gpu

UNIT_PRICES: dict[str, str] = {
    "usd_per_gib_hour": "vram_gib",
    "usd_per_bf16_tflop_hour": "bf16_tflops",
    "usd_per_gbs_hour": "bandwidth_gbs",
}
"""column: what the price of one GPU-hour is divided by"""
HEARSAY = ("announced", "reported")
"""values of tflops_basis that no figure is built on: before the card was sold, or without a word of the vendor"""
SAME_SIZE = 0.07


def priced(relation: str) -> str:
    """SQL of the relation with the columns of UNIT_PRICES; it has gpu, form_factor, vram_gib and usd_per_gpu_hour."""
    columns = ", ".join(
        f"(usd_per_gpu_hour::DOUBLE / nullif({by}, 0))::DECIMAL(24, 10) AS {name}" for name, by in UNIT_PRICES.items()
    )
    one = "CASE WHEN count({0}) = count(*) AND min({0}) = max({0}) THEN min({0}) END AS {0}"
    return f"""(WITH every_offer AS (SELECT * FROM {relation}),
        cards AS (SELECT DISTINCT gpu AS card, form_factor AS form, vram_gib AS size FROM every_offer),
        known (card, form, size, unmarked, bf16_tflops, bandwidth_gbs) AS (VALUES {", ".join(_rows())}),
        meant AS (SELECT c.*, k.bf16_tflops, k.bandwidth_gbs
            FROM cards c JOIN known k ON k.card = c.card AND (c.form IS NULL OR k.form IS NULL OR k.form = c.form)
                AND CASE WHEN c.size IS NULL THEN k.unmarked ELSE abs(k.size - c.size) <= {SAME_SIZE} * k.size END
            QUALIFY rank() OVER (PARTITION BY c.card, c.form, c.size ORDER BY k.size = c.size DESC) = 1),
        figures AS (SELECT card, form, size, {one.format("bf16_tflops")}, {one.format("bandwidth_gbs")}
            FROM meant GROUP BY card, form, size)
        SELECT o.*, {columns} FROM every_offer o LEFT JOIN figures f ON f.card = o.gpu
            AND f.form IS NOT DISTINCT FROM o.form_factor AND f.size IS NOT DISTINCT FROM o.vram_gib)"""


def bf16_tflops(row: Gpu) -> float | None:
    """Dense BF16 TFLOPS of a card; None where it has no BF16, no figure, or one that is only hearsay."""
    told = row.tflops_basis is not None and row.tflops_basis not in HEARSAY
    return row.fp16_tflops_dense if told and row.bf16 == "yes" else None


def _rows() -> Iterator[str]:
    from schemas.gpu_table import gpu_models

    for row in gpu_models():
        form = "NULL" if row.form_factor is None else literal(row.form_factor)
        numbers = (
            "NULL::DOUBLE" if value is None else f"{value!r}::DOUBLE"
            for value in (bf16_tflops(row), row.mem_bandwidth_gbs)
        )
        yield f"({literal(row.gpu)}, {form}, {row.vram_gib!r}::DOUBLE, {row.unmarked}, {', '.join(numbers)})"

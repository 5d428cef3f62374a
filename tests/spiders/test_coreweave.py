"""CoreWeave: footnotes, copies for small screens, blank cells, columns that rows leave out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest


def rows(read: Any) -> set[tuple[Any, ...]]:
    return {(o.gpu, o.gpu_count, o.purchase, o.price, o.region) for o in read.offers}


def test_a_footnote_is_no_digit_of_the_count(replay: Any) -> None:
    read = rows(replay("coreweave", "2026-11-29-night"))
    assert ("GB200", 4, "on_demand", Decimal("42.00"), "NORTH AMERICA") in read
    assert ("GH200", 1, "on_demand", Decimal("6.50"), "EUROPE") in read


@pytest.mark.parametrize("mark", ["4^1", "4<sup>1</sup>", "4¹", "4 ^1", "<span>4</span><sup>1, 2</sup>"])
def test_however_the_footnote_is_written(replay: Any, mark: str) -> None:
    read = replay("coreweave", "2026-11-29-night", lambda url, body: body.replace("4^1", mark))
    assert [o.gpu_count for o in read.offers if o.gpu == "GB200"] == [4]


def test_the_copy_for_small_screens_is_no_second_offer(replay: Any) -> None:
    read = replay("coreweave", "2026-11-29-night")
    assert len(read.offers) == len({o.offer_key for o in read.offers}) == 11


def test_blank_and_not_available_are_no_offers(replay: Any) -> None:
    read = rows(replay("coreweave", "2026-11-29-night"))
    assert {row[2] for row in read if row[0] == "B300"} == {"spot"}
    assert {row[2] for row in read if row[0] == "H200"} == {"on_demand"}


def test_the_price_of_a_single_gpu_for_inference_is_no_offer(replay: Any) -> None:
    assert not {Decimal("10.50"), Decimal("6.16")} & {row[3] for row in rows(replay("coreweave", "2026-11-29-night"))}


def test_a_row_that_ends_early_keeps_its_columns(replay: Any) -> None:
    b200 = {(o.purchase, o.price) for o in replay("coreweave", "2026-11-29-night").offers if o.gpu == "B200"}
    assert b200 == {("on_demand", Decimal("68.80")), ("spot", Decimal("34.11"))}


def test_columns_are_found_by_their_label(replay: Any) -> None:
    def swapped(url: str, body: str) -> str:
        first, second = "<div>128</div></div>\n  <div", "<div>2,048</div></div>"
        heads = ("vCPUs</div>", "System RAM<br/>(GB)</div>")
        body = body.replace(heads[0], "@").replace(heads[1], heads[0]).replace("@", heads[1])
        assert first.split("\n")[0] in body
        assert second in body
        return body

    offers = replay("coreweave", "2026-11-29-night", swapped).offers
    h100 = next(o for o in offers if o.gpu == "H100")
    assert (h100.vcpus, h100.ram_gib) == (2048, 128)


def test_a_cell_that_slipped_in_is_noticed(failing: Any) -> None:
    cell = '<div class="table-v2-cell"><div>80</div></div>'
    report = failing("coreweave", "2026-11-29-night", lambda url, body: body.replace(cell, cell + cell, 1))
    assert (report.error_class, report.offers) == ("LayoutChanged", 0)


def test_cells_behind_the_last_column_are_not_read(replay: Any) -> None:
    cell = '<div class="table-v2-cell"><div>$6.16</div></div>'
    more = replay("coreweave", "2026-11-29-night", lambda url, body: body.replace(cell, cell + cell))
    assert rows(more) == rows(replay("coreweave", "2026-11-29-night"))


def test_cpu_nodes_are_no_offers(replay: Any) -> None:
    assert not [raw for raw in replay("coreweave", "2026-11-29-night").raw if "Genoa" in str(raw)]


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("coreweave", "2026-11-29-night", lambda url, body: body.replace("$42.00", "$42.0.0"))
    assert (len(read.offers), [reject.raw.price for reject in read.rejects]) == (10, ["$42.0.0"])


def test_a_malformed_name_is_unknown_and_not_the_row_above(replay: Any) -> None:
    read = replay("coreweave", "2026-11-29-night", lambda url, body: body.replace(">NVIDIA GB200 NVL72<", "><"))
    assert (len(read.offers), [o.price for o in read.offers if o.gpu is None]) == (11, [Decimal("42.00")])

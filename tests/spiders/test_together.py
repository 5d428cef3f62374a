"""Together AI: a hidden table, one that looks alike, dashes, broken markup."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

HOURLY = {("B200", Decimal("8.19")), ("H100", Decimal("3.99")), ("H200", Decimal("5.99"))}


def rows(read: Any) -> set[tuple[Any, ...]]:
    return {(o.gpu, o.price) for o in read.offers}


def test_what_is_hidden_is_read_and_dedicated_inference_is_not(replay: Any) -> None:
    read = replay("together", "2026-11-29-night")
    assert rows(read) == HOURLY
    assert {(o.gpu_count, o.purchase, o.price_unit, o.availability) for o in read.offers} == {
        (1, "on_demand", "gpu-hour", "unknown")
    }


def test_a_second_table_gives_no_second_offers(replay: Any) -> None:
    read = replay("together", "2026-11-30-twice")
    assert (len(read.offers), rows(read)) == (3, HOURLY)


@pytest.mark.parametrize("wrap", ["<div>{}</div>", "<div role='list'><div>{}</div></div>"])
def test_rows_in_a_div_in_a_table_are_read(replay: Any, wrap: str) -> None:
    def wrapped(url: str, body: str) -> str:
        start = body.index('<tbody fs-list-element="list">') + len('<tbody fs-list-element="list">')
        end = body.index("</tbody>", start)
        return body[:start] + wrap.format(body[start:end]) + body[end:]

    assert rows(replay("together", "2026-11-29-night", wrapped)) == HOURLY


def test_what_follows_the_clusters_is_another_product(replay: Any) -> None:
    def followed(url: str, body: str) -> str:
        start, end = body.index('<table fs-list-element="table" class'), body.index("</div>\n<p")
        table = body[start:end].replace("$8.19", "$1.11")
        return body.replace("</body>", f'<div id="fine-tuning" class="section-anchor"></div>{table}</body>')

    assert rows(replay("together", "2026-11-29-night", followed)) == HOURLY


def test_a_malformed_price_is_told_and_the_others_stay(replay: Any) -> None:
    read = replay("together", "2026-11-29-night", lambda url, body: body.replace("$8.19", "$-8.19"))
    assert [reject.raw.price for reject in read.rejects] == ["$-8.19"]
    assert {o.gpu for o in read.offers} == {"H100", "H200"}

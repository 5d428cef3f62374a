"""One answer in every format: the same rows, and nothing that harms a reader."""

import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table.formats import FORMATS, lines, write_parquet
from table.jsontext import dumps
from table.terminal import Terminal, render, width_of
from table.view import SAMPLE, Shown, View, column

AT = datetime(2026, 11, 30, 2, tzinfo=UTC)
HOSTILE = "\x1b[31mred\x1b[0m\n| [bold]x[/bold] <script>alert(1)</script> \u202egnp.exe"
ROWS: list[dict[str, Any]] = [
    {"name": "plain", "usd_per_hour": Decimal("1.6568000000"), "gpu_count": 8.0, "seen": AT, "flags": None},
    {"name": HOSTILE, "usd_per_hour": None, "gpu_count": 0.125, "seen": None, "flags": ["a", "b"]},
    {"name": "=1+1", "usd_per_hour": Decimal("0.0041"), "gpu_count": None, "seen": AT, "flags": []},
]
SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("usd_per_hour", pa.decimal128(24, 10)),
        ("gpu_count", pa.float64()),
        ("seen", pa.timestamp("us", tz="UTC")),
        ("flags", pa.list_(pa.string())),
    ]
)


@pytest.fixture(params=["arrow", "rows"])
def view(request: pytest.FixtureRequest) -> Callable[..., View]:
    """A view over the rows, once as an Arrow table and once as plain rows."""
    data = pa.Table.from_pylist(ROWS, schema=SCHEMA) if request.param == "arrow" else ROWS

    def make(**changes: Any) -> View:
        shown = [column(name) for name in SCHEMA.names]
        return View(**{"name": "things", "data": data, "shown": shown, "as_of": AT, "counts": {"rows": 3}, **changes})

    return make


def text(view: View, format: str, terminal: Terminal | None = None) -> str:
    return "".join(lines(view, format, terminal))


def test_json_is_one_object_and_its_numbers_are_numbers(view: Callable[..., View]) -> None:
    written = text(view(query={"gpu": ["H100"]}), "json")
    answer = json.loads(written)
    assert list(answer) == ["schema", "as_of", "query", "counts", "rows"]
    assert answer["schema"] == "gpufare.things/1"
    assert answer["as_of"] == "2026-11-30T02:00:00Z"
    assert answer["query"] == {"gpu": ["H100"]}
    assert [row["usd_per_hour"] for row in answer["rows"]] == [1.6568, None, 0.0041]
    assert [row["name"] for row in answer["rows"]] == ["plain", HOSTILE, "=1+1"]
    assert answer["rows"][0]["seen"] == "2026-11-30T02:00:00Z"
    assert '"usd_per_hour": 1.6568,' in written
    assert '"gpu_count": 8,' in written


def test_jsonl_holds_the_rows_of_json(view: Callable[..., View]) -> None:
    rows = [json.loads(line) for line in text(view(), "jsonl").splitlines()]
    assert rows == json.loads(text(view(), "json"))["rows"]


def test_csv_holds_the_same_rows(view: Callable[..., View]) -> None:
    rows = list(csv.DictReader(io.StringIO(text(view(), "csv"))))
    wanted = json.loads(text(view(), "json"))["rows"]
    assert [list(row) for row in rows] == [list(row) for row in wanted]
    assert [row["usd_per_hour"] for row in rows] == ["1.6568", "", "0.0041"]
    assert [row["gpu_count"] for row in rows] == ["8", "0.125", ""]
    assert [row["flags"] for row in rows] == ["", "a;b", ""]
    assert [row["seen"] for row in rows] == ["2026-11-30T02:00:00Z", "", "2026-11-30T02:00:00Z"]


def test_parquet_holds_the_same_rows_to_a_file_and_to_a_pipe(view: Callable[..., View], tmp_path: Path) -> None:
    write_parquet(view(), str(tmp_path / "x.parquet"))
    pipe = io.BytesIO()
    write_parquet(view(), pipe)
    for table in (pq.read_table(tmp_path / "x.parquet"), pq.read_table(io.BytesIO(pipe.getvalue()))):
        assert [{**row, "flags": row["flags"]} for row in table.to_pylist()] == ROWS
        assert table.schema.metadata[b"schema"] == b"things/1"


def test_only_the_columns_that_were_asked_for_are_written(view: Callable[..., View]) -> None:
    some = view(only=["gpu_count", "name"])
    assert list(json.loads(text(some, "json"))["rows"][0]) == ["gpu_count", "name"]
    assert text(some, "csv").splitlines()[0] == "gpu_count,name"
    assert some.arrow().column_names == ["gpu_count", "name"]


@pytest.mark.parametrize("format", FORMATS)
def test_a_sample_says_so_in_every_format(view: Callable[..., View], format: str) -> None:
    sample = view(sample=True)
    if format == "parquet":
        pipe = io.BytesIO()
        write_parquet(sample, pipe)
        table = pq.read_table(io.BytesIO(pipe.getvalue()))
        assert table.schema.metadata[b"notice"] == SAMPLE.encode()
        assert set(table["notice"].to_pylist()) == {SAMPLE}
    else:
        assert SAMPLE in text(sample, format)
        assert SAMPLE not in text(view(), format)


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "parquet"])
def test_hostile_text_reaches_no_terminal(view: Callable[..., View], format: str) -> None:
    written = text(view(), format)
    assert "\x1b" not in written
    assert "\u202e" not in written
    assert not [char for char in written if ord(char) < 32 and char != "\n"]
    assert "red" in written


def test_hostile_text_cannot_leave_its_cell_in_markdown(view: Callable[..., View]) -> None:
    written = text(view(), "markdown")
    assert len(written.splitlines()) == 2 + len(ROWS)
    assert "<script>" not in written.replace("\\<script\\>", "")
    assert "\\| \\[bold\\]" in written


def test_no_spreadsheet_takes_a_name_for_a_formula(view: Callable[..., View]) -> None:
    assert "\n'=1+1," in text(view(), "csv")
    assert json.loads(text(view(), "json"))["rows"][2]["name"] == "=1+1"


def test_no_cell_of_the_table_is_blank(view: Callable[..., View]) -> None:
    body = text(view(), "table").splitlines()[1:]
    assert len(body) == len(ROWS)
    assert all(line.count("?") >= 1 for line in body[1:])
    assert all(cell.strip() for line in body for cell in line.split("  ") if cell)


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
def test_the_table_keeps_to_its_width_and_tears_no_number(width: int) -> None:
    rows = [
        {"name": f"a-very-long-region-name-{i}-東京", "price": Decimal("1234.5678") + i, "note": "word " * 9, "n": 8.0}
        for i in range(3)
    ]
    shown = [
        Shown("PRICE", lambda row: f"{row['price']}", "point", name="price"),
        column("name"),
        column("note", drop=2),
        Shown("N", lambda row: f"{row['n']:g}", "right", drop=1, name="n"),
    ]
    view = View("things", rows, shown, AT, header=["a header of many words that has to be broken somewhere 12345.678"])
    written = "".join(render(view, Terminal(width))).splitlines()
    assert max(width_of(line) for line in written) <= width
    for i in range(3):
        assert str(Decimal("1234.5678") + i) in "\n".join(written)
    assert "12345.678" in "\n".join(written)
    whole = width >= 40
    assert ("not shown" in "\n".join(written)) != whole


def test_points_stand_under_each_other() -> None:
    rows = [{"price": "12.00"}, {"price": "1.6568"}, {"price": "?"}]
    shown = [Shown("$/h", lambda row: row["price"], "point")]
    written = "".join(render(View("things", rows, shown, AT), Terminal())).splitlines()
    assert written[1].index(".") == written[2].index(".")


def test_colours_only_where_wanted(view: Callable[..., View]) -> None:
    assert "\x1b[" in text(view(header=["h"]), "table", Terminal(100, colour=True))
    assert "\x1b[" not in text(view(header=["h"]), "table", Terminal(100))


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_no_color_is_honoured() -> None:
    assert Terminal.of(Screen(), {"TERM": "xterm"}).colour
    assert not Terminal.of(Screen(), {"TERM": "xterm", "NO_COLOR": "1"}).colour
    assert not Terminal.of(Screen(), {"TERM": "dumb"}).colour
    assert Terminal.of(io.StringIO(), {}) == Terminal(None, False)


def test_json_of_odd_values() -> None:
    assert dumps({"a": float("nan"), "b": float("inf"), "c": Decimal("1E+2"), "d": 1e300, "e": (1, None)}) == (
        '{"a": null, "b": null, "c": 100, "d": 1e+300, "e": [1, null]}'
    )
    assert json.loads(dumps("\U000e0041\ud800\u202e\x7f")) == "\U000e0041\ud800\u202e\x7f"
    assert dumps("\x7f\u202e") == '"\\u007f\\u202e"'
    with pytest.raises(TypeError, match="no JSON for object"):
        dumps(object())

"""The tools of an assistant, by the protocol's own client: over standard input and output, and over HTTP."""

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters

Ask = Callable[..., Any]
Told = dict[str, Any]
T = "2026-11-30T05:00Z"
# Words of the command line, the tool and its arguments: one question.
STORED: tuple[tuple[str, str, Told], ...] = (
    (f"offers H100 --as-of {T}", "find_offers", {"gpu": ["H100"], "as_of": T}),
    (f"offers H100-SXM:8 --as-of {T}", "find_offers", {"gpu": ["H100-SXM:8"], "as_of": T}),
    (
        f"offers --vram 24..48 --purchase any --in-stock --as-of {T}",
        "find_offers",
        {"vram": "24..48", "purchase": ["any"], "in_stock": True, "as_of": T},
    ),
    (
        f"offers --max-price 1.5 --sort vram --limit 5 --as-of {T}",
        "find_offers",
        {"max_price": "1.5", "sort": "vram", "limit": 5, "as_of": T},
    ),
    (
        f"offers --country DE,CA --purchase spot,bid --as-of {T}",
        "find_offers",
        {"country": ["DE", "CA"], "purchase": ["spot", "bid"], "as_of": T},
    ),
    ("changes", "changes", {}),
    ("changes H100 --kind price_down", "changes", {"gpu": ["H100"], "kind": ["price_down"]}),
    ("history H100-SXM --count 8", "price_history", {"gpu": ["H100-SXM"], "count": "8"}),
    (
        "history V100 --every day --until 2026-11-30",
        "price_history",
        {"gpu": ["V100"], "every": "day", "until": "2026-11-30"},
    ),
    (
        f"fit --model 8b --method qlora --hours 6 --as-of {T}",
        "fit",
        {"model": "8b", "method": "qlora", "hours": 6, "as_of": T},
    ),
    (f"status hyperbolic nebius --as-of {T}", "status", {"provider": ["hyperbolic", "nebius"], "as_of": T}),
)


def exact(text: str) -> Any:
    """JSON whose numbers are compared as they are written."""
    return json.loads(text, parse_float=Decimal)


def over_stdio(store: Path, use: Callable[[Client], Awaitable[Any]]) -> Any:
    """What `use` finds out from `gpufare mcp` over the store."""
    command = StdioServerParameters(command=sys.executable, args=["-m", "gpufare", "--data", str(store), "mcp"])

    async def run() -> Any:
        with anyio.fail_after(60):
            async with Client(command) as client:
                return await use(client)

    return anyio.run(run)


async def call(client: Client, tool: str, arguments: Told) -> tuple[str, bool]:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    return content.text, bool(result.is_error)


def test_C22_the_tools_are_read_only_and_say_what_they_take(live: Path) -> None:
    async def use(client: Client) -> Any:
        return (await client.list_tools()).tools, client.instructions

    tools, instructions = over_stdio(live, use)
    assert [tool.name for tool in tools] == ["find_offers", "fit", "price_history", "changes", "status"]
    assert all(tool.annotations.read_only_hint for tool in tools)
    offers = tools[0].input_schema
    assert offers["additionalProperties"] is False
    assert offers["properties"]["gpu"]["items"]["type"] == "string"
    assert offers["properties"]["limit"] == {
        "type": "integer", "minimum": 0, "maximum": 200, "default": 20, "description": "At most so many rows.",
    }  # fmt: skip
    assert "null is unknown" in instructions


def test_C21_C22_the_rows_of_the_command_line_each_with_age_and_source(ask: Ask, live: Path) -> None:
    async def use(client: Client) -> list[str]:
        return [(await call(client, tool, {"limit": 200, **arguments} if tool != "status" else arguments))[0]
                for _, tool, arguments in STORED]  # fmt: skip

    for (words, _, _), text in zip(STORED, over_stdio(live, use), strict=True):
        told, found = exact(ask(*words.split(), "-o", "json").out), exact(text)
        assert told["rows"], words
        assert [{name: row[name] for name in told["rows"][0]} for row in found["rows"]] == told["rows"], words
        assert found["schema"] == told["schema"]
        assert all({"age_s", "source"} <= set(row) for row in found["rows"])
        if words.startswith(("offers", "fit")):
            assert all(row["age_s"] > 0 and row["source"].startswith("https://") for row in found["rows"])


def test_C22_age_and_source_of_what_was_seen(live: Path) -> None:
    async def use(client: Client) -> Any:
        offers = await call(client, "find_offers", {"gpu": ["H100-SXM:8"], "as_of": T})
        changes = await call(client, "changes", {"until": "2026-11-30", "as_of": T})
        return json.loads(offers[0]), json.loads(changes[0])

    offers, changes = over_stdio(live, use)
    assert {row["source"] for row in offers["rows"]} == {
        "https://hyperbolic.example/prices", "https://lambda.example/prices",
    }  # fmt: skip
    assert {row["age_s"] for row in offers["rows"]} == {10800}
    assert {row["source"] for row in changes["rows"]} == {"scrape 20261130T020000Z-hyperbolic"}
    assert {row["age_s"] for row in changes["rows"]} == {10800}
    assert any("purchase: on_demand (default)" in note for note in offers["notes"])


def test_C22_a_wrong_call_is_told_its_right_form(live: Path, sample: Path, tmp_path: Path) -> None:
    wrong: tuple[tuple[str, Told, str], ...] = (
        ("find_offers", {"gpu": ["H10O"]}, "did you mean H100?"),
        ("find_offers", {"max-price": "3"}, "did you mean max_price?"),
        ("find_offers", {"limit": 201}, "less than or equal to 200"),
        ("price_history", {}, "Name a GPU"),
        ("fit", {"model": "8b"}, "--method"),
        ("buy", {}, "there are find_offers, fit"),
    )

    async def use(client: Client) -> list[tuple[str, bool]]:
        return [await call(client, tool, arguments) for tool, arguments, _ in wrong]

    for (_, _, said), (text, is_error) in zip(wrong, over_stdio(live, use), strict=True):
        assert is_error
        assert said in text

    async def one(client: Client) -> tuple[str, bool]:
        return await call(client, "status", {})

    text, is_error = over_stdio(tmp_path / "none", one)
    assert is_error
    assert "gpufare refresh" in text
    assert json.loads(over_stdio(sample, one)[0])["notice"] == "SAMPLE, not market prices"


def test_C22_the_same_tools_over_HTTP(live: Path) -> None:
    command = [sys.executable, "-m", "gpufare", "--data", str(live), "serve", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        address = process.stderr.readline().split("/api")[0]

        async def run() -> Told:
            with anyio.fail_after(60):
                async with Client(f"{address}/mcp") as client:
                    text, _ = await call(client, "find_offers", {"gpu": ["H100"], "as_of": T, "limit": 1})
                    found: Told = json.loads(text)
                    return found

        found = anyio.run(run)
        assert found["counts"]["rows"] == 1
        assert found["counts"]["total"] > 1
        assert found["rows"][0]["source"]
    finally:
        process.terminate()
        process.wait(20)
        if process.stderr:
            process.stderr.close()


def test_C22_standard_output_holds_the_protocol_alone(live: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "gpufare", "--data", str(live), "mcp"],
        input="",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("column", ["age_s", "source"])
def test_a_row_that_tells_no_age_or_source_has_null(column: str) -> None:
    from datetime import UTC, datetime

    from table.mcp import dated

    (row,) = dated([{"name": "weights"}], datetime(2026, 11, 30, tzinfo=UTC))
    assert row[column] is None

"""The questions as tools of the Model Context Protocol, read-only; each row tells its age and its source."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from table.jsontext import dumps
from table.questions import Parameter, Question, Unanswered, checked, wrong
from table.view import SAMPLE, VERSION, Row, View

if TYPE_CHECKING:
    from mcp.server import Server
    from starlette.types import ASGIApp

ROWS, MOST_ROWS = 20, 200
"""of one answer: an assistant reads every one of them"""
# When a row was seen, by the columns that tell it; the first that stands there counts.
SEEN = ("observed_at", "last_success", "period_start", "until")
INSTRUCTIONS = (
    "What it costs to rent a GPU, and whether one is to be had, from a store of dated observations. Prices are USD,"
    " units stand in names, null is unknown. age_s is the age of a row in seconds, source where it was read;"
    " stale marks a row past its provider's window. Name age and source when you quote a price."
)


@dataclass(frozen=True, slots=True)
class ToolOf:
    """A tool: its name and the question behind it."""

    name: str
    question: Question
    parameters: Sequence[Parameter]


NAMES = {"find_offers": "offers", "fit": "fit", "price_history": "history", "changes": "changes", "status": "status"}


def tools(questions: Sequence[Question]) -> dict[str, ToolOf]:
    """The tools by name, of the questions that there are; they give fewer rows at once than REST does."""
    known = {question.name: question for question in questions}
    found = {}
    for name, of in NAMES.items():
        if of in known:
            parameters = [
                replace(one, usual=ROWS, most=MOST_ROWS) if one.name == "limit" else one for one in known[of].parameters
            ]
            found[name] = ToolOf(name, replace(known[of], parameters=parameters), parameters)
    return found


def answered(tool: ToolOf, arguments: Mapping[str, Any]) -> str:
    """The answer as JSON: `{schema, as_of, query, counts, rows}`. Raises Unanswered."""
    from pydantic import ValidationError

    try:
        asked = checked(tool.name, tool.parameters).model_validate(dict(arguments))
    except ValidationError as error:
        raise Unanswered(wrong(error.errors(), tool.question, tool.parameters)) from None
    values = {name: value for name, value in asked.model_dump().items() if value is not None}
    view = tool.question.answer(values, "json")
    rows = list(dated(view.all_columns(values.get("limit", MOST_ROWS)), view.as_of))
    if view.only is not None:
        rows = [{name: row.get(name) for name in (*view.only, "age_s", "source")} for row in rows]
    notice = {"notice": SAMPLE} if view.sample else {}
    head = {"schema": f"gpufare.{view.name}/{VERSION}", "as_of": view.as_of, **notice, "query": view.query}
    told = [*told_of(view), *([f"{len(rows)} rows of {view.total}"] if len(rows) < view.total else [])]
    counts = {**view.counts, "rows": len(rows)}
    return dumps({**head, "counts": counts, **view.extra, "notes": told, "rows": rows})


def told_of(view: View) -> list[str]:
    """What stands above and below the rows on a terminal: filters, defaults, what was left out."""
    return [*view.header, *view.notes]


def dated(rows: Sequence[Row], as_of: datetime) -> Iterator[Row]:
    """The rows with age_s and source where they do not have them; null where nobody knows."""
    for row in rows:
        at = next((row[name] for name in SEEN if isinstance(row.get(name), datetime)), None)
        age_s = row.get("age_s", None if at is None else (as_of - at).total_seconds())
        scrape = row.get("scrape_id")
        source = row.get("source") or row.get("source_url") or (f"scrape {scrape}" if scrape else None)
        yield {**row, "age_s": age_s, "source": source}


def server(questions: Sequence[Question], version: str) -> Server[Any]:
    """The server, whatever it is reached by."""
    import anyio
    from mcp.server import Server
    from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool, ToolAnnotations

    known = tools(questions)
    limiter: list[anyio.CapacityLimiter] = []

    async def list_tools(context: Any, params: Any) -> ListToolsResult:
        return ListToolsResult(
            tools=[
                Tool(
                    name=name,
                    description=f"{tool.question.summary[0].upper()}{tool.question.summary[1:]}. {tool.question.about}",
                    input_schema=tool.question.schema(),
                    annotations=ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False),
                )
                for name, tool in known.items()
            ]
        )

    async def call_tool(context: Any, params: Any) -> CallToolResult:
        if not limiter:
            limiter.append(anyio.CapacityLimiter(2))
        tool = known.get(params.name)
        is_error = False
        try:
            if tool is None:
                raise Unanswered(f"no tool {params.name!r}; there are {', '.join(known)}")
            arguments = params.arguments or {}
            text = await anyio.to_thread.run_sync(lambda: answered(tool, arguments), limiter=limiter[0])
        except Unanswered as error:
            text, is_error = str(error), True
        return CallToolResult(content=[TextContent(text=text)], is_error=is_error)

    return Server(
        "gpufare", version=version, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


async def over_stdio(questions: Sequence[Question], version: str) -> None:
    """Serve over standard input and output until the input ends."""
    from mcp.server.stdio import stdio_server

    serving = server(questions, version)
    async with stdio_server() as (read, write):
        await serving.run(read, write, serving.create_initialization_options())


def over_http(
    questions: Sequence[Question], version: str, host: str
) -> tuple[ASGIApp, Callable[[Any], AbstractAsyncContextManager[None]]]:
    """An ASGI application for streamable HTTP, stateless, and the lifespan that it needs.

    On the loopback interface it refuses what was sent for another host: a page in a browser could ask in its name.
    """
    from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    local = ["127.0.0.1", "localhost", "[::1]"]
    guarded = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[f"{name}:*" for name in local],
        allowed_origins=[f"http://{name}:*" for name in local],
    )
    manager = StreamableHTTPSessionManager(
        server(questions, version),
        json_response=True,
        stateless=True,
        security_settings=guarded if host in {"127.0.0.1", "localhost", "::1"} else None,
    )

    @asynccontextmanager
    async def lifespan(api: Any) -> AsyncIterator[None]:
        async with manager.run():
            yield

    return StreamableHTTPASGIApp(manager), lifespan

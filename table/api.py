"""REST over the questions: read-only, the rows of the command line's `-o json` under the same names.

FastAPI, for it comes with Prefect already, so that nothing is added; it makes the OpenAPI document out of what it
checks. An answer is kept until the store changes or five minutes are over (ages grow), and the same question asked by
many at once is worked out once.
"""

from __future__ import annotations

import hashlib
import inspect
import mimetypes
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from table.formats import lines, write_parquet
from table.jsontext import dumps
from table.questions import LONGEST, Parameter, Question, Unanswered, checked, row_schema, wrong
from table.view import View

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from pydantic import BaseModel
    from starlette.responses import Response
    from starlette.types import ASGIApp

PREFIX = "/api"
KEPT_S = 300
"""for which an answer counts as current; what a reader may keep it for"""
KEPT = 128
"""answers"""
LARGEST = 500_000
"""bytes of an answer that is kept"""
AT_ONCE = 4
"""questions that are worked out at once: each takes a thread of DuckDB for every core"""
PROBLEM = "application/problem+json"
STATUS = {"wrong": 422, "missing": 404, "not_now": 503}
MEDIA = {
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
OUTPUT = Parameter(
    "output", "text", "Format of the answer: json (the default), jsonl, csv, parquet.", choices=tuple(MEDIA)
)


def app(
    questions: Sequence[Question],
    *,
    stamp: Callable[[], str],
    version: str,
    clock: Callable[[], float] = time.time,
    site: Path | None = None,
    mounts: Mapping[str, ASGIApp] | None = None,
    lifespan: Callable[[Any], AbstractAsyncContextManager[None]] | None = None,
) -> FastAPI:
    """The application. `stamp` tells the state of the store, `clock` seconds since 1970.

    `site` is a published folder, served at `/`; `mounts` are other applications by their paths.
    """
    from fastapi import FastAPI
    from fastapi.exceptions import RequestValidationError
    from fastapi.staticfiles import StaticFiles
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    api = FastAPI(
        title="gpufare",
        summary="What it costs to rent a GPU, and whether one is to be had.",
        description="Read-only. The rows are those of the command line's `-o json`, parameters have its options' names."
        " Units stand in names, unknown is null. A sample store says so in `notice`.",
        version=version,
        openapi_url=f"{PREFIX}/openapi.json",
        # The usual pages of documentation load their scripts from elsewhere.
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    kept = Kept(stamp, version, clock)
    for question in questions:
        _route(api, question, kept)
    named = {question.name: question for question in questions}
    index = _index(questions, site, mounts)

    @api.get(PREFIX, include_in_schema=False)
    def start() -> Response:
        return _json(index)

    async def refuse(request: Request, error: HTTPException) -> Response:
        detail = str(error.detail)
        if error.status_code == 404 and request.url.path.startswith(PREFIX):
            detail = f"no {request.url.path[:LONGEST]}; {PREFIX} lists what there is"
        if error.status_code == 405:
            detail = "read-only: GET"
        return problem(error.status_code, detail, error.headers)

    async def correct(request: Request, error: RequestValidationError) -> Response:
        question = named[request.scope["route"].name]
        return problem(422, wrong(error.errors(), question, [*question.parameters, OUTPUT]))

    async def fail(request: Request, error: Exception) -> Response:
        return problem(500, "the question could not be answered; the server's own log tells why")

    api.add_exception_handler(HTTPException, refuse)  # type: ignore[arg-type]
    api.add_exception_handler(RequestValidationError, correct)  # type: ignore[arg-type]
    api.add_exception_handler(Exception, fail)
    # A route, not a mount: its address has no slash at its end.
    api.router.routes.extend(Route(path, other) for path, other in (mounts or {}).items())
    if site is not None:
        mimetypes.add_type("application/atom+xml", ".atom")  # no table of a system has it
        api.mount("/", StaticFiles(directory=site, html=True))
    else:
        api.get("/", include_in_schema=False)(start)
    return api


class Kept:
    """Answers that still hold, by their tags; one question is worked out once, however many ask it meanwhile."""

    def __init__(self, stamp: Callable[[], str], version: str, clock: Callable[[], float]) -> None:
        self._stamp, self._version, self._clock = stamp, version, clock
        self._answers: OrderedDict[str, bytes] = OrderedDict()
        self._running: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def tag(self, question: Question, values: Mapping[str, Any]) -> str:
        """The entity tag: state of the store, question, program, and the five minutes we are in.

        Weak, for two answers of one tag may differ in the ages.
        """
        parts = (self._stamp(), self._version, question.name, sorted(values.items()), int(self._clock() // KEPT_S))
        return f'W/"{hashlib.sha256(repr(parts).encode()).hexdigest()[:32]}"'

    def answer(self, tag: str, make: Callable[[], bytes]) -> bytes:
        """The answer of the tag, made unless it is at hand."""
        with self._guard:
            if tag in self._answers:
                self._answers.move_to_end(tag)
                return self._answers[tag]
            running = self._running.setdefault(tag, threading.Lock())
        with running:
            with self._guard:
                if tag in self._answers:
                    return self._answers[tag]
            try:
                made = make()
            finally:
                with self._guard:
                    self._running.pop(tag, None)
            if len(made) <= LARGEST:
                with self._guard:
                    self._answers[tag] = made
                    while len(self._answers) > KEPT:
                        self._answers.popitem(last=False)
            return made


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """The body of every refusal (RFC 9457): one line that says what was expected."""
    from http import HTTPStatus

    from starlette.responses import Response

    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    kept = {**(headers or {}), "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(dumps(body), status, kept, PROBLEM)


def _route(api: FastAPI, question: Question, kept: Kept) -> None:
    """Add a question's address."""
    import anyio
    from fastapi import Path as InPath
    from fastapi import Query
    from fastapi import Request as Asked
    from starlette.responses import Response

    in_path = [one for one in question.parameters if f"{{{one.name}}}" in question.path]
    in_query = [one for one in question.parameters if one not in in_path]
    model = checked(question.name, [*in_query, OUTPUT], question.example)
    limiter: list[anyio.CapacityLimiter] = []

    async def endpoint(request: Asked, asked: BaseModel, **path: str) -> Response:
        if not limiter:  # made within the loop that it serves
            limiter.append(anyio.CapacityLimiter(AT_ONCE))
        values = {name: value for name, value in asked.model_dump().items() if value is not None} | path
        output = values.pop("output", "json")
        # In a thread of its own: an object store is asked over the network.
        tag = await anyio.to_thread.run_sync(kept.tag, question, {**values, "output": output})
        headers = {"ETag": tag, "Cache-Control": f"public, max-age={KEPT_S}", "X-Content-Type-Options": "nosniff"}
        if _holds(request.headers.get("if-none-match"), tag):
            return Response(None, 304, headers)
        try:
            body = await anyio.to_thread.run_sync(
                lambda: kept.answer(tag, lambda: _written(question.answer(values, output), output)), limiter=limiter[0]
            )
        except Unanswered as error:
            return problem(STATUS[error.kind], str(error))
        return Response(body, 200, headers, MEDIA[output])

    wanted = [
        inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Asked),
        inspect.Parameter("asked", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[model, Query()]),
        *(
            inspect.Parameter(
                one.name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=Annotated[str, InPath(description=one.help, max_length=LONGEST)],
            )
            for one in in_path
        ),
    ]
    # FastAPI reads what it shall check from the signature, and that is made of the question's own parameters.
    endpoint.__signature__ = inspect.Signature(wanted)  # type: ignore[attr-defined]

    api.router.add_api_route(
        f"{PREFIX}{question.path}",
        endpoint,
        methods=["GET"],
        name=question.name,
        summary=question.summary,
        description=question.about,
        response_class=Response,
        responses=_responses(question),
    )


def _written(view: View, output: str) -> bytes:
    if output != "parquet":
        return "".join(lines(view, output)).encode("utf-8", "backslashreplace")
    import io

    whole = io.BytesIO()
    write_parquet(view, whole)
    return whole.getvalue()


def _holds(asked: str | None, tag: str) -> bool:
    """Does If-None-Match name the tag? Weak tags are compared by what stands in the quotes."""
    if asked is None:
        return False
    return asked.strip() == "*" or tag.removeprefix("W/") in [
        one.strip().removeprefix("W/") for one in asked.split(",")
    ]


def _json(value: Any) -> Response:
    from starlette.responses import Response

    return Response(dumps(value), 200, {"X-Content-Type-Options": "nosniff"}, MEDIA["json"])


def _index(questions: Sequence[Question], site: Path | None, mounts: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "openapi": f"{PREFIX}/openapi.json",
        "questions": {f"{PREFIX}{question.path}": question.summary for question in questions},
        "also": [*(mounts or {}), *(["/"] if site else [])],
    }


def _responses(question: Question) -> dict[int | str, dict[str, Any]]:
    """What an address may answer, for the OpenAPI document."""
    answer = {
        "type": "object",
        "properties": {
            "schema": {"type": "string"},
            "as_of": {"type": "string", "format": "date-time"},
            "notice": {"type": "string", "description": "Stands only where the store is a sample, and says so."},
            "query": {"type": "object", "description": "Filters and defaults as they took effect."},
            "counts": {"type": "object", "description": "rows of this answer; total, where there are more."},
            "rows": {"type": "array", "items": row_schema(question.record)},
        },
        "required": ["schema", "as_of", "query", "counts", "rows"],
    }
    refusal = {
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "What was expected, what came, what to try next."},
        },
        "required": ["type", "title", "status", "detail"],
    }
    text, content = {"type": "string"}, {PROBLEM: {"schema": refusal}}
    tagged = {"ETag": {"description": "Of the store's state and the question.", "schema": text}}
    bodies = {media.partition(";")[0]: {"schema": answer if name == "json" else text} for name, media in MEDIA.items()}
    told: dict[int | str, dict[str, Any]] = {
        200: {"description": "The answer, which may be no rows.", "content": bodies, "headers": tagged},
        304: {"description": "What If-None-Match names still holds."},
        422: {"description": "A parameter is wrong; `detail` tells the right form.", "content": content},
        503: {
            "description": "There is no store yet, or it cannot be read; `detail` tells what to run.",
            "content": content,
        },
    }
    if "{" in question.path:
        told[404] = {"description": "Nothing has this name; `detail` tells the nearest one.", "content": content}
    return told

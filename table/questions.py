"""A question that readers may ask over the network: its parameters as data, and the answer as a View.

What REST and MCP offer is told here once; who can answer (`gpufare.commands`) hands the questions in.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from table.view import View

if TYPE_CHECKING:
    from pydantic import BaseModel

Kind = Literal["text", "integer", "number", "flag"]
Values = Mapping[str, Any]
LONGEST = 200
"""characters of one value"""
MOST_VALUES = 100
"""of one parameter"""
MOST_ROWS = 10_000
"""of one answer; more of them are files, see `gpufare publish` and `gpufare export`"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter, by its name in an address. `many`: it may come several times, each a comma list.

    `least` and `most` bound a number, both included. `usual` is what holds where nothing is said.
    """

    name: str
    kind: Kind
    help: str
    many: bool = False
    required: bool = False
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    usual: int | None = None

    def schema(self) -> dict[str, Any]:
        """The parameter's JSON Schema."""
        kinds = {"text": "string", "integer": "integer", "number": "number", "flag": "boolean"}
        one: dict[str, Any] = {"type": kinds[self.kind]}
        if self.kind == "text":
            one["maxLength"] = LONGEST
        if self.choices:
            one["enum"] = list(self.choices)
        bounds = {"minimum": self.least, "maximum": self.most, "default": self.usual}
        one |= {word: bound for word, bound in bounds.items() if bound is not None}
        if self.many:
            return {"type": "array", "items": one, "maxItems": MOST_VALUES, "description": self.help}
        return {**one, "description": self.help}


@dataclass(frozen=True, slots=True)
class Question:
    """Something that can be asked. `path` is its address, `{name}` a parameter within it.

    `answer` takes values by the parameters' names, and the format that is wanted; it raises Unanswered. `example`
    holds values that have an answer on any store with the night of a few providers. `record`: what a row is.
    """

    name: str
    path: str
    summary: str
    about: str
    parameters: Sequence[Parameter]
    answer: Callable[[Values, str], View]
    example: Values = field(default_factory=dict)
    record: type | None = None

    def schema(self) -> dict[str, Any]:
        """JSON Schema of all parameters together."""
        return {
            "type": "object",
            "properties": {one.name: one.schema() for one in self.parameters},
            "required": [one.name for one in self.parameters if one.required],
            "additionalProperties": False,
        }


class Unanswered(Exception):
    """Why there is no answer: the question is wrong, what it names is not there, or the store cannot answer now."""

    def __init__(self, why: str, kind: Literal["wrong", "missing", "not_now"] = "wrong") -> None:
        super().__init__(why)
        self.kind = kind


def checked(name: str, parameters: Sequence[Parameter], example: Values = MappingProxyType({})) -> type[BaseModel]:
    """The parameters as a pydantic model, which refuses names that it does not know."""
    from pydantic import ConfigDict, Field, create_model

    plain: dict[str, Any] = {"text": str, "integer": int, "number": float, "flag": bool}
    fields: dict[str, Any] = {}
    for one in parameters:
        kind: Any = Literal[one.choices] if one.choices else plain[one.kind]
        bounds: dict[str, Any] = {"ge": one.least, "le": one.most}
        if one.kind == "text" and not one.choices:
            bounds["max_length"] = LONGEST
        if one.kind == "number":
            bounds["allow_inf_nan"] = False
        kind = Annotated[kind, Field(**{word: bound for word, bound in bounds.items() if bound is not None})]
        if one.many:
            kind = Annotated[list[kind], Field(max_length=MOST_VALUES)]
        is_never_none = one.required or one.usual is not None
        fields[one.name] = (
            kind if is_never_none else kind | None,
            Field(
                ... if one.required else one.usual,
                description=one.help,
                examples=[example[one.name]] if one.name in example else None,
            ),
        )
    made: type[BaseModel] = create_model(f"{name}_parameters", __config__=ConfigDict(extra="forbid"), **fields)
    return made


def wrong(errors: Sequence[Mapping[str, Any]], question: Question, parameters: Sequence[Parameter]) -> str:
    """One line for what pydantic found: each wrong parameter and its right form."""
    return "; ".join(_wrong(error, question, {one.name: one for one in parameters}) for error in errors)


def _wrong(error: Mapping[str, Any], question: Question, known: Mapping[str, Parameter]) -> str:
    words = [str(part) for part in error["loc"] if part not in {"query", "path"} or len(error["loc"]) == 1]
    name = next((word for word in words if word in known), words[0] if words else "")[:LONGEST]
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(name.replace("-", "_"), known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"{question.name} takes {', '.join(known)}"
        return f"no parameter {name!r}; {hint}"
    if error["type"] == "missing":
        return f"{name} is missing ({known[name].help})"
    return f"{name}: {error['msg']} ({known[name].help})" if name in known else f"{name}: {error['msg']}"


def row_schema(record: type | None) -> dict[str, Any]:
    """JSON Schema of a row; columns that are not the record's own may stand beside them."""
    return {"type": "object", "properties": dict(_properties(record)) if record else {}}


def _properties(record: type) -> Iterator[tuple[str, dict[str, Any]]]:
    from schemas.record import columns

    types: dict[str, dict[str, Any]] = {
        "string": {"type": "string"},
        "int32": {"type": "integer"},
        "int64": {"type": "integer"},
        "float64": {"type": "number"},
        "bool": {"type": "boolean"},
        "money": {"type": "number"},
        "instant": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "strings": {"type": "array", "items": {"type": "string"}},
    }
    for name, column in columns(record).items():
        one = types[column.type]
        kind = one["type"] if column.required else [one["type"], "null"]
        yield name, {**one, "type": kind, "description": f"{column.doc}{f' In {column.unit}.' if column.unit else ''}"}

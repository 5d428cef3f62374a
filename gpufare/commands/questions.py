"""The commands that only ask, as questions for REST and MCP: the same options, the same code, the same rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import click

from gpufare.cli import COMMANDS, NotThere, Settings
from gpufare.faults import told
from schemas.change import Change
from schemas.offer import Offer
from schemas.providers import providers
from table.exports import passed_on
from table.questions import MOST_ROWS, Parameter, Question, Unanswered, Values
from table.view import View

LARGEST_NUMBER = 2**31 - 1
# Options that are about a terminal or about files of whoever calls: they stay on the command line.
LOCAL = {"output", "to", "fail_empty", "zone", "plot", "exit_code", "config", "from_csv"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A command that may be asked over the network: its address, and values that have an answer."""

    path: str
    example: Mapping[str, Any] = field(default_factory=dict)
    record: type | None = None


ASKED = {
    "offers": Asked("/offers", {"gpu": ["H100-SXM:8"], "limit": 50}, Offer),
    "show": Asked("/offers/{offer_key}", {"offer_key": "hyperbolic:a3aa712c4c8f"}, Offer),
    "changes": Asked("/changes", {"gpu": ["H100"], "since": "7d"}, Change),
    "diff": Asked("/diff", {"earlier": "2026-11-29", "later": "2026-11-30"}, Change),
    "history": Asked("/history", {"gpu": ["H100-SXM"], "since": "90d"}),
    "index": Asked("/index", {"gpu": ["H100-SXM"], "since": "30d"}),
    "stock": Asked("/stock", {"gpu": ["H100"], "days": 30}),
    "coverage": Asked("/coverage", {"gpu": ["H100", "H200"]}),
    "fit": Asked("/fit", {"model": "8b", "method": "qlora"}),
    "status": Asked("/status"),
    "unmapped": Asked("/unmapped"),
    "providers": Asked("/providers", {"provider": ["lambda"], "facts": True}),
    "gpus": Asked("/gpus", {"gpu": ["H100"]}),
}


def questions(store: str, *, for_others: bool = False) -> list[Question]:
    """Every question, about the store at the path.

    `for_others`: rows of providers whose terms do not let them be passed on are left out, as `publish` leaves them out.
    """
    return [_question(name, asked, store, for_others) for name, asked in ASKED.items()]


def _question(name: str, asked: Asked, store: str, for_others: bool) -> Question:
    command: click.Command = getattr(import_module(f"gpufare.commands.{COMMANDS[name][0]}"), f"{name}_command")
    options = {one.name: (param, one) for param, one in _parameters(command)}

    def answer(values: Values, output: str) -> View:
        if for_others and "provider" in options and name not in {"status", "providers"}:
            values = _without_closed(values, store)
        view = _run(command, ["-o", output, *_words(options, values)], store)
        if for_others and name == "show" and not passed_on(providers().get(view.rows()[0]["provider"])):
            raise Unanswered("rows of this provider may not be passed on", "missing")
        return view

    about = (command.help or "").split("\f")[0].strip()
    path = {one.name for _, one in options.values() if f"{{{one.name}}}" in asked.path}
    return Question(
        name,
        asked.path,
        COMMANDS[name][1],
        about,
        [one for _, one in options.values()],
        answer,
        {key: value for key, value in asked.example.items() if key in options or key in path},
        asked.record,
    )


def _parameters(command: click.Command) -> Iterator[tuple[click.Parameter, Parameter]]:
    """The command's options and arguments that make sense over the network."""
    taken = {_name(param) for param in command.params if isinstance(param, click.Option)}
    for param in command.params:
        name = _name(param)
        if name in LOCAL or isinstance(param.type, click.Path | click.File):
            continue
        if isinstance(param, click.Argument) and param.nargs == -1 and name in taken:
            continue  # the same as an option, such as a GPU's name
        yield param, _parameter(param, name)


def _name(param: click.Parameter) -> str:
    """The name of an option without its dashes; of an argument that takes many, what one of them is."""
    if isinstance(param, click.Option):
        return max(param.opts, key=len).lstrip("-").replace("-", "_")
    if param.nargs == -1:
        return (param.metavar or "").split("[")[1].split("]")[0].split(":")[0].lower()
    return str(param.name)


def _parameter(param: click.Parameter, name: str) -> Parameter:
    is_many = param.multiple or param.nargs == -1
    help = getattr(param, "help", None) or param.metavar or ""
    if getattr(param, "is_flag", False):
        return Parameter(name, "flag", help)
    if isinstance(param.type, click.Choice):
        return Parameter(name, "text", help, is_many, param.required, tuple(map(str, param.type.choices)))
    if name == "limit":
        return Parameter(name, "integer", "At most so many rows.", least=0, most=MOST_ROWS, usual=MOST_ROWS)
    if isinstance(param.type, click.types.IntParamType | click.types.FloatParamType):
        kind: Any = "integer" if isinstance(param.type, click.types.IntParamType) else "number"
        least, most = (getattr(param.type, bound, None) for bound in ("min", "max"))
        return Parameter(
            name, kind, help, is_many, param.required, least=0 if least is None else least,
            most=LARGEST_NUMBER if most is None else most,
        )  # fmt: skip
    return Parameter(name, "text", help, is_many, param.required)


def _words(options: Mapping[str, tuple[click.Parameter, Parameter]], values: Values) -> list[str]:
    """The values as words of the command line; what a reader typed is never read as an option."""
    words, arguments = [], []
    for name, (param, _) in options.items():
        given = values.get(name)
        each = given if isinstance(given, list) else [] if given is None else [given]
        if isinstance(param, click.Argument):
            arguments += [str(value) for value in each]
            continue
        option = max(param.opts, key=len)
        words += [option for value in each if value is True]
        words += [f"{option}={value}" for value in each if not isinstance(value, bool)]
    return [*words, "--", *arguments] if arguments else words


def _run(command: click.Command, words: list[str], store: str) -> View:
    """Ask the command as the command line does, and take its answer before it is written. Raises Unanswered."""
    from storage.errors import NotFound, StoreError

    views: list[View] = []
    settings = Settings(store, debug=False, receive=views.append)
    try:
        with command.make_context(command.name, words, obj=settings) as ctx:
            command.invoke(ctx)
    except NotThere as fault:
        raise Unanswered(fault.format_message(), "missing") from None
    except click.ClickException as fault:
        raise Unanswered(fault.format_message()) from None
    except NotFound as error:
        raise Unanswered(str(error), "missing") from None
    except (StoreError, OSError) as error:
        raise Unanswered(told(error)[0], "not_now") from None
    return views[0]


def _without_closed(values: Values, store: str) -> Values:
    """The values with the providers whose rows may be passed on in the place of all. Raises Unanswered."""
    from gpufare import args
    from gpufare.commands.filters import distinct
    from storage.errors import StoreError
    from storage.lake import Lake

    try:
        held = distinct(Lake.open(store), "provider", "scrapes")
    except StoreError as error:
        raise Unanswered(told(error)[0], "not_now") from None
    try:
        asked = args.provider_names(values.get("provider") or [], held)
    except click.UsageError as fault:
        raise Unanswered(fault.format_message()) from None
    closed = [slug for slug in asked or held if not passed_on(providers().get(slug))]
    if asked and closed:
        raise Unanswered(f"rows of {', '.join(closed)} may not be passed on")
    return {**values, "provider": [slug for slug in held if slug not in closed]} if closed else values

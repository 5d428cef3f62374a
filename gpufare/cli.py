"""The command line: which commands there are, options they share, and how an error reads.

Commands are loaded by name when they are called: `gpufare --help` must not pay for DuckDB, nor `offers` for Scrapy.
Data goes to standard output, all else to standard error. Exit codes: 0 answered, 1 failure, 2 wrong use, 3 stale and 5
failing under `status --exit-code`, 4 empty under `--fail-empty`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from table.view import View

# Command: (module, what it does, heading). The help of a command stands in its module.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("run", "the nightly job on two recorded nights, offline, into ./demo", "Run"),
    "refresh": ("run", "scrape all providers, or those named", "Run"),
    "serve": ("web", "REST, MCP and a published site on this machine", "Run"),
    "mcp": ("web", "the questions as tools for an assistant, over standard input and output", "Run"),
    "schedule": ("serve", "serve the flows on this machine by their cadence", "Run"),
    "record": ("run", "a live scrape saved as a recording, secrets removed", "Run"),
    "import": ("imports", "history that others kept, into the same tables", "Run"),
    "export": ("exports", "catalogues that gpuhunt and SkyPilot read; CSV and Parquet by day", "Run"),
    "publish": ("publish", "the static site: table, GPUs, providers, changes, status, data", "Run"),
    "enable": ("access", "opt into a provider whose terms restrict collection", "Run"),
    "disable": ("access", "take an opt-in back", "Run"),
    "review": ("care", "decide on quarantined scrapes", "Care"),
    "replay": ("replay", "today's spiders over the answers that were kept", "Care"),
    "verify": ("care", "integrity of the whole store", "Care"),
    "compact": ("care", "rewrite closed months sorted and small", "Care"),
    "status": ("ask", "health and freshness of every provider", "Care"),
    "unmapped": ("ask", "accelerator words that the tables do not know", "Care"),
    "doctor": ("care", "what is missing on this machine", "Care"),
    "offers": ("ask", "the comparison table", "Ask"),
    "show": ("ask", "one offer with its provenance", "Ask"),
    "changes": ("ask", "what moved", "Ask"),
    "diff": ("ask", "what differs between two days", "Ask"),
    "history": ("ask", "prices and stock over time", "Ask"),
    "index": ("index", "median, quartiles and lowest price of a card by day", "Ask"),
    "stock": ("index", "how often a card was in stock", "Ask"),
    "coverage": ("coverage", "providers by card: who is read, and since when", "Ask"),
    "sql": ("ask", "read-only SQL over the documented views", "Ask"),
    "fit": ("fit", "which card holds a fine-tuning job, where to rent it, what the whole job costs", "Ask"),
    "providers": ("facts", "providers: access, cadence, terms, facts, proof", "Look up"),
    "gpus": ("facts", "hardware that is rented out", "Look up"),
    "resolve": ("facts", "how a GPU name or a price string is read", "Look up"),
    "parse": ("facts", "a saved answer through spider and normaliser; stores nothing", "Look up"),
    "completion": ("access", "shell completion for bash, zsh or fish", "Look up"),
}
ALIASES = {"table": "offers"}


class UsageFault(click.UsageError):
    """Wrong use: one line, exit code 2."""


class NotThere(UsageFault):
    """Wrong use: what was named is not in the store."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Options that every command shares. `receive` takes the answer in the place of standard output (REST, MCP)."""

    data: str
    debug: bool
    receive: Callable[[View], None] | None = None


class Commands(click.Group):
    """Finds a command by name and loads its module only then; a wrong name is answered with the nearest right one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        name = ALIASES.get(cmd_name, cmd_name)
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"gpufare.commands.{COMMANDS[name][0]}")
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and ALIASES.get(args[0], args[0]) not in COMMANDS:
            import difflib

            near = difflib.get_close_matches(args[0], [*COMMANDS, *ALIASES], n=1)
            hint = f"did you mean `gpufare {near[0]}`?" if near else "see `gpufare --help`"
            raise UsageFault(f"no command {args[0]!r}; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading in dict.fromkeys(heading for _, _, heading in COMMANDS.values()):
            with formatter.section(heading):
                formatter.write_dl([(n, what) for n, (_, what, h) in COMMANDS.items() if h == heading])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Examples: gpufare demo; gpufare refresh hyperbolic; gpufare offers H100:8 --in-stock",
)
@click.option(
    "--data",
    envvar="GPUFARE_DATA",
    default="./data",
    show_default=True,
    metavar="DIR",
    help="The store (GPUFARE_DATA).",
)
@click.option("--debug", is_flag=True, help="Show where an error comes from.")
@click.version_option(package_name="gpufare", message="gpufare %(version)s")
@click.pass_context
def cli(ctx: click.Context, data: str, debug: bool) -> None:
    """What it costs to rent a GPU, and whether one is to be had."""
    ctx.obj = Settings(data=data, debug=debug)


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit. One clear line for an error; a traceback only with --debug."""
    debug = "--debug" in (args if args is not None else sys.argv)
    try:
        code = cli.main(args=args, prog_name="gpufare", standalone_mode=False)
    except click.UsageError as error:
        complain(error.format_message())
        code = 2
    except click.ClickException as error:
        complain(error.format_message())
        code = error.exit_code
    except click.Abort:
        complain("interrupted")
        code = 130
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is wrong, and nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception as error:
        if debug:
            raise
        code = explain(error)
    sys.exit(code if isinstance(code, int) else 0)


def run() -> None:
    """The console command: `main`, then an end without taking Python apart, which costs an answer a tenth of its time.

    Where Prefect or Scrapy ran in this process the end is an ordinary one: they have work to finish.
    """
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
        if code or {"prefect", "twisted"} & sys.modules.keys():
            raise
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def explain(error: Exception) -> int:
    """Say in one line what went wrong and what to type next; the exit code."""
    from gpufare.faults import told

    line, code = told(error)
    complain(line)
    return code


def complain(line: str) -> None:
    """One line to standard error."""
    click.echo(f"gpufare: {' '.join(line.split())}", err=True)


def settings(ctx: click.Context) -> Settings:
    """The shared options of a running command."""
    found: Any = ctx.find_object(Settings)
    if not isinstance(found, Settings):
        raise UsageFault("run this through `gpufare`")
    return found

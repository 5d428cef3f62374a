"""What the commands share: options of output, completion of names, and handing an answer to its reader."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from gpufare.cli import Settings, UsageFault
from table.formats import FORMATS, lines, write_parquet
from table.terminal import Terminal
from table.view import View

if TYPE_CHECKING:
    import pyarrow as pa
    from click.shell_completion import CompletionItem

Function = TypeVar("Function", bound=Callable[..., Any])
NO_ROWS = 4
MOST = 50


class Output(NamedTuple):
    """Where an answer goes: its format, a file instead of standard output, and whether no rows are a fault."""

    format: str
    to: str | None
    fail_empty: bool


def output_options(function: Callable[..., None]) -> Callable[..., None]:
    """`-o`, `--to` and `--fail-empty`, handed to the command as `out`."""

    @functools.wraps(function)
    def command(*, output: str, to: str | None, fail_empty: bool, **others: Any) -> None:
        function(out=Output(output, to, fail_empty), **others)

    for option in (
        click.option("--fail-empty", is_flag=True, help="Exit with 4 where there are no rows."),
        click.option("--to", type=click.Path(dir_okay=False), metavar="FILE", help="Write there instead."),
        click.option(
            "-o",
            "--output",
            type=click.Choice(FORMATS),
            default="table",
            show_default=True,
            help="Format of the answer.",
        ),
    ):
        command = option(command)
    return command


def columns_option(known: Callable[[], list[str]]) -> Callable[[Function], Function]:
    """`--columns`, completed from the names that the answer has."""
    return click.option(
        "--columns",
        multiple=True,
        metavar="NAMES",
        help="Columns to show, parted by commas; +NAMES adds to the usual ones.",
        shell_complete=completion(known),
    )


limit_option = click.option(
    "--limit", type=click.IntRange(min=0), help=f"At most so many rows; a table without it stops at {MOST}."
)
zone_option = click.option("--zone", "--tz", metavar="ZONE", help="Time zone of the table, such as Asia/Ho_Chi_Minh.")


def completion(names: Callable[[], list[str]]) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Completes the last word of a comma list."""

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from gpufare.args import folded

        before, comma, word = incomplete.rpartition(",")
        found = [name for name in names() if folded(name).startswith(folded(word))]
        return [CompletionItem(f"{before}{comma}{name.replace(' ', '_')}") for name in found]

    return complete


def provider_names() -> list[str]:
    """Slugs of all providers."""
    from schemas.providers import providers

    return list(providers())


def gpu_models() -> list[str]:
    """Canonical names of all GPUs."""
    from schemas.gpu_table import rows_by_model

    return list(rows_by_model())


def examples(*texts: str) -> str:
    """The epilog of a help page."""
    return "\b\nExamples:\n" + "\n".join(f"  gpufare {text}" for text in texts)


def most_rows(limit: int | None, out: Output) -> int | None:
    """How many rows are wanted: a table on a screen stops by itself, what a program reads does not."""
    return limit if limit is not None else MOST if out.format == "table" and not out.to else None


def first_rows(table: pa.Table, limit: int | None, out: Output) -> tuple[pa.Table, list[str]]:
    """The rows that are wanted, and the note that says how many there were."""
    most = most_rows(limit, out)
    if most is None or table.num_rows <= most:
        return table, []
    return table.slice(0, most), [f"{most} rows of {table.num_rows}; --limit {table.num_rows} shows all"]


def emit(view: View, out: Output) -> None:
    """Write the answer, or hand it to whoever asked in the place of a person.

    Raises UsageFault where Parquet would land on a terminal; exits with 4 under `--fail-empty`.
    """
    asked = click.get_current_context().find_object(Settings)
    if asked is not None and asked.receive is not None:
        asked.receive(view)
        return
    if out.to is not None:
        _to_file(view, out.format, Path(out.to))
    elif out.format == "parquet":
        if sys.stdout.isatty():
            raise UsageFault("Parquet is no text; add --to FILE or pipe it on")
        write_parquet(view, sys.stdout.buffer)
        sys.stdout.buffer.flush()
    else:
        write_lines(lines(view, out.format, Terminal.of(sys.stdout)))
    if out.fail_empty and view.total == 0:
        click.get_current_context().exit(NO_ROWS)


def write_lines(texts: Iterable[str]) -> None:
    """Write to standard output. A reader that goes away (`| head`) ends the command, without a word, with success."""
    out = sys.stdout
    if hasattr(out, "reconfigure"):
        # A terminal that cannot show a character gets its escape, never a traceback.
        out.reconfigure(errors="backslashreplace")
    try:
        out.writelines(texts)
        out.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        raise SystemExit(0) from None


def _to_file(view: View, output: str, path: Path) -> None:
    """Write beside the file, then put it in its place: a full disk must not leave half a file."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if output == "parquet":
            write_parquet(view, str(draft))
        else:
            with draft.open("w", encoding="utf-8", newline="") as file:
                file.writelines(lines(view, output))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    click.echo(f"{view.total} rows written to {path}", err=True)

"""Progress of a refresh: a live line on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import click

from flows.refresh import Outcome, Summary

WIDTH = 14


class Watcher(Protocol):
    """What a refresh calls while it runs."""

    def start(self, name: str) -> None:
        """A provider is being asked."""

    def done(self, outcome: Outcome) -> None:
        """A provider is through."""


class PlainWatcher:
    """One line a provider, for logs and pipes."""

    def start(self, name: str) -> None:
        """Nothing: a log wants results."""

    def done(self, outcome: Outcome) -> None:
        click.echo(line_of(outcome), err=True)


class LiveWatcher:
    """The lines as above, and below them who is being asked right now."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.progress.add_task("starting", total=total)
        self.running: list[str] = []

    def start(self, name: str) -> None:
        self.running.append(name)
        self._tell()

    def done(self, outcome: Outcome) -> None:
        if outcome.name in self.running:
            self.running.remove(outcome.name)
        self.progress.console.print(line_of(outcome), markup=False, highlight=False)
        self.progress.advance(self.task)
        self._tell()

    def _tell(self) -> None:
        self.progress.update(self.task, description="asking " + ", ".join(self.running) if self.running else "storing")


@contextmanager
def watching(total: int) -> Iterator[Watcher]:
    """The watcher that fits standard error."""
    if not sys.stderr.isatty():
        yield PlainWatcher()
        return
    live = LiveWatcher(total)
    with live.progress:
        yield live


def line_of(outcome: Outcome) -> str:
    """`hyperbolic  done  8 offers, 3 changes (open, 1.4 s)`."""
    head = f"{outcome.name:<{WIDTH}} {outcome.state:<12}"
    if outcome.state == "done":
        what = f"{outcome.offers} {'rates' if outcome.detail == 'exchange rates' else 'offers'}"
        if outcome.changes:
            what += f", {outcome.changes} change{'s' if outcome.changes > 1 else ''}"
        took = ", ".join(filter(None, (outcome.access, f"{outcome.duration_s:.1f} s")))
        warned = "".join(f"\n{'':<{WIDTH}} note         {warning}" for warning in outcome.warnings)
        return f"{head} {what} ({took}){warned}"
    why = f"{outcome.error_class}: {outcome.detail}" if outcome.error_class else outcome.detail
    return f"{head} {why}"


def closing(summary: Summary) -> str:
    """The last line of a refresh: how many of each, how long, and what to type where something is wrong."""
    counts = [f"{len(summary.of(state))} {state}" for state in ("done", "skipped", "failed", "quarantined")]
    line = f"{', '.join(counts)} in {summary.duration_s:.1f} s"
    if summary.of("quarantined"):
        line += "; gpufare review shows why and decides"
    if summary.of("failed"):
        line += "; gpufare status shows since when"
    return line

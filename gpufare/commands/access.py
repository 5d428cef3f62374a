"""`enable`, `disable` and `completion`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from flows.access import enabled, write_enabled
from gpufare.args import provider_names
from gpufare.shelltools import complete_providers
from schemas.providers import provider


@click.command("enable", epilog="Example: gpufare enable vast")
@click.argument("name", metavar="PROVIDER", shell_complete=complete_providers)
def enable_command(name: str) -> None:
    """Opt into a provider whose terms restrict systematic collection. Read its terms first; the choice is yours."""
    (slug,) = provider_names((name,)) or [name]
    facts = provider(slug)
    if facts.access != "opt_in":
        click.echo(f"{slug} needs no opt-in ({facts.access})", err=True)
        return
    path = write_enabled({**enabled(), slug: datetime.now(UTC).date().isoformat()})
    note = f": {facts.terms_note}" if facts.terms_note else ""
    click.echo(f"{slug} is enabled in {path}{note}", err=True)


@click.command("disable", epilog="Example: gpufare disable vast")
@click.argument("name", metavar="PROVIDER", shell_complete=complete_providers)
def disable_command(name: str) -> None:
    """Take an opt-in back. What was collected stays."""
    (slug,) = provider_names((name,)) or [name]
    known = enabled()
    if slug not in known:
        click.echo(f"{slug} was not enabled", err=True)
        return
    path = write_enabled({other: day for other, day in known.items() if other != slug})
    click.echo(f"{slug} is disabled in {path}", err=True)


@click.command("completion", epilog='Example: eval "$(gpufare completion bash)"')
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script for a shell."""
    from click.shell_completion import get_completion_class

    from gpufare.cli import cli

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(found(cli, {}, "gpufare", "_GPUFARE_COMPLETE").source())

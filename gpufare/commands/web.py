"""`serve` and `mcp`: the questions over HTTP and as tools for an assistant. Read-only."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpufare.cli import UsageFault, settings
from gpufare.commands.options import examples

if TYPE_CHECKING:
    from starlette.types import ASGIApp

PORT = 8617


@click.command(
    "serve",
    epilog=examples("serve", "serve --port 8080 --site ./site", "--data s3://bucket/store serve --host 0.0.0.0"),
)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0 takes a free one.")
@click.option(
    "--site",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    metavar="DIR",
    help="A folder that `gpufare publish` filled, to be served as well.",
)
@click.pass_context
def serve_command(ctx: click.Context, host: str, port: int, site: Path | None) -> None:
    """REST under /api (OpenAPI: /api/openapi.json), MCP at /mcp and, with --site, the published pages at /.

    Read-only: nothing is refreshed or stored. On another address than the loopback interface rows that may not be
    passed on are left out, as they are in what `publish` writes.
    """
    import socket

    import uvicorn

    from flows.deploy import absolute

    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # whoever reads the address below may ask at once
    except OSError as error:
        listening.close()
        raise UsageFault(f"{host}:{port}: {error.strerror}; name another --host or --port, such as --port 0") from None
    config = uvicorn.Config(
        application(absolute(settings(ctx).data), host, site), log_level="warning", server_header=False
    )
    shown = f"[{host}]" if ":" in host else host
    click.echo(f"http://{shown}:{listening.getsockname()[1]}/api; Ctrl-C ends", err=True)
    uvicorn.Server(config).run(sockets=[listening])


def application(store: str, host: str = "127.0.0.1", site: Path | None = None) -> ASGIApp:
    """The ASGI application over the store: REST, MCP and the pages."""
    from importlib.metadata import version

    from gpufare.commands.questions import questions
    from storage.stamp import stamp
    from table.api import app
    from table.mcp import over_http

    asked = questions(store, for_others=not is_loopback(host))
    tools, lifespan = over_http(asked, version("gpufare"), host)
    return app(
        asked,
        stamp=lambda: stamp(store),
        version=version("gpufare"),
        site=site,
        mounts={"/mcp": tools},
        lifespan=lifespan,
    )


@click.command("mcp", epilog=examples("mcp", "--data ./demo mcp"))
@click.pass_context
def mcp_command(ctx: click.Context) -> None:
    """The questions as tools for an assistant (Model Context Protocol), over standard input and output.

    Tools: find_offers, fit, price_history, changes, status. Read-only; each row tells its age and its source.
    """
    from importlib.metadata import version

    import anyio

    from gpufare.commands.questions import questions
    from table.mcp import over_stdio

    anyio.run(over_stdio, questions(settings(ctx).data), version("gpufare"))


def is_loopback(host: str) -> bool:
    """Does only this machine reach the address?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

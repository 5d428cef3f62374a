"""`schedule`: the flows by their cadence, on this machine, with a Prefect server of its own where none is named."""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import click

from flows.deploy import DEPLOYMENTS, absolute, serve
from gpufare.cli import UsageFault, settings

PORT = 4200
START_S = 120.0
END_S = 15.0


class Ended(Exception):
    """TERM came: leave in order."""


@click.command("schedule", epilog="Examples: gpufare schedule; gpufare schedule --list; gpufare schedule --port 4300")
@click.option("--list", "listing", is_flag=True, help="Print the deployments and when each runs next; serve nothing.")
@click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Providers asked at once.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help=f"Port of the Prefect server that is started here [{PORT}, or a free one].",
)
@click.pass_context
def schedule_command(ctx: click.Context, listing: bool, jobs: int, port: int | None) -> int:
    """Serve the flows on this machine by their cadence, until Ctrl-C.

    Where PREFECT_API_URL names a Prefect server, that one keeps the schedule. Else one is started on the loopback
    interface for as long as this command runs; what it knows of former runs is kept under PREFECT_HOME (~/.prefect).
    """
    store = absolute(settings(ctx).data)
    if listing:
        now = datetime.now(UTC)
        for deployment in DEPLOYMENTS:
            due = f"{deployment.schedule.next_after(now):%Y-%m-%d %H:%M} UTC" if deployment.schedule else "by hand"
            click.echo(f"{deployment.path:<16} {due:<21} {deployment.description}")
        return 0
    url = os.environ.get("PREFECT_API_URL")
    if url and port:
        raise UsageFault("--port is for a server started here, and PREFECT_API_URL names another; leave one out")
    before = signal.signal(signal.SIGTERM, end)
    try:
        if url:
            from flows.nightly import reach

            reach()
            attend(url, store, jobs)
        else:
            with server(port) as own:
                attend(own, store, jobs)
    except (KeyboardInterrupt, Ended):
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
    click.echo("ended", err=True)
    return 0


def end(number: int, frame: FrameType | None) -> None:
    """What TERM does until Prefect's runner listens itself."""
    raise Ended


def attend(url: str, store: str, jobs: int) -> None:
    """Say what is served, then serve."""
    click.echo(f"store {store}; Prefect at {url.removesuffix('/api')}; Ctrl-C ends", err=True)
    now = datetime.now(UTC)
    for deployment in DEPLOYMENTS:
        if deployment.schedule:
            click.echo(f"{deployment.path} next at {deployment.schedule.next_after(now):%Y-%m-%d %H:%M} UTC", err=True)
    click.echo("""now: prefect deployment run refresh/by-hand --param 'providers=["hyperbolic"]'""", err=True)
    serve(store, jobs)


def answers(port: int) -> bool:
    """Is a Prefect server up on this machine?"""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/api/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@contextmanager
def server(port: int | None) -> Iterator[str]:
    """A Prefect server on loopback; yields the address of its API, which PREFECT_API_URL then names.

    The port is taken here and handed down, so that no other program can take it while the server starts.
    """
    home = Path(os.environ.setdefault("PREFECT_HOME", str(Path.home() / ".prefect")))
    home.mkdir(parents=True, exist_ok=True)
    log = home / "gpufare-server.log"
    with listener(port) as taken, log.open("wb") as sink:
        chosen = taken.getsockname()[1]
        url = f"http://127.0.0.1:{chosen}/api"
        os.environ |= {
            "DO_NOT_TRACK": "1",
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_API_URL": url,
            "PREFECT_SERVER_API_PORT": str(chosen),
            "NO_PROXY": ",".join(filter(None, (os.environ.get("NO_PROXY"), "127.0.0.1"))),
        }
        click.echo(f"starting a Prefect server at 127.0.0.1:{chosen} (its log: {log})", err=True)
        # A session of its own: Ctrl-C reaches this process alone, which ends the runs first and the server last.
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and words
            [sys.executable, "-m", "gpufare.commands.serve", str(taken.fileno()), str(os.getpid())],
            pass_fds=[taken.fileno()],
            stdout=sink,
            stderr=sink,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        await_server(process, chosen, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def listener(port: int | None) -> socket.socket:
    """A port of the loopback interface, taken: the one wished for, else 4200, else a free one."""
    for wished in (port,) if port else (PORT, 0):
        taken = socket.socket()
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", wished))
            taken.listen()
        except OSError as error:
            taken.close()
            refused = error
        else:
            return taken
    raise click.ClickException(f"port {port or PORT}: {refused.strerror}; leave --port out for a free one")


def await_server(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Return once the server answers; a one-line error where it ends or says nothing for too long."""
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        if process.poll() is not None:
            said = log.read_text(errors="replace").strip().splitlines()
            raise click.ClickException(f"the Prefect server ended: {said[-1] if said else 'no word'} (see {log})")
        if answers(port):
            return
        time.sleep(0.2)
    raise click.ClickException(f"the Prefect server did not answer within {START_S:.0f} s (see {log})")


def be_server(taken: int, parent: int) -> None:
    """Prefect's own server on a port that is taken already, for as long as `parent` lives."""
    import uvicorn
    from prefect.server.api.server import create_app

    def outlive_nobody() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=outlive_nobody, daemon=True).start()
    config = uvicorn.Config(create_app(final=True), log_level="warning")
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=taken)])


if __name__ == "__main__":
    be_server(int(sys.argv[1]), int(sys.argv[2]))

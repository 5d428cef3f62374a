"""Bring a browser where there is none: `python -m spiders.shared.browser_install [auto|install|skip]`.

Playwright's own download first, then, only as root and where there is apt-get, Debian's package; each step says what it
does. `auto` (what `make demo` and `make test` use) always exits 0: what needs a browser is then skipped and named.
`install` exits 1 where none could be had, `skip` leaves the machine as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence

from schemas.providers import providers
from spiders.shared.browser import chromium

CHOICES = ("auto", "install", "skip")
PATIENCE_S = 600
DOWNLOAD = (sys.executable, "-m", "playwright", "install", "chromium")
DEBIAN = (("apt-get", "update", "-qq"), ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"))


def say(line: str) -> None:
    """One line to standard error."""
    print(f"browser: {line}", file=sys.stderr, flush=True)


def run(command: Sequence[str]) -> bool:
    """Run a step of the installation, its own output kept back unless it fails; did it work?"""
    say(" ".join(command).replace(sys.executable, "python"))
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(  # noqa: S603 - the commands above, nothing from outside
            command, capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        say(f"that failed: {error}")
        return False
    if done.returncode:
        last = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()][-1:]
        say(f"that failed: {' '.join(last) or f'exit {done.returncode}'}")
    return done.returncode == 0


def install() -> bool:
    """Try what there is, in turn. Is there a browser now?"""
    say("there is none; trying Playwright's own download")
    run(DOWNLOAD)
    if chromium() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        say("trying Debian's package, as root with apt-get")
        all(run(step) for step in DEBIAN)
    return chromium() is not None


def main(choice: str = "auto") -> int:
    """Say which browser there is, or bring one. Exit code."""
    if choice not in CHOICES:
        say(f"BROWSER is {choice!r}; write one of {', '.join(CHOICES)}")
        return 2
    if found := chromium():
        say(str(found))
        return 0
    if choice != "skip" and install():
        say(str(chromium()))
        return 0
    pages = ", ".join(slug for slug, facts in providers().items() if facts.browser)
    say(f"none; skipped for want of it: {pages} (install Chromium, or set GPUFARE_CHROMIUM to one)")
    return 1 if choice == "install" else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))

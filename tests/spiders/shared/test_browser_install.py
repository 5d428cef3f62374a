"""Where there is no browser: what is tried, in which order, and what is said. No step leaves the machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

APT = """#!/bin/sh
echo "$@" >> "{log}"
[ "$1" = install ] && {{ printf '#!/bin/sh\\n' > "{bin}/chromium"; chmod +x "{bin}/chromium"; }}
exit {code}
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A PATH without browser; apt-get on it writes down what it was asked."""
    (tmp_path / "bin").mkdir()
    return tmp_path


def apt(machine: Path, code: int = 0) -> None:
    path = machine / "bin" / "apt-get"
    path.write_text(APT.format(log=machine / "log", bin=machine / "bin", code=code))
    path.chmod(0o755)


def run(machine: Path, choice: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{machine / 'bin'}:/bin" if not Path("/bin").is_symlink() else str(machine / "bin"),
        "HOME": str(machine),
        "PLAYWRIGHT_BROWSERS_PATH": str(machine / "browsers"),
        "PLAYWRIGHT_DOWNLOAD_HOST": "http://127.0.0.1:9",
        "PYTHONPATH": str(Path(__file__).parents[3]),
        **more,
    }
    for tool in ("sh", "printf", "chmod"):  # what the stand-in for apt-get itself needs
        target = machine / "bin" / tool
        if not target.exists():
            target.symlink_to(f"/bin/{tool}" if Path(f"/bin/{tool}").exists() else f"/usr/bin/{tool}")
    command = [sys.executable, "-m", "spiders.shared.browser_install", choice]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def test_skip_leaves_the_machine_and_names_what_is_skipped(machine: Path) -> None:
    apt(machine)
    done = run(machine, "skip")
    assert done.returncode == 0
    assert "fpt" in done.stderr
    assert not (machine / "log").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="Debian's package is tried only as root")
def test_debians_package_comes_after_playwrights_own_download(machine: Path) -> None:
    apt(machine)
    done = run(machine, "auto")
    assert done.returncode == 0, done.stderr
    assert done.stderr.index("playwright install chromium") < done.stderr.index("apt-get install")
    assert (machine / "log").read_text().split("\n")[0] == "update -qq"
    assert done.stderr.strip().endswith(str(machine / "bin" / "chromium"))


def test_none_to_be_had_is_no_failure_unless_it_was_asked_for(machine: Path) -> None:
    apt(machine, code=100)
    (machine / "bin" / "chromium").unlink(missing_ok=True)
    blocked = {"GPUFARE_CHROMIUM": str(machine / "nothing")}  # it was meant, so nothing else is taken in its place
    assert run(machine, "auto", **blocked).returncode == 0
    done = run(machine, "install", **blocked)
    assert done.returncode == 1
    assert "that failed" in done.stderr


def test_a_browser_that_is_there_is_named(machine: Path) -> None:
    found = machine / "bin" / "chromium"
    found.write_text("#!/bin/sh\n")
    found.chmod(0o755)
    done = run(machine, "auto")
    assert (done.returncode, done.stderr.strip()) == (0, f"browser: {found}")


def test_a_wrong_word_is_wrong_use(machine: Path) -> None:
    assert run(machine, "perhaps").returncode == 2

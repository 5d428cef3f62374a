"""What holds for every test: nothing leaves the loopback interface, nothing depends on chance, no key is at hand."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from schemas.providers import providers

os.environ["DO_NOT_TRACK"] = "1"
os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
settings.register_profile("gpufare", deadline=None, derandomize=True, database=None)
settings.load_profile("gpufare")


# What takes longest begins first, so that the two workers end together.
LONGEST = (
    *("test_kills.py", "test_prefect.py", "test_nights.py", "test_browser.py", "test_recorded.py"),
    *("test_object_store.py", "test_sixty_days.py", "test_crawl.py", "test_offers.py", "test_aws_offer_file.py"),
    *("test_api.py", "test_fit_offers.py", "test_refresh.py", "test_lake.py", "test_exports.py", "test_site.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files, not the tests within them."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@pytest.fixture(autouse=True)
def only_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to anywhere but this machine is an error of the test."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6} and not str(address[0]).startswith(
            ("127.", "::1", "localhost")
        ):
            raise AssertionError(f"a test wants to reach {address}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


@pytest.fixture(scope="session")
def nobody(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of opted-in providers that does not exist."""
    return tmp_path_factory.mktemp("consent") / "enabled.json"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, nobody: Path) -> None:
    """The machine's own keys, consent and store must not change what a test sees."""
    for facts in providers().values():
        for variable in (*facts.keys, *facts.optional_keys):
            monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("GPUFARE_DATA", raising=False)
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setenv("GPUFARE_CONFIG", str(nobody))

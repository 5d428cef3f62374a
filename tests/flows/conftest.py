"""Stores, recordings and an environment without keys, for the flows."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from schemas.providers import providers
from spiders.shared.source import RECORDED

ROOT = Path(__file__).parents[2]
OURS = ("GPUFARE_", "PREFECT_")


@pytest.fixture(scope="session")
def bare() -> dict[str, str]:
    """The environment without keys of providers, and without what gpufare and Prefect read; the package on its path."""
    keys = {key for facts in providers().values() for key in (*facts.keys, *facts.optional_keys)}
    kept = {k: v for k, v in os.environ.items() if k not in keys and not k.startswith(OURS)}
    return {**kept, "PYTHONPATH": str(ROOT), "DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}


@pytest.fixture
def no_keys(bare: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process without keys and with consent to nothing."""
    for name in set(os.environ) - set(bare):
        monkeypatch.delenv(name)
    monkeypatch.setenv("GPUFARE_CONFIG", str(tmp_path / "enabled.json"))


Folder = Callable[..., Path]


@pytest.fixture(scope="session")
def folder_of() -> Folder:
    """A folder for `--recorded`: each provider's case as DIR/<provider>.har; HTTP 500 for those of `failing`."""

    def make(folder: Path, cases: dict[str, str], failing: tuple[str, ...] = ()) -> Path:
        folder.mkdir()
        for name, case in cases.items():
            source = RECORDED / name / case
            har = json.loads((source / "answers.har").read_text())
            if name in failing:
                for entry in har["log"]["entries"]:
                    entry["response"] |= {"status": 500, "statusText": "Internal Server Error"}
                    entry["response"]["content"] = {"size": 4, "mimeType": "text/plain", "text": "oops"}
                har["log"]["entries"] = har["log"]["entries"][:1]
            (folder / f"{name}.har").write_text(json.dumps(har))
            for body in source.iterdir():
                if body.name not in {"answers.har", "offers.jsonl", "error.json"}:
                    shutil.copyfile(body, folder / body.name)
        return folder

    return make

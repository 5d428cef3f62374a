"""Who may be asked: status, keys, terms and the user's own opt-in decide before any request is made."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import click

from schemas.providers import Provider


def consent_file() -> Path:
    """Where `gpufare enable` writes: `GPUFARE_CONFIG`, else `enabled.json` in the user's configuration folder."""
    named = os.environ.get("GPUFARE_CONFIG")
    return Path(named) if named else Path(click.get_app_dir("gpufare")) / "enabled.json"


def enabled() -> dict[str, str]:
    """Providers that the user opted into, each with the day. Raises ValueError where the file is no such list."""
    path = consent_file()
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_text())
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is no JSON ({error}); delete it and run gpufare enable again") from None
    if not isinstance(known, dict) or not all(isinstance(day, str) for day in known.values()):
        raise ValueError(f"{path} is no list of providers; delete it and run gpufare enable again")
    return known


def write_enabled(known: Mapping[str, str]) -> Path:
    """Replace the list of opted-in providers in one step."""
    path = consent_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    draft.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    draft.replace(path)
    return path


def refusal(provider: Provider, opted_in: Mapping[str, str], environment: Mapping[str, str]) -> str | None:
    """Why a provider is not asked, None where it may be. Says what to type where the user can change it."""
    if provider.status != "active":
        since = f" since {provider.status_since}" if provider.status_since else ""
        return f"{provider.status}{since}: {provider.status_reason}"
    missing = [variable for variable in provider.keys if not environment.get(variable)]
    if provider.access == "key" and missing:
        return f"needs {', '.join(missing)}"
    if provider.access == "opt_in" and provider.slug not in opted_in:
        own_key = [variable for variable in (*provider.keys, *provider.optional_keys) if environment.get(variable)]
        if not own_key:
            return f"terms restrict collection; opt in with: gpufare enable {provider.slug}"
    return None

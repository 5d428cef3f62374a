"""What a shell completes: names that stand in our own tables, read without anything heavy."""

from __future__ import annotations

import click


def complete_providers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Slugs of providers that begin so."""
    from schemas.providers import providers

    return [slug for slug in providers() if slug.startswith(incomplete.lower())]

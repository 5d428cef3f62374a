"""Every deployment, in one place: what runs when, under which name, with which parameters. `prefect.yaml` agrees.

Prefect is imported only where it serves, so that the list can be printed at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Daily:
    """Once a day, UTC."""

    hour: int
    minute: int

    @property
    def cron(self) -> str:
        """The five fields."""
        return f"{self.minute} {self.hour} * * *"

    def next_after(self, now: datetime) -> datetime:
        """The first time after `now`."""
        today = now.astimezone(UTC).replace(hour=self.hour, minute=self.minute, second=0, microsecond=0)
        return today if today > now else today + timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hourly:
    """Once an hour, UTC."""

    minute: int

    @property
    def cron(self) -> str:
        """The five fields."""
        return f"{self.minute} * * * *"

    def next_after(self, now: datetime) -> datetime:
        """The first time after `now`."""
        this = now.astimezone(UTC).replace(minute=self.minute, second=0, microsecond=0)
        return this if this > now else this + timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A flow under a name. `function` stands in flows.nightly; without a `schedule` it runs when somebody asks.

    One run of a deployment at a time: a second one, of a machine that slept, is cancelled and not queued.
    """

    flow: str
    name: str
    function: str
    description: str
    schedule: Daily | Hourly | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        """What `prefect deployment run` takes."""
        return f"{self.flow}/{self.name}"


DEPLOYMENTS = (
    Deployment(
        flow="nightly",
        name="nightly",
        function="nightly_flow",
        description="Refresh everything that is due; providers of weekly cadence on Mondays.",
        schedule=Daily(hour=2, minute=40),
    ),
    Deployment(
        flow="refresh",
        name="hourly",
        function="refresh_flow",
        description="Refresh the providers whose cadence in providers.toml is hourly.",
        schedule=Hourly(minute=7),
        parameters={"cadence": "hourly"},
    ),
    Deployment(
        flow="refresh",
        name="by-hand",
        function="refresh_flow",
        description="Refresh the providers named in `providers`, or all.",
    ),
)


def absolute(store: str) -> str:
    """The store as a run in any folder finds it."""
    return store if "://" in store else str(Path(store).resolve())


def serve(store: str, jobs: int = 2) -> None:
    """Run every deployment from this process until it is told to end; schedules pause with it.

    A run is a process of its own. PREFECT_API_URL must name a server that answers.
    """
    from prefect import serve as prefect_serve
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.schedules import Cron
    from prefect.types.entrypoint import EntrypointType

    from flows import nightly

    prefect_serve(
        *(
            getattr(nightly, deployment.function).to_deployment(
                deployment.name,
                description=deployment.description,
                schedule=Cron(deployment.schedule.cron, timezone="UTC") if deployment.schedule else None,
                parameters={"store": absolute(store), "jobs": jobs, **deployment.parameters},
                concurrency_limit=ConcurrencyLimitConfig(
                    limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW
                )
                if deployment.schedule
                else None,
                paused=False,
                entrypoint_type=EntrypointType.MODULE_PATH,
            )
            for deployment in DEPLOYMENTS
        ),
        print_starting_message=False,
    )

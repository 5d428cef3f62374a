"""The refresh as Prefect flows: one task a provider, asked again where that can help.

The same plain functions as `gpufare refresh`; only how its tasks are spread is Prefect's. Prefect is imported here and
in nothing that the command line loads without need. A provider's time limit is the deadline of its child process: a
task that Prefect times out would leave the child alive.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import partial
from threading import BoundedSemaphore
from typing import Any, Literal

os.environ.setdefault("DO_NOT_TRACK", "1")  # read while Prefect is imported
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")

from prefect import flow, get_client, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.concurrency.sync import concurrency
from prefect.exceptions import ObjectNotFound
from prefect.runtime import flow_run
from prefect.states import Completed, Failed
from prefect.tasks import exponential_backoff

from flows import refresh as plain
from flows.refresh import Outcome, Summary, Task
from schemas.providers import providers as known_providers

LIMIT = "gpufare-providers"
TAG = "gpufare-provider"
RETRIES = 2
FIRST_DELAY_S = 10.0
JITTER = 0.5
WEEKLY_ON = 0  # Monday

Cadence = Literal["hourly", "daily", "weekly"]
OnStart = Callable[[str], None]
OnDone = Callable[[Outcome], None]

_watched: ContextVar[tuple[OnStart, OnDone] | None] = ContextVar("watched", default=None)


class ServerGone(ConnectionError):
    """PREFECT_API_URL is set and nothing answers there."""


@flow(name="refresh", persist_result=False)
def refresh_flow(
    store: str | None = None,
    *,
    providers: list[str] | None = None,
    cadence: Cadence | None = None,
    recorded: str | None = None,
    jobs: int = 2,
    deadline_s: float | None = None,
) -> State[Summary]:
    """Ask all providers, those named, or those of one cadence.

    store: `GPUFARE_DATA` of the worker, else ./data. Ends Failed, with a line that names them, where a provider
    failed or was quarantined. Raises ValueError for an unknown provider, and what flows.refresh.refresh raises.
    """
    names = of_cadence(cadence) if providers is None and cadence else providers
    return refreshed(store, names, recorded=recorded, jobs=jobs, deadline_s=deadline_s)


@flow(name="nightly", persist_result=False)
def nightly_flow(store: str | None = None, *, recorded: str | None = None, jobs: int = 2) -> State[Summary]:
    """Refresh everything that is due; providers of weekly cadence on Mondays."""
    due_on = flow_run.scheduled_start_time or datetime.now(UTC)
    waiting = [] if due_on.weekday() == WEEKLY_ON else of_cadence("weekly")
    if waiting:
        get_run_logger().info("waiting for Monday: %s", ", ".join(waiting))
    names = [name for name in known_providers() if name not in waiting] if waiting else None
    return refreshed(store, names, recorded=recorded, jobs=jobs)


def of_cadence(cadence: Cadence) -> list[str]:
    """The active providers that are to be asked that often."""
    return [name for name, facts in known_providers().items() if facts.cadence == cadence and facts.status == "active"]


def refreshed(
    store: str | None,
    names: Sequence[str] | None,
    *,
    recorded: str | None = None,
    jobs: int = 2,
    deadline_s: float | None = None,
) -> State[Summary]:
    """The plain refresh, its tasks spread as Prefect tasks, told as the final state of the running flow."""
    logger = get_run_logger()
    if names is not None:
        unknown(names)
        if not names:
            return Completed(message="no provider is asked that often")
    on_start, on_done = _watched.get() or (lambda name: logger.info("asking %s", name), partial(log_outcome, logger))
    summary = plain.refresh(
        store or os.environ.get("GPUFARE_DATA") or "./data",
        names,
        recorded=recorded,
        scheduled_at=scheduled_at(),
        jobs=jobs,
        deadline_s=deadline_s,
        on_start=on_start,
        on_done=on_done,
        spread=prefect_tasks(jobs),
    )
    line = told(summary)
    logger.info("%s", line)
    return (Completed if summary.ok else Failed)(data=summary, message=line)


def prefect_tasks(jobs: int, first_delay_s: float = FIRST_DELAY_S) -> plain.Spread:
    """Spread tasks as Prefect tasks of the running flow, `jobs` providers asked at once; no failure ends the others.

    A provider that waits to be asked again holds no place.
    """
    ask = ask_provider.with_options(retry_delay_seconds=exponential_backoff(first_delay_s))

    def spread(one: Callable[[Task], Outcome], tasks: Sequence[Task]) -> list[Outcome]:
        places = places_of(jobs)
        futures = [ask.submit(t.name, partial(one, t), places) for t in tasks]
        for future in futures:
            future.wait()
        return [outcome_of(future.state) for future in futures]

    return spread


def places_of(jobs: int) -> Callable[[], AbstractContextManager[None]]:
    """A place among `jobs` of this run and, where the limit `gpufare-providers` exists, among those of all runs."""
    here = BoundedSemaphore(max(1, jobs))
    with get_client(sync_client=True) as client:
        try:
            client.read_global_concurrency_limit_by_name(LIMIT)
        except ObjectNotFound:
            everywhere: Callable[[], AbstractContextManager[None]] = nullcontext
        else:
            everywhere = partial(concurrency, LIMIT)

    @contextmanager
    def place() -> Iterator[None]:
        with here, everywhere():
            yield

    return place


def worth_asking_again(task: Any, run: Any, state: State[Any]) -> bool:
    """Only where the plain refresh says so; an error of our own or of the store comes again."""
    return isinstance(state.data, Outcome) and plain.retryable(state.data)


@task(
    name="refresh-provider",
    task_run_name="refresh {name}",
    tags={TAG},
    retries=RETRIES,
    retry_jitter_factor=JITTER,
    retry_condition_fn=worth_asking_again,
    cache_policy=NO_CACHE,
    persist_result=False,
)
def ask_provider(
    name: str, run: Callable[[], Outcome], place: Callable[[], AbstractContextManager[None]]
) -> State[Outcome]:
    """One attempt at one provider; each attempt is a scrape of its own in the store."""
    with place():
        outcome = run()
    if outcome.state == "failed":
        return Failed(data=outcome, message=why(outcome))
    if outcome.state == "quarantined":
        return Completed(name="Quarantined", data=outcome, message=why(outcome))
    return Completed(data=outcome, message=f"{outcome.offers} offers, {outcome.changes} changes")


def outcome_of(state: State[Any]) -> Outcome:
    """What a finished task says. Raises what the task raised: a full disk, say."""
    found = state.result(raise_on_failure=False)
    if isinstance(found, Outcome):
        return found
    raise found if isinstance(found, BaseException) else RuntimeError(f"a task ended {state.name}: {state.message}")


def scheduled_at() -> datetime | None:
    """When the running flow was due."""
    due = flow_run.scheduled_start_time
    return None if due is None else datetime.fromtimestamp(due.timestamp(), UTC)


def unknown(names: Sequence[str]) -> None:
    """Raise ValueError for the first name that is no provider's, with the nearest right one."""
    for name in names:
        if name not in known_providers():
            near = difflib.get_close_matches(name, known_providers(), n=1)
            raise ValueError(
                f"no provider {name!r}; " + (f"did you mean {near[0]!r}?" if near else "see gpufare providers")
            )


def why(outcome: Outcome) -> str:
    """What went wrong, in one line."""
    return f"{outcome.error_class}: {outcome.detail}" if outcome.error_class else outcome.detail


def told(summary: Summary) -> str:
    """`11 done, 1 skipped, 1 failed (aws TimedOut), 0 quarantined in 41.3 s`."""
    failed = [f"{outcome.name} {outcome.error_class or ''}".strip() for outcome in summary.of("failed")]
    quarantined = [outcome.name for outcome in summary.of("quarantined")]
    parts = [f"{len(summary.of('done'))} done", f"{len(summary.of('skipped'))} skipped"]
    for state, named in (("failed", failed), ("quarantined", quarantined)):
        parts.append(f"{len(named)} {state}" + (f" ({', '.join(named)})" if named else ""))
    return f"{', '.join(parts)} in {summary.duration_s:.1f} s"


def log_outcome(logger: Any, outcome: Outcome) -> None:
    """A line in the run's log for each provider."""
    if outcome.state == "done":
        logger.info("%s done: %s offers, %s changes", outcome.name, outcome.offers, outcome.changes)
    else:
        level = logger.info if outcome.state == "skipped" else logger.warning
        level("%s %s: %s", outcome.name, outcome.state, why(outcome))


@contextmanager
def watched(on_start: OnStart, on_done: OnDone) -> Iterator[None]:
    """Tell a caller in the same process how a flow's providers fare; a flow's parameters could not carry functions."""
    token = _watched.set((on_start, on_done))
    try:
        yield
    finally:
        _watched.reset(token)


def reach() -> None:
    """Raise ServerGone where no server answers at PREFECT_API_URL."""
    with get_client(sync_client=True) as client:
        gone = client.api_healthcheck()
    if gone:
        url = os.environ.get("PREFECT_API_URL", "")
        raise ServerGone(f"no Prefect server answers at {url} ({gone}); start it, or unset PREFECT_API_URL")


def refresh_by_prefect(
    store: str,
    names: Sequence[str] | None = None,
    *,
    recorded: str | None = None,
    jobs: int = 2,
    deadline_s: float | None = None,
    on_start: OnStart = lambda name: None,
    on_done: OnDone = lambda outcome: None,
) -> Summary:
    """As flows.refresh.refresh, seen by the server at PREFECT_API_URL. Raises ServerGone where none answers."""
    reach()
    with watched(on_start, on_done):
        state = refresh_flow(
            store,
            providers=list(names) if names else None,
            recorded=recorded,
            jobs=jobs,
            deadline_s=deadline_s,
            return_state=True,
        )
    summary = state.result(raise_on_failure=False)
    if isinstance(summary, Summary):
        return summary
    raise summary if isinstance(summary, Exception) else RuntimeError(f"the flow ended {state.name}: {state.message}")

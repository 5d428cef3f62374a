"""One crawl: one spider in a child process of its own, with a deadline, judged by what it reports.

Imports no Scrapy: whoever only starts crawls need not pay for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Self

from schemas.providers import Provider, providers
from spiders.shared import har
from spiders.shared.processes import end_all, mark_of
from spiders.shared.secrets import RECORDED_KEY, Secrets
from spiders.shared.source import module_of

DEADLINE_S = 120.0
LOG = "log.txt"
LOG_LINE = 1 << 16
LOG_MOST = 1 << 24
PROGRESS_LINE = re.compile(rb"\x1eprogress (\d{1,12}) (\d{1,12})\n")
OURS = ("raw.jsonl", "report.json", "answers.har", LOG)

Progress = Callable[[int, int], None]

_running: dict[int, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlReport:
    """What became of a crawl.

    ok: the spider finished, every request was answered, something was offered. offers: raw records in `raw_path`, one
    JSON object a line. error_class: out of `schemas.scrape.ERROR_CLASSES`. observed_at: the world's time, in a replay
    the recording's. misses, unused: of a replay. har_path: what was recorded, or replayed; None where neither.
    """

    provider: str
    ok: bool
    error_class: str | None = None
    error: str | None = None
    finish_reason: str | None = None
    requests: int = 0
    response_bytes: int = 0
    offers: int = 0
    started_at: datetime
    finished_at: datetime
    observed_at: datetime
    duration_s: float = 0.0
    cpu_s: float | None = None
    access: str | None = None
    misses: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    raw_path: Path
    har_path: Path | None = None
    log_path: Path

    def as_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {name: _plain(value) for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """The reverse of `as_json`. An unknown field raises TypeError."""
        read = dict(fields)
        for name in ("started_at", "finished_at", "observed_at"):
            read[name] = datetime.fromisoformat(read[name])
        for name in ("raw_path", "har_path", "log_path"):
            read[name] = Path(read[name]) if read.get(name) else None
        for name in ("misses", "unused", "problems"):
            read[name] = tuple(read.get(name, ()))
        return cls(**read)


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value


def crawl(
    name: str,
    workdir: Path,
    *,
    module: str | None = None,
    recorded: Path | None = None,
    deadline_s: float | None = None,
    strict: bool = True,
    record: bool = True,
    env: Mapping[str, str | None] | None = None,
    progress: Progress | None = None,
) -> CrawlReport:
    """Run one spider and say what became of it; raises only for what the caller did wrong.

    workdir: made where it is missing; what an earlier crawl left there is replaced. module: where the spider lies, if
    not at `spiders.<name>` or `spiders.rates.<name>`. recorded: a HAR, or a folder with `answers.har`, that answers
    instead of the world. deadline_s: the provider's own where None. strict: a recorded answer that nobody asked for
    fails the replay too (a miss always does). record: keep what a live crawl was answered. env: variables over those
    of this process, None removes one. progress: called from another thread with requests and offers so far.
    """
    workdir = workdir.resolve()
    workdir.mkdir(parents=True, exist_ok=True)
    _clear(workdir)
    facts = providers().get(name)
    started_at = datetime.now(UTC)
    replayed = har.Har(())
    if recorded is not None:
        recorded = har.har_file(recorded).resolve()
        try:
            replayed = har.read(recorded)
        except har.HarError as error:
            return _never_ran(name, workdir, started_at, str(error))
    observed_at = (replayed.recorded_at if recorded else None) or started_at
    job = {
        "name": name,
        "module": module or module_of(name),
        "workdir": str(workdir),
        "recorded": str(recorded) if recorded else None,
        "record": record and not recorded,
        "instant": observed_at.isoformat(),
        "parent": os.getpid(),
    }
    limit = deadline_s if deadline_s is not None else float(facts.deadline_s) if facts else DEADLINE_S
    begun = time.monotonic()
    child_env = _environment(facts, env, replayed if recorded else None)
    with tempfile.TemporaryDirectory(prefix="gpufare-", ignore_cleanup_errors=True) as scratch:
        # a browser that is killed leaves its profile behind: here, where it goes away with the crawl
        in_time, code = _run(job, {**child_env, "TMPDIR": scratch}, limit, facts, progress)
    duration_s = round(time.monotonic() - begun, 3)
    told = _told(workdir)
    verdict = _judge(told, in_time, code, limit, allow_empty=bool(facts and facts.allow_empty), strict=strict)
    written = workdir / "answers.har"
    return CrawlReport(
        provider=name,
        ok=verdict is None,
        error_class=verdict[0] if verdict else None,
        error=verdict[1] if verdict else None,
        finish_reason=told.get("finish_reason"),
        requests=told.get("requests", 0),
        response_bytes=told.get("response_bytes", 0),
        offers=told.get("offers", 0),
        started_at=started_at,
        finished_at=datetime.now(UTC),
        observed_at=observed_at,
        duration_s=duration_s,
        cpu_s=told.get("cpu_s"),
        access=told.get("access"),
        misses=tuple(told.get("misses", ())),
        unused=tuple(told.get("unused", ())),
        problems=tuple(f"{kind}: {text}" for kind, text in told.get("problems", ())),
        raw_path=workdir / "raw.jsonl",
        har_path=recorded or (written if written.exists() else None),
        log_path=workdir / LOG,
    )


def _clear(workdir: Path) -> None:
    for path in [*(workdir / name for name in OURS), *workdir.glob("body-[0-9]*"), *workdir.glob("browser-*")]:
        path.unlink(missing_ok=True)


def _never_ran(name: str, workdir: Path, started_at: datetime, error: str) -> CrawlReport:
    return CrawlReport(
        provider=name,
        ok=False,
        error_class="SpiderError",
        error=error,
        started_at=started_at,
        finished_at=datetime.now(UTC),
        observed_at=started_at,
        raw_path=workdir / "raw.jsonl",
        log_path=workdir / LOG,
    )


def _environment(
    facts: Provider | None, env: Mapping[str, str | None] | None, replayed: har.Har | None
) -> dict[str, str]:
    """What the child sees: no key of another provider; in a replay no key of the user's, but a stand-in for those that
    the provider always needs or that were set when the recording was made."""
    mine = (*facts.keys, *facts.optional_keys) if facts else ()
    others = {key for other in providers().values() for key in (*other.keys, *other.optional_keys)} - set(mine)
    chosen = {key: value for key, value in os.environ.items() if key not in others}
    if replayed is not None:
        needed = {*(facts.keys if facts else ()), *replayed.keys}
        chosen = {key: value for key, value in chosen.items() if key not in mine}
        chosen |= dict.fromkeys(needed & set(mine), RECORDED_KEY)
    for key, value in (env or {}).items():
        chosen.pop(key, None)
        if value is not None:
            chosen[key] = value
    root = str(Path(__file__).resolve().parents[2])
    chosen["PYTHONPATH"] = os.pathsep.join(filter(None, (root, chosen.get("PYTHONPATH"))))
    return chosen


def _run(
    job: Mapping[str, Any], env: dict[str, str], limit: float, facts: Provider | None, progress: Progress | None
) -> tuple[bool, int]:
    """Run the child to its end or to its deadline. Gives whether it ended by itself in time, and its exit code."""
    mark, env = mark_of(env)
    secrets = Secrets.of((*facts.keys, *facts.optional_keys) if facts else (), env)
    command = [sys.executable, "-m", "spiders.shared.child", json.dumps(job)]
    child = subprocess.Popen(  # noqa: S603 - our own module, its argument is JSON of our own
        command,
        env=env,
        cwd=job["workdir"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    log = _Log(child.stdout, Path(job["workdir"]) / LOG, secrets, progress)
    in_time = False
    try:
        _running[child.pid] = mark
        log.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(limit)
            in_time = True
    finally:
        _end(child, mark, gently=not in_time)
        _running.pop(child.pid, None)
        log.join(2)
    if log.error:
        raise log.error
    return in_time, child.returncode


def stop_crawls() -> None:
    """End every crawl of this process at once, from whichever thread: for a caller that is interrupted itself."""
    for pid, mark in list(_running.items()):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        end_all(mark)


def _end(child: subprocess.Popen[bytes], mark: str, *, gently: bool) -> None:
    """TERM to the group, TERM again after 1 s, KILL after 2 s more; then whatever else bears the crawl's mark."""
    if gently:
        for patience in (1.0, 2.0):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(patience)
                break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    end_all(mark)


class _Log(threading.Thread):
    """Writes what the child says, without keys, and hands on how far it is. Reads to the end whatever happens, for a
    child that cannot write stands still."""

    def __init__(self, pipe: IO[bytes] | None, path: Path, secrets: Secrets, progress: Progress | None) -> None:
        super().__init__(daemon=True)
        self.pipe, self.path, self.secrets, self.progress = pipe, path, secrets, progress
        self.error: Exception | None = None

    def run(self) -> None:
        """Until the last process that holds the other end has gone."""
        written = 0
        with contextlib.suppress(OSError), self.path.open("wb") as log, self.pipe or contextlib.nullcontext() as pipe:
            while pipe and (line := pipe.readline(LOG_LINE)):
                if told := PROGRESS_LINE.fullmatch(line):
                    self.tell(int(told[1]), int(told[2]))
                elif written < LOG_MOST:
                    written += log.write(self.secrets.scrub(line))
                    log.flush()

    def tell(self, requests: int, offers: int) -> None:
        """Hand on; a callback that raises is not called again, and `crawl` raises what it raised."""
        if self.progress and self.error is None:
            try:
                self.progress(requests, offers)
            except Exception as error:  # noqa: BLE001 - raised again by crawl
                self.error = error


def _told(workdir: Path) -> dict[str, Any]:
    """report.json, empty where the child did not come to write it."""
    try:
        told = json.loads((workdir / "report.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _judge(
    told: Mapping[str, Any], in_time: bool, code: int, limit: float, *, allow_empty: bool, strict: bool
) -> tuple[str, str] | None:
    """None for a crawl that can be believed, else the class of its first error and one line."""
    reason, problems = told.get("finish_reason"), told.get("problems") or []
    verdict: tuple[str, str] | None = None
    if not in_time:
        first = f"; before: {problems[0][1]}" if problems else ""
        verdict = "TimedOut", f"not done within {limit:g} s{first}"
    elif problems:
        verdict = problems[0][0], problems[0][1]
    elif told.get("misses"):
        verdict = "SpiderError", f"no recorded answer to {told['misses'][0]}"
    elif not told:
        verdict = "SpiderError", f"the crawl's process ended without a report (exit code {code})"
    elif reason is None:
        verdict = "TimedOut", "the crawl ended without a reason"
    elif reason != "finished":
        verdict = "SpiderError", f"the crawl ended with {reason!r}"
    elif not told.get("offers") and not allow_empty:
        verdict = "Empty", "every request was answered, and nothing is offered"
    elif strict and told.get("unused"):
        verdict = "SpiderError", f"recorded answer not used: {told['unused'][0]}"
    return verdict

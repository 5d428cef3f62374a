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
from collections.abc import Callable, Mapping, Sequence
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
    started_at = datetime.now(UTC)
    run = _Run.of(workdir, recorded)
    if run.unreadable:
        return _never_ran(name, run, started_at)
    facts = providers().get(name)
    job = _job(name, module, run.workdir, [run.as_job(started_at, record=record and recorded is None)])
    limit = deadline_s if deadline_s is not None else _deadline_of(facts)
    child_env = _environment(facts, env, run.replayed)
    begun = time.monotonic()
    in_time, code = _run(job, child_env, limit, facts, progress)
    verdict = _Verdict(in_time, code, limit, bool(facts and facts.allow_empty), strict)
    return _report(name, run, verdict, started_at, time.monotonic() - begun)


def replay_all(
    name: str, recordings: Sequence[Path], workdir: Path, *, module: str | None = None, strict: bool = True
) -> list[CrawlReport]:
    """Replay many recordings of one provider in one child process, one after the other; a report for each, in order.

    What costs a second of CPU (imports, the reactor) is paid once. Every recording has a workdir of its own below
    `workdir`, named by its place in the order. The deadline is the provider's for each of them together. A child that
    dies leaves the reports that it did not come to as failures.
    """
    started_at = datetime.now(UTC)
    facts = providers().get(name)
    runs = [_Run.of(workdir / f"{place:04d}", recorded) for place, recorded in enumerate(recordings)]
    readable = [run for run in runs if not run.unreadable]
    limit = _deadline_of(facts) * len(readable)
    begun = time.monotonic()
    in_time, code = True, 0
    if readable:
        told = [run.as_job(started_at, record=False, facts=facts) for run in readable]
        job = _job(name, module, workdir.resolve(), told)
        in_time, code = _run(job, _environment(facts, None, har.Har(())), limit, facts, None)
    each = (time.monotonic() - begun) / max(len(readable), 1)
    verdict = _Verdict(in_time, code, limit, bool(facts and facts.allow_empty), strict)
    return [
        _never_ran(name, run, started_at) if run.unreadable else _report(name, run, verdict, started_at, each)
        for run in runs
    ]


@dataclass(frozen=True, slots=True)
class _Run:
    """One crawl of a child: where it writes, and what it is answered from."""

    workdir: Path
    recorded: Path | None = None
    replayed: har.Har | None = None
    unreadable: str | None = None

    @classmethod
    def of(cls, workdir: Path, recorded: Path | None) -> Self:
        """A clean workdir, and the recording read once, so that a broken one is told before anything starts."""
        workdir = workdir.resolve()
        workdir.mkdir(parents=True, exist_ok=True)
        _clear(workdir)
        if recorded is None:
            return cls(workdir)
        path = har.har_file(recorded).resolve()
        try:
            return cls(workdir, path, har.read(path))
        except har.HarError as error:
            return cls(workdir, path, None, str(error))

    def observed_at(self, started_at: datetime) -> datetime:
        """The recording's time, else the start of the crawl."""
        return (self.replayed.recorded_at if self.replayed else None) or started_at

    def as_job(self, started_at: datetime, *, record: bool, facts: Provider | None = None) -> dict[str, Any]:
        """What the child is told of it. facts: whose keys the child is to set and unset by itself."""
        return {
            "workdir": str(self.workdir),
            "recorded": str(self.recorded) if self.recorded else None,
            "record": record,
            "instant": self.observed_at(started_at).isoformat(),
            "keys": _stand_ins(facts, self.replayed) if facts and self.replayed else {},
        }


def _job(name: str, module: str | None, folder: Path, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """What the child is told. folder: where it stands, and where its log goes."""
    where = module or module_of(name)
    return {"name": name, "module": where, "parent": os.getpid(), "folder": str(folder), "runs": runs}


def _deadline_of(facts: Provider | None) -> float:
    return float(facts.deadline_s) if facts else DEADLINE_S


def _report(name: str, run: _Run, verdict: _Verdict, started_at: datetime, duration_s: float) -> CrawlReport:
    told = _told(run.workdir)
    problem = verdict.of(told)
    written = run.workdir / "answers.har"
    return CrawlReport(
        provider=name,
        ok=problem is None,
        error_class=problem[0] if problem else None,
        error=problem[1] if problem else None,
        finish_reason=told.get("finish_reason"),
        requests=told.get("requests", 0),
        response_bytes=told.get("response_bytes", 0),
        offers=told.get("offers", 0),
        started_at=started_at,
        finished_at=datetime.now(UTC),
        observed_at=run.observed_at(started_at),
        duration_s=round(duration_s, 3),
        cpu_s=told.get("cpu_s"),
        access=told.get("access"),
        misses=tuple(told.get("misses", ())),
        unused=tuple(told.get("unused", ())),
        problems=tuple(f"{kind}: {text}" for kind, text in told.get("problems", ())),
        raw_path=run.workdir / "raw.jsonl",
        har_path=run.recorded or (written if written.exists() else None),
        log_path=run.workdir / LOG,
    )


def _clear(workdir: Path) -> None:
    for path in [*(workdir / name for name in OURS), *workdir.glob("body-[0-9]*"), *workdir.glob("browser-*")]:
        path.unlink(missing_ok=True)


def _never_ran(name: str, run: _Run, started_at: datetime) -> CrawlReport:
    return CrawlReport(
        provider=name,
        ok=False,
        error_class="SpiderError",
        error=run.unreadable,
        started_at=started_at,
        finished_at=datetime.now(UTC),
        observed_at=started_at,
        raw_path=run.workdir / "raw.jsonl",
        log_path=run.workdir / LOG,
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
        ours = {*mine, *(facts.options if facts else ())}
        chosen = {key: value for key, value in chosen.items() if key not in ours}
        chosen |= _stand_ins(facts, replayed)
    for key, value in (env or {}).items():
        chosen.pop(key, None)
        if value is not None:
            chosen[key] = value
    root = str(Path(__file__).resolve().parents[2])
    chosen["PYTHONPATH"] = os.pathsep.join(filter(None, (root, chosen.get("PYTHONPATH"))))
    return chosen


def _stand_ins(facts: Provider | None, replayed: har.Har) -> dict[str, str]:
    """The options that were set when the recording was made, and a stand-in for every key that was set then or that the
    provider always needs."""
    mine = {*facts.keys, *facts.optional_keys} if facts else set()
    needed = {*(facts.keys if facts else ()), *replayed.keys}
    options = {name: replayed.options[name] for name in (facts.options if facts else ()) if name in replayed.options}
    return dict.fromkeys(needed & mine, RECORDED_KEY) | options


def _run(
    job: Mapping[str, Any], env: dict[str, str], limit: float, facts: Provider | None, progress: Progress | None
) -> tuple[bool, int]:
    """Run the child to its end or to its deadline. Gives whether it ended by itself in time, and its exit code."""
    with tempfile.TemporaryDirectory(prefix="gpufare-", ignore_cleanup_errors=True) as scratch:
        # a browser that is killed leaves its profile behind: here, where it goes away with the crawl
        return _run_in(job, {**env, "TMPDIR": scratch}, limit, facts, progress)


def _run_in(
    job: Mapping[str, Any], env: dict[str, str], limit: float, facts: Provider | None, progress: Progress | None
) -> tuple[bool, int]:
    mark, env = mark_of(env)
    secrets = Secrets.of((*facts.keys, *facts.optional_keys) if facts else (), env)
    command = [sys.executable, "-m", "spiders.shared.child", json.dumps(job)]
    child = subprocess.Popen(  # noqa: S603 - our own module, its argument is JSON of our own
        command,
        env=env,
        cwd=job["folder"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    log = _Log(child.stdout, Path(job["folder"]) / LOG, secrets, progress)
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


@dataclass(frozen=True, slots=True)
class _Verdict:
    """How a child ended, and what its crawls are judged by."""

    in_time: bool
    code: int
    limit: float
    allow_empty: bool
    strict: bool

    def of(self, told: Mapping[str, Any]) -> tuple[str, str] | None:
        """None for a crawl that can be believed, else the class of its first error and one line."""
        reason, problems = told.get("finish_reason"), told.get("problems") or []
        verdict: tuple[str, str] | None = None
        if not self.in_time:
            first = f"; before: {problems[0][1]}" if problems else ""
            verdict = "TimedOut", f"not done within {self.limit:g} s{first}"
        elif problems:
            verdict = problems[0][0], problems[0][1]
        elif told.get("misses"):
            verdict = "SpiderError", f"no recorded answer to {told['misses'][0]}"
        elif not told:
            verdict = "SpiderError", f"the crawl's process ended without a report (exit code {self.code})"
        elif reason is None:
            verdict = "TimedOut", "the crawl ended without a reason"
        elif reason != "finished":
            verdict = "SpiderError", f"the crawl ended with {reason!r}"
        elif not told.get("offers") and not self.allow_empty:
            verdict = "Empty", "every request was answered, and nothing is offered"
        elif self.strict and told.get("unused"):
            verdict = "SpiderError", f"recorded answer not used: {told['unused'][0]}"
        return verdict

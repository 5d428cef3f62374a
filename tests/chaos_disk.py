"""Disks that fill up or may not be written, and files that are damaged, each on a copy of a store."""

from __future__ import annotations

import ctypes
import os
import random
import resource
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from chaos_faults import Fault, after, copied, differences
from chaos_fork import Ended, forked
from chaos_stores import Job, Said, Stores, compacted, examined, nightly, told
from kill_at import Progress, watch

from storage.lake import Lake, StoreError
from storage.recordings import Recordings

NOBODY = 65534
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
REMEDIES = ("restore", "run `gpufare", "remove it", "`gpufare compact")


def disk_full(stores: Stores, chance: random.Random) -> list[Fault]:
    """A file system of its own that fills up during a command; with room on it, the command runs again."""
    job = chance.choice([job for job in stores.jobs if job.command not in {"create", "sweep"}])
    with tempfile.TemporaryDirectory(dir=stores.room) as disk:
        if not mounted(disk):
            return file_limit(stores, chance)
        with copied(stores, job.base, Path(disk)) as store:
            used = os.statvfs(disk)
            pages = used.f_blocks - used.f_bfree + chance.randrange(0, 40)
            subprocess.run(["mount", "-o", f"remount,size={pages * used.f_frsize}", disk], check=True)
            found = refused(stores, job, store, f"disk full: {job.command}", lambda: resized(disk))
        subprocess.run(["umount", disk], check=True)
    return found


def mounted(folder: str) -> bool:
    """A small file system at the folder, seen by this process alone and gone with it. False where that may not be."""
    libc, user = ctypes.CDLL(None, use_errno=True), os.getuid()
    if libc.unshare(CLONE_NEWNS | (CLONE_NEWUSER if user else 0)):
        return False
    if user:
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    return not any(
        subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode
        for command in (["mount", "--make-rprivate", "/"], ["mount", "-t", "tmpfs", "-o", "size=64m", "none", folder])
    )


def resized(disk: str) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)


def file_limit(stores: Stores, chance: random.Random) -> list[Fault]:
    """No file may grow over a limit."""
    job = chance.choice([job for job in stores.jobs if job.command not in {"create", "sweep"}])
    limit = chance.choice([0, 100, 1000, 3000, 5000, 8000, 12000])

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))

    with copied(stores, job.base) as store:
        return refused(stores, job, store, f"file too large: {job.command}", lambda: None, limited)


def refused(
    stores: Stores,
    job: Job,
    store: str,
    kind: str,
    mend: Callable[[], None],
    limited: Callable[[], None] = lambda: None,
) -> list[Fault]:
    """Run the command; it lands or is refused with one line. Then give it room and run it again."""
    progress = Progress(job.command)

    def run() -> str:
        stores.crawls.hand_out()
        watch(job.command, progress)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # threads of deltalake tell of a full disk on their own
        limited()
        try:
            job.over(store)
        except (StoreError, OSError) as error:  # the command line tells either in one line
            return str(error)
        return ""

    try:
        why = forked(run)
    except Ended as error:
        why = f"{error}\n"
    landed = min(progress.pointers, len(job.states) - 1)
    said = forked(examined, store)
    right = said.answers in job.states[landed : landed + 2] and "\n" not in why
    mend()
    mended, late = after(stores, job, store, landed)
    why = f"{progress.phase}, {landed} landed: {why} {differences(said, job.states[landed])} {late}"
    return [Fault(kind, said.whole, False, right, mended, why)]


def read_only(stores: Stores, chance: random.Random) -> list[Fault]:
    """A store that may be read but not written."""

    def as_nobody(store: str) -> str:
        told(store)  # what a reader loads on use is loaded while it may be
        if not os.getuid():
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        assert told(store) == stores.said["month"]
        try:
            nightly(store)
        except StoreError as error:
            return str(error)
        return "\n"

    with copied(stores, "month") as store:
        there = [Path(store), *Path(store).rglob("*")]
        for path in there:
            path.chmod(0o555 if path.is_dir() else 0o444)
        try:
            why = forked(as_nobody, store)
        except Ended as error:
            why = f"{error}\n"
        said = forked(examined, store)
        for path in there:
            path.chmod(0o755)
        mended, late = after(stores, Job("compact", "month", compacted), store, 0)
    right = "\n" not in why and said.answers == stores.said["month"]
    return [Fault("read-only folder", said.whole, False, right, mended, why + late)]


# Damage: named, and never a wrong answer.


def damage(stores: Stores, chance: random.Random) -> list[Fault]:
    """A data file or an entry of a log is cut, overwritten, emptied or gone."""
    what = chance.choice(("truncated", "garbled", "missing", "empty"))
    sort = chance.choice(("Parquet file", "log entry", "last log entry"))
    table = chance.choice(("snapshots", "changes", "scrapes"))
    base = chance.choice(("month", "compacted", "imported"))
    with copied(stores, base) as store:
        found = forked(target, store, table, sort, chance)
        kept = found.read_bytes()
        harm(found, what, chance)
        said = forked(examined, store)
        found.write_bytes(kept)
        restored = forked(examined, store)
    right = said.answers == stores.said[base] if said.answers is not None else "\n" not in said.refused
    if what == "missing" and sort == "last log entry":
        # The table is then truly as it was before the last commit: right is what it said then. Whether verify tells is
        # what counts.
        right = True
    mended = restored.whole and restored.answers == stores.said[base]
    why = f"{base} {found.relative_to(store)}: {said.faults or said.notes} {differences(said, stores.said[base])}"
    return [Fault(f"{sort} {what}", said.whole, named(said, found, what), right, mended, why, is_damage=True)]


def target(store: str, table: str, sort: str, chance: random.Random) -> Path:
    if sort == "Parquet file":
        return Path(chance.choice(Lake.open(store).table(table).files()).path)
    entries = sorted(Path(store, table, "_delta_log").glob("*.json"))
    return entries[-1] if sort == "last log entry" else chance.choice(entries[:-1])


def named(said: Said, damaged: Path, what: str) -> bool:
    """Does a line name the file and say what mends it?

    An entry that is overwritten may still read as one, and the last one may be gone without a trace: then the table is
    named, by what the entry tells wrongly or no longer tells.
    """
    log = damaged.parent.name == "_delta_log"
    name = damaged.parent.parent.name if log and what in {"garbled", "missing"} else damaged.name
    lines = [*said.faults, *said.notes]
    return any(name in line and any(word in line for word in REMEDIES) for line in lines)


def recording(stores: Stores, chance: random.Random) -> list[Fault]:
    """A kept answer is cut, overwritten, emptied or gone; the table does not need it."""
    what = chance.choice(("truncated", "garbled", "missing", "empty"))

    def one(store: str) -> Path:
        kept = Recordings.of(Lake.open(store))
        return Path(kept.where(chance.choice(list(kept.hashes()))))

    with copied(stores, "both") as store:
        found = forked(one, store)
        kept = found.read_bytes()
        harm(found, what, chance)
        said = forked(examined, store)
        found.write_bytes(kept)
        restored = forked(examined, store)
    name = found.name.partition(".")[0]
    told_of = any(name in line for line in [*said.faults, *said.notes])
    right = said.answers == stores.said["both"]
    mended = restored.whole and restored.answers == stores.said["both"]
    return [Fault(f"recording {what}", said.whole, told_of, right, mended, str(said.notes), is_damage=True)]


def harm(path: Path, what: str, chance: random.Random) -> None:
    """Cut, overwrite in the middle, empty or remove a file."""
    content = path.read_bytes()
    if what == "missing":
        path.unlink()
    elif what == "garbled":
        at = chance.randrange(len(content))
        path.write_bytes(content[:at] + chance.randbytes(min(64, len(content) - at)) + content[at + 64 :])
    else:
        path.write_bytes(content[: 0 if what == "empty" else chance.randrange(1, len(content))])

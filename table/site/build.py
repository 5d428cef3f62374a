"""`publish`: one version of the site, whole, beside the others; then the pointers, each replaced by one rename.

A publish that is interrupted leaves a draft that nobody sees and the former version live. Old versions are swept once
there are KEPT newer ones, so that a page that somebody reads keeps its files for a while.
"""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from schemas.messages import languages
from storage.lake import Lake
from table.exports import NotOurs
from table.jsontext import dumps
from table.site.columns import script
from table.site.content import Content, read
from table.site.files import llms, manifest, write_data
from table.site.pages import Pages, Planned, environment
from table.site.words import Words
from table.view import SAMPLE

if TYPE_CHECKING:
    import pyarrow as pa

ASSETS = Path(__file__).with_name("assets")
POINTER = "latest.json"
"""tells which version is live; a folder that has it is a site of ours and may be published to"""
Planner = Callable[["pa.Table"], Planned]
"""the offers to what the planner tells of them"""
KEPT = 3
ABANDONED_S = 3600


@dataclass(slots=True)
class Published:
    """What was published: the version's folder, its files, rows of offers, what was left out, how old it may be."""

    folder: Path
    as_of: datetime
    sample: bool
    files: int = 0
    size: int = 0
    offers: int = 0
    kept_back: Counter[str] = field(default_factory=Counter)
    swept: list[str] = field(default_factory=list)


def publish(
    lake: Lake,
    folder: Path,
    *,
    now: datetime,
    made_at: datetime,
    on_step: Callable[[str], None] = lambda step: None,
    plan: Planner | None = None,
) -> Published:
    """Publish the store as of `now` (the reader's time of the store) into the folder. `made_at` names the version.

    plan: works out what the page of the planner needs; without it there is no such page.

    Raises NotOurs where the folder holds anything but a site of ours, StoreError where the store cannot be read.
    """
    target = folder.expanduser().absolute()
    if target.exists() and not (target.is_dir() and ((target / POINTER).is_file() or not _things(target))):
        raise NotOurs(f"{folder} is no site of gpufare ({POINTER} is not in it) and stays; name another folder")
    versions = target / "v"
    versions.mkdir(parents=True, exist_ok=True)
    stamp = _stamp(versions, made_at)
    draft = versions / f".{stamp}.{os.getpid()}"
    draft.mkdir()
    try:
        on_step("reading the store")
        content = read(lake, now)
        result = Published(versions / stamp, now, content.sample, offers=len(content.rows), kept_back=content.kept_back)
        _write(draft, content, lake, made_at=made_at, on_step=on_step, plan=plan)
        result.files, result.size = manifest(draft, content, stamp, made_at)
        draft.rename(result.folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    _point(target, stamp, content, made_at)
    result.swept = _sweep(versions, stamp)
    return result


def _things(folder: Path) -> list[Path]:
    """What lies in a folder, but for the drafts of a publish that never came to its end."""
    drafts = folder / "v"
    return [path for path in (*folder.iterdir(), *drafts.glob("[!.]*")) if path != drafts]


def _stamp(versions: Path, made_at: datetime) -> str:
    """Name of the version: its second, and a number where two were made within one."""
    stamp = f"{made_at.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    name, number = stamp, 1
    while (versions / name).exists():
        number += 1
        name = f"{stamp}-{number}"
    return name


def _write(
    draft: Path,
    content: Content,
    lake: Lake,
    *,
    made_at: datetime,
    on_step: Callable[[str], None],
    plan: Planner | None,
) -> None:
    shutil.copytree(ASSETS, draft / "assets")
    made = environment()
    is_empty = not content.rows and not content.histories
    on_step("writing data")
    offered = [] if is_empty else write_data(draft / "data", content, lake, made_at)
    planned = None
    if plan is not None and not is_empty:
        on_step("working out what jobs need")
        planned = plan(content.table)
        (draft / "data/fit.js").write_text(script("FIT", planned[0]), encoding="utf-8")
    for language in languages():
        on_step(f"writing pages: {language}")
        pages = Pages(content, Words.of(language), made, {"made_at": made_at})
        for path, text in [pages.empty()] if is_empty else pages.all(offered, planned):
            place = draft / language / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
    (draft / "llms.txt").write_text(llms(content), encoding="utf-8")


def _point(target: Path, stamp: str, content: Content, made_at: datetime) -> None:
    """Make the version the live one: `latest.json` for programs, then `index.html` for people."""
    pointer = {
        "schema": "gpufare.latest/1", "version": stamp, "path": f"v/{stamp}/", "made_at": made_at,
        "as_of": content.as_of, "manifest": f"v/{stamp}/manifest.json",
        **({"notice": SAMPLE} if content.sample else {}),
    }  # fmt: skip
    page = (
        environment()
        .get_template("root.html")
        .render(stamp=stamp, sample=content.sample, words=[Words.of(language) for language in languages()])
    )
    for name, text in ((POINTER, dumps(pointer) + "\n"), ("index.html", page)):
        draft = target / f".{name}.{os.getpid()}"
        draft.write_text(text, encoding="utf-8")
        draft.replace(target / name)


def _sweep(versions: Path, live: str) -> list[str]:
    """Remove all but the live version and those before it, and drafts of publishes that died long ago."""
    found = sorted(path.name for path in versions.iterdir() if not path.name.startswith("."))
    old: Sequence[str] = [name for name in found if name != live][: max(0, len(found) - KEPT)]
    now = time.time()
    dead = [p.name for p in versions.iterdir() if p.name.startswith(".") and now - p.stat().st_mtime > ABANDONED_S]
    for name in (*old, *dead):
        shutil.rmtree(versions / name, ignore_errors=True)
    return list(old)

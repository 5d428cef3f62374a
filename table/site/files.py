"""Data files of a version: what the page's script reads, what a reader downloads, and the manifest of it all."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.change import Change
from schemas.offer import Offer
from schemas.providers import providers
from schemas.record import columns
from storage.lake import Lake
from storage.query import fresh_for_h
from table.cells import safe
from table.exports import of_scrapes, passed_on
from table.formats import lines, write_parquet
from table.jsontext import dumps, iso
from table.site import columns as columnar
from table.site.content import Content
from table.site.figures import cards_of
from table.site.pages import Download, slug_of
from table.view import SAMPLE, View

if TYPE_CHECKING:
    import pyarrow as pa

DAYS = 7
"""so many days back every observed row is a file of its day"""
LICENCE = {"name": "CC BY 4.0", "url": "https://creativecommons.org/licenses/by/4.0/"}


def ledger(content: Content, made_at: datetime) -> dict[str, Any]:
    """What the table's script is given: columns of the offers, providers, rates, and the time it all holds for."""
    return {
        "as_of": content.as_of,
        "made_at": made_at,
        "sample": content.sample,
        "rows": len(content.rows),
        "columns": columnar.table(content),
        "providers": {
            slug: {
                "title": safe(facts.title if (facts := providers().get(slug)) else slug),
                "page": slug_of(slug),
                "observed_at": one.observed_at,
                "fresh_for_h": fresh_for_h(slug),
                "carried_forward": one.carried_forward,
            }
            for slug, one in content.seen.items()
        },
        "gpus": {gpu: slug_of(gpu) for gpu in cards_of(content)},
        "rates": {name: {"per_usd": r.per_usd, "day": r.day, "source": r.source} for name, r in content.rates.items()},
    }


def write_data(data: Path, content: Content, lake: Lake, made_at: datetime) -> list[Download]:
    """Write the folder of data; what a reader may download of it."""
    data.mkdir()
    (data / "offers.js").write_text(columnar.script("LEDGER", ledger(content, made_at)), encoding="utf-8")
    return list(downloads(data, content, lake))


def downloads(data: Path, content: Content, lake: Lake) -> Iterator[Download]:
    """Offers as Parquet, CSV and JSON, changes, each card's history, the last days: written, with their checksums."""
    view = View("offers", content.table, [], content.as_of, {}, {"rows": content.table.num_rows}, sample=content.sample)
    yield from _three(data, "offers", view)
    moved = View("changes", content.changes, [], content.as_of, counts={"rows": len(content.changes)},
                 sample=content.sample, columns=[*columns(Change), "absolute"])  # fmt: skip
    yield from _three(data, "changes", moved, parquet=False)
    for day, table in _days(lake, content):
        path = data / "days" / f"{day}.parquet"
        path.parent.mkdir(exist_ok=True)
        write_parquet(View("offers", table, [], content.as_of, sample=content.sample), str(path))
        yield _download(data.parent, path, table.num_rows)
    for card, bought in content.histories.items():
        name = slug_of(" ".join(part for part in card if part))
        rows = [
            {"gpu": card[0], "form_factor": card[1], "purchase": purchase, "day": point.day, "state": point.state,
             "lowest_usd_per_gpu_hour": point.lowest, "median_usd_per_gpu_hour": point.median, "offers": point.offers,
             "lowest_provider": point.provider}
            for purchase, points in sorted(bought.items())
            for point in points
        ]  # fmt: skip
        path = data / "history" / f"{name}.csv"
        path.parent.mkdir(exist_ok=True)
        _text(path, View("history", rows, [], content.as_of, sample=content.sample), "csv")
        yield _download(data.parent, path, len(rows))


def _three(data: Path, name: str, view: View, parquet: bool = True) -> Iterator[Download]:
    for kind in ("parquet", "csv", "json"):
        path = data / f"{name}.{kind}"
        if kind != "parquet":
            _text(path, view, kind)
        elif parquet:
            write_parquet(view, str(path))
        else:
            continue
        yield _download(data.parent, path, view.total)


def _text(path: Path, view: View, kind: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(lines(view, kind))


def _days(lake: Lake, content: Content) -> Iterator[tuple[str, pa.Table]]:
    """All that may be passed on of what was observed on each of the last DAYS, oldest first."""
    first = content.as_of - timedelta(days=DAYS)
    ids: dict[str, list[str]] = {}
    for scrape in reversed(lake.visible()):
        if first < scrape.observed_at <= content.as_of and passed_on(providers().get(scrape.provider)):
            ids.setdefault(f"{scrape.observed_at.astimezone(UTC):%Y-%m-%d}", []).append(scrape.scrape_id)
    for day, found in ids.items():
        yield day, of_scrapes(lake, found)


def _download(root: Path, path: Path, rows: int | None) -> Download:
    return Download(path.relative_to(root).as_posix(), rows, path.stat().st_size, _sha256(path))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def manifest(draft: Path, content: Content, stamp: str, made_at: datetime) -> tuple[int, int]:
    """manifest.json: every file with size and SHA-256, licence, whose prices these are, and what was left out."""
    files = [
        {"path": path.relative_to(draft).as_posix(), "bytes": path.stat().st_size, "sha256": _sha256(path)}
        for path in sorted(draft.rglob("*"))
        if path.is_file()
    ]
    told = {
        "schema": "gpufare.site/1",
        "version": stamp,
        "made_at": made_at,
        "as_of": content.as_of,
        **({"notice": SAMPLE} if content.sample else {}),
        "licence": LICENCE,
        "sources": [_source(slug, content) for slug in sorted(content.seen) if slug not in content.kept_back],
        "left_out": [{"provider": slug, "rows": n, **_terms(slug)} for slug, n in sorted(content.kept_back.items())],
        "credits": content.notices,
        "rates": {name: {"per_usd": r.per_usd, "day": r.day, "source": r.source} for name, r in content.rates.items()},
        "columns": list(columns(Offer)),
        "files": files,
    }
    (draft / "manifest.json").write_text(dumps(told) + "\n", encoding="utf-8")
    return len(files) + 1, sum(int(str(file["bytes"])) for file in files)


def _source(slug: str, content: Content) -> dict[str, Any]:
    facts, seen = providers().get(slug), content.seen[slug]
    return {
        "provider": slug,
        "title": facts.title if facts else slug,
        "homepage": facts.homepage if facts else None,
        "observed_at": seen.observed_at,
        "stale": seen.stale,
        "offers": sum(row["provider"] == slug for row in content.rows),
        **_terms(slug),
    }


def _terms(slug: str) -> dict[str, Any]:
    facts = providers().get(slug)
    return {
        "terms_note": facts.terms_note if facts else None,
        "terms_reviewed_on": facts.terms_reviewed_on if facts else None,
    }


def llms(content: Content) -> str:
    """For programs that read instead of looking: what there is and where."""
    told = [
        "# gpufare",
        "",
        "> What it costs to rent a GPU, and whether one is to be had: every offer with its source and age.",
        "",
        *([f"{SAMPLE}.", ""] if content.sample else []),
        f"Prices as of {iso(content.as_of)}; {len(content.rows)} offers. Unknown is null. Data: {LICENCE['name']}.",
        "",
        "- [Offers, JSON](data/offers.json): all columns, one object a row",
        "- [Offers, Parquet](data/offers.parquet), [CSV](data/offers.csv)",
        "- [Changes of 30 days](data/changes.json)",
        "- [What the columns mean](en/data.html)",
        "- [How prices are read, checked and counted](en/method.html)",
        "- [Files with checksums, sources, licence](manifest.json)",
    ]
    return "\n".join(told) + "\n"

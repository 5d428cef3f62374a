"""Sixty nights: what the table said on a day is said again, byte for byte, whatever happened to the store since."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import flows.replay as module
from gpufare.cli import main
from schemas.corrections import Correction
from schemas.normalise import Context, normalise, normaliser_version
from schemas.offer import Offer
from schemas.providers import provider
from schemas.record import to_arrow
from schemas.scrape import Scrape
from spiders.shared import har
from spiders.shared.offline import read_answers
from spiders.shared.source import RECORDED, parser_version
from storage.compaction import compact, sweep
from storage.lake import Lake
from storage.recordings import Recordings
from storage.verify import verify

pytestmark = pytest.mark.slow

NIGHTS = 60
FIRST = datetime(2026, 9, 20, 2, tzinfo=UTC)
NAME = "hyperbolic"
ERRATUM = Correction(
    name="hyperbolic_h200",
    provider=NAME,
    reason="Its H200 price was wrong all along.",
    source="https://hyperbolic.example",
    checked_on=date(2026, 12, 1),
    match={"accelerator": "h200"},
    expect={},
    set={"price": Decimal(200)},
)


def answer(night: int) -> list[har.Entry]:
    """The recorded answer, a price and a stock moved at random, asked for at that night."""
    chance = random.Random(night)
    (entry,) = har.read(RECORDED / NAME / "2026-11-29-night").entries
    text = entry.body.decode()
    document = json.loads(text)
    moved = json.dumps(document).replace("319", str(chance.randint(250, 390)))
    return [replace(entry, content=moved.encode(), started=FIRST + timedelta(days=night))]


def take_in(lake: Lake, folder: Path, night: int) -> None:
    """One night into the store, with the answer that it came from."""
    at, path = FIRST + timedelta(days=night), folder / f"{night}.har"
    entries = answer(night)
    har.write(path, entries)
    sha = Recordings.of(lake).keep(path)
    scrape_id = f"{at:%Y%m%dT%H%M%SZ}-{NAME}-{night:08x}"
    context = Context(provider(NAME), scrape_id, at, "recording", sha)
    read = normalise(read_answers(NAME, entries).offers, context)
    assert read.offers
    scrape = Scrape(
        scrape_id=scrape_id, provider=NAME, observed_at=at, recorded_at=at, origin="recording", verdict="accepted",
        offers=len(read.offers), rejects=0, withheld=0, schema_version=1, recording_sha256=sha,
        parser_version=parser_version(NAME), normaliser_version=normaliser_version(),
    )  # fmt: skip
    lake.commit(scrape, to_arrow(read.offers, Offer))


def printed(store: Path, *arguments: str) -> bytes:
    """What `gpufare offers -o jsonl` writes."""
    command = click.Command(
        "gpufare", callback=lambda: main(["--data", str(store), "offers", *arguments, "-o", "jsonl"])
    )
    done = CliRunner().invoke(command)
    assert done.exit_code == 0, done.stderr
    return done.stdout_bytes


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[bytes]]:
    """The store, and what the table said every night, an hour after it."""
    folder = tmp_path_factory.mktemp("sixty")
    store = folder / "store"
    lake = Lake.open(store, origin="recording", create=True)
    said = []
    for night in range(NIGHTS):
        take_in(lake, folder, night)
        said.append(printed(store))
    assert len(set(said)) > NIGHTS / 2
    return store, said


def asked_again(store: Path, *arguments: str) -> list[bytes]:
    moments = (FIRST + timedelta(days=night, hours=1) for night in range(NIGHTS))
    return [printed(store, "--as-of", moment.isoformat(), *arguments) for moment in moments]


def test_C02_every_day_says_what_it_said_also_after_compaction_and_after_a_replay(
    history: tuple[Path, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, said = history
    done = compact(Lake.open(store), datetime(2026, 12, 1, tzinfo=UTC))
    assert [one.done for one in done if one.table == "snapshots"] == [True, True, True]
    sweep(Lake.open(store), grace=timedelta(0))
    assert asked_again(store) == said
    believed = datetime.now(UTC)
    monkeypatch.setattr(module, "normaliser_version", lambda: "another")
    monkeypatch.setattr("schemas.normalise.corrections", lambda slug: (ERRATUM,) if slug == NAME else ())
    (replayed,) = module.replay(str(store))
    assert (len(replayed.restated), replayed.failed) == (NIGHTS, [])
    assert asked_again(store, "--known-at", believed.isoformat()) == said
    now: list[Any] = [json.loads(line) for line in printed(store).splitlines()]
    assert {row["price"] for row in now if row["gpu"] == "H200"} == {200}
    assert verify(Lake.open(store)).whole

"""History that others kept: the real ones, catalogues of gpuhunt and SkyPilot, a CSV with a mapping; twice, killed."""

from __future__ import annotations

import csv
import gzip
import json
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from schemas.offer import Offer
from schemas.providers import provider
from schemas.rate import Rate
from schemas.record import to_arrow
from schemas.scrape import Scrape
from storage.errors import StoreError, StoreOriginError
from storage.gate_history import history_of
from storage.imports import (
    Imported,
    MappingError,
    Source,
    Told,
    Unusable,
    load_mapping,
    read_gpuhunt,
    read_plain,
    read_skypilot,
    shipped,
    source_of,
    take_in,
)
from storage.imports.mapping import __doc__ as MAPPING_EXAMPLE
from storage.imports.take import judge
from storage.lake import Lake
from storage.query import Filters, offers
from storage.review import changes_of
from storage.verify import verify

HISTORY = Path(__file__).parents[3] / "shared" / "history"
NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)
EVENTS = {"added": "new", "removed": "gone", "price_up": "change", "price_down": "change"}
Event = tuple[datetime, str, str, str, str, Decimal | None, Decimal | None]


def bring(lake: Lake, told: Told, source: Source, **given: Any) -> Imported:
    lake.refresh()
    result = take_in(lake, told, source, now=given.pop("now", NOW), **given)
    lake.refresh()
    return result


def new_lake(path: Path) -> Lake:
    return Lake.open(path, origin="import", create=True)


def stored(lake: Lake) -> dict[str, list[tuple[Any, ...]]]:
    """Every row that a reader sees, without the times of our own clock."""
    ids = [scrape.scrape_id for scrape in lake.visible()]
    return {
        name: sorted(
            map(repr, lake.query(f"SELECT * FROM {lake.relation(name)} WHERE scrape_id IN $ids", ids=ids).to_pylist())
        )
        for name in ("snapshots", "changes")
    }


# The real histories. In each, `*_changes.csv` tells the first snapshot as news of every row, which gpufare does not:
# where nothing was seen before there is nothing to compare with. Google's figures come out of floating point there, and
# move in the thirteenth decimal: money is kept to ten, so such a move is none. All other events are the same.
# Artefacts of the keepers stand in both: the two government regions of AWS that were in the file for ten months, and
# cards of Azure that go and come as its table was taken from several branches.
REAL = [
    # name, mapping, events told, first snapshot, noise, whole regions that come and go
    ("aws_karpenter_ondemand", "karpenter-aws", 165, 44, 0, {("added", 34), ("removed", 34)}),
    ("azure_karpenter_ondemand", "karpenter-azure", 2018, 734, 0, {("added", 100)}),
    ("gcp_karpenter_od_spot", "karpenter-gcp", 2343, 736, 12, {("added", 8)}),
]


@pytest.mark.skipif(not HISTORY.is_dir(), reason=f"{HISTORY} is not here: the real histories are not part of the repo")
@pytest.mark.parametrize(("name", "mapping", "told", "first", "noise", "reach"), REAL)
def test_real_history(
    tmp_path: Path, name: str, mapping: str, told: int, first: int, noise: int, reach: set[tuple[str, int]]
) -> None:
    read_as = load_mapping(mapping)
    lake = new_lake(tmp_path / "s")
    full = HISTORY / f"{name}_full.csv.gz"
    result = bring(lake, read_plain([full], read_as), read_as.source)
    theirs = events_of(HISTORY / f"{name}_changes.csv")
    ours = events_in(lake)
    begin = min(event[0] for event in theirs)

    differences = Counter(
        "first snapshot" if event[0] == begin and event[4] == "new" else "noise" if is_noise(event) else "unexplained"
        for event in theirs - ours
    )
    assert len(theirs) == told
    assert differences == +Counter({"first snapshot": first, "noise": noise})
    assert ours - theirs == set()
    assert len(ours) == told - first - noise == result.changes
    print(f"{name}: {told} events told, {len(ours)} equal, {dict(differences)}")

    # Causes: a whole region that comes or goes is the keeper's reach, everything else the market.
    causes = lake.query(f"SELECT kind, cause, count(*) AS n FROM {lake.relation('changes')} GROUP BY ALL").to_pylist()
    assert {(row["kind"], row["n"]) for row in causes if row["cause"] == "coverage"} == reach
    assert {row["cause"] for row in causes} <= {"market", "coverage"}

    assert (result.rejected, result.withheld, result.quarantined) == (Counter(), 0, 0)
    with gzip.open(full, "rt") as lines:
        assert result.offers == sum(1 for _ in lines) - 1
    assert verify(lake).whole
    scrape = lake.visible()[0]
    assert scrape.origin == "import"
    note = scrape.note or ""
    assert all(word in note for word in ("Apache-2.0", "https://github.com/", "credit: "))

    before = stored(lake)
    again = bring(lake, read_plain([full], read_as), read_as.source, now=NOW + timedelta(days=1))
    assert (again.snapshots, again.known, again.changes) == (0, result.snapshots, 0)
    assert stored(lake) == before


def events_of(path: Path) -> set[Event]:
    def money(text: str) -> Decimal | None:
        return Decimal(text) if text else None

    with path.open() as lines:
        return {
            (
                datetime.fromisoformat(row["generated_at"]).astimezone(UTC),
                row["region"],
                row["instance_type"],
                row["kind"].replace("ondemand", "on_demand"),
                row["event"],
                rounded(money(row["previous"])),
                rounded(money(row["usd_per_hour"])),
            )
            if not is_same(row)
            else (
                datetime.fromisoformat(row["generated_at"]).astimezone(UTC),
                row["region"],
                row["instance_type"],
                row["kind"].replace("ondemand", "on_demand"),
                row["event"],
                money(row["previous"]),
                money(row["usd_per_hour"]),
            )
            for row in csv.DictReader(lines)
        }


def is_same(row: dict[str, str]) -> bool:
    return row["event"] == "change" and rounded(Decimal(row["previous"])) == rounded(Decimal(row["usd_per_hour"]))


def is_noise(event: Event) -> bool:
    old, new = event[5], event[6]
    return event[4] == "change" and old is not None and new is not None and abs(new / old - 1) < Decimal("1e-12")


def rounded(amount: Decimal | None) -> Decimal | None:
    return None if amount is None else amount.quantize(Decimal("1e-10"))


def events_in(lake: Lake) -> set[Event]:
    names = "observed_at, region, instance_type, purchase, kind, old_price, new_price"
    rows = lake.query(f"SELECT {names} FROM {lake.relation('changes')}").to_pylist()
    return {
        (
            row["observed_at"],
            row["region"],
            row["instance_type"],
            row["purchase"],
            EVENTS[row["kind"]],
            rounded(row["old_price"]),
            rounded(row["new_price"]),
        )
        for row in rows
    }


# A CSV of our own, three nights.

MAPPING = """
[source]
name = "acme"
title = "prices that Acme kept"
url = "https://acme.test/prices"
licence = "CC-BY-4.0"
credit = "Acme"
[file]
observed_at = "seen"
provider = "hyperbolic"
[columns]
accelerator = "card"
gpu_count = "n"
region = "place"
purchase = "how"
price = "usd"
ram = "memory"
[constants]
currency = "USD"
price_unit = "instance-hour"
[words.purchase]
od = "on_demand"
preempt = "spot"
[units]
ram = "GiB"
[skip]
place = ["test"]
"""
HEADER = "seen,card,n,place,how,usd,memory"
NIGHTS = """
2026-01-01T02:00:00+01:00,NVIDIA H100 SXM5 80GB,8,east,od,16.00,1024
2026-01-01T02:00:00+01:00,NVIDIA H100 SXM5 80GB,8,west,od,16.00,
2026-01-01T02:00:00+01:00,NVIDIA H100 SXM5 80GB,8,test,od,1.00,
2026-01-02 01:00,NVIDIA H100 SXM5 80GB,8,east,od,17.00,1024
2026-01-02 01:00,NVIDIA H100 SXM5 80GB,8,west,od,16.00,
2026-01-03,NVIDIA H100 SXM5 80GB,8,east,od,17.00,1024
2026-01-03,NVIDIA H100 SXM5 80GB,8,north,preempt,8.00,
2026-01-03,NVIDIA H100 SXM5 80GB,8,north,lease,8.00,
2026-01-04,NVIDIA H100 SXM5 80GB,8,east,od,17.00,1024
2026-01-04,NVIDIA H100 SXM5 80GB,8,north,preempt,8.00,
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., tuple[Told, Source]]:
    def written(rows: str = NIGHTS, mapping: str = MAPPING, header: str = HEADER) -> tuple[Told, Source]:
        (tmp_path / "acme.toml").write_text(mapping)
        (tmp_path / "acme.csv").write_text(f"{header}\n{rows.strip()}\n")
        read_as = load_mapping(str(tmp_path / "acme.toml"))
        return read_plain([tmp_path / "acme.csv"], read_as), read_as.source

    return written


def moves(lake: Lake) -> list[tuple[str, str, str, str]]:
    """Day, region, kind and cause of every change that a reader sees."""
    ids = [scrape.scrape_id for scrape in lake.visible()]
    rows = lake.query(
        f"""SELECT observed_at, region, kind, cause FROM {lake.relation("changes")} WHERE scrape_id IN $ids
        ORDER BY ALL""",
        ids=ids,
    ).to_pylist()
    return [(f"{row['observed_at']:%d}", row["region"], row["kind"], row["cause"]) for row in rows]


def test_plain(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    lake = new_lake(tmp_path / "s")
    told, source = write()
    result = bring(lake, told, source)
    assert result.snapshots == 4
    assert result.skipped == {"place is skipped by the mapping": 1, "how says nothing that the mapping knows": 1}
    assert [s.observed_at for s in reversed(lake.visible())] == [
        datetime(2026, 1, 1, 1, tzinfo=UTC),  # 02:00 an hour east of Greenwich
        datetime(2026, 1, 2, 1, tzinfo=UTC),
        datetime(2026, 1, 3, tzinfo=UTC),
        datetime(2026, 1, 4, tzinfo=UTC),
    ]
    assert moves(lake) == [
        ("02", "east", "price_up", "market"),
        ("03", "north", "added", "coverage"),
        ("03", "west", "removed", "coverage"),
    ]
    east = next(r for r in lake.snapshot(lake.visible()[0].scrape_id).to_pylist() if r["region"] == "east")
    assert (east["gpu"], east["form_factor"], east["vram_gib"]) == ("H100", "SXM", 80.0)
    assert (east["ram_gib"], east["usd_per_gpu_hour"], east["origin"]) == (1024.0, Decimal("2.125"), "import")
    assert (east["segment"], east["availability"]) == ("reseller", "unknown")
    # A reader sees it, as old as it is.
    answer = offers(lake, Filters(purchase=()), now=NOW)
    assert answer.table.num_rows == 2
    assert answer.stale == ["hyperbolic"]


def test_what_was_killed_goes_on(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    told, source = write()
    whole = new_lake(tmp_path / "whole")
    bring(whole, told, source)
    for steps in (1, 2):
        lake = new_lake(tmp_path / f"killed-{steps}")

        def killed(step: Any, steps: int = steps) -> None:
            if step.done == steps:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            bring(lake, told, source, on_step=killed)
        lake.refresh()
        result = bring(lake, told, source)
        assert (result.known, result.snapshots) == (steps, 4 - steps)
        assert stored(lake) == stored(whole)


@pytest.mark.parametrize("step", ["append_changes", "append_scrape"])
def test_what_died_between_two_commits_is_finished(
    tmp_path: Path, write: Callable[..., tuple[Told, Source]], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    told, source = write()
    whole, lake = new_lake(tmp_path / "whole"), new_lake(tmp_path / "s")
    bring(whole, told, source)
    real, calls = getattr(Lake, step), []

    def dies(self: Lake, *args: Any) -> bool:
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return bool(real(self, *args))

    with monkeypatch.context() as patched:
        patched.setattr(Lake, step, dies)
        with pytest.raises(KeyboardInterrupt):
            bring(lake, told, source)
    bring(lake, told, source)
    assert stored(lake) == stored(whole)
    assert verify(lake).whole


def test_a_file_that_grew_adds_its_end(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    lines = NIGHTS.strip().splitlines()
    lake, whole = new_lake(tmp_path / "s"), new_lake(tmp_path / "whole")
    bring(lake, *write("\n".join(lines[:5])))
    result = bring(lake, *write())
    assert (result.known, result.snapshots) == (2, 2)
    bring(whole, *write())
    assert stored(lake) == stored(whole)


def test_a_file_that_was_mended_restates(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    lake = new_lake(tmp_path / "s")
    bring(
        lake,
        *write(
            NIGHTS.replace("02 01:00,NVIDIA H100 SXM5 80GB,8,east,od,17", "02 01:00,NVIDIA H100 SXM5 80GB,8,east,od,99")
        ),
    )
    result = bring(lake, *write(), now=NOW + timedelta(hours=1))
    assert (result.restated, result.snapshots, result.known) == (2, 2, 2)  # the mended one, and the one after it
    second = lake.visible()[2]
    assert second.supersedes is not None
    prices = {r["region"]: r["price"] for r in lake.snapshot(second.scrape_id).to_pylist()}
    assert prices["east"] == Decimal(17)
    # The night after is compared with what holds now: 16, 17, 17.
    assert moves(lake)[0] == ("02", "east", "price_up", "market")
    assert [move for move in moves(lake) if move[1] == "east"] == moves(lake)[:1]
    again = bring(lake, *write(), now=NOW + timedelta(hours=2))
    assert (again.snapshots, again.known) == (0, 4)
    # What was believed before stays answerable.
    known = lake.visible(known_at=NOW + timedelta(minutes=1))[2]
    assert known.scrape_id == second.supersedes


def test_a_file_that_was_mended_in_every_night_restates_each_once(
    tmp_path: Path, write: Callable[..., tuple[Told, Source]]
) -> None:
    lake, whole = new_lake(tmp_path / "s"), new_lake(tmp_path / "whole")
    bring(lake, *write(NIGHTS.replace(",8,east,od,1", ",8,east,od,3")))
    result = bring(lake, *write(), now=NOW + timedelta(hours=1))
    assert (result.restated, result.snapshots, result.known) == (4, 4, 0)
    for hours in (2, 3):
        again = bring(lake, *write(), now=NOW + timedelta(hours=hours))
        assert (again.restated, again.snapshots, again.known) == (0, 0, 4)
    bring(whole, *write())
    assert moves(lake) == moves(whole)


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_a_mended_file_whose_import_was_killed_restates_the_rest(
    tmp_path: Path, write: Callable[..., tuple[Told, Source]], steps: int
) -> None:
    """Also the night after the mended one, which was told against what holds no more."""
    lake = new_lake(tmp_path / "s")
    bring(lake, *write(NIGHTS.replace("02 01:00,NVIDIA H100 SXM5 80GB,8,east,od,17", "02 01:00,A100,8,east,od,99")))

    def killed(step: Any) -> None:
        if step.done == steps:
            raise KeyboardInterrupt

    told, source = write()
    with pytest.raises(KeyboardInterrupt):
        bring(lake, told, source, now=NOW + timedelta(hours=1), on_step=killed)
    result = bring(lake, told, source, now=NOW + timedelta(hours=2))
    assert result.restated == {1: 2, 2: 1, 3: 0}[steps]
    assert moves(lake)[0] == ("02", "east", "price_up", "market")
    assert [move for move in moves(lake) if move[1] == "east"] == moves(lake)[:1]
    assert bring(lake, told, source, now=NOW + timedelta(hours=3)).known == 4


def test_it_ends_where_our_own_looks_begin(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    lake = new_lake(tmp_path / "s")
    own = live(datetime(2026, 1, 2, tzinfo=UTC))
    lake.commit(own, offers_of(own))
    result = bring(lake, *write())
    assert (result.snapshots, result.overtaken) == (1, {"hyperbolic": 3})
    assert moves(lake) == []
    assert lake.last_accepted("hyperbolic").scrape_id == own.scrape_id  # type: ignore[union-attr]


def test_our_first_look_is_not_compared_with_it(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    lake = new_lake(tmp_path / "s")
    bring(lake, *write())
    own = live(NOW)
    assert history_of(lake, "hyperbolic").last is None
    assert changes_of(lake, own, offers_of(own), recorded_at=NOW) is None
    lake.commit(own, offers_of(own))
    lake.refresh()
    later = live(NOW + timedelta(days=1))
    assert changes_of(lake, later, offers_of(later), recorded_at=NOW) is not None


def live(at: datetime) -> Scrape:
    return Scrape(
        scrape_id=f"{at:%Y%m%dT%H%M%SZ}-hyperbolic-own",
        provider="hyperbolic",
        observed_at=at,
        recorded_at=at,
        origin="live",
        verdict="accepted",
        offers=1,
        rejects=0,
        withheld=0,
        schema_version=1,
    )


def offers_of(scrape: Scrape, **given: Any) -> Any:
    fields: dict[str, Any] = {
        "provider": scrape.provider,
        "offer_key": "hyperbolic:own",
        "observed_at": scrape.observed_at,
        "scrape_id": scrape.scrape_id,
        "origin": scrape.origin,
        "purchase": "on_demand",
        "currency": "USD",
        "price_unit": "instance-hour",
        "price": Decimal(2),
        "availability": "available",
    }
    return to_arrow([Offer(**{**fields, **given})], Offer)


def test_not_into_a_sample(tmp_path: Path) -> None:
    Lake.open(tmp_path / "s", origin="recording", create=True)
    with pytest.raises(StoreOriginError, match="live or sample, never both"):
        new_lake(tmp_path / "s")


def test_other_currencies_take_the_rate_of_their_day(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    lake = new_lake(tmp_path / "s")
    told, source = write(mapping=MAPPING.replace('"USD"', '"EUR"'))
    rates = [
        Rate(source="ecb", base="EUR", currency="USD", kind="reference", observed_at=NOW, origin="live", **given)
        for given in (
            {"day": date(2026, 1, 1), "rate": Decimal("1.10")},
            {"day": date(2026, 1, 2), "rate": Decimal("1.20")},
        )
    ]
    lake.append_rates(to_arrow(rates, Rate))
    bring(lake, told, source)
    seen = {
        f"{s.observed_at:%d}": next(r for r in lake.snapshot(s.scrape_id).to_pylist() if r["region"] == "east")
        for s in lake.visible()
    }
    assert seen["01"]["usd_per_hour"] == Decimal(16) * Decimal("1.1")
    assert seen["02"]["usd_per_hour"] == seen["03"]["usd_per_hour"] == Decimal(17) * Decimal("1.2")
    assert seen["03"]["rate_date"] == date(2026, 1, 2)


def test_impossible_and_contradicting_rows_are_held_back(
    tmp_path: Path, write: Callable[..., tuple[Told, Source]]
) -> None:
    good = "\n".join(f"2026-01-01,NVIDIA H100 SXM5 80GB,{n},east,od,{n}.00,64" for n in range(1, 120))
    twice = "2026-01-01,NVIDIA A100 80GB,1,east,od,1.00,64\n2026-01-01,NVIDIA A100 80GB,1,east,od,3.00,64"
    unread = "2026-01-01,NVIDIA L4,1,east,od,free,64"
    lake = new_lake(tmp_path / "s")
    result = bring(lake, *write(f"{good}\n{twice}\n{unread}"))
    assert (result.withheld, result.quarantined) == (2, 0)
    assert list(result.rejected.values()) == [1]
    (scrape,) = lake.visible()
    assert (scrape.verdict, scrape.withheld, scrape.rejects) == ("accepted_with_warnings", 2, 1)
    assert "free" in (scrape.rejected or "")
    flags = Counter(flag for row in lake.snapshot(scrape.scrape_id).to_pylist() for flag in row["flags"] or [])
    assert flags == {"key_in_conflict": 2, "withheld": 2}

    other = new_lake(tmp_path / "t")
    bad = bring(other, *write(twice))
    assert bad.quarantined == 1
    assert other.visible() == []


def test_declared_values() -> None:
    scrape = live(NOW)
    rows = offers_of(scrape, vram_gib=9999.0)
    judged = judge(rows)
    assert (judged.withheld, judged.verdict) == (1, "quarantined")
    assert json.loads(judged.checks_json)[1]["name"] == "declared"


# Catalogues.

GPUHUNT = """instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags
p5.48xlarge,us-east-1,98.32,192,2048.0,8,H100,80.0,False,,nvidia,
p5.48xlarge,us-east-1,30.10,192,2048.0,8,H100,80.0,True,,nvidia,
m5.large,us-east-1,0.096,2,8.0,0,,,False,,,
g5g.xlarge,us-east-1,0.42,4,8.0,1,T4G,16.0,False,,nvidia,arm
"""
GCP = """instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor
v5litepod-4,us-central1-a,4.8,112,192.0,4,v5litepod,16.0,False,,google
a3-highgpu-8g,us-central1-a,88.49,208,1872.0,8,H100,80.0,False,,nvidia
v2-8,us-central1-b,4.5,96,334.0,1,tpu-v2,16.0,False,,
"""


def test_gpuhunt(tmp_path: Path) -> None:
    for version, price in (("20260810-4711", "98.32"), ("20260811-4712", "55.04")):
        folder = tmp_path / "v3" / "aws" / version
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / "catalog.zip", "w") as whole:
            entry = zipfile.ZipInfo("aws.csv", (2026, 8, int(version[6:8]), 3, 30, 0))
            whole.writestr(entry, GPUHUNT.replace("98.32", price))
    old = tmp_path / "v1" / "20230801"
    old.mkdir(parents=True)
    with zipfile.ZipFile(old / "catalog.zip", "w") as whole:
        whole.writestr(zipfile.ZipInfo("gcp.csv", (2026, 1, 1, 0, 0, 0)), GCP)
        whole.writestr(zipfile.ZipInfo("notes.txt", (2026, 1, 1, 0, 0, 0)), "none of ours")
    lake = new_lake(tmp_path / "s")
    result = bring(lake, read_gpuhunt([tmp_path / "v3", tmp_path / "v1"]), source_of("gpuhunt"))
    assert (result.providers, result.snapshots) == (["aws", "gcp"], 3)
    assert result.skipped == {"no GPU": 2}
    assert [s.observed_at.isoformat() for s in lake.visible("aws")] == [
        "2026-08-11T03:30:00+00:00",
        "2026-08-10T03:30:00+00:00",
    ]
    # A zip that was packed years later says nothing of its prices' day; the version does.
    assert [s.observed_at.isoformat() for s in lake.visible("gcp")] == ["2023-08-01T00:00:00+00:00"]
    assert [kind for _, _, kind, _ in moves(lake)] == ["price_down"]
    rows = {(r["instance_type"], r["purchase"]): r for r in lake.snapshot(lake.visible("aws")[0].scrape_id).to_pylist()}
    p5 = rows["p5.48xlarge", "on_demand"]
    assert (p5["gpu"], p5["gpu_count"], p5["vram_gib"], p5["vcpus"], p5["ram_gib"]) == ("H100", 8, 80, 192, 2048)
    assert (p5["price"], p5["usd_per_gpu_hour"], p5["region"]) == (Decimal("55.04"), Decimal("6.88"), "us-east-1")
    assert rows["p5.48xlarge", "spot"]["price"] == Decimal("30.1")
    google = {r["instance_type"]: r for r in lake.snapshot(lake.visible("gcp")[0].scrape_id).to_pylist()}
    assert (google["a3-highgpu-8g"]["region"], google["a3-highgpu-8g"]["zone"]) == ("us-central1", "us-central1-a")
    assert google["v5litepod-4"]["gpu"] == "TPU v5e"
    assert google["v2-8"]["gpu"] == "TPU v2"
    assert "MPL-2.0" in (lake.visible()[0].note or "")


def test_files_together_are_the_files_one_by_one(tmp_path: Path) -> None:
    """Google's rows have a column that Amazon's lack; what is known of these does not depend on it."""
    (tmp_path / "aws.csv").write_text(GPUHUNT)
    (tmp_path / "gcp.csv").write_text(GCP)
    lake = new_lake(tmp_path / "s")
    assert bring(lake, read_gpuhunt([tmp_path / "aws.csv"], observed_at=NOW), source_of("gpuhunt")).snapshots == 1
    both = bring(lake, read_gpuhunt([tmp_path], observed_at=NOW), source_of("gpuhunt"))
    assert (both.snapshots, both.known) == (1, 1)


SKYPILOT = """InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice
cpu_4x_general,,,4.0,16.0,0.2,us-east-1,,
gpu_8x_a100_80gb_sxm4,A100-80GB-SXM,8.0,240.0,1800.0,14.32,us-east-1,"{'Gpus': [{'Name': 'A100'}]}",7.16
gpu_1x_h100_pcie,H100,1.0,26.0,200.0,,us-east-1,,
,L4,1.0,,,0.56,us-east-1,,0.2
"""


def test_skypilot(tmp_path: Path) -> None:
    folder = tmp_path / "2026-08-10" / "catalogs" / "v8" / "lambda"
    folder.mkdir(parents=True)
    (folder / "vms.csv").write_text(SKYPILOT)
    (folder / "images.csv").write_text("Tag,Region\n")
    (folder.parent / "scp").mkdir()
    (folder.parent / "scp" / "vms.csv").write_text(SKYPILOT)
    lake = new_lake(tmp_path / "s")
    result = bring(lake, read_skypilot([tmp_path / "2026-08-10"]), source_of("skypilot"))
    assert result.skipped == {
        "no GPU": 1,
        "price of the card without its machine": 1,
        "no price": 1,
        "scp is no provider that gpufare knows": 4,
    }
    (scrape,) = lake.visible()
    assert scrape.observed_at == datetime(2026, 8, 10, tzinfo=UTC)
    rows = {r["purchase"]: r for r in lake.snapshot(scrape.scrape_id).to_pylist()}
    assert {name: row["price"] for name, row in rows.items()} == {
        "on_demand": Decimal("14.32"),
        "spot": Decimal("7.16"),
    }
    assert (rows["spot"]["gpu"], rows["spot"]["vram_gib"], rows["spot"]["vcpus"]) == ("A100", 80.0, 240.0)


def test_what_no_catalogue_tells_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "lambda"
    folder.mkdir()
    (folder / "vms.csv").write_text(SKYPILOT)
    with pytest.raises(Unusable, match="nothing tells its day; name it with --observed-at"):
        read_skypilot([folder])
    at = datetime(2026, 8, 10, tzinfo=UTC)
    assert read_skypilot([folder], observed_at=at).table.num_rows == 2
    (tmp_path / "lamda.csv").write_text(GPUHUNT)
    with pytest.raises(Unusable, match="did you mean lambdalabs"):
        read_gpuhunt([tmp_path / "lamda.csv"], observed_at=at)
    assert read_gpuhunt([tmp_path / "lamda.csv"], "lambda", at).table["provider"][0].as_py() == "lambda"
    with pytest.raises(Unusable, match=r"stands in .* too; import one at a time"):
        read_gpuhunt([tmp_path / "lamda.csv", tmp_path / "lamda.csv"], "lambda", at)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("aws.csv", b"instance_name,price\na,1\n", "expected the column 'location'"),
        ("aws.csv", GPUHUNT.replace(",8,H100", ",many,H100").encode(), "gpu_count"),
        ("aws.csv", (GPUHUNT + "too,few\n").encode(), "Expected 12 columns"),
        ("aws.zip", b"PK no zip", "expected a zip"),
        ("aws.csv", GPUHUNT.replace("disk_size", "price").encode(), "expected once the column 'price'"),
        ("aws.csv", GPUHUNT.encode().replace(b"us-east-1", b"us-\xff"), "UTF8"),
        ("aws.csv.gz", gzip.compress(GPUHUNT.encode(), mtime=0)[:60], "expected a packed CSV"),
        ("aws.csv.gz", b"no gzip", "expected a packed CSV"),
        ("aws.parquet", b"", "expected .csv, .csv.gz or .zip"),
    ],
)
def test_files_that_are_none(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Unusable) as error:
        read_gpuhunt([tmp_path / name], "aws", NOW)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="found none"):
        read_gpuhunt([tmp_path])


def test_a_provider_that_nobody_knows(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    with pytest.raises(StoreError, match=r"'acmecloud' is not in providers\.toml"):
        bring(new_lake(tmp_path / "s"), *write(mapping=MAPPING.replace('"hyperbolic"', '"acmecloud"')))


# Mappings.


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('gpu_count = "n"', 'gpu_cuont = "n"', "unknown key columns.gpu_cuont; did you mean gpu_count?"),
        ('price = "usd"', "", "price is missing"),
        ('currency = "USD"', "", "currency is missing"),
        ('observed_at = "seen"', "", "file.observed_at must be a text"),
        ('licence = "CC-BY-4.0"', "", "source.licence must be a text"),
        ("[words.purchase]", "[words.zone]", "words.zone without columns.zone"),
        ('currency = "USD"', 'currency = "USD"\nprice = "1"', "price stands under columns and under constants"),
        ('place = ["test"]', 'place = "test"', "[skip] holds lists"),
        ("[source]", "[sources]", "unknown key sources; did you mean source?"),
        ('ram = "GiB"', 'vcpus = "GiB"', "units.vcpus without columns.vcpus"),
        ('provider = "hyperbolic"', 'provider = "hyperbolic"\ndelimiter = ";;"', "file.delimiter must be one sign"),
        ("[units]", "[units", "Expected ']'"),
    ],
)
def test_mappings_are_read_strictly(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = tmp_path / "m.toml"
    path.write_text(MAPPING.replace(old, new))
    with pytest.raises(MappingError) as error:
        load_mapping(str(path))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_mapping_nobody_knows() -> None:
    with pytest.raises(MappingError, match="karpenter-aws, karpenter-azure, karpenter-gcp"):
        load_mapping("karpenter")


def test_the_shipped_mappings_and_the_documented_one(tmp_path: Path) -> None:
    for name in shipped():
        assert provider(load_mapping(name).provider or "").slug in name
    _, start, example = (MAPPING_EXAMPLE or "").partition("[source]")
    (tmp_path / "m.toml").write_text(start + example)
    read_as, ours = load_mapping(str(tmp_path / "m.toml")), load_mapping("karpenter-aws")
    assert replace(read_as.source, version="") == replace(ours.source, version="")
    assert read_as.columns == ours.columns


def test_the_order_of_rows_does_not_matter(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    lake = new_lake(tmp_path / "s")
    bring(lake, *write())
    result = bring(lake, *write("\n".join(reversed(NIGHTS.strip().splitlines()))))
    assert (result.snapshots, result.known) == (0, 4)


def test_two_keepers_of_one_provider_are_named(tmp_path: Path, write: Callable[..., tuple[Told, Source]]) -> None:
    lake = new_lake(tmp_path / "s")
    bring(lake, *write())
    told, source = write("2025-12-30,L4,1,east,od,1,\n2026-01-02 05:00,L4,1,east,od,1,\n2026-02-02,L4,1,east,od,2,")
    result = bring(lake, told, replace(source, name="beta"))
    assert result.others == {"hyperbolic": {"acme"}}
    assert defaultdict(int, Counter(kind for _, _, kind, _ in moves(lake)))["price_up"] == 2  # each within its own

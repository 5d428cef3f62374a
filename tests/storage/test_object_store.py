"""A store behind `s3://`: a real S3 interface (moto's server, a process of its own) on loopback, real commands."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from flows.replay import replay
from gpufare.cli import main
from storage.compaction import compact, sweep
from storage.errors import NotFound, StoreError
from storage.filters import Filters
from storage.lake import Lake
from storage.query import offers
from storage.recordings import Recordings
from storage.stamp import stamp
from storage.verify import verify

pytestmark = pytest.mark.slow

pytest.importorskip("moto", reason="moto is not installed; make test installs it")

ROOT = Path(__file__).resolve().parents[2]
BUCKET = "ledger"
ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
}
PROVIDER, FIRST, SECOND = "hyperbolic", "2026-11-29-night", "2026-11-30-night"
DECEMBER = datetime(2026, 12, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Server:
    """A running S3 interface, what it wrote of each request, and a client that is none of ours."""

    endpoint: str
    log: Path
    client: Any

    def fetched(self) -> int:
        """How often a data file was asked for."""
        return sum('"GET ' in line and ".parquet" in line for line in self.log.read_text().splitlines())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    import boto3

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("s3") / "requests.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], stdout=out, stderr=out
        )
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline
                time.sleep(0.05)
        endpoint = f"http://127.0.0.1:{port}"
        client = boto3.client(
            "s3",
            endpoint_url=endpoint,
            aws_access_key_id=ACCOUNT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ACCOUNT["AWS_SECRET_ACCESS_KEY"],
            region_name=ACCOUNT["AWS_REGION"],
        )
        client.create_bucket(Bucket=BUCKET)
        yield Server(endpoint, log, client)
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture
def url(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty place in the bucket, told to deltalake in AWS's usual variables alone."""
    for name, value in {**ACCOUNT, "AWS_ENDPOINT_URL": server.endpoint}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GPUFARE_CACHE", str(tmp_path / "cache"))
    return f"s3://{BUCKET}/{tmp_path.name}"


def gpufare(url: str, *arguments: str) -> str:
    """What a command prints, in this process; it must succeed."""
    command = click.Command("gpufare", callback=lambda: main(["--data", url, *arguments]))
    result = CliRunner().invoke(command)
    assert result.exit_code == 0, result.output
    return result.stdout


def refresh_alone(url: str, night: str) -> None:
    """A refresh in a process of its own, told of the store by GPUFARE_DATA."""
    done = subprocess.run(
        [sys.executable, "-m", "gpufare", "refresh", PROVIDER, "--recorded", night],
        cwd=ROOT,
        env={**os.environ, "GPUFARE_DATA": url},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_every_command_works_as_on_a_folder(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same two nights into S3 and into a folder; both say the same, before and after compaction."""
    folder = str(tmp_path / "store")
    questions = (
        ("offers", "-o", "json"),
        ("changes", "-o", "json"),
        ("history", "--gpu", "H100", "-o", "json"),
        ("sql", "SELECT provider, count(*) AS n, sum(usd_per_gpu_hour) AS s FROM snapshots GROUP BY 1", "-o", "json"),
    )
    hidden = ("scrape_id", "previous_scrape_id", "change_id", "recorded_at")  # another run, other ids

    def plain(text: str) -> Any:
        found = json.loads(text)
        return [{k: v for k, v in row.items() if k not in hidden} for row in found["rows"]]

    def refreshed(store: str) -> None:
        for night in (FIRST, SECOND):
            refresh_alone(store, night)

    with ThreadPoolExecutor(2) as both:
        list(both.map(refreshed, (url, folder)))
    answers = {q: plain(gpufare(url, *q)) for q in questions}
    for question, rows in answers.items():
        assert rows, question
        assert rows == plain(gpufare(folder, *question))
    key = answers[questions[0]][0]["offer_key"]
    shown = gpufare(url, "show", key, "-o", "json")
    assert json.loads(shown)["rows"][0]["recording_sha256"] in set(Recordings.of(Lake.open(url)).hashes())
    monkeypatch.setattr("flows.replay.parser_version", lambda name: "another")  # so that the answers are really read
    (read,) = replay(url)
    assert (read.same, read.restated, read.failed) == (2, [], [])
    gpufare(url, "compact", "--everything", "--sweep")
    assert "whole" in gpufare(url, "verify")
    assert plain(gpufare(url, *questions[0])) == answers[questions[0]]
    assert not (ROOT / "s3:").exists()


WRITER = f"""
import sys, importlib.util
sys.path.insert(0, {str(ROOT)!r})
spec = importlib.util.spec_from_file_location("worlds", {str(Path(__file__).parent / "conftest.py")!r})
worlds = importlib.util.module_from_spec(spec)
sys.modules["worlds"] = worlds
spec.loader.exec_module(worlds)
world = worlds.World()
from storage.lake import Lake
store, name, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True); sys.stdin.readline()
lake = Lake.open(store, origin="recording", create=True)
once = {{"observed_at": world.at(1), "recorded_at": world.at(1)}}
for day in range(first, first + 3):
    rows = [world.offer(f"{{name}}{{i}}") for i in range(5)]
    world.put(lake, day, *rows, scrape_id=f"{{name}}-{{day}}", provider=name)
    same = world.scrape(day, scrape_id="both", provider="vultr", offers=1, **once)
    lake.commit(same, world.stamped(same, [world.offer("x", provider="vultr")]))
"""


def test_two_writers_at_once_lose_nothing_and_store_nothing_twice(world: Any, url: str) -> None:
    """Two processes make and fill one store; each also stores the other's scrape, three times."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, name, first],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name, first in (("lambda", "1"), ("nebius", "11"))
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:  # both are past their imports: let them go at once
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in running:
        _, errors = process.communicate(timeout=50)
        assert process.returncode == 0, errors
    lake = Lake.open(url)
    assert sorted(s.scrape_id for s in lake.scrapes()) == sorted(
        ["both", *(f"lambda-{d}" for d in range(1, 4)), *(f"nebius-{d}" for d in range(11, 14))]
    )
    assert all(lake.snapshot(s.scrape_id).num_rows == s.offers for s in lake.scrapes())
    report = verify(lake)
    assert report.whole, report.faults
    assert report.notes == []


def test_the_second_query_fetches_no_file_again(server: Server, world: Any, url: str) -> None:
    lake = Lake.open(url, origin="recording", create=True)
    for day in (1, 2):
        world.put(lake, day, world.offer(1, f"{day}.5"))
    before = server.fetched()
    first = offers(Lake.open(url), Filters(), now=world.at(3)).rows
    after = server.fetched()
    assert after > before
    assert offers(Lake.open(url), Filters(), now=world.at(3)).rows == first != []
    assert server.fetched() == after


def test_recordings_behind_the_interface(server: Server, world: Any, url: str) -> None:
    kept = Recordings.of(Lake.open(url, origin="recording", create=True))
    content = b'{"log": {"entries": []}}' + os.urandom(300_000).hex().encode()
    sha256 = kept.keep_bytes(content)
    assert kept.keep_bytes(content) == sha256
    assert kept.open(sha256) == content
    assert list(kept.hashes()) == [sha256]
    assert kept.verify() == []
    with pytest.raises(NotFound):
        kept.open("0" * 64)
    server.client.put_object(Bucket=BUCKET, Key=kept.where(sha256).removeprefix(f"s3://{BUCKET}/"), Body=b"other")
    assert "cannot be unpacked" in kept.verify()[0]


def test_compact_and_sweep(server: Server, world: Any, url: str) -> None:
    lake = Lake.open(url, origin="recording", create=True)
    for day in range(1, 6):
        world.put(lake, day, world.offer("moves", f"{2 + day / 10:.2f}"), world.offer("stays", "1.5"))

    def answers(reader: Lake) -> list[Any]:
        nights = [datetime(2026, 11, day, 12, tzinfo=UTC) for day in range(1, 6)]
        return [offers(reader, Filters(), now=DECEMBER, as_of=night).rows for night in nights]

    def objects() -> int:
        prefix = f"{url.removeprefix(f's3://{BUCKET}/')}/snapshots/month"
        return int(server.client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)["KeyCount"])

    reader = Lake.open(url)
    before = answers(reader)
    assert [month.done for month in compact(lake, DECEMBER)] == [True, True]
    assert answers(reader) == before  # the version that it opened
    assert objects() == 6
    assert sweep(Lake.open(url)) == []  # within the grace
    sweep(Lake.open(url), grace=timedelta(0))
    assert objects() == 1
    again = Lake.open(url)
    assert answers(again) == before
    assert len(again.files("snapshots")) == 1
    assert verify(again).whole


def test_verify_asks_the_store_and_not_the_cache(server: Server, world: Any, url: str) -> None:
    lake = Lake.open(url, origin="recording", create=True)
    world.put(lake, 1, world.offer(1))
    assert offers(lake, Filters(), now=world.at(2)).total == 1  # now its files are in the cache
    (file,) = lake.files("snapshots")
    key = file.path.removeprefix(f"s3://{BUCKET}/")
    content = server.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
    server.client.put_object(Bucket=BUCKET, Key=key, Body=content[: len(content) // 2])
    assert any(file.path in fault and "bytes" in fault for fault in verify(lake).faults)
    server.client.delete_object(Bucket=BUCKET, Key=key)
    assert any(file.path in fault for fault in verify(lake).faults)
    server.client.put_object(Bucket=BUCKET, Key=key, Body=content)
    assert verify(lake).whole


def test_a_bucket_that_is_not_there_is_one_line(url: str) -> None:
    with pytest.raises(StoreError) as said:
        Lake.open("s3://no-such-bucket/x", origin="recording", create=True)
    assert "no-such-bucket" in str(said.value)
    assert "\n" not in str(said.value)


def test_the_state_of_a_store_moves_with_each_commit(url: str) -> None:
    seen = [stamp(url)]
    for night in (FIRST, SECOND):
        gpufare(url, "refresh", PROVIDER, "--recorded", night)
        seen += [stamp(url)]
        assert stamp(url) == seen[-1]
    assert len(set(seen)) == 3

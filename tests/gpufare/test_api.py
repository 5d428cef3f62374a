"""REST over a real server on the loopback interface: rows, tags, refusals, a store that is being written."""

import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import httpx
import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import uvicorn

from gpufare import Ledger
from gpufare.commands.questions import ASKED, questions
from gpufare.commands.web import application
from schemas.offer import Offer
from storage.lake import Lake
from table.api import Kept
from table.jsontext import dumps
from table.view import View, rows_of

Ask = Callable[..., Any]
T = "2026-11-30T05:00Z"
Python = Callable[[Ledger], pa.Table]

# The command line's words, the address, and the call of Python: one question.
STORED: tuple[tuple[str, str, Python | None], ...] = (
    (f"offers --as-of {T}", f"offers?as_of={T}", lambda it: it.offers(as_of=T, arrow=True)),
    (f"offers H100 --as-of {T}", f"offers?gpu=H100&as_of={T}", lambda it: it.offers("H100", as_of=T, arrow=True)),
    (
        f"offers H100-SXM:8 --as-of {T}",
        f"offers?gpu=H100-SXM:8&as_of={T}",
        lambda it: it.offers("H100-SXM:8", as_of=T, arrow=True),
    ),
    (
        f"offers h100 4090 --in-stock --max-price 2 --as-of {T}",
        f"offers?gpu=h100&gpu=4090&in_stock=true&max_price=2&as_of={T}",
        lambda it: it.offers("h100", "4090", in_stock=True, max_price="2", as_of=T, arrow=True),
    ),
    (
        f"offers --vram 24..48 --count 1..4 --continent NA --as-of {T}",
        f"offers?vram=24..48&count=1..4&continent=NA&as_of={T}",
        lambda it: it.offers(vram="24..48", count="1..4", continent="NA", as_of=T, arrow=True),
    ),
    (
        f"offers rtx4090 --purchase any --sort price --limit 3 --as-of {T}",
        f"offers?gpu=rtx4090&purchase=any&sort=price&limit=3&as_of={T}",
        lambda it: it.offers("rtx4090", purchase="any", sort="price", limit=3, as_of=T, arrow=True),
    ),
    (
        f"offers V100 --sort spot --as-of {T}",
        f"offers?gpu=V100&sort=spot&as_of={T}",
        lambda it: it.offers("V100", sort="spot", as_of=T, arrow=True),
    ),
    (
        f"offers --country DE,CA --purchase spot,bid --as-of {T}",
        f"offers?country=DE,CA&purchase=spot&purchase=bid&as_of={T}",
        lambda it: it.offers(country="DE,CA", purchase="spot,bid", as_of=T, arrow=True),
    ),
    (
        f"offers --segment hyperscaler --fractional --as-of {T}",
        f"offers?segment=hyperscaler&fractional=1&as_of={T}",
        lambda it: it.offers(segment="hyperscaler", fractional=True, as_of=T, arrow=True),
    ),
    (
        f"offers H100 --disk 200 --provider vast,hyperbolic,lambda --as-of {T}",
        f"offers?gpu=H100&disk=200&provider=vast,hyperbolic,lambda&as_of={T}",
        lambda it: it.offers("H100", disk=200.0, provider="vast,hyperbolic,lambda", as_of=T, arrow=True),
    ),
    (
        "offers H100 --as-of 2026-11-29",
        "offers?gpu=H100&as_of=2026-11-29",
        lambda it: it.offers("H100", as_of="2026-11-29", arrow=True),
    ),
    ("changes", "changes", lambda it: it.changes(arrow=True)),
    (
        "changes H100 --provider hyperbolic --since 2026-11-30 --all",
        "changes?gpu=H100&provider=hyperbolic&since=2026-11-30&all=true",
        lambda it: it.changes("H100", provider="hyperbolic", since="2026-11-30", everything=True, arrow=True),
    ),
    (
        "diff 2026-11-29 2026-11-30",
        "diff?earlier=2026-11-29&later=2026-11-30",
        lambda it: it.diff("2026-11-29", "2026-11-30", arrow=True),
    ),
    (
        "history H100-SXM --count 8",
        "history?gpu=H100-SXM&count=8",
        lambda it: it.history("H100-SXM", count="8", arrow=True),
    ),
    (
        "history V100 --every day --until 2026-11-30 --purchase any",
        "history?gpu=V100&every=day&until=2026-11-30&purchase=any",
        lambda it: it.history("V100", every="day", until="2026-11-30", purchase="any", arrow=True),
    ),
    (
        "index H100-SXM --until 2026-11-30",
        "index?gpu=H100-SXM&until=2026-11-30",
        lambda it: it.index("H100-SXM", until="2026-11-30", arrow=True),
    ),
    (
        "index V100 --until 2026-11-30 --rows",
        "index?gpu=V100&until=2026-11-30&rows=true",
        lambda it: it.index("V100", until="2026-11-30", rows=True, arrow=True),
    ),
    (
        "stock rtx4090 --until 2026-11-30",
        "stock?gpu=rtx4090&until=2026-11-30",
        lambda it: it.stock("rtx4090", until="2026-11-30", arrow=True),
    ),
    (f"status --as-of {T}", f"status?as_of={T}", lambda it: it.status(as_of=T, arrow=True)),
    (
        f"fit --model 8b --method qlora --hours 6 --as-of {T}",
        f"fit?model=8b&method=qlora&hours=6&as_of={T}",
        None,
    ),
    (f"show hyperbolic:h100-8 --as-of {T}", f"offers/hyperbolic:h100-8?as_of={T}", None),
    (f"coverage H100 --as-of {T}", f"coverage?gpu=H100&as_of={T}", None),
    ("unmapped", "unmapped", None),
    ("gpus h100 --vram 80..", "gpus?gpu=h100&vram=80..", None),
    ("providers lambda --facts", "providers?provider=lambda&facts=true", None),
)


@contextmanager
def served(store: Path, **options: Any) -> Iterator[str]:
    """The address of a server over the store, in this process."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(application(str(store), **options), log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            until_answered(address)
            yield address
        finally:
            server.should_exit = True
            thread.join(10)


def until_answered(address: str) -> None:
    transport = httpx.HTTPTransport(retries=5)
    with httpx.Client(transport=transport) as client:
        assert client.get(f"{address}/api", timeout=20).status_code == 200


@pytest.fixture(scope="module")
def api(live: Path) -> Iterator[httpx.Client]:
    with served(live) as address, httpx.Client(base_url=f"{address}/api/", timeout=30) as client:
        yield client


def exact(text: str) -> Any:
    """JSON whose numbers are compared as they are written."""
    return json.loads(text, parse_float=Decimal)


@pytest.mark.parametrize(("words", "address", "python"), STORED, ids=[words for words, _, _ in STORED])
def test_C21_the_same_rows_by_command_line_REST_and_Python(
    ask: Ask, api: httpx.Client, live: Path, words: str, address: str, python: Python | None
) -> None:
    told = exact(ask(*words.split(), "-o", "json").out)
    answer = api.get(address)
    assert answer.status_code == 200, answer.text
    body = exact(answer.text)
    assert body["rows"] == told["rows"]
    assert body["schema"] == told["schema"]
    assert told["rows"]
    if python is not None:
        rows = exact(dumps(rows_of(python(Ledger(str(live))))))
        assert rows == told["rows"]


def test_C21_fit_answers_as_the_command_line_does(ask: Ask, api: httpx.Client) -> None:
    told = ask("fit", "--model", "8b", "--method", "qlora", "-o", "json")
    answer = api.get("fit?model=8b&method=qlora")
    assert answer.json()["rows"]
    assert answer.json()["schema"] == told.json["schema"]
    assert [without_age(row) for row in answer.json()["rows"]] == [without_age(row) for row in told.rows]


def without_age(row: dict[str, Any]) -> dict[str, Any]:
    """A live store grows older between two questions."""
    return {name: value for name, value in row.items() if name != "age_s"}


def test_C21_the_document_describes_every_question_and_its_rows(api: httpx.Client) -> None:
    document = api.get("openapi.json").json()
    assert set(document["paths"]) == {f"/api{asked.path}" for asked in ASKED.values()}
    assert all(list(operations) == ["get"] for operations in document["paths"].values())
    offers = document["paths"]["/api/offers"]["get"]
    by_name = {one["name"]: one for one in offers["parameters"]}
    assert {"gpu", "max_price", "in_stock", "as_of", "known_at", "limit", "output", "total_vram"} <= set(by_name)
    assert by_name["limit"]["schema"] == {
        "type": "integer", "minimum": 0, "maximum": 10000, "default": 10000,
        "description": "At most so many rows.", "title": "Limit", "examples": [50],
    }  # fmt: skip
    row = offers["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["rows"]["items"]
    assert row["properties"]["vram_gib"]["type"] == ["number", "null"]
    assert "GiB" in row["properties"]["vram_gib"]["description"]
    jsonschema.validate(api.get("offers", params={"as_of": T}).json()["rows"], {"type": "array", "items": row})


def test_C21_whatever_the_document_allows_is_answered_as_it_says(api: httpx.Client, tmp_path: Path) -> None:
    # What is no GPU, region or day is refused though its type is right: a schema cannot list every spelling.
    ran = subprocess.run(
        [
            *(Path(sys.executable).with_name("schemathesis"), "run", str(api.base_url.join("openapi.json"))),
            *(
                "--phases",
                "examples,fuzzing,stateful",
                "--max-examples",
                "6",
                "--seed",
                "1",
                "--generation-deterministic",
                "--no-color",
            ),
            *("--exclude-checks", "positive_data_acceptance", "--request-timeout", "30"),
        ],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=500,
    )
    assert ran.returncode == 0, ran.stdout
    assert "Tested: 13" in ran.stdout


def test_a_tag_holds_until_the_store_changes(tmp_path: Path, world: SimpleNamespace) -> None:
    lake = Lake.open(tmp_path / "data", origin="recording", create=True)
    world.store(lake, "lambda", world.SECOND, [world.sxm("lambda", "x1", per_gpu="2")])
    with served(tmp_path / "data") as address, httpx.Client(base_url=f"{address}/api/", timeout=30) as client:
        first = client.get("offers?gpu=H100")
        assert first.json()["notice"] == "SAMPLE, not market prices"
        assert first.headers["cache-control"] == "public, max-age=300"
        tag = first.headers["etag"]
        again = client.get("offers?gpu=H100", headers={"If-None-Match": f'"other", {tag}'})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        other = client.get("offers?gpu=A100", headers={"If-None-Match": tag})
        assert other.status_code == 200
        next_night = [world.sxm("lambda", "x1", per_gpu="3"), world.sxm("lambda", "x2", per_gpu="1")]
        world.store(lake, "lambda", world.SECOND + timedelta(days=1), next_night)
        moved = client.get("offers?gpu=H100", headers={"If-None-Match": tag})
        assert moved.status_code == 200
        assert [row["usd_per_gpu_hour"] for row in moved.json()["rows"]] == [1, 3]


def test_a_store_made_anew_is_another(tmp_path: Path, world: SimpleNamespace) -> None:
    import shutil

    data = tmp_path / "data"
    lake = Lake.open(data, origin="recording", create=True)
    world.store(lake, "lambda", world.SECOND, [world.sxm("lambda", "x1", per_gpu="2")])
    with served(data) as address:
        assert len(httpx.get(f"{address}/api/offers", timeout=30).json()["rows"]) == 1
        shutil.rmtree(data)
        gone = httpx.get(f"{address}/api/offers", timeout=30)
        assert gone.status_code == 503
        assert "gpufare refresh" in gone.json()["detail"]
        again = Lake.open(data, origin="recording", create=True)
        assert httpx.get(f"{address}/api/offers", timeout=30).json()["rows"] == []
        world.store(again, "lambda", world.SECOND, [world.sxm("lambda", "x9", per_gpu="9")])
        assert httpx.get(f"{address}/api/offers", timeout=30).json()["rows"][0]["usd_per_gpu_hour"] == 9


def test_many_who_ask_the_same_wait_for_one_answer() -> None:
    asked, started = [], threading.Event()
    kept = Kept(lambda: "state", "1", lambda: 0.0)

    def make() -> bytes:
        asked.append(1)
        started.wait(5)
        return b"answer"

    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(kept.answer("tag", make))) for _ in range(8)]
    for thread in threads:
        thread.start()
    started.set()
    for thread in threads:
        thread.join(10)
    assert (found, len(asked)) == ([b"answer"] * 8, 1)
    with pytest.raises(ZeroDivisionError):
        kept.answer("fails", lambda: bytes(1 // 0))
    assert kept.answer("fails", lambda: b"then well") == b"then well"


def test_the_tag_of_a_live_store_changes_as_ages_grow(live: Path) -> None:
    now = [0.0]
    kept = Kept(lambda: "state", "1", lambda: now[0])
    (question,) = [one for one in questions(str(live)) if one.name == "offers"]
    tags = []
    for now[0] in (0.0, 299.0, 300.0):
        tags.append(kept.tag(question, {"gpu": ["H100"]}))
    assert tags[0] == tags[1] != tags[2]


def test_answers_while_the_store_is_written_are_whole(tmp_path: Path, world: SimpleNamespace) -> None:
    lake = Lake.open(tmp_path / "data", origin="recording", create=True)
    nights = 12

    def night(number: int) -> None:
        rows = [world.sxm("lambda", f"x{i}", per_gpu=f"{number}.5") for i in range(1, 4)]
        world.store(lake, "lambda", world.SECOND + timedelta(hours=number), rows)

    night(1)
    writer = threading.Thread(target=lambda: [night(number) for number in range(2, nights + 1)])
    seen = []
    with served(tmp_path / "data") as address, httpx.Client(base_url=f"{address}/api/", timeout=30) as client:
        writer.start()
        while writer.is_alive():
            seen.append(client.get("offers"))
        writer.join()
        seen.append(client.get("offers"))
    assert {answer.status_code for answer in seen} == {200}
    prices = []
    for answer in seen:
        rows = answer.json()["rows"]
        assert len(rows) == 3  # a whole night, and one night alone
        assert len({row["scrape_id"] for row in rows}) == 1
        prices.append(rows[0]["usd_per_gpu_hour"])
    assert prices == sorted(prices)
    assert prices[-1] == nights + 0.5


@pytest.mark.parametrize(
    ("address", "status", "said"),
    [
        ("offers?gpu=H10O", 422, "no GPU 'H10O'; did you mean H100?"),
        ("offers?max-price=3", 422, "no parameter 'max-price'; did you mean max_price?"),
        ("offers?limit=10001", 422, "limit: Input should be less than or equal to 10000"),
        ("offers?limit=-1", 422, "limit: Input should be greater than or equal to 0"),
        ("offers?vram=wide", 422, "vram"),
        ("offers?in_stock=perhaps", 422, "in_stock: Input should be a valid boolean"),
        ("offers?output=xml", 422, "output: Input should be 'json', 'jsonl', 'csv' or 'parquet'"),
        ("offers?as_of=soon", 422, "write 2026-11-29"),
        ("offers?as_of=9999-12-31", 422, "outside the years 1970 to 2999"),
        ("changes?since=0001-01-01T00:00%2B14:00", 422, "write 2026-11-29"),
        ("index?gpu=H100&since=0001-01-01", 422, "outside the years"),
        ("offers?gpu=" + "x" * 201, 422, "gpu: String should have at most 200 characters"),
        ("offers?" + "gpu=H100&" * 101, 422, "gpu: List should have at most 100 items"),
        ("diff?earlier=2026-11-29", 422, "later is missing"),
        ("diff?earlier=2026-11-30&later=2026-11-29", 422, "did you mean"),
        ("index", 422, "Name a GPU"),
        ("fit?model=8b", 422, "--method"),
        ("fit?model=8b&method=qlora&config=/etc/passwd", 422, "no parameter 'config'"),
        ("fit?model=8b&method=qlora&from_csv=/etc/passwd", 422, "no parameter 'from_csv'"),
        ("offers?to=/tmp/x", 422, "no parameter 'to'"),
        ("offers/hyperbolic:h100-9", 404, "did you mean hyperbolic:h100-8?"),
        ("offres", 404, "/api lists what there is"),
    ],
)
def test_what_is_wrong_gets_its_right_form(api: httpx.Client, address: str, status: int, said: str) -> None:
    answer = api.get(address)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    body = answer.json()
    assert said in body["detail"]
    assert body["status"] == status
    assert "Traceback" not in answer.text
    assert "\n" not in body["detail"]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_it_is_read_only(api: httpx.Client, method: str) -> None:
    answer = api.request(method, "offers")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET")


def test_an_empty_store_and_none_say_what_to_run(empty: Path, tmp_path: Path) -> None:
    with served(tmp_path / "nothing") as address:
        answer = httpx.get(f"{address}/api/offers", timeout=30)
        assert answer.status_code == 503
        assert "run `gpufare refresh`" in answer.json()["detail"]
        assert httpx.get(f"{address}/api/gpus?gpu=H100", timeout=30).json()["rows"]  # needs no store
    with served(empty) as address:
        assert httpx.get(f"{address}/api/offers", timeout=30).json()["rows"] == []


def test_a_fault_of_ours_is_told_without_its_inside(live: Path) -> None:
    from table.api import app

    def fail(values: Any, output: str) -> View:
        raise RuntimeError("inside")

    asked = [replace(one, answer=fail) for one in questions(str(live))]
    whole = app(asked, stamp=lambda: "", version="1")
    transport = httpx.ASGITransport(app=whole, raise_app_exceptions=False)

    async def ask_once() -> httpx.Response:
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.get("/api/status")

    import anyio

    answer = anyio.run(ask_once)
    assert answer.status_code == 500
    assert "inside" not in answer.text
    assert answer.json()["title"] == "Internal Server Error"


def test_other_formats_hold_the_same_rows(api: httpx.Client, ask: Ask) -> None:
    asked = f"offers?gpu=H100&as_of={T}"
    csv = api.get(f"{asked}&output=csv")
    assert csv.headers["content-type"] == "text/csv; charset=utf-8"
    assert csv.text == ask("offers", "H100", "--as-of", T, "-o", "csv").out
    lines = api.get(f"{asked}&output=jsonl").text.splitlines()
    assert [json.loads(line) for line in lines] == api.get(asked).json()["rows"]
    table = pq.read_table(pa.BufferReader(api.get(f"{asked}&output=parquet").content))
    assert table["offer_key"].to_pylist() == [row["offer_key"] for row in api.get(asked).json()["rows"]]
    assert api.get("providers?output=parquet").status_code == 200  # every column is of one type
    few = api.get(f"{asked}&columns=gpu,price&limit=1").json()
    assert list(few["rows"][0]) == ["gpu", "price"]
    assert few["counts"]["total"] > few["counts"]["rows"] == 1


def test_B29_no_key_of_ours_is_told(live: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMBDA_API_KEY", "planted-4711")
    with served(live) as address, httpx.Client(base_url=f"{address}/api/", timeout=30) as client:
        for asked in ("providers", "providers?facts=true", "status", "offers", "openapi.json"):
            assert "planted-4711" not in client.get(asked).text


def test_what_may_not_be_passed_on_is_left_out_for_others(live: Path, api: httpx.Client) -> None:
    assert "vast" in {row["provider"] for row in api.get("offers").json()["rows"]}
    asked = {one.name: one for one in questions(str(live), for_others=True)}
    rows = asked["offers"].answer({}, "json").rows()
    assert {row["provider"] for row in rows} >= {"hyperbolic", "lambda"}
    assert "vast" not in {row["provider"] for row in rows}
    changes = asked["changes"].answer({}, "json").rows()
    assert "vast" not in {row["provider"] for row in changes}
    with pytest.raises(Exception, match="rows of vast may not be passed on"):
        asked["offers"].answer({"provider": ["vast"]}, "json")
    with pytest.raises(Exception, match="may not be passed on"):
        asked["show"].answer({"offer_key": "vast:secure"}, "json")


def test_the_published_pages_stand_beside_it(live: Path, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<title>pages</title>")
    (tmp_path / "changes.atom").write_text("<feed/>")
    with served(live, site=tmp_path) as address:
        page = httpx.get(f"{address}/")
        assert page.text == "<title>pages</title>"
        assert httpx.get(f"{address}/", headers={"If-None-Match": page.headers["etag"]}).status_code == 304
        assert httpx.get(f"{address}/none.html").status_code == 404
        assert httpx.get(f"{address}/changes.atom").headers["content-type"].startswith("application/atom+xml")
        assert httpx.get(f"{address}/..%2f..%2fetc/passwd").status_code == 404
        assert httpx.get(f"{address}/api/status").status_code == 200


def test_serve_runs_until_it_is_told_to_end(live: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gpufare", "--data", str(live), "serve", "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/api", line)
        assert address, line
        assert httpx.get(f"{address[0]}/offers", params={"gpu": "H100"}, timeout=30).json()["rows"]
        taken = urlsplit(address[0]).port
        second = subprocess.run([*command[:-1], str(taken)], capture_output=True, text=True, timeout=60)
        assert second.returncode == 2
        assert second.stderr.startswith(f"gpufare: 127.0.0.1:{taken}: Address already in use; name another")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert out == ""
        assert "Traceback" not in err
    finally:
        process.kill()


def test_what_the_answers_are_made_of_is_declared_once() -> None:
    """Every question is a command, and every option that a terminal or a file is not about can be asked for."""
    told = {one.name: {parameter.name for parameter in one.parameters} for one in questions("unused")}
    assert set(told) == set(ASKED)
    assert not {name for names in told.values() for name in names} & {"to", "zone", "config", "from_csv", "fail_empty"}
    assert {"gpu", "vram", "has", "direct", "disk", "sort", "explain"} <= told["offers"]
    assert ASKED["offers"].record is Offer

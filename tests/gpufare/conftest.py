"""A real store with two nights of a few providers, written by the real lake, and the real command line on it."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from gpufare.cli import main
from schemas.offer import Offer
from schemas.record import to_arrow
from schemas.scrape import Scrape
from storage.lake import Lake

FIRST = datetime(2026, 11, 29, 2, tzinfo=UTC)
SECOND = datetime(2026, 11, 30, 2, tzinfo=UTC)
THEN = "2026-11-30T05:00Z"
"""When the tests look at the store: three hours after the second night."""
CANADA = {"country": "CA", "region": "ca-east-1"}
HOSTILE = "\x1b[2Jus|east\u202e[bold]<b>\n=1"


def offer(provider: str, key: str, **facts: Any) -> Offer:
    """One offer at `per_gpu` dollars per GPU-hour (None: no price is told), with what the caller says of it."""
    count = facts.pop("gpu_count", 1.0)
    per_gpu = facts.pop("per_gpu")
    amount = None if per_gpu is None else Decimal(str(per_gpu))
    whole = None if amount is None else amount * Decimal(str(count or 1))
    told = {
        "vendor": "nvidia",
        "region": "us-east-1",
        "country": "US",
        "availability": "available",
        "origin": "recording",
    }
    prices = {"price": whole, "usd_per_hour": whole, "usd_per_gpu_hour": amount}
    return Offer(
        **{
            "provider": provider,
            "offer_key": f"{provider}:{key}",
            "observed_at": SECOND,
            "scrape_id": "",
            "accelerator_raw": facts.get("gpu"),
            "gpu_count": count,
            "purchase": "on_demand",
            "origin": "recording",
            "currency": "USD",
            "price_unit": "instance-hour",
            "source_url": f"https://{provider}.example/prices",
            "recording_sha256": "ab" * 32,
            **told,
            **prices,
            **facts,
        }
    )


def sxm(provider: str, key: str, **facts: Any) -> Offer:
    return offer(provider, key, **{"gpu": "H100", "form_factor": "SXM", "vram_gib": 80.0, **facts})


def second_night() -> dict[str, list[Offer]]:
    """What each provider offers on the second night."""
    pcie = {"gpu": "H100", "form_factor": "PCIe", "vram_gib": 80.0}
    card = {"gpu": "RTX 4090", "form_factor": "PCIe", "vram_gib": 24.0, "segment": "marketplace"}
    v100 = {"gpu": "V100", "form_factor": "SXM", "vram_gib": 16.0, "segment": "hyperscaler"}
    pro = {"gpu": "RTX PRO 6000", "vram_gib": 96.0, "gpu_count": 1.0, "segment": "hyperscaler"}
    return {
        "hyperbolic": [
            *(sxm("hyperbolic", f"h100-{n}", gpu_count=float(n), per_gpu="2.15") for n in (1, 2, 4)),
            sxm("hyperbolic", "h100-8", gpu_count=8.0, per_gpu="1.6568"),
            offer(
                "hyperbolic", "pcie", **pcie, per_gpu="1.9", availability="limited", country="CA", region="ca-east-1"
            ),
            offer("hyperbolic", "4090", **card, per_gpu="0.25", availability="sold_out"),
        ],
        "lambda": [
            offer("lambda", "pcie", **pcie, per_gpu="2.49", availability="unknown", region=None, country=None),
            sxm("lambda", "x8", gpu_count=8.0, per_gpu="2.99", availability="unknown", region=None, country=None),
            sxm(
                "lambda",
                "year",
                gpu_count=8.0,
                per_gpu="1.5",
                purchase="reserved",
                term_months=12,
                upfront=Decimal(1000),
                min_gpu_count=16,
            ),
            offer("lambda", "a100", gpu="A100", form_factor="SXM", vram_gib=40.0, per_gpu="1.29"),
            offer("lambda", "nvl", gpu="H100", form_factor="NVL", vram_gib=94.0, per_gpu="2.6"),
        ],
        "vast": [
            offer(
                "vast",
                "community",
                **card,
                per_gpu="0.29",
                tier="community",
                region="Quebec, CA",
                country="CA",
                ram_gib=16000 / 1024,
            ),
            offer(
                "vast", "secure", **card, per_gpu="0.41", tier="secure", region="Quebec, CA", country="CA", ram_gib=16.0
            ),
            offer("vast", "bid", **card, per_gpu="0.0041", tier="community", purchase="bid", country="DE", region="DE"),
            offer(
                "vast",
                "hostile",
                **card,
                per_gpu="0.35",
                tier=HOSTILE,
                region=HOSTILE,
                country=None,
                ram_gib=15000 / 1024,
            ),
            offer("vast", "odd", gpu=None, vendor=None, accelerator_raw="Zeta 9000 \x1b[31m", per_gpu="0.2"),
        ],
        "aws": [
            *(
                offer("aws", f"v100-{place}-{buy}", **v100, per_gpu=price, purchase=buy, region=place, country=country)
                for place, country, ondemand, spot in (
                    ("us-central-1", "US", "2.953", "1.037"),
                    ("ap-east-1", "HK", "3.1", "0.811"),
                    ("eu-west-1", "IE", "3.305", "0.99"),
                )
                for buy, price in (("on_demand", ondemand), ("spot", spot))
            ),
            offer("aws", "v100x4", **v100, gpu_count=4.0, per_gpu="2.9"),
            offer("aws", "null", **pcie, instance_type="Standard_NC40ads", per_gpu=None),
            offer("aws", "g4-48", **pro, instance_type="g4-standard-48", per_gpu="4.49993"),
            offer("aws", "g4-6", **pro, instance_type="g4-standard-6", per_gpu="1.51825"),
            offer("aws", "mig", gpu="A100", form_factor="SXM", vram_gib=40.0, gpu_count=0.125, per_gpu="1.2"),
        ],
        "scaleway": [
            sxm(
                "scaleway",
                "eur",
                per_gpu="1.2",
                price=Decimal("1.0345"),
                currency="EUR",
                rate_date=date(2026, 11, 25),
                country="FR",
                region="fr-par-2",
            )
        ],
    }


def first_night() -> dict[str, list[Offer]]:
    """The night before: one price higher, one lower, one offer not yet there, one still there, one in stock."""
    nights = second_night()
    nights["hyperbolic"] = [o for o in nights["hyperbolic"] if o.offer_key != "hyperbolic:h100-4"]
    for o in nights["hyperbolic"]:
        if o.offer_key == "hyperbolic:h100-8":
            o.price = o.usd_per_hour = Decimal("16")
            o.usd_per_gpu_hour = Decimal(2)
        if o.offer_key == "hyperbolic:4090":
            o.availability = "available"
    nights["hyperbolic"].append(sxm("hyperbolic", "gone", per_gpu="2.5"))
    return nights


def scrape(provider: str, at: datetime, offers: list[Offer] | None = None, **facts: Any) -> Scrape:
    """The row of one attempt; without offers it failed."""
    failed = offers is None
    return Scrape(
        **{
            "scrape_id": f"{at:%Y%m%dT%H%M%SZ}-{provider}",
            "provider": provider,
            "observed_at": at,
            "recorded_at": at + timedelta(minutes=1),
            "duration_s": 2.5,
            "origin": "recording",
            "verdict": "failed" if failed else "accepted",
            "error_class": "Blocked" if failed else None,
            "error": "403 from the provider" if failed else None,
            "offers": 0 if offers is None else len(offers),
            "rejects": 0,
            "withheld": 0,
            "schema_version": 1,
            "code_version": "0.1.0",
            "parser_version": "parser000001",
            "normaliser_version": "normal000001",
            "recording_sha256": "ab" * 32,
            **facts,
        }
    )


def store(lake: Lake, provider: str, at: datetime, offers: list[Offer] | None, **facts: Any) -> None:
    """Commit one attempt with the changes to the one before, as a refresh does."""
    from schemas.providers import Provider
    from storage import changes

    row = scrape(provider, at, offers, **facts)
    if offers is None:
        lake.commit(row)
        return
    for one in offers:
        one.observed_at, one.scrape_id, one.origin = at, row.scrape_id, row.origin
    table = to_arrow(offers, Offer)
    previous = lake.last_accepted(provider, before=at)
    moved = None
    if previous is not None:
        moved = changes.compare(
            lake.snapshot(previous.scrape_id),
            table,
            previous_scrape=previous,
            scrape=row,
            provider=Provider(slug=provider, title=provider, homepage="", segment="neocloud"),
            recorded_at=row.recorded_at,
        )
    lake.commit(row, table, moved)


def fill(path: Path, origin: str = "recording") -> Path:
    """Two nights: all well on the first; on the second nebius is blocked; scaleway has been silent for days."""
    lake = Lake.open(path, origin=origin, create=True)
    long_ago = FIRST - timedelta(days=3)
    for provider, offers in first_night().items():
        store(lake, provider, long_ago if provider == "scaleway" else FIRST, offers, origin=origin)
    store(lake, "nebius", FIRST, [sxm("nebius", "eu", per_gpu="2.2", country="FI", region="eu-north1")], origin=origin)
    for provider, offers in second_night().items():
        if provider != "scaleway":
            odd = {"unmapped": json.dumps({"Zeta 9000 \x1b[31m": 1})} if provider == "vast" else {}
            store(lake, provider, SECOND, offers, origin=origin, **odd)
    store(lake, "nebius", SECOND, None, origin=origin)
    return path


@pytest.fixture(scope="session")
def world() -> SimpleNamespace:
    """The builders above, for tests that make a store of their own."""
    return SimpleNamespace(SECOND=SECOND, HOSTILE=HOSTILE, sxm=sxm, offer=offer, store=store)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sample store, to be read only."""
    return fill(tmp_path_factory.mktemp("sample") / "data")


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows as if they were the market's, to be read only."""
    return fill(tmp_path_factory.mktemp("live") / "data", "live")


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which nothing has been stored yet."""
    path = tmp_path_factory.mktemp("empty") / "data"
    Lake.open(path, origin="live", create=True)
    return path


@dataclass(frozen=True)
class Answer:
    """What the command line said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        assert self.code == 0, self.err
        answer: dict[str, Any] = json.loads(self.out)
        return answer

    @property
    def rows(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.json["rows"]
        return rows

    @property
    def keys(self) -> list[str]:
        return [row["offer_key"].partition(":")[2] for row in self.rows]


Ask = Callable[..., Answer]


@pytest.fixture
def ask(live: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """The command line, its own `main`, on the live store or on `data`."""
    monkeypatch.setenv("GPUFARE_CONFIG", "/nonexistent/enabled.json")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("LC_ALL", "C")

    def run(*arguments: str, data: Path | None = None, stdin: str | bytes | None = None) -> Answer:
        import click

        command = click.Command("gpufare", callback=lambda: main(["--data", str(data or live), *arguments]))
        result = CliRunner().invoke(command, input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Answer(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def offers(ask: Ask) -> Ask:
    """`gpufare offers ... -o json` three hours after the second night."""

    def run(*arguments: str, data: Path | None = None) -> Answer:
        return ask("offers", *arguments, "--as-of", THEN, "-o", "json", data=data)

    return run


@pytest.fixture(scope="session")
def shell() -> Callable[..., subprocess.CompletedProcess[str]]:
    """A command line in a shell, with `gpufare` on its path."""

    def run(line: str, env: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
        import os

        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        start = f'gpufare() {{ "{sys.executable}" -m gpufare "$@"; }}; '
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", start + line],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(Path(__file__).parents[2]), **env},
            timeout=60,
        )

    return run

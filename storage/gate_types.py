"""What the gate takes and gives, and the table of its checks with their bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow as pa

Outcome = Literal["ok", "warn", "withhold", "quarantine"]
Verdict = Literal["accepted", "accepted_with_warnings", "quarantined", "failed"]

# No rental price: the width of what a price of one GPU for one hour can be at all, in USD. Below lies no known offer of
# even a quarter-century-old card, above lies what is no hourly price (cents, months, whole clusters).
SANE_USD_PER_GPU_HOUR = (0.001, 200.0)
BAND = (0.1, 10.0)  # times the median of the card in its segment
WIDE_BAND = (0.02, 50.0)  # times the median of the card over all providers
INTERRUPTIBLE = ("spot", "bid")
INTERRUPTIBLE_SUFFIX = " interruptible"
SEGMENT_SIGN = " at a "
BAND_EVIDENCE = 5  # offers of the card that must be known before its median says anything
COUNT_BAND = 0.40
COUNT_MEMORY = 7
JUMP = 2.0
SPIKE = 5.0  # a price that moves by more than this factor at once is held back until it is seen twice
SAME_PRICE = 0.01
SHIFT_SHARE = 0.80
SHIFT_SPREAD = 0.02  # cents round: factors this near to the middle one count as one factor
SHIFT_LEAST = 0.01
SHIFT_ROWS = 3
WITHHELD_SHARE = 0.02
PER_GPU_RATIO = (0.5, 2.0)
REJECTS_WARN, REJECTS_QUARANTINE = 0.02, 0.20
CURRENCY_SHARE = 0.02
COVERAGE_DROP = 0.30
CONFIRMATIONS = 2
CONFIRM_FACTOR = (0.5, 2.0)
CONFIRM_SPREAD = 0.05
SAME_VRAM = 0.07
# Seconds in a minute, GPUs in a node, hours in a day or month, cents: a table that moves by one of these was misread.
UNIT_FACTORS = (2, 4, 8, 16, 12, 24, 30, 60, 100, 720, 730, 744, 1000, 1024, 3600, 8760)
UNIT_SPREAD = 0.01


@dataclass(frozen=True, slots=True)
class Check:
    """A named check: what it means, its bound in words, the worst it can do."""

    name: str
    means: str
    bound: str
    worst: Outcome | Literal["failed"]


CHECKS: tuple[Check, ...] = (
    Check("finished", "the crawl ended by itself and without an error", "yes", "failed"),
    Check("not_empty", "at least one offer came", ">= 1, unless `allow_empty`", "quarantine"),
    Check("declared", "every value is what its column declares", "0 rows off", "withhold"),
    Check("unique_keys", "an offer key stands once; identical rows are merged", "0 in conflict", "quarantine"),
    Check("count_in_limits", "number of offers", "`offers_min` to `offers_max`", "quarantine"),
    Check("count_drop", "number of offers over the median of the last 7 accepted", "0.60 to 1.40", "quarantine"),
    Check("field_coverage", "share of offers in which a column is known", "`coverage`", "quarantine"),
    Check(
        "price_range",
        "price of one GPU-hour",
        "0.1 to 10 times the card's median in its segment, 0.02 to 50 overall; 0.001 to 200 USD",
        "withhold",
    ),
    Check("price_jump", "price over the last one", "0.5 to 2 flagged; beyond 0.2 to 5 until seen twice", "withhold"),
    Check("uniform_shift", "prices that move by one factor", "at most 80 %", "quarantine"),
    Check("currency_changed", "offers whose currency is another than before", "at most 2 %", "quarantine"),
    Check("per_gpu_consistency", "price per GPU of a node over that of the single card", "0.5 to 2", "warn"),
    Check("spot_above_on_demand", "spot prices above the on-demand price of the same shape", "0", "warn"),
    Check("vram_known", "memory is a size that the card is made with", "within 7 %; under half: held back", "withhold"),
    Check("known_gpus", "offers whose accelerator is not in the table", "0", "warn"),
    Check("few_rejects", "share of records that could not be read", "2 % warns, 20 % quarantines", "quarantine"),
)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One check's number in one scrape. `value` is null where there was nothing to measure."""

    name: str
    value: float | None
    bound: str
    outcome: Outcome
    detail: str | None = None


def checks_json(checks: Sequence[CheckResult]) -> str:
    """The checks as `Scrape.checks` keeps them."""
    return json.dumps([asdict(check) for check in checks], separators=(",", ":"))


def checks_from_json(text: str | None) -> list[CheckResult]:
    """The reverse of `checks_json`; nothing where nothing was kept."""
    return [CheckResult(**check) for check in json.loads(text or "[]")]


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlFacts:
    """How the crawl went: did it end by itself, which error, records that came, records that could not be read."""

    finished: bool
    error_class: str | None = None
    error: str | None = None
    records: int = 0
    rejects: int = 0
    unmapped: int = 0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a card's price: median in USD per GPU-hour, over how many offers."""

    median: float
    offers: int


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A scrape that still waits: the checks that held it back, each with its number."""

    scrape_id: str
    observed_at: datetime
    factors: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What earlier scrapes say.

    row_counts: offers of the last accepted scrapes, newest first, at most seven.
    last: the last accepted snapshot as stored, withheld rows too. reference: the same, but a row that was withheld or
    came without a price gives way to its last good one; what is compared against.
    quarantined: scrapes since the last accepted one that nobody decided on, oldest first.
    evidence: per card, and per card and segment, over all providers' current offers. rates: USD for one unit of a
    currency.
    """

    row_counts: tuple[int, ...] = ()
    last: pa.Table | None = None
    reference: pa.Table | None = None
    quarantined: tuple[Quarantined, ...] = ()
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    rates: Mapping[str, Decimal] = field(default_factory=dict)

    @property
    def known(self) -> pa.Table | None:
        """The table to compare with."""
        return self.reference if self.reference is not None else self.last


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, every check, the offers with what was found in `flags`, and how many of them are withheld.

    `offers` is what is to be stored: duplicates merged; empty where the crawl failed.
    """

    verdict: Verdict
    checks: list[CheckResult]
    offers: pa.Table
    withheld: int

    @property
    def checks_json(self) -> str:
        """The checks as `Scrape.checks` keeps them."""
        return checks_json(self.checks)


@dataclass(frozen=True, slots=True)
class Finding:
    """Rows in which a check found something odd: the flag they get, and whether they are held back."""

    rows: pa.Array  # bool
    flag: str
    withhold: bool = False

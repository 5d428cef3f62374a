"""Words of others into the store: normalised, checked, cut into snapshots, compared with one another, committed.

The same offer stands in snapshot after snapshot with the same words. So each distinct row is normalised once, in the
one place that knows how, and snapshots are taken from the results by Arrow.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from functools import cached_property
from typing import TYPE_CHECKING

from schemas.facts import facts_version
from schemas.normalise import Context, Rates, normalise, normaliser_version
from schemas.offer import SCHEMA_VERSION, Offer
from schemas.providers import Provider, providers
from schemas.rate import usd_rates
from schemas.raw_offer import RawOffer
from schemas.record import to_arrow
from schemas.scrape import Scrape
from storage import gate_rows
from storage.arrow import SEPARATOR, count
from storage.changes import compare
from storage.errors import StoreError
from storage.flags import WITHHELD, has_flag, with_findings
from storage.gate import too_many_withheld
from storage.gate_types import CheckResult, Finding, Judgement, Verdict
from storage.imports.told import OBSERVED, PROVIDER, Source, Told
from storage.lake import Lake

if TYPE_CHECKING:
    import pyarrow as pa

ORIGIN = "import"
RUN = "import:"
REJECTS_KEPT = 20
WHOLE = ("term_months", "min_gpu_count", "billing_increment_s", "minimum_billing_s", "available_count")
YES_NO = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class Step:
    """Progress: so many of all snapshots of a provider are through."""

    provider: str
    done: int
    total: int


@dataclass(slots=True)
class Imported:
    """What became of an import.

    snapshots: stored now; known: were there before; restated: stored now in the place of others of the same instant.
    overtaken: not stored, since they lie after the provider's first scrape of our own. skipped: rows that are no offers
    of ours, by reason. rejected: rows that could not be read, by reason. others: other sources whose snapshots of the
    provider lie between these.
    """

    snapshots: int = 0
    known: int = 0
    restated: int = 0
    overtaken: Counter[str] = field(default_factory=Counter)
    quarantined: int = 0
    offers: int = 0
    withheld: int = 0
    changes: int = 0
    first: datetime | None = None
    last: datetime | None = None
    providers: list[str] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    unmapped: Counter[str] = field(default_factory=Counter)
    others: dict[str, set[str]] = field(default_factory=dict)


def take_in(
    lake: Lake,
    told: Told,
    source: Source,
    *,
    now: datetime,
    code_version: str | None = None,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Imported:
    """Store what is told, one scrape per provider and instant, oldest first; what is there already is not stored again.

    A killed import goes on where it ended. `now` is when we came to believe it. Raises StoreError.
    """
    import pyarrow.compute as pc

    result = Imported(skipped=+told.skipped)
    facts = providers()
    for slug in sorted(pc.unique(told.table[PROVIDER]).to_pylist(), key=str):
        if slug not in facts:
            raise StoreError(
                f"provider {slug!r} is not in providers.toml, known are `gpufare providers`; nothing of it was stored"
            )
        rows = told.table.filter(pc.equal(told.table[PROVIDER], slug))
        _Run(lake, facts[slug], source, now=now, code_version=code_version, result=result).take(rows, on_step)
        result.providers.append(slug)
    return result


class _Run:
    """The import of one provider."""

    def __init__(
        self,
        lake: Lake,
        facts: Provider,
        source: Source,
        *,
        now: datetime,
        code_version: str | None,
        result: Imported,
    ) -> None:
        self.lake, self.facts, self.source = lake, facts, source
        self.now, self.code_version, self.result = now, code_version, result
        self.slug = facts.slug

    def take(self, rows: pa.Table, on_step: Callable[[Step], None]) -> None:
        read = _Read(rows, self.facts, Rates(usd_rates(self.lake.rates())))
        snapshots = list(read.snapshots())
        visible = self.lake.visible(self.slug)
        own = [scrape.observed_at for scrape in visible if scrape.origin != ORIGIN]
        begun = min(own, default=None)
        mine = {s.observed_at: s for s in visible if s.run_id == RUN + self.source.name}
        others = {s.run_id or "": s.observed_at for s in visible if s.origin == ORIGIN and s.observed_at not in mine}
        between = {run.removeprefix(RUN) for run, at in others.items() if snapshots[0][0] <= at <= snapshots[-1][0]}
        if between:
            self.result.others[self.slug] = between
        ids = {scrape.scrape_id for scrape in self.lake.scrapes(self.slug)}
        # What an earlier import brought later than all of these stays compared as it is.
        settled = [at for at in mine if at > snapshots[-1][0]]
        before: tuple[Scrape, pa.Table] | None = None
        restated: Scrape | None = None  # the snapshot just before, where other words took the place of its own
        for i, (at, codes) in enumerate(snapshots):
            named = f"{at:%Y%m%dT%H%M%SZ}-{self.slug}-import-"
            plain_id = scrape_id = f"{named}{read.digest(self.source.name, codes)}"
            older = mine.get(at)
            # What was told before the one before it was restated, now or by an import that was killed, is told anew.
            overdue = restated and older and (restated.scrape_id not in ids or restated.recorded_at > older.recorded_at)
            if restated and overdue and plain_id in ids:
                scrape_id = f"{named}{read.digest(self.source.name + restated.scrape_id, codes)}"
            if begun is not None and at >= begun:
                self.result.overtaken[self.slug] += 1
            elif scrape_id in ids:
                self.result.known += 1
                before = None  # asked of the store when the next one is new
            else:
                scrape = self._scrape(scrape_id, at, older)
                before = self._store(read, codes, scrape, before or self._stored_before(mine, at), fills=bool(settled))
                if before:
                    mine[before[0].observed_at] = before[0]
            held = mine.get(at)
            restated = held if held and held.supersedes and held.scrape_id == plain_id else None
            on_step(Step(self.slug, i + 1, len(snapshots)))
        self.result.rejected.update(read.rejected)
        self.result.unmapped.update(read.unmapped)

    def _stored_before(self, mine: dict[datetime, Scrape], at: datetime) -> tuple[Scrape, pa.Table] | None:
        earlier = [seen for seen in mine if seen < at]
        if not earlier:
            return None
        scrape = mine[max(earlier)]
        self.lake.refresh()
        return scrape, self.lake.snapshot(scrape.scrape_id)

    def _scrape(self, scrape_id: str, at: datetime, older: Scrape | None) -> Scrape:
        return Scrape(
            scrape_id=scrape_id,
            provider=self.slug,
            run_id=RUN + self.source.name,
            observed_at=at,
            recorded_at=self.now,
            origin=ORIGIN,
            verdict="accepted",
            note=self.source.note,
            offers=0,
            rejects=0,
            withheld=0,
            schema_version=SCHEMA_VERSION,
            code_version=self.code_version,
            parser_version=hashlib.sha256(f"{self.source.name} {self.source.version}".encode()).hexdigest()[:12],
            normaliser_version=normaliser_version(),
            facts_version=facts_version(),
            supersedes=older.scrape_id if older else None,
        )

    def _store(
        self,
        read: _Read,
        codes: pa.Array,
        scrape: Scrape,
        before: tuple[Scrape, pa.Table] | None,
        *,
        fills: bool,
    ) -> tuple[Scrape, pa.Table] | None:
        """The snapshot that the next one is compared with: this one, unless it is held back."""
        offers, rejects = read.offers(codes, scrape.observed_at, scrape.scrape_id)
        judged = judge(offers)
        scrape = replace(
            scrape,
            verdict=judged.verdict,
            checks=judged.checks_json,
            offers=judged.offers.num_rows,
            withheld=judged.withheld,
            rejects=len(rejects),
            rejected=json.dumps(rejects[:REJECTS_KEPT], ensure_ascii=False) if rejects else None,
        )
        changes = None
        if before is not None and not fills and judged.verdict != "quarantined":
            previous, table = before
            changes = compare(
                table,
                judged.offers,
                previous_scrape=previous,
                scrape=replace(scrape, supersedes=None),  # restated or not, the market moved between the two
                provider=self.facts,
                recorded_at=self.now,
            )
            changes = with_reach(changes, table, judged.offers)
        self.lake.commit(scrape, judged.offers, changes)
        result = self.result
        result.snapshots += 1
        result.restated += scrape.supersedes is not None
        result.quarantined += judged.verdict == "quarantined"
        result.offers += judged.offers.num_rows
        result.withheld += judged.withheld
        result.changes += changes.num_rows if changes is not None else 0
        result.first = min(filter(None, (result.first, scrape.observed_at)))
        result.last = max(filter(None, (result.last, scrape.observed_at)))
        return before if judged.verdict == "quarantined" else (scrape, judged.offers)


class _Read:
    """The rows of one provider, each distinct one normalised once."""

    def __init__(self, rows: pa.Table, facts: Provider, rates: Rates) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        self.rejected: Counter[str] = Counter()
        self.unmapped: Counter[str] = Counter()
        self.rows = rows.sort_by(OBSERVED)
        names = [name for name in rows.column_names if name not in {PROVIDER, OBSERVED}]
        keyed = self.rows.select(names)
        # What is not in USD is converted at the rate of its day.
        day = pc.strftime(self.rows[OBSERVED], format="%Y-%m-%d")
        in_usd = pc.all(pc.equal(pc.utf8_upper(self.rows["currency"]), "USD")).as_py()
        if not in_usd:
            keyed = keyed.append_column("_day", day)
        coded = _keys(keyed).dictionary_encode()
        self.codes = coded.indices
        self.hashes = [hashlib.sha256(text.encode()).digest() for text in coded.dictionary.to_pylist()]
        numbered = pa.array(range(len(coded.dictionary)), coded.indices.type)
        first = pc.index_in(numbered, value_set=coded.indices)  # of equal values the first place
        self.distinct = keyed.take(first)
        self.facts, self.rates = facts, rates
        self.reasons: dict[int, dict[str, object]] = {}

    @cached_property
    def normalised(self) -> tuple[pa.Table, pa.Array]:
        """The distinct rows as offers, and where each stands among these; null where it was rejected. Made on use: an
        import that adds nothing must not pay for it.
        """
        import pyarrow as pa

        places: list[int | None] = [None] * self.distinct.num_rows
        offers: list[Offer] = []
        for at, numbers, records in _by_day(self.distinct, self.rows[OBSERVED][0].as_py()):
            context = Context(self.facts, "", at, ORIGIN, rates=self.rates, corrections=())
            result = normalise(records, context)
            out = {id(reject.raw): reject for reject in result.rejects}
            read = iter(result.offers)
            for number, raw in zip(numbers, records, strict=True):
                if reject := out.get(id(raw)):
                    self.reasons[number] = {"reason": reject.reason, "record": raw.as_json()}
                    self.rejected[reject.reason] += 1
                else:
                    places[number] = len(offers)
                    offers.append(next(read))
            self.unmapped.update(result.unmapped)
        return to_arrow(offers, Offer), pa.array(places, pa.int64())

    def snapshots(self) -> Iterator[tuple[datetime, pa.Array]]:
        """Every instant with the codes of its rows, oldest first."""
        import pyarrow.compute as pc

        counts = pc.value_counts(self.rows[OBSERVED]).to_pylist()
        start = 0
        for entry in sorted(counts, key=lambda entry: entry["values"]):
            yield entry["values"].astimezone(UTC), self.codes.slice(start, entry["counts"])
            start += entry["counts"]

    def digest(self, source: str, codes: pa.Array) -> str:
        """The same words from the same source give the same text, in whatever order."""
        total = hashlib.sha256(source.encode())
        for code in sorted(self.hashes[code] for code in codes.to_pylist()):
            total.update(code)
        return total.hexdigest()[:12]

    def offers(self, codes: pa.Array, at: datetime, scrape_id: str) -> tuple[pa.Table, list[dict[str, object]]]:
        """The snapshot's offers, and what of it could not be read."""
        import pyarrow as pa
        import pyarrow.compute as pc

        table, places = self.normalised
        rows = table.take(pc.drop_null(places.take(codes)))
        for name, value in (("observed_at", at), ("scrape_id", scrape_id)):
            i = rows.schema.get_field_index(name)
            kind = rows.schema.field(i)
            rows = rows.set_column(i, kind, pa.repeat(pa.scalar(value, kind.type), rows.num_rows))
        rejects = [self.reasons[code] for code in codes.to_pylist() if code in self.reasons]
        return rows, rejects


def _keys(rows: pa.Table) -> pa.Array:
    """One text per row out of what it tells, by name: columns that tell nothing, and their order, do not matter."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [
        pc.fill_null(
            pc.binary_join_element_wise(f"{SEPARATOR}{name}=", rows[name].cast(pa.string()), ""), ""
        ).combine_chunks()
        for name in sorted(rows.column_names)
    ]
    return pc.binary_join_element_wise(*parts, "")


def _by_day(distinct: pa.Table, first: datetime) -> Iterator[tuple[datetime, list[int], list[RawOffer]]]:
    """The distinct rows as records, those of one day together where the day matters."""
    rows = distinct.to_pylist()
    groups: dict[str | None, list[int]] = {}
    for number, row in enumerate(rows):
        groups.setdefault(row.pop("_day", None), []).append(number)
    for day, numbers in groups.items():
        at = first if day is None else datetime.combine(date.fromisoformat(day), time(), UTC)
        yield at, numbers, [record(rows[number]) for number in numbers]


def record(words: dict[str, str | None]) -> RawOffer:
    """A row of texts as RawOffer. A number or yes and no that cannot be read stays text, which the normaliser rejects
    with its reason.
    """
    values: dict[str, object] = dict(words)
    for name in WHOLE:
        if (text := words.get(name)) is not None and text.strip().isdecimal():
            values[name] = int(text)
    for name in ("tax_included", "availability"):
        if (text := words.get(name)) is not None and text.casefold() in YES_NO:
            values[name] = YES_NO[text.casefold()]
    return RawOffer(**{"os": None, "price": None, **values})  # type: ignore[arg-type]


def judge(offers: pa.Table) -> Judgement:
    """The checks that need no history: declared values, and that a key means one offer.

    Rows that share a key but differ are held back, for nobody can say which of them holds.
    """
    import pyarrow.compute as pc

    offers, unique = gate_rows.merged(offers)
    findings: list[Finding] = []
    if unique.outcome != "ok":
        counts = pc.value_counts(offers["offer_key"])
        twice = pc.filter(counts.field("values"), pc.greater(counts.field("counts"), 1))
        rows = pc.is_in(offers["offer_key"], value_set=twice).combine_chunks()
        findings.append(Finding(rows, "key_in_conflict", withhold=True))
        unique = replace(unique, outcome="withhold")
    checked, found = gate_rows.declared(offers)
    offers = with_findings(offers, [*findings, *found])
    withheld = count(has_flag(offers, WITHHELD))
    checks: list[CheckResult] = [unique, checked]
    verdict: Verdict = "accepted_with_warnings" if withheld else "accepted"
    if offers.num_rows == 0 or too_many_withheld(withheld, offers.num_rows):
        verdict = "quarantined"
        checks = [replace(check, outcome="quarantine") if check.outcome != "ok" else check for check in checks]
    return Judgement(verdict, checks, offers, withheld)


def with_reach(changes: pa.Table, before: pa.Table, after: pa.Table) -> pa.Table:
    """The changes, where a whole region comes or goes with the cause `coverage`.

    A file that others kept does not tell a new region from one that its keeper began to look at.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    one_sided = pc.or_(
        pc.and_(pc.equal(changes["kind"], "added"), pc.invert(_stands(changes, before))),
        pc.and_(pc.equal(changes["kind"], "removed"), pc.invert(_stands(changes, after))),
    )
    cause = pc.if_else(pc.and_(one_sided, pc.is_valid(changes["region"])), "coverage", changes["cause"])
    i = changes.schema.get_field_index("cause")
    return changes.set_column(i, changes.schema.field(i), cause.cast(pa.string()))


def _stands(changes: pa.Table, offers: pa.Table) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    return pc.is_in(changes["region"], value_set=pc.unique(offers["region"]))

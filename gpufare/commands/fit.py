"""`fit`: what a fine-tuning job takes, which cards hold it, where to rent one, and what the whole job costs there."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gpufare import args
from gpufare.cli import UsageFault, settings
from gpufare.commands import fit_options as read
from gpufare.commands.filters import OWN_HARDWARE, OWN_MACHINE, build
from gpufare.commands.options import Output, emit, examples, limit_option, most_rows, output_options
from table.view import View

if TYPE_CHECKING:
    from gpufare.commands.fit_offers import Found
    from planner.cards import Demand
    from planner.fit import Estimate, Job
    from planner.job_cost import Rate, Work
    from schemas.messages import Messages
    from storage.lake import Lake

MOST_CARDS = 15
WORK = ("hours", "minutes", "runs", "disk", "egress", "stopped_hours", "checkpoint_every", "rate")
JOB = (
    "method", "seq_len", "micro_batch", "lengths", "precision", "quant", "optimizer", "no_checkpointing", "attention",
    "stack", "lora_rank", "lora_targets", "adapter_dtype", "node_gpus", "sharding",
)  # fmt: skip


@click.command(
    "fit",
    epilog=examples(
        "fit --model 8b --method qlora",
        "fit --model llama-3.1-70b --method qlora --hours 6 --in-stock",
        "fit --model 8b --method lora --runs 10 --minutes 20 --disk 200 --egress 50 --explain",
        "fit --model 8b --method qlora --hours 24 --purchase spot --checkpoint-every 15m --rate 0.05",
        "fit --model llama-3.1-70b --method lora --seq 4096 --gpus 8 --sharding fsdp --country US",
        "fit --model 7b --method full --optimizer adamw8bit --stack hf-liger --plot --lang vi",
        "fit --config ./my-model/config.json --method qlora --batch 4 -o json",
        "fit --matrix --model 8b,70b --method lora,qlora",
        "fit --from-csv jobs.csv -o jsonl",
    ),
)
@read.with_options(*read.JOB, *read.WORK, *OWN_MACHINE, *OWN_HARDWARE)
@click.option("--sure", is_flag=True, help="Let the high estimate fit as well, not only the expected one.")
@click.option("--explain", is_flag=True, help="Every cheaper offer and every card that was left out, and why.")
@click.option("--plot", is_flag=True, help="Memory as bars.")
@click.option("--matrix", is_flag=True, help="Models by methods: how many of each card they take.")
@click.option("--from-csv", "file", type=click.Path(path_type=Path), metavar="FILE", help="A job in each row instead.")
@limit_option
@click.option("--as-of", metavar="TIME", help="Offers as they stood then: a day, a time, yesterday, 90d.")
@click.option("--known-at", metavar="TIME", help="What was believed then; corrections came later.")
@read.lang_option
@output_options
@click.pass_context
def fit_command(
    ctx: click.Context,
    /,
    *,
    model: str | None,
    config: Path | None,
    file: Path | None,
    sure: bool,
    explain: bool,
    plot: bool,
    matrix: bool,
    limit: int | None,
    as_of: str | None,
    known_at: str | None,
    lang: str | None,
    out: Output,
    **said: Any,
) -> None:
    """Memory of a fine-tuning job, the cards that hold it, and where it costs least.

    Memory is told for each GPU in GiB, low, expected and high: `low` is the leanest software that may run the job,
    `high` the hungriest; --stack narrows the range. With --hours (or --minutes) come the offers that hold it: in stock
    before unknown, GPUs that are joined before those that are not, then by the cost of the whole job. Hours count alike
    on every card: ask once for each speed. On demand, spot and bid are shown unless --purchase says otherwise.

    With --from-csv each row of the file is a job, under the column names model_key, method, seq_len, micro_batch and
    more; a row that is no job is answered with `error` and nulls in its place, and the exit code is then 1.
    """
    given = {name: said[name] for name in JOB if said[name] is not None and said[name] is not False}
    work_said = {name: said[name] for name in WORK}
    asked = {name: value for name, value in said.items() if name not in JOB and name not in WORK}
    words = read.words_of(lang)
    if file is not None:
        if model or config or given or matrix or any(value is not None for value in work_said.values()):
            raise UsageFault("--from-csv takes every setting from the file; leave the other options out")
        from gpufare.commands.fit_file import answer_file

        answer_file(file, out)
        return
    if matrix:
        if config is not None or any(value is not None for value in work_said.values()):
            raise UsageFault("--matrix takes --model and --method, each a list; not --config or the time of a run")
        from gpufare.commands.fit_matrix import matrix_view

        emit(_narrow(words, matrix_view(words, model, given, asked, sure=sure, now=datetime.now(UTC))), out)
        return
    from planner.demand import on_node

    job = read.job_of(read.model_of(model, config), given)
    job = on_node(job, job.gpus) or job
    work, rate = read.work_of(**work_said), read.rate_of(work_said["rate"])
    found = _estimated(job)
    lake = _store(ctx)
    now = datetime.now(UTC) if lake is None else lake.clock(datetime.now(UTC))
    moments = [args.moment(text, now, end_of_day=True) if text else None for text in (as_of, known_at)]
    answer = _Answer(words, job, found, given, rate, asked, sure, explain, now, moments[0], moments[1])
    if work is None or lake is None:
        view = answer.memory(lake, plot, limit, out)
    else:
        view = answer.offers(lake, work, plot, limit, out)
    if lake is None:
        view = dataclasses.replace(view, notes=[*view.notes, words.say("fit.no_store", path=settings(ctx).data)])
    emit(_narrow(words, view), out)


def _narrow(words: Messages, view: View) -> View:
    """The view and its parts, saying in the reader's language which columns a narrow terminal has no room for."""
    text = words.texts["fit.narrow"]
    return dataclasses.replace(view, narrow=text, parts=[dataclasses.replace(part, narrow=text) for part in view.parts])


@dataclasses.dataclass(frozen=True)
class _Answer:
    """One question with everything that was said of it, answered with or without offers."""

    words: Messages
    job: Job
    found: Estimate
    given: dict[str, Any]
    rate: Rate | None
    asked: dict[str, Any]
    sure: bool
    explain: bool
    now: datetime
    as_of: datetime | None
    known_at: datetime | None

    @property
    def demand(self) -> Demand:
        from planner.demand import demand_of

        return demand_of(self.job, sure=self.sure)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of GPUs on one node that are looked at."""
        return read.sizes_of(self.given.get("node_gpus"), self.asked)

    def memory(self, lake: Lake | None, plot: bool, limit: int | None, out: Output) -> View:
        """Terms of memory, and the cards that hold the job."""
        from gpufare.commands import fit_memory as shows
        from planner.cards import proposals
        from planner.job_cost import Work

        words, demand = self.words, self.demand
        plain = dataclasses.replace(demand, batch_of=None)
        cards, left_out = proposals(plain, self.sizes, read.cards_of(self.asked))
        most = MOST_CARDS if limit is None and most_rows(limit, out) is not None else limit
        kept = cards if most is None else cards[:most]
        batch_of = demand.batch_of or (lambda usable, gpus: None)
        batches = [batch_of(one.fit.usable_gib, one.fit.gpu_count) for one in kept]
        # An hour: only the price of one is asked for here.
        made = None if lake is None else self._find(lake, plain, Work(run_s=3600)).plan
        rows = shows.card_rows(kept, batches, made)
        view = shows.memory_view(words, self.job, self.found, self.now, plot=plot)
        parts = [shows.cards_view(words, kept, rows, self.now, len(cards))]
        extra: dict[str, Any] = {**view.extra, "cards": rows}
        if self.explain:
            parts.append(shows.left_out_cards(words, left_out, self.sizes, self.now))
            extra["explain"] = {"cards": shows.cards_told(left_out)}
        return dataclasses.replace(
            view,
            header=shows.header(words, self.job, self.found, self.given),
            extra=extra,
            parts=parts,
            sample=lake is not None and lake.origin != "live",
        )

    def offers(self, lake: Lake, work: Work, plot: bool, limit: int | None, out: Output) -> View:
        """The offers that hold the job, by its whole cost."""
        from gpufare.commands import fit_memory as memory
        from gpufare.commands import fit_offers as shows
        from planner.cards import proposals

        words, demand = self.words, self.demand
        plain = dataclasses.replace(demand, batch_of=None)
        found = self._find(lake, plain, work)
        most = most_rows(limit, out)
        kept = found.plan.choices if most is None else found.plan.choices[:most]
        batch_of = demand.batch_of or (lambda usable, gpus: None)
        rows = shows.rows_of(kept, [batch_of(one.fit.usable_gib, one.fit.gpu_count) for one in kept])
        moments = {"as_of": self.as_of, "known_at": self.known_at}
        query = {
            **memory.query_of(self.job), **shows.work_query(work, self.rate), **found.filters.described(),
            "sure": self.sure, **{name: value for name, value in moments.items() if value is not None},
        }  # fmt: skip
        view = shows.offers_view(
            words,
            found,
            rows,
            work=work,
            query=query,
            header=memory.header(words, self.job, self.found, self.given),
            usual_purchase=not self.asked["purchase"],
            most=most,
        )
        terms = memory.memory_view(words, self.job, self.found, found.answer.as_of, plot=plot)
        extra: dict[str, Any] = {**view.extra, **terms.extra, "terms": terms.data}
        parts = [terms] if plot else []
        if self.explain:
            cheaper = found.plan.cheaper()
            _, left_out = proposals(plain, self.sizes, read.cards_of(self.asked))
            parts += [
                shows.left_out_view(words, cheaper, found.answer.as_of, most),
                memory.left_out_cards(words, left_out, self.sizes, found.answer.as_of),
            ]
            extra["explain"] = {**shows.cheaper_told(cheaper), "cards": memory.cards_told(left_out)}
        reasons = [] if plot else [words.tell(reason) for reason in self.found.reasons]
        return dataclasses.replace(view, extra=extra, parts=parts, notes=[*view.notes, *reasons])

    def _find(self, lake: Lake, demand: Demand, work: Work) -> Found:
        from gpufare.commands.fit_offers import find
        from planner.plan import PLANNED

        filters = build(lake, **self.asked, usual_purchase=PLANNED)
        if "node_gpus" in self.given:
            filters = dataclasses.replace(filters, counts=(self.given["node_gpus"], self.given["node_gpus"]))
        return find(
            lake,
            demand,
            work,
            filters,
            rate=self.rate,
            now=self.now,
            as_of=self.as_of,
            known_at=self.known_at,
            explain=self.explain,
        )


def _store(ctx: click.Context) -> Lake | None:
    from storage.errors import NoStore
    from storage.lake import Lake

    try:
        return Lake.open(settings(ctx).data)
    except NoStore:
        return None


def _estimated(job: Job) -> Estimate:
    from planner.fit import Refused, estimate

    try:
        return estimate(job)
    except Refused as error:
        raise click.ClickException(str(error)) from None

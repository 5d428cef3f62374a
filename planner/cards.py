"""Which cards hold a job: memory that a program can use, number formats, known methods, links between the cards.

What the job needs is a function of the number of GPUs (`NeedOf`), for sharding makes the share of each smaller. Nothing
here knows of prices or providers; facts of cards come from gpus.csv, usable_memory.csv and method_support.csv.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from schemas.gpu_table import Gpu, gpu_models, rows_by_model
from schemas.messages import Said, said
from schemas.training import SAME_SIZE, Technique, method_support, usable_gib

Certainty = Literal["holds", "likely"]
NumberFormat = Literal["bf16", "fp8", "int8", "fp4"]
NODE_SIZES = (1, 2, 4, 8)
"""GPUs of one node, as they are sold"""
LINKS = ("NVLink", "xGMI", "ICI", "NeuronLink", "Xe Link", "HCCS", "MLU-Link", "MTLink")
ONE_GPU, LINKED, BRIDGED, SLOW = range(4)
"""how the GPUs of a node reach each other, best first: not at all; all of them by a fast link; in pairs; by PCIe"""


@dataclass(frozen=True, slots=True)
class Need:
    """What each GPU has to hold at its peak, in GiB, low <= expected <= high."""

    low_gib: float
    expected_gib: float
    high_gib: float


NeedOf = Callable[[int], Need | None]
"""number of GPUs on one node to what each needs; None where the job cannot be spread over so many"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a job asks of a card.

    technique: as in method_support.csv, None where the job's way of training has no name there. formats: number formats
    that the card must compute in. batch_of: usable GiB and number of GPUs to the largest micro batch. sure: has the
    high estimate to fit, not only the expected one.
    """

    need_of: NeedOf
    technique: Technique | None
    formats: tuple[NumberFormat, ...] = ()
    batch_of: Callable[[float, int], int | None] | None = None
    sure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A node as it is offered: `gpu_count` whole cards of one kind. None where it is not told."""

    gpu: str | None
    form_factor: str | None
    vram_gib: float | None
    gpu_count: float | None
    interconnect: str | None = None

    @classmethod
    def of(cls, offer: Mapping[str, Any]) -> Shape:
        """The shape of one row of the comparison table."""
        names = ("gpu", "form_factor", "vram_gib", "gpu_count", "interconnect")
        return cls(**{name: offer[name] for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A node that holds the job.

    usable_gib: of one card. headroom_pct: what the expected need leaves of it. certainty: holds (the high estimate fits
    too) or likely (the expected one does). link: ONE_GPU, LINKED, BRIDGED or SLOW. notes: what is to be known.
    """

    gpu_count: int
    usable_gib: float
    need: Need
    headroom_pct: float
    certainty: Certainty
    link: int
    micro_batch: int | None
    notes: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A shape with its fit, or with every reason that speaks against it."""

    fit: Fit | None
    reasons: tuple[Said, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A card of gpus.csv and the smallest node of it that holds the job; `why` it stands where it stands."""

    card: Gpu
    fit: Fit
    why: Said


def judge(shape: Shape, demand: Demand) -> Judged:
    """Does this node hold the job? Every reason against it is told, not only the first."""
    if (count := _whole(shape.gpu_count)) is None:
        return Judged(fit=None, reasons=(_no_count(shape.gpu_count),))
    if shape.gpu is None:
        return Judged(fit=None, reasons=(said("why.no_card"),))
    if shape.vram_gib is None:
        return Judged(fit=None, reasons=(said("why.no_vram"),))
    rows = rows_meant(shape.gpu, shape.form_factor, shape.vram_gib)
    reasons = _formats(rows, demand)
    notes: list[Said] = []
    support, note = _support(rows, demand)
    reasons += support
    usable = usable_gib(shape.gpu, shape.vram_gib)
    need = demand.need_of(count)
    if need is None:
        reasons.append(said("why.not_spread", count=count))
    elif need.expected_gib > usable:
        reasons.append(said("why.too_little", need=need.expected_gib, usable=usable))
    elif demand.sure and need.high_gib > usable:
        reasons.append(said("why.too_little_to_be_sure", need=need.high_gib, usable=usable))
    if reasons or need is None:
        return Judged(fit=None, reasons=tuple(reasons))
    link, words = link_of(rows, count, shape.interconnect)
    if need.high_gib > usable:
        notes.append(said("why.may_not_hold", need=need.high_gib, usable=usable))
    notes += [text for text in (note, words) if text]
    fit = Fit(
        gpu_count=count,
        usable_gib=usable,
        need=need,
        headroom_pct=100 * (usable - need.expected_gib) / usable,
        certainty="holds" if need.high_gib <= usable else "likely",
        link=link,
        micro_batch=demand.batch_of(usable, count) if demand.batch_of else None,
        notes=tuple(notes),
    )
    return Judged(fit=fit, reasons=())


def proposals(
    demand: Demand, sizes: Sequence[int] = NODE_SIZES, cards: Iterable[Gpu] | None = None
) -> tuple[list[Proposal], list[tuple[Gpu, tuple[Said, ...]]]]:
    """For each card the smallest node that holds the job, best first; and the cards left out, each with its reasons.

    A single card comes before a node, for nothing has to pass between GPUs; of nodes, those whose GPUs are all joined
    by a fast link come first, then bridged pairs, then PCIe; then fewer GPUs, less memory left over, fewer notes.
    `sizes`: numbers of GPUs on one node, ascending; `cards`: default all of gpus.csv that do not sit in laptops.
    """
    found, left_out = [], []
    for card in cards if cards is not None else (row for row in gpu_models() if row.segment != "mobile"):
        reasons: tuple[Said, ...] = ()
        for size in sizes:
            shape = Shape(gpu=card.gpu, form_factor=card.form_factor, vram_gib=card.vram_gib, gpu_count=size)
            judged = judge(shape, demand)
            if judged.fit is not None:
                found.append(Proposal(card=card, fit=judged.fit, why=_why(judged.fit)))
                break
            reasons = judged.reasons
        else:
            left_out.append((card, reasons))
    found.sort(
        key=lambda p: (p.fit.link, p.fit.gpu_count, p.fit.usable_gib, len(p.fit.notes), p.card.gpu, p.card.variant)
    )
    return found, left_out


def rows_meant(gpu: str, form_factor: str | None, vram_gib: float) -> tuple[Gpu, ...]:
    """The rows of gpus.csv that a card may mean: of this model; of these, as far as there are any, of this form factor
    and memory size."""
    rows = rows_by_model().get(gpu, ())
    formed = tuple(row for row in rows if form_factor is None or row.form_factor in {None, form_factor}) or rows
    return tuple(row for row in formed if abs(row.vram_gib - vram_gib) <= SAME_SIZE * row.vram_gib) or formed


def link_of(rows: Sequence[Gpu], count: int, interconnect: str | None = None) -> tuple[int, Said | None]:
    """How the GPUs of one node reach each other, and that in words; the offer's own words go before those of the card.

    Modules (SXM, OAM) and accelerators with a link of their own are joined all to all; bridges join pairs of cards,
    where they are fitted. Where a card may be one or the other, the slower counts.
    """
    if count == 1:
        return ONE_GPU, None
    words = (interconnect or "").casefold()
    if any(name in words for name in ("nvlink", "nvswitch", "xgmi", "infinity fabric")) and "no nvlink" not in words:
        return LINKED, said("why.linked_as_told", links=str(interconnect))
    links = {_link_of_card(row) for row in rows} or {SLOW}
    names = " or ".join(dict.fromkeys(row.interconnect or "?" for row in rows)) or "?"
    if len(links) > 1:
        return max(links), said("why.link_not_told", links=names)
    (link,) = links
    return link, said({LINKED: "why.linked", BRIDGED: "why.bridged", SLOW: "why.pcie"}[link], links=names)


def _link_of_card(row: Gpu) -> int:
    words = row.interconnect or ""
    # NVLink-C2C joins a GPU to its own CPU, not to another GPU.
    has_link = any(name in words for name in LINKS) and "no NVLink" not in words and "NVLink-C2C" not in words
    if row.form_factor in {"SXM", "OAM"} or (has_link and row.form_factor is None):
        return LINKED
    return BRIDGED if has_link else SLOW


def _whole(count: float | None) -> int | None:
    return int(count) if count is not None and count >= 1 and count == int(count) else None


def _no_count(count: float | None) -> Said:
    if count is None:
        return said("why.no_count")
    return said("why.share") if count < 1 else said("why.not_whole", count=count)


def _formats(rows: Sequence[Gpu], demand: Demand) -> list[Said]:
    reasons = []
    for name in demand.formats:
        words = {getattr(row, name) for row in rows}
        kinds = ", ".join(dict.fromkeys(_generation(row) for row in rows)) or "?"
        if "no" in words:
            reasons.append(said("why.no_format", format=name.upper(), cards=kinds))
        elif words != {"yes"}:
            reasons.append(said("why.format_not_known", format=name.upper(), cards=kinds))
    return reasons


def _support(rows: Sequence[Gpu], demand: Demand) -> tuple[list[Said], Said | None]:
    """Reasons against the method on this card, and what is to be known where it is only partly supported."""
    note = None
    name = demand.technique or said("why.this_method")
    for vendor, architecture in dict.fromkeys((row.vendor, row.architecture) for row in rows):
        known = method_support(vendor, architecture, demand.technique) if demand.technique else None
        if known is None:
            return [said("why.support_not_known", method=name, architecture=architecture)], None
        if known.support == "no":
            return [_noted(said("why.not_supported", method=name, architecture=architecture), known.note)], None
        if known.support == "partial" or vendor != "nvidia":
            text = said(f"why.support_{known.support}", method=name, architecture=architecture)
            note = _noted(text, known.note)
    return ([], note) if rows else ([said("why.not_in_table")], None)


def _generation(row: Gpu) -> str:
    return (
        f"{row.architecture}, compute capability {row.compute_capability}"
        if row.vendor == "nvidia"
        else row.architecture
    )


def _noted(text: Said, note: str | None) -> Said:
    """A text, and what the table of facts notes beside it."""
    return text if note is None else said("why.noted", text=text, note=note)


def _why(fit: Fit) -> Said:
    if fit.link == ONE_GPU:
        return said("why.one_card")
    return said("why.node", count=fit.gpu_count, link=fit.notes[-1])

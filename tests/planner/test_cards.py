"""Which cards hold a job. Needs are made up here, so that what is tested are cards; facts are read from the tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from planner.cards import (
    BRIDGED,
    LINKED,
    ONE_GPU,
    SLOW,
    Demand,
    Need,
    Shape,
    judge,
    link_of,
    proposals,
    rows_meant,
)
from schemas.facts import load_csv
from schemas.gpu_table import gpu_models
from schemas.training import MethodSupport, UsableMemory, method_support, usable_gib


def needs(gib: float, *, sharded: bool = True, width: float = 0.0) -> Any:
    """A job of so many GiB in all; unsharded it is whole on every GPU."""

    def need_of(gpus: int) -> Need:
        each = gib / gpus if sharded else gib
        return Need(each * (1 - width), each, each * (1 + width))

    return need_of


def demand(gib: float, **given: Any) -> Demand:
    shape = {name: given.pop(name) for name in ("sharded", "width") if name in given}
    return Demand(**({"need_of": needs(gib, **shape), "technique": "lora", "formats": ("bf16",)} | given))


def english(texts: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(text) for text in texts)


def shape(gpu: str | None, vram_gib: float | None, count: float | None = 1, **given: Any) -> Shape:
    return Shape(**({"gpu": gpu, "form_factor": None, "vram_gib": vram_gib, "gpu_count": count} | given))


# ---- memory


def test_usable_memory_is_less_than_the_label() -> None:
    assert usable_gib("H100", 80) == pytest.approx(0.94 * 80)
    assert usable_gib("T4", 16) < 15  # 15,360 MiB with ECC, and a little less for a program
    assert usable_gib("RTX PRO 6000", 96) < 97_887 / 1024
    assert usable_gib("B200", 192) == usable_gib("B200", 180) < 180
    assert usable_gib("B300", 288) == pytest.approx(270, rel=0.01)
    assert usable_gib("GB200", 186) == pytest.approx(186, rel=0.01)
    assert usable_gib("B200", 178) == 178  # never more than the seller says


def test_every_reading_of_memory_is_of_a_known_card() -> None:
    sizes = {(row.gpu, row.vram_gib) for row in gpu_models()}
    for row in load_csv("usable_memory.csv", UsableMemory):
        assert (row.gpu, row.vram_gib) in sizes
        assert 0.9 * row.vram_gib < row.usable_gib < row.vram_gib


def test_a_card_holds_what_fits_into_its_usable_memory() -> None:
    assert judge(shape("H100", 80), demand(75.1)).fit is not None
    judged = judge(shape("H100", 80), demand(75.3))
    assert judged.fit is None
    assert english(judged.reasons) == ("too little memory: 75.3 GiB needed, 75.2 usable on each GPU",)


def test_A3_headroom_is_told_in_percent_of_what_is_usable() -> None:
    fit = judge(shape("H100", 80), demand(37.6)).fit
    assert fit is not None
    assert fit.headroom_pct == pytest.approx(50)
    assert fit.certainty == "holds"


def test_A3_what_may_not_hold_says_so() -> None:
    fit = judge(shape("H100", 80), demand(60, width=0.5)).fit
    assert fit is not None
    assert fit.certainty == "likely"
    assert "may not hold: up to 90.0 GiB, 75.2 usable" in english(fit.notes)


def test_A3_who_wants_to_be_sure_asks_for_the_high_estimate() -> None:
    judged = judge(shape("H100", 80), demand(60, width=0.5, sure=True))
    assert english(judged.reasons) == ("too little memory to be sure: up to 90.0 GiB, 75.2 usable on each GPU",)
    assert judge(shape("H100", 80), demand(50, width=0.5, sure=True)).fit is not None


def test_the_largest_micro_batch_is_asked_for_the_usable_memory() -> None:
    asked: list[tuple[float, int]] = []

    def batch_of(usable: float, gpus: int) -> int:
        asked.append((usable, gpus))
        return 7

    fit = judge(shape("H100", 80, 2), demand(40, batch_of=batch_of)).fit
    assert fit is not None
    assert fit.micro_batch == 7
    assert asked == [(usable_gib("H100", 80), 2)]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (("H100", 80, None), "number of GPUs not known"),
        (("H100", 80, 0.5), "a share of a GPU"),
        (("H100", 80, 1.5), "not a whole number of GPUs: 1.5"),
        ((None, 80, 1), "card not known"),
        (("H100", None, 1), "memory of the card not known"),
    ],
)
def test_what_is_not_known_is_no_fit_and_says_why(given: Any, reason: str) -> None:
    assert english(judge(shape(*given), demand(1)).reasons) == (reason,)


# ---- number formats and methods


@pytest.mark.parametrize(("gpu", "vram"), [("V100", 16), ("T4", 16), ("RTX 2080 Ti", 11), ("P100", 16)])
def test_A5_cards_without_bf16_are_not_offered_for_it(gpu: str, vram: float) -> None:
    judged = judge(shape(gpu, vram), demand(1))
    assert judged.fit is None
    assert any(reason.startswith("no BF16: ") for reason in english(judged.reasons))
    assert judge(shape(gpu, vram), demand(1, formats=())).fit is not None


def test_A5_the_reason_names_the_generation() -> None:
    assert english(judge(shape("V100", 32), demand(1)).reasons) == ("no BF16: Volta, compute capability 7.0",)


def test_A5_fp8_begins_with_ada_and_hopper() -> None:
    fp8 = demand(1, formats=("fp8",))
    assert english(judge(shape("A100", 80), fp8).reasons) == ("no FP8: Ampere, compute capability 8.0",)
    assert judge(shape("H100", 80), fp8).fit is not None
    assert judge(shape("L4", 24), fp8).fit is not None


def test_A5_every_reason_is_told() -> None:
    reasons = english(judge(shape("V100", 16), demand(100)).reasons)
    assert len(reasons) == 2


def test_quantised_training_by_generation() -> None:
    for technique, gpu, vram, holds in (
        ("nf4", "T4", 16, True),
        ("nf4", "V100", 16, True),
        ("nf4", "M40", 24, False),
        ("int8", "T4", 16, True),
        ("int8", "V100", 16, False),
        ("full", "K80", 12, False),
    ):
        judged = judge(shape(gpu, vram), demand(1, technique=technique, formats=()))
        assert (judged.fit is not None) is holds, (technique, gpu, judged)


@pytest.mark.parametrize(
    ("gpu", "vram", "technique", "support"),
    [
        ("MI300X", 192, "lora", "yes"),
        ("MI300X", 192, "nf4", "yes"),
        ("MI300X", 192, "gptq", "partial"),
        ("Gaudi 3", 128, "lora", "yes"),
        ("TPU v5e", 16, "lora", "yes"),
        ("TPU v5e", 16, "nf4", "no"),
        ("Trainium2", 96, "lora", "yes"),
        ("MI100", 32, "nf4", "no"),
        ("Inferentia", 8, "full", None),
    ],
)
def test_A24_other_makers_cards_say_which_methods_are_known(
    gpu: str, vram: float, technique: Any, support: Any
) -> None:
    (row, *_) = rows_meant(gpu, None, vram)
    known = method_support(row.vendor, row.architecture, technique)
    assert (known.support if known else None) == support
    judged = judge(shape(gpu, vram), demand(1, technique=technique, formats=()))
    assert (judged.fit is not None) is (support in {"yes", "partial"})
    if judged.fit is not None:
        assert any(support in note for note in english(judged.fit.notes))
    else:
        assert any(technique in reason for reason in english(judged.reasons))


def test_A24_every_row_of_the_table_is_of_known_architectures_and_has_a_source() -> None:
    known = {(row.vendor, row.architecture) for row in gpu_models()}
    seen = set()
    for row in load_csv("method_support.csv", MethodSupport):
        assert row.method in {"full", "lora", "nf4", "int8", "gptq", "awq"}
        assert row.support in {"yes", "partial", "no"}
        for architecture in row.architectures:
            assert (row.vendor, architecture) in known
            assert (row.vendor, architecture, row.method) not in seen
            seen.add((row.vendor, architecture, row.method))


def test_a_way_of_training_without_a_name_in_the_table_is_not_known_to_work() -> None:
    judged = judge(shape("H100", 80), demand(1, technique=None))
    assert english(judged.reasons) == ("no known support for this method on Hopper",)


# ---- nodes


@pytest.mark.parametrize(
    ("gpu", "form", "vram", "link"),
    [
        ("H100", "SXM", 80, LINKED),
        ("H100", "PCIe", 80, BRIDGED),
        ("H100", None, 80, BRIDGED),
        ("A100", "SXM", 80, LINKED),
        ("MI300X", "OAM", 192, LINKED),
        ("L40S", "PCIe", 48, SLOW),
        ("RTX 4090", None, 24, SLOW),
        ("RTX 3090", None, 24, BRIDGED),
        ("RTX PRO 6000", None, 96, SLOW),
        ("GH200", None, 96, SLOW),
        ("GB200", None, 186, LINKED),
        ("TPU v5e", None, 16, LINKED),
        ("Gaudi 3", "OAM", 128, LINKED),
    ],
)
def test_A4_links_between_the_cards_of_a_node(gpu: str, form: Any, vram: float, link: int) -> None:
    rows = rows_meant(gpu, form, vram)
    assert link_of(rows, 8)[0] == link
    assert link_of(rows, 1) == (ONE_GPU, None)


def test_A4_the_providers_word_on_the_link_counts() -> None:
    rows = rows_meant("A100", "PCIe", 80)
    assert link_of(rows, 8, "NVLink")[0] == LINKED
    assert link_of(rows, 8, "PCIe, no NVLink")[0] == BRIDGED
    assert link_of(rows, 8, "100 Gbit/s Ethernet")[0] == BRIDGED


def test_A4_a_single_card_goes_before_a_node() -> None:
    found, _ = proposals(demand(60))
    counts = [proposal.fit.gpu_count for proposal in found]
    assert counts[0] == 1
    assert 1 not in counts[counts.index(2) :]
    assert str(found[0].why) == "one card holds it: nothing has to pass between GPUs"


def test_A4_a_job_too_big_for_a_card_gets_the_smallest_node_with_links_first_and_says_why() -> None:
    found, _ = proposals(demand(500))
    assert all(proposal.fit.gpu_count > 1 for proposal in found)
    links = [proposal.fit.link for proposal in found]
    assert links == sorted(links)
    assert {LINKED, BRIDGED, SLOW} <= set(links)
    h100 = {(p.card.form_factor, p.card.vram_gib): p for p in found if p.card.gpu == "H100"}
    assert h100["SXM", 80].fit.gpu_count == 8  # four of them have 301 usable GiB
    assert "NVLink" in str(h100["SXM", 80].why)
    b300 = [p for p in found if p.card.gpu == "B300"]
    assert {p.fit.gpu_count for p in b300} == {2}
    pcie = next(p for p in found if p.card.gpu == "RTX PRO 6000")
    assert "PCIe" in str(pcie.why)
    assert found.index(h100["SXM", 80]) < found.index(h100["PCIe", 80]) < found.index(pcie)


def test_A4_what_cannot_be_spread_gets_no_node() -> None:
    found, left_out = proposals(demand(100, need_of=lambda gpus: Need(100, 100, 100) if gpus == 1 else None))
    assert all(proposal.fit.gpu_count == 1 for proposal in found)
    small = {card.gpu: reasons for card, reasons in left_out}
    assert english(small["L4"]) == ("the job cannot be spread over 8 GPUs",)


def test_consumer_cards_are_proposed_where_they_hold_the_job() -> None:
    found, _ = proposals(demand(20, technique="nf4"))
    assert {"RTX 4090", "RTX 3090", "RTX 5090"} <= {proposal.card.gpu for proposal in found}
    assert all(proposal.card.segment != "mobile" for proposal in found)


def test_A5_every_card_is_proposed_or_left_out_with_a_reason() -> None:
    found, left_out = proposals(demand(30))
    everything = [row for row in gpu_models() if row.segment != "mobile"]
    assert len(found) + len(left_out) == len(everything)
    assert all(reasons for _, reasons in left_out)
    assert any("no BF16" in str(reasons[0]) for card, reasons in left_out if card.gpu == "V100")

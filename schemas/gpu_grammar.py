"""What a vendor's GPU name says: model, form factor, memory, count.

A grammar over lexemes, not a list of strings. Where a name holds two models, or a qualifier that makes another model of
which nothing is known (`RTX 5090 Pro`), the model is unknown rather than guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from schemas.gpu_phrases import Match, matches, text_at
from schemas.gpu_table import known_vram, rows_by_model
from schemas.gpu_words import (
    CPU_WORDS,
    FORMS,
    QUALIFIERS,
    VENDOR_HINTS,
    Lexeme,
    fold,
    gib_of,
    lexemes,
    outside_and_notes,
)

SAME_SIZE = 0.07
"""two memory sizes this near are one nominal class: 81559 MiB and 80 GB"""

_MIG = re.compile(r"(?<![a-z0-9])(?:mig[ -]?)?([1-7])g[. ]?(\d{1,3})gb(?:[.+ -]?me)?(?![a-z0-9])")
_PROFILE = re.compile(r"(?<=[a-z0-9])[ -](1|2|3|4|5|6|8|10|12|16|20|24|32|40|48|64|80|96)[qc](?![a-z0-9])")


@dataclass(frozen=True, slots=True)
class Reading:
    """`gpu` None: no model, or one that is not known. `vram_gib` and `count` only where the text gives them."""

    vendor: str | None = None
    gpu: str | None = None
    form_factor: str | None = None
    vram_gib: float | None = None
    count: Fraction | None = None


def read_name(text: str) -> Reading:
    """Read a name. Never raises; linear in the first 400 characters."""
    folded = fold(text)
    mig = _MIG.search(folded)
    if mig:
        folded = folded[: mig.start()] + " " + folded[mig.end() :]
    outside, notes = outside_and_notes(folded)
    reading = _read(outside, notes, mig)
    if reading.gpu is None and notes.strip():
        again = _read(outside + " " + notes, "", mig)
        # a bracket may name the model ("Standard GPU (A100)"), but must not overrule what stands outside
        if again.gpu is not None and not matches(lexemes(outside)):
            return again
    return reading


def _read(outside: str, notes: str, mig: re.Match[str] | None) -> Reading:
    profile = _PROFILE.search(outside)
    if profile:
        outside = outside[: profile.start()] + " " + outside[profile.end() :]
    words = lexemes(outside)
    extra = [item for item in lexemes(notes) if _worth_keeping(item)]
    form = _form(words + extra)
    match = _one(matches(words + _generation_words(extra)), words)
    vendor = _vendor(words + extra)
    if match is None or match.gpu is None:
        return Reading(vendor, None, form, None, None)
    sizes = _sizes(words, match, extra)
    count = _count(words, match, extra)
    gpu = _decide(match, sizes)
    form = form if form != "NVL" or any(row.form_factor == "NVL" for row in rows_by_model()[gpu]) else None
    vram = _memory(gpu, sizes, count)
    if mig is not None:
        vram = vram or _whole_of_slice(gpu, int(mig[1]), int(mig[2]))
        slices = next((row.mig_slices for row in rows_by_model()[gpu] if row.mig_slices), None)
        count = Fraction(int(mig[1]), slices) * (count or 1) if slices else None
    elif profile is not None:
        vram, count = _vgpu(gpu, int(profile[1]), vram, any(item.text == "d" for item in words))
    return Reading(rows_by_model()[gpu][0].vendor, gpu, form, vram, count)


def _worth_keeping(item: Lexeme) -> bool:
    return item.kind in {"size", "before", "behind", "share"} or item.text in FORMS or item.text in QUALIFIERS


def _generation_words(extra: list[Lexeme]) -> list[Lexeme]:
    return [
        item
        for item in extra
        if item.text in {"ada", "blackwell", "turing", "laptop", "mobile", "notebook", "maxq", "super"}
    ]


def _form(words: list[Lexeme]) -> str | None:
    forms = {FORMS[item.text] for item in words if item.kind == "word" and item.text in FORMS}
    forms = forms - {"NVL"} if len(forms) > 1 else forms
    return forms.pop() if len(forms) == 1 else None


def _vendor(words: list[Lexeme]) -> str | None:
    texts = {item.text for item in words}
    found = {VENDOR_HINTS[text] for text in texts if text in VENDOR_HINTS}
    if texts & CPU_WORDS:
        found -= {VENDOR_HINTS[text] for text in texts & {"amd", "intel"}}
    return found.pop() if len(found) == 1 else None


def _one(matches: list[Match], words: list[Lexeme]) -> Match | None:
    """The one model of the text. Two are none, but a code that also names machines yields to a clear one."""
    clear = [match for match in matches if not match.shared]
    named = any(item.text in VENDOR_HINTS for item in words)
    prose = any(item.kind in {"opaque"} for item in words)
    kept = clear or [match for match in matches if named or not prose]
    if not kept or any(match.gpu != kept[0].gpu for match in kept):
        return None
    return kept[0]


def _sizes(words: list[Lexeme], match: Match, extra: list[Lexeme]) -> tuple[list[float], list[float]]:
    """Sizes that stand right behind the model (or in brackets), and the others, in GiB."""
    near = [gib_of(item.text) for item in extra if item.kind == "size"]
    far: list[float] = []
    attached = True
    for at in range(match.end, len(words)):
        item = words[at]
        if item.apart or item.kind == "opaque" or item.text in CPU_WORDS or item.text == "with":
            attached = False
        if item.kind == "size" and text_at(words, at + 1) not in {"ram", "ssd", "nvme", "disk", "hdd"}:
            (near if attached else far).append(gib_of(item.text))
            attached = False
        elif item.kind == "number" and attached and at <= match.end + 1:
            # "A100-80", "A100-SXM-80", "1H100.80S": a number that is no size of this card is something else
            sizes = {size for gpu in (match.choices or (match.gpu or "",)) for size in known_vram(gpu)}
            if float(item.text[:6]) in sizes:
                near.append(float(item.text[:6]))
            attached = item.run == words[at - 1].run
    if match.start and words[match.start - 1].kind == "size" and not words[match.start].apart:
        far.insert(0, gib_of(words[match.start - 1].text))
        if match.choices and any(_is_known(gpu, far[0]) for gpu in match.choices):
            near.append(far[0])
    elif not near:
        far += [gib_of(item.text) for item in words[: match.start] if item.kind == "size"]
    return [size for size in near if size >= 1], [size for size in far if size >= 1]


def _is_known(gpu: str, size: float) -> bool:
    return any(abs(size - known) <= SAME_SIZE * known for known in known_vram(gpu))


def _decide(match: Match, sizes: tuple[list[float], list[float]]) -> str:
    assert match.gpu is not None
    for size in sizes[0]:
        for gpu in match.choices:
            if _is_known(gpu, size):
                return gpu
    return match.gpu


def _memory(gpu: str, sizes: tuple[list[float], list[float]], count: Fraction | None) -> float | None:
    """What the text says of one whole GPU: as said where such a card is known, or stands right behind the name."""
    near, far = sizes
    rows = rows_by_model()[gpu]
    for size in near + far:
        if _is_known(gpu, size):
            return size if size == int(size) else nominal(gpu, size)
    for size in near + far:
        for whole in ([count] if count and count > 1 else []) + [
            Fraction(row.gpus_per_board) for row in rows if row.gpus_per_board > 1
        ]:
            if _is_known(gpu, size / float(whole)):
                return size / float(whole)
    # a superchip's second figure is the memory of its Arm CPU ("GH200 480GB")
    if near and rows[0].cpu_arch != "arm64" and near[0] <= 1024:
        return near[0]
    return None


def nominal(gpu: str, gib: float) -> float:
    """The known size within 7 % of `gib`, else `gib` itself."""
    close = [known for known in known_vram(gpu) if abs(gib - known) <= SAME_SIZE * known]
    return min(close, key=lambda known: abs(gib - known)) if close else gib


def _count(words: list[Lexeme], match: Match, extra: list[Lexeme]) -> Fraction | None:
    """How many, or which share. A count beside the model wins over one farther off; two that contradict are none."""
    beside: list[Fraction] = []
    others: list[Fraction] = []
    for at, item in enumerate(words):
        if match.start <= at < match.end:
            continue
        value = _value(item)
        if value is None and item.kind == "number" and len(item.text) <= 2 and int(item.text):
            glued_before = at + 1 == match.start and item.run == words[match.start].run
            leading = at == 0 and all(words[k].text in VENDOR_HINTS for k in range(1, match.start))
            glued_behind = at == match.end and item.run == words[at - 1].run and words[at - 1].text.endswith("x")
            if glued_before or leading or glued_behind:
                value = Fraction(int(item.text))
        behind = text_at(words, at + 1)
        of_cpus = behind in CPU_WORDS | {"c", "v", "ram"} or (
            behind in {"intel", "amd"} and text_at(words, at + 2) in CPU_WORDS
        )
        if value is None or of_cpus:
            continue
        (beside if _beside(words, match, at) else others).append(value)
    others += [value for item in extra if (value := _value(item)) is not None]
    for group in (beside, others):
        if group:
            return group[0] if all(value == group[0] for value in group) else None
    return None


def _beside(words: list[Lexeme], match: Match, at: int) -> bool:
    between = words[at + 1 : match.start] if at < match.start else words[match.end : at]
    return all(item.kind in {"size", "word"} and not item.apart for item in between)


def _value(item: Lexeme) -> Fraction | None:
    if item.kind in {"before", "behind"}:
        number = int(item.text.strip("x"))
        return Fraction(number) if 0 < number <= 100_000 else None
    if item.kind == "share":
        over, under = map(int, item.text.split("/"))
        return Fraction(over, under) if 0 < over < under <= 64 else Fraction(1) if 0 < over == under else None
    if item.kind == "slash":
        return Fraction(1, int(item.text)) if int(item.text) in {2, 3, 4, 5, 6, 7, 8, 10, 12, 16} else None
    if item.kind == "part":
        return Fraction(item.text).limit_denominator(64) or None
    return None


def mig_share(text: str, gpu: str) -> Fraction | None:
    """The share that a MIG profile in the text (`1g.18gb`) is of this card; None where there is no profile."""
    mig = _MIG.search(fold(text))
    slices = next((row.mig_slices for row in rows_by_model()[gpu] if row.mig_slices), None)
    return Fraction(int(mig[1]), slices) if mig and slices else None


def _whole_of_slice(gpu: str, slices: int, gib: int) -> float | None:
    """The card whose MIG profile this is. MIG parts memory in eighths: 1g has one, 3g and 4g four, 7g all."""
    eighths = {1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8}[slices]
    close = [size for size in known_vram(gpu) if abs(size * eighths / 8 - gib) <= 0.12 * size * eighths / 8]
    return close[0] if len(close) == 1 else None


def _vgpu(gpu: str, gib: int, vram: float | None, double: bool) -> tuple[float | None, Fraction | None]:
    """A vGPU profile (`A16-8Q`) names the GiB of its share; the letter D behind the card means the larger card."""
    sizes = known_vram(gpu)
    whole = vram or (max(sizes) if double else min(sizes))
    return whole, (Fraction(gib, int(whole)) if 0 < gib <= whole else None)

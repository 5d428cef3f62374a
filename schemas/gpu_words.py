"""From a vendor's string to lexemes: folding, brackets, cutting runs of letters and digits into known words.

The words known here are those of grammar (Ti, SXM, Laptop, Edition); which models exist comes from gpus.csv. A run that
does not divide wholly into known words stays opaque: `L20N` is not an L20 with something behind it.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from schemas.facts import word_set
from schemas.gpu_table import rows_by_model

LONGEST = 400
"""characters that are read; a name is shorter, and what comes behind is prose"""

_LONGEST_RUN = 48

VENDOR_HINTS = {
    **dict.fromkeys(("nvidia", "nvdia", "geforce", "tesla", "quadro", "rtx", "gtx", "grid", "titan"), "nvidia"),
    **dict.fromkeys(("amd", "ati", "radeon", "instinct", "firepro", "rx"), "amd"),
    **dict.fromkeys(("intel", "habana", "gaudi", "arc"), "intel"),
    **dict.fromkeys(("google", "tpu", "trillium", "ironwood"), "google"),
    **dict.fromkeys(("inferentia", "trainium"), "aws"),
    "qualcomm": "qualcomm",
    **dict.fromkeys(("tenstorrent", "wormhole", "blackhole"), "tenstorrent"),
    **dict.fromkeys(("huawei", "ascend"), "huawei"),
    "cambricon": "cambricon",
    "mtt": "moorethreads",
}
CPU_WORDS = word_set(
    "cpu cpus vcpu vcpus core cores epyc xeon ryzen threadripper genoa milan rome naples turin bergamo "
    "siena graviton ampereone altra icelake cascadelake sapphire emerald granite rapids skylake broadwell "
    "cascade lake platinum opteron"
)
FORMS = {
    **dict.fromkeys(("sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "sxm7"), "SXM"),
    **dict.fromkeys(("pcie", "pci", "fhhl"), "PCIe"),
    "nvl": "NVL",
    "oam": "OAM",
}
QUALIFIERS = word_set("pro ti tis super s d ada sff laptop mobile notebook maxq blackwell turing xt xtx gre server bse")
"""words that belong to the model when they stand beside its number"""

NOISE = word_set(
    "gpu gpus graphics card accelerator accelerators tensor generation gen edition ge workstation ws wk "
    "se ext plus mega max lhr ib infiniband nvlink nvswitch hgx dgx superchip ultra ampere hopper volta "
    "pascal lovelace maxwell kepler dc ac lc vram memory hbm hbm2 hbm2e hbm3 hbm3e gddr5 gddr5x gddr6 "
    "gddr6x gddr7 nvl2 nvl4 nvl8 nvl16 nvl32 nvl36 nvl64 nvl72 nvl144 x q vws with and the of per node "
    "nodes instance"
)
_OTHER = word_set(
    "v1 v2 v3 v4 v5 v5e v5p v6 v6e v7 v7x tpuv7x v5litepod lite litepod pod podslice slice cloud ai ai100 "
    "standard spark vii xp v cmp flex qrtx ascend 910b ultra gb gib g go mb mib tb tib mig"
)
_LETTERS = frozenset("sdxv")
"""single letters that may stand in a glued run, behind a number, a code, Ti or Titan"""

_WORDS = frozenset(VENDOR_HINTS) | CPU_WORDS | frozenset(FORMS) | QUALIFIERS | NOISE | _OTHER
_SIZE = re.compile(r"(\d{1,5})(gib|gb|go|g|mib|mb|tib|tb)")
_BEFORE = re.compile(r"(\d{1,3})x")
_BEHIND = re.compile(r"x(\d{1,3})(?!\d)")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Lexeme:
    """`kind` is word, code, number, size, before (8x), behind (x8), share (1/8), slash (/8), part (.5x) or opaque."""

    kind: str
    text: str
    run: int
    """which run of letters and digits it was cut from; glued lexemes share it"""
    apart: bool
    """a comma, plus or bar stands before it"""


def fold(text: str) -> str:
    """Lower case, and plain where Unicode has a second way: wide forms, odd spaces, dashes, ×, look-alike letters."""
    text = text[:LONGEST]
    text = re.sub("[™®©℠]", " ", text)
    text = unicodedata.normalize("NFKC", text).lower()[: 2 * LONGEST]
    text = "".join(_fold_character(c) for c in text)
    # "А100" and "8х" typed on a Cyrillic keyboard
    return re.sub(r"(?<=\d)[авекмнорстх]|[авекмнорстх](?=\d)", lambda m: _CYRILLIC[m.group()], text).replace("гб", "gb")


_CYRILLIC = dict(zip("авекмнорстх", "abekmhopctx", strict=True))
_SYMBOLS = {**dict.fromkeys("×✕✖⨯⨉", "x"), **dict.fromkeys("∗⋆＊·", "*"), "⁄": "/", "∕": "/", "_": " "}


def _fold_character(c: str) -> str:
    if c in _SYMBOLS:
        return _SYMBOLS[c]
    category = unicodedata.category(c)
    if category in {"Cf", "Mn", "Cc"} and c not in "\t\n\r":
        return ""
    if category == "Pd":
        return "-"
    return " " if c.isspace() else c


def outside_and_notes(text: str) -> tuple[str, str]:
    """What stands outside all brackets, and what stands inside."""
    outside, notes, depth = [], [], 0
    for c in text:
        if c in "([{":
            depth += 1
            outside.append(" ")
            notes.append(" ")
        elif c in ")]}":
            depth = max(depth - 1, 0)
            outside.append(" ")
            notes.append(" ")
        else:
            (notes if depth else outside).append(c)
    return "".join(outside), "".join(notes)


_RUN = re.compile(
    r"(?P<share>\d{1,2}/\d{1,2}(?![\d/]))|(?P<slash>/\d{1,2}(?=\s*$))|(?P<part>(?<![\w.])0?\.\d{1,4}(?=\s?x(?![a-z])))|(?P<run>[a-z0-9]+)"
    r"|(?P<star>\*)|(?P<behind>:\d{1,3}(?=\s*$))|(?P<apart>[+,;|&](?!\d))"
)
_TIDY = (
    (re.compile(r"\d+(?:\.\d+)?\s?[gmt]b(?:ps|/s|it)"), " "),  # bandwidths are no memory
    (re.compile(r"\bpcie?[ -]?(?:gen)?[ -]?[3-6](?:\.0)?(?![\da-wyz])(?:[ -]?x\d{1,2}\b)?"), "pcie "),
    (re.compile(r"\bpcie?[ -]?x16\b"), "pcie "),
    (re.compile(r"\bsxm[ -](?=[2-7]\b)[2-7]"), "sxm "),
    (re.compile(r"\bmi[ -](?=\d{2,3}[xa]?\b)"), "mi"),
    (re.compile(r"\bhl[ -](?=\d{3})"), "hl"),
    (re.compile(r"(?:\b|(?<=x))(p10[46])[ -]100\b"), r"\g<1>100"),
    (re.compile(r"\bmlu370[ -]?(?:x4|x8|s4|m8)\b"), "mlu370"),  # card variants, no counts
    (re.compile(r"(?:\b|(?<=x))tpu[ -]?v?7x?\b"), "tpu v7x"),
    (re.compile(r"\bmax[ -]?q\b"), "maxq"),
    (re.compile(r"\bsuper[ -]?chips?\b"), " "),
    (re.compile(r"(?<![\w.])(0?\.\d{1,4})\s?x"), r"\g<1> x "),
    (re.compile(r"x\s?(0?\.\d{1,4})(?!\d)"), r" \g<1> x "),
    (re.compile(r"\b(\d{2,3})\.\d+(?=\s?gi?b)"), r"\g<1>"),  # 79.6 GB, nominal class is found by nearness
)


def lexemes(text: str) -> list[Lexeme]:
    """The lexemes of a folded text, in order."""
    for pattern, by in _TIDY:
        text = pattern.sub(by, text)
    found: list[Lexeme] = []
    apart = False
    for run, match in enumerate(_RUN.finditer(text)):
        kind, raw = str(match.lastgroup), match.group()
        if kind == "apart":
            apart = True
            continue
        if kind == "run":
            parts = cut(raw)
        elif kind == "star":
            parts = (("word", "x"),)
        else:
            parts = ((kind, raw.lstrip("/:")),)
        for part_kind, part in parts:
            found.append(Lexeme(part_kind, part, run, apart))
            apart = False
    return _merged(found)


def _merged(found: list[Lexeme]) -> list[Lexeme]:
    """`80` `gb` is a size, `8` `x` and `x` `8` are counts, `8` `gpus` is one too."""
    merged: list[Lexeme] = []
    for at, item in enumerate(found):
        last = merged[-1] if merged else None
        # "Gaudi 2 x 8": within a text the x between two numbers belongs to the second, at its start to the first
        inner = len(merged) > 1 and item.text == "x" and at + 1 < len(found) and found[at + 1].kind == "number"
        if last is not None and not item.apart and not (inner and last.kind == "number"):
            together = item.run != last.run or item.text in {"gpu", "gpus"}
            pair = _pair(last, item) if together else None
            if pair is not None:
                merged[-1] = pair
                continue
        merged.append(item)
    return merged


def _pair(last: Lexeme, item: Lexeme) -> Lexeme | None:
    kind = None
    text = last.text
    if last.kind == "number" and item.kind == "word":
        if item.text in _UNITS:
            kind, text = "size", last.text + item.text
        elif item.text in {"gpu", "gpus", "x"} and len(last.text) <= 3:
            kind = "before"
    elif last == Lexeme("word", "x", last.run, last.apart):
        kind = {"number": "behind", "share": "share", "part": "part"}.get(item.kind)
        text = item.text
    elif last.kind in {"share", "part"} and item.text == "x":
        kind = last.kind
    return Lexeme(kind, text, last.run, last.apart) if kind else None


_UNITS = word_set("gb gib g go mb mib tb tib")


def gib_of(text: str) -> float:
    """GiB of a size lexeme such as 80gb (nominal: the same number of GiB), 81559mib, 2tb."""
    match = _SIZE.fullmatch(text)
    if match is None:
        return 0.0
    number, unit = int(match[1]), match[2]
    return number / 1024 if unit in {"mb", "mib"} else number * 1024.0 if unit in {"tb", "tib"} else float(number)


@lru_cache(maxsize=4096)
def cut(run: str) -> tuple[tuple[str, str], ...]:
    """Divide a run into known lexemes, the fewest that cover it wholly; else one opaque lexeme."""
    if len(run) > _LONGEST_RUN:
        return (("opaque", run),)
    codes, numbers = codes_and_numbers()
    # best[i]: (cost, pieces) of run[:i]; an odd single letter or a bare number costs more than a word of its own
    best: list[tuple[int, tuple[tuple[str, str], ...]] | None] = [(0, ())] + [None] * len(run)
    for start in range(len(run)):
        reached = best[start]
        if reached is None:
            continue
        cost, pieces = reached
        for kind, piece, weight in _pieces(run, start, pieces, codes, numbers):
            end = start + len(piece)
            known = best[end]
            if known is None or cost + weight < known[0]:
                best[end] = (cost + weight, (*pieces, (kind, piece)))
    whole = best[len(run)]
    return whole[1] if whole else (("opaque", run),)


def _pieces(
    run: str, start: int, before: tuple[tuple[str, str], ...], codes: frozenset[str], numbers: frozenset[str]
) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    last = before[-1] if before else ("", "")
    # in the midst of digits only a size may begin, behind a model's number
    fresh = start == 0 or not (run[start - 1].isdigit() and run[start].isdigit())
    after_model_number = last[0] == "number" and last[1] in numbers
    if fresh:
        for end in range(start + 1, len(run) + 1):
            piece = run[start:end]
            if piece in codes and not (end < len(run) and piece[-1].isdigit() and run[end].isdigit()):
                found.append(("code", piece, 10))
            if (
                piece in _WORDS
                and len(piece) > 1
                and not (piece[-1].isdigit() and end < len(run) and run[end].isdigit())
            ):
                found.append(("word", piece, 10))
        if digits := _DIGITS.match(run, start):
            found.append(("number", digits.group(), 12))
            if len(digits.group()) > 4 and run[start : start + 4] in numbers:
                found.append(("number", run[start : start + 4], 10))
        if match := _BEHIND.match(run, start):
            found.append(("behind", match[0], 10))
        if match := _BEFORE.match(run, start):
            found.append(("before", match[0], 10))
    if (fresh or after_model_number) and (match := _SIZE.match(run, start)):
        found.append(("size", match[0], 10))
    lone = start == 0 and len(run) == 1
    if run[start] in _LETTERS and (lone or last[0] in {"number", "code"} or last[1] in {"ti", "titan"}):
        found.append(("word", run[start], 11))
    elif lone and run.isalpha():
        found.append(("word", run, 11))
    return found


@lru_cache(maxsize=1)
def codes_and_numbers() -> tuple[frozenset[str], frozenset[str]]:
    """Model codes that stand alone (a100, v520, a6000), and the numbers of models that are numbers (4090, 7900)."""
    numbers = {word for model in rows_by_model() for word in model.split() if re.fullmatch(r"\d{3,4}", word)}
    return frozenset(code_models()), frozenset(number for number in numbers if len(number) == 4)


@lru_cache(maxsize=1)
def code_models() -> dict[str, str]:
    """Code to canonical model: the last word of every model in which letters and digits mix."""
    found: dict[str, str] = {}
    for model in rows_by_model():
        code = model.split()[-1].lower().replace("-", "")
        if model.startswith(("TPU", "Ascend", "TITAN")) or not re.fullmatch(r"(?=.*\d)(?=.*[a-z])[a-z0-9]+", code):
            continue
        found[code] = model
    found |= {"hl205": "Gaudi"}
    found |= dict.fromkeys(("hl225", "hl225b", "hl225h"), "Gaudi 2") | dict.fromkeys(("hl325", "hl325l"), "Gaudi 3")
    found |= {code[:-1]: found[code] for code in ("mi308x", "mi325x", "mi350x", "mi355x")}  # sold in this form only
    for card, letters in (("n150", "sd"), ("n300", "sd"), ("p150", "abc")):
        found |= {card + letter: found[card] for letter in letters}
    return found

"""Which model a name holds: codes (A100, V520), numbers with words beside them (RTX 4070 Ti SUPER), and words with a
generation (Gaudi 2). A qualifier that makes another model, of which nothing is known, makes a match without model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemas.facts import word_set
from schemas.gpu_table import model_by_squash, squash
from schemas.gpu_words import FORMS, NOISE, QUALIFIERS, VENDOR_HINTS, Lexeme, code_models, codes_and_numbers

_SHARED_CODES = word_set("a2 l2 p4 t10 k40 m10 m40 t400 t600 t1000 a380 a750 b50 b60 s4000 s7150 n150 n300 p150 p300")
"""codes that also name machine families or other things: believed where the vendor is named or nothing else is said"""

_PREFIXES = word_set("rtx gtx quadro q qrtx geforce pro ada rx")
_PRO_NUMBERS = word_set("2000 4000 4500 5000 6000")
_ADA_NUMBERS = word_set("2000 3500 4000 4500 5000 5880 6000")
_QUADRO_NUMBERS = word_set("4000 5000 6000 8000")
_POISON = word_set("pro ti tis super xt xtx gre laptop mobile notebook maxq")


@dataclass(frozen=True, slots=True)
class Match:
    gpu: str | None
    start: int
    end: int
    shared: bool = False
    choices: tuple[str, ...] = ()
    """models that the bare name may mean; memory decides, the first where nothing is said"""


_Matcher = Callable[[list[Lexeme], int, set[str]], "Match | None"]


def matches(words: list[Lexeme]) -> list[Match]:
    found: list[Match] = []
    hints = {item.text for item in words}
    at = 0
    while at < len(words):
        match = _match(words, at, hints)
        if match is None:
            at += 1
        else:
            found.append(match)
            at = max(match.end, at + 1)
    return found


def _match(words: list[Lexeme], at: int, hints: set[str]) -> Match | None:
    item = words[at]
    if item.kind == "code":
        return _code(words, at, hints)
    if item.kind == "word" and item.text in _WORD_MODELS:
        return _WORD_MODELS[item.text](words, at, hints)
    if (item.kind == "word" and item.text in _PREFIXES) or item.kind == "number":
        return _numbered(words, at, hints)
    return None


def text_at(words: list[Lexeme], at: int) -> str:
    return words[at].text if 0 <= at < len(words) and not (words[at].apart and at) else ""


def _model(name: str) -> str | None:
    return model_by_squash().get(squash(name))


def _code(words: list[Lexeme], at: int, hints: set[str]) -> Match | None:
    code, end = words[at].text, at + 1
    behind = text_at(words, end)
    if code + behind in code_models() and len(behind) == 1 and behind.isalpha():
        code, end = code + behind, end + 1
    elif len(behind) == 1 and behind.isalpha() and behind != "x":
        return Match(None, at, end + 1)
    gpu: str | None = code_models()[code]
    assert gpu is not None
    while text_at(words, end) in {"geforce", "generation", "edition"}:
        end += 1
    if gpu.startswith("RTX A") and text_at(words, end) == "ada":
        # sellers write "RTX A6000 Ada" for the RTX 6000 Ada; an A6000 of that generation does not exist
        gpu, end = _model(f"RTX {code[1:]} Ada"), end + 1
    if text_at(words, end) in _POISON:
        return Match(None, at, end + 1)
    if gpu == "P100" and hints & {"tenstorrent", "blackhole"}:
        gpu = "p100a"
    start = at
    while start and words[start - 1].text in _PREFIXES | {"radeon", "ai", "arc", "cmp", "mtt"}:
        start -= 1
    return Match(gpu, start, end, shared=code in _SHARED_CODES)


def _numbered(words: list[Lexeme], at: int, hints: set[str]) -> Match | None:
    """RTX, GTX, Quadro RTX, RTX PRO, RTX Ada, RX: a number with words before and behind it."""
    start, before = at, set()
    while (
        at < len(words)
        and words[at].text in _PREFIXES | {"server", "workstation"}
        and not (words[at].apart and at > start)
    ):
        before.add(words[at].text)
        at += 1
    if at >= len(words) or words[at].kind != "number" or (words[at].apart and at > start):
        return None
    number = words[at].text
    if number not in codes_and_numbers()[1] and not (number in {"970", "980"} and "gtx" in before):
        if before & {"rtx", "gtx", "rx"} and len(number) >= 3 and len(number) <= 4:
            return Match(None, start, at + 1)
        return None
    end, behind = at + 1, set()
    while (
        end < len(words)
        and not words[end].apart
        and (words[end].text in QUALIFIERS or words[end].text in NOISE - {"x"})
    ):
        if words[end].text in QUALIFIERS:
            behind.add(words[end].text)
        end += 1
    if (
        not before
        and not behind & {"ada", "ti", "tis", "super", "xt", "xtx", "gre", "laptop", "pro"}
        and not hints & {"radeon"}
    ):
        bare = all(
            item.kind in {"number", "size", "before", "behind"}
            or item.text in VENDOR_HINTS.keys() | NOISE | FORMS.keys()
            for item in words
        )
        if not bare or number < "2060" or number in _QUADRO_NUMBERS | _PRO_NUMBERS:
            return None
    quals = before | behind
    if quals & {"rx", "xt", "xtx", "gre"} or ("radeon" in hints and not before & {"rtx", "gtx"}):
        tail = next((word for word in ("xtx", "xt", "gre") if word in quals), "")
        return Match(_model(f"RX {number} {tail}"), start, end)
    choices = _nvidia(number, before, behind)
    return Match(choices[0] if choices else None, start, end, choices=choices)


def _nvidia(number: str, before: set[str], behind: set[str]) -> tuple[str, ...]:
    """Models that this number with these words may mean, the likeliest first."""
    quals = before | behind
    laptop = bool(quals & {"laptop", "mobile", "notebook"})
    names: list[str] = []
    if number in _QUADRO_NUMBERS | _PRO_NUMBERS | _ADA_NUMBERS:
        if "pro" in quals or "blackwell" in quals or "bse" in quals:
            names = [f"RTX PRO {number}"] if number in _PRO_NUMBERS else []
        elif "sff" in quals:
            names = [f"RTX {number} SFF Ada"]
        elif "ada" in quals or number == "5880":
            names = [f"RTX {number} Ada"]
        elif before & {"quadro", "q", "qrtx"} or "turing" in quals:
            names = [f"Quadro RTX {number}"]
        elif number in _QUADRO_NUMBERS:
            # the bare name is the oldest card; newer ones are told by their memory
            names = [f"Quadro RTX {number}", f"RTX {number} Ada", f"RTX PRO {number}"]
    elif "pro" not in quals and not ("maxq" in quals and not laptop and number >= "4090"):
        tail = ["Ti"] if quals & {"ti", "tis"} else []
        tail += ["SUPER"] if quals & {"super", "s", "tis"} else []
        tail += ["D"] if "d" in quals else []
        tail += ["Laptop"] if laptop or "maxq" in quals else []
        names = [" ".join([family, number, *tail]) for family in ("RTX", "GTX")]
    return tuple(model for name in names if (model := _model(name)))


def _titan(words: list[Lexeme], at: int, _hints: set[str]) -> Match | None:
    behind = text_at(words, at + 1)
    if behind in {"x", "xp", "v", "rtx"}:
        start = at - 1 if text_at(words, at - 1) == "gtx" else at
        return Match(_model(f"{'GTX ' if start < at else ''}TITAN {behind}"), start, at + 2)
    if text_at(words, at - 1) == "rtx":
        return Match("TITAN RTX", at - 1, at + 1)
    return None


def _generations(name: str, separator: str) -> _Matcher:
    def match(words: list[Lexeme], at: int, _hints: set[str]) -> Match | None:
        behind = text_at(words, at + 1)
        digit = behind.removeprefix("v")
        if digit in {"1", "2", "3", "4"} and words[at + 1].kind in {"number", "word"}:
            return Match(_model(name if digit == "1" else f"{name}{separator}{digit}"), at, at + 2)
        if (
            text_at(words, at + 1)
            and words[at + 1].kind == "code"
            and squash(name) == "gaudi"
            and behind.startswith("hl")
        ):
            return Match(code_models()[behind], at, at + 2)
        return Match(_model(name), at, at + 1)

    return match


def _tpu(words: list[Lexeme], at: int, _hints: set[str]) -> Match | None:
    behind, after = text_at(words, at + 1), text_at(words, at + 2)
    version = {"v5litepod": "v5e", "v5": "v5e" if after in {"lite", "litepod"} else "", "v6": "v6e", "v7": "v7x"}.get(
        behind, behind
    )
    gpu = "TPU7x" if version == "v7x" else _model(f"TPU {version}") if version.startswith("v") else None
    return Match(gpu, at, at + 2) if gpu else None


def _two_words(table: dict[str, str]) -> _Matcher:
    def match(words: list[Lexeme], at: int, _hints: set[str]) -> Match | None:
        gpu = table.get(text_at(words, at + 1))
        return Match(gpu, at, at + 2) if gpu else None

    return match


def _ai100(words: list[Lexeme], at: int, hints: set[str]) -> Match | None:
    end = at + 1 if words[at].text == "ai100" else at + 2
    if words[at].text == "ai" and (text_at(words, at + 1) != "100" or not hints & {"cloud", "qualcomm"}):
        return None
    tail = text_at(words, end)
    if tail == "pro":
        return Match(None, at, end + 1)
    return Match("Cloud AI 100 Ultra" if tail == "ultra" else "Cloud AI 100", at, end + (tail in {"ultra", "standard"}))


def _fixed(gpu: str, needs: str = "") -> _Matcher:
    def match(_words: list[Lexeme], at: int, hints: set[str]) -> Match | None:
        return Match(gpu, at, at + 1) if not needs or needs in hints else None

    return match


_WORD_MODELS: dict[str, _Matcher] = {
    "titan": _titan,
    "gaudi": _generations("Gaudi", " "),
    "inferentia": _generations("Inferentia", ""),
    "trainium": _generations("Trainium", ""),
    "tpu": _tpu,
    "trillium": _fixed("TPU v6e"),
    "ironwood": _fixed("TPU7x"),
    "flex": _two_words({"140": "Flex 140", "170": "Flex 170"}),
    "max": _two_words({"1100": "Max 1100", "1550": "Max 1550"}),
    "ascend": _two_words({"910": "Ascend 910", "910b": "Ascend 910B"}),
    "ai": _ai100,
    "ai100": _ai100,
    "vii": _fixed("Radeon VII", "radeon"),
    "spark": _fixed("GB10", "dgx"),
}

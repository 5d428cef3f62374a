"""Reading what people type: GPU names, ranges, names of any kind, times. A wrong word gets the nearest right one.

Every function raises UsageFault (exit code 2) and names what was expected. No clock is read here: `now` is passed in.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NamedTuple

from gpufare.cli import UsageFault

SPANS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
YEARS = (1970, 2999)
"""in which a moment may lie: every day of them has a day before and one after"""
CONTINENTS = {
    "AF": "Africa",
    "AN": "Antarctica",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "OC": "Oceania",
    "SA": "South America",
}
# Everyday names that are not the ISO 3166 short names.
COUNTRY_WORDS = {"uk": "GB", "england": "GB", "usa": "US", "america": "US", "korea": "KR", "uae": "AE", "holland": "NL"}
_COUNT = r"^(?P<name>.*?)\s*[:*]\s*(?P<count>[\d./]+)$"
_SIZE = r"(?i)(?<![\d.])\d+(?:\.\d+)?[\s_-]*g(?:i?b)?\b"
_FORM = r"(?i)(?<![a-z])(sxm|pcie|pci-e|nvl|oam)(?![a-z])"


def folded(text: str) -> str:
    """The text without case and separators, as names are compared."""
    return re.sub(r"[\W_]+", "", text.casefold())


def nearest(text: str, names: Iterable[str], most: int = 1) -> list[str]:
    """The names closest to a word, best first."""
    import difflib

    by_fold: dict[str, list[str]] = {}
    for name in names:
        by_fold.setdefault(folded(name), []).append(name)
    close = difflib.get_close_matches(folded(text), list(by_fold), n=most, cutoff=0.5)
    # us-east-1 and us-east1 fold to the same word: what was typed tells which of them was meant
    return [max(by_fold[fold], key=lambda name: difflib.SequenceMatcher(None, text, name).ratio()) for fold in close]


def unknown(what: str, text: str, names: Iterable[str], see: str | None = None) -> UsageFault:
    """The fault for a word that is no known name: the nearest right one, else where to look."""
    known = list(names)
    near = nearest(text, known)
    if near:
        hint = f"did you mean {near[0]}?"
    elif see:
        hint = f"see `{see}`"
    else:
        hint = f"one of: {', '.join(known[:12])}{' ...' if len(known) > 12 else ''}" if known else "none is known"
    return UsageFault(f"no {what} {text!r}; {hint}")


def one_of(what: str, text: str, names: Sequence[str] | Mapping[str, str], see: str | None = None) -> str:
    """The known name that a word means, whatever its case and separators. A mapping takes other spellings to names."""
    spellings = names if isinstance(names, Mapping) else {name: name for name in names}
    found = {folded(spelling): name for spelling, name in spellings.items()}.get(folded(text))
    if found is None:
        raise unknown(what, text, dict.fromkeys(spellings), see)
    return found


def listed(texts: Iterable[str]) -> list[str]:
    """Comma lists and repeated options as one list, each word once."""
    return list(dict.fromkeys(word.strip() for text in texts for word in text.split(",") if word.strip()))


class Range(NamedTuple):
    """Numbers from `low` to `high`, both included; None is open."""

    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.low == self.high and self.low is not None:
            return f"{self.low:g}"
        return f"{'' if self.low is None else f'{self.low:g}'}..{'' if self.high is None else f'{self.high:g}'}"

    def holds(self, value: float | None) -> bool:
        """Does the value lie in the range? Unknown lies in none."""
        return (
            value is not None and (self.low is None or value >= self.low) and (self.high is None or value <= self.high)
        )


def number(what: str, text: str) -> float:
    """A number above zero, or a share such as 1/8."""
    from fractions import Fraction

    try:
        value = float(Fraction(text.strip())) if "/" in text else float(text.strip())
    except (ValueError, ZeroDivisionError):
        raise UsageFault(f"{what} {text!r} is no number; write 8, 1.5 or 1/8") from None
    if not math.isfinite(value) or value < 0:
        raise UsageFault(f"{what} {text!r} must be a number from 0 up")
    return value


def span(what: str, text: str) -> Range:
    """`24..`, `..80`, `1..4` or `48` (just that)."""
    low, dots, high = text.strip().partition("..")
    if not dots:
        value = number(what, low)
        return Range(value, value)
    if not low.strip() and not high.strip():
        raise UsageFault(f"{what} {text!r} is open at both ends; write 24.., ..80 or 1..4")
    read = Range(
        number(what, low) if low.strip() else None,
        number(what, high) if high.strip() else None,
    )
    if read.low is not None and read.high is not None and read.low > read.high:
        raise UsageFault(f"{what} {text!r} ends before it starts; did you mean {read.high:g}..{read.low:g}?")
    return read


class Wanted(NamedTuple):
    """A GPU as somebody asks for it. Form factor, memory and count narrow only where the words say them."""

    gpu: str
    form_factor: str | None = None
    vram_gib: float | None = None
    number: Range | None = None

    def __str__(self) -> str:
        size = f" {self.vram_gib:g}GB" if self.vram_gib else ""
        count = f":{self.number}" if self.number else ""
        return f"{self.gpu}{f' {self.form_factor}' if self.form_factor else ''}{size}{count}"


def gpu(text: str) -> Wanted:
    """`H100`, `h100-sxm`, `rtx4090`, `RTX 4090`, `RTX_4090`, `4090`, `A100-80GB`, `H100:8`, `8x H100`."""
    count_said = re.match(_COUNT, text)
    words, count = (count_said["name"], count_said["count"]) if count_said else (text, None)
    wanted = Range(*(number("count", count),) * 2) if count else None
    # A model by its own name needs no grammar, whose import takes a fifth of the whole question.
    if exact := _model_names().get(folded(words)):
        return Wanted(exact, number=wanted)
    from schemas import gpu_names

    model = gpu_names.canonical(words)
    if model is None:
        near = gpu_names.nearest_gpus(words, 1)
        raise UsageFault(f"no GPU {words!r}; " + (f"did you mean {near[0]}?" if near else "see `gpufare gpus`"))
    read = gpu_names.read_gpu(words)
    if wanted is None and read.gpu_count is not None:
        wanted = Range(*(float(read.gpu_count),) * 2)
    return Wanted(
        model,
        read.form_factor if re.search(_FORM, words) else None,
        read.vram_gib if re.search(_SIZE, words) else None,
        wanted,
    )


def _model_names() -> dict[str, str]:
    """Models by their folded names: the first column of the table alone, a tenth of the time of loading it strictly."""
    import csv

    from schemas.facts import FACTS_DIR

    with (FACTS_DIR / "gpus.csv").open(encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        at = next(rows).index("gpu")
        return {folded(name): name for name in {row[at] for row in rows}}


def gpus(texts: Iterable[str]) -> list[Wanted]:
    """Every GPU of comma lists and repeated options."""
    return [gpu(word) for word in listed(texts)]


def provider(text: str, also: Iterable[str] = ()) -> str:
    """The slug of a provider, by slug or title; `also` are slugs that only a store knows."""
    from schemas.providers import providers

    spellings = {slug: slug for slug in (*providers(), *also)}
    spellings |= {facts.title: slug for slug, facts in providers().items() if folded(facts.title) not in spellings}
    if (found := {folded(spelling): slug for spelling, slug in spellings.items()}.get(folded(text))) is not None:
        return found
    near = nearest(text, spellings)
    raise UsageFault(
        f"no provider {text!r}; " + (f"did you mean {spellings[near[0]]}?" if near else "see `gpufare providers`"),
    )


def provider_names(texts: Iterable[str], also: Iterable[str] = ()) -> list[str] | None:
    """The slugs of all providers named; None where none is, which means all."""
    return [provider(word, also) for word in listed(texts)] or None


def country(text: str) -> str:
    """ISO 3166 alpha-2 code of a country, by code or name."""
    from schemas.places import countries

    spellings = {name: code for code, row in countries().items() for name in (code, row.name)}
    return one_of("country", text, {**spellings, **COUNTRY_WORDS})


def continent(text: str) -> str:
    """Code of a continent, by code or name."""
    return one_of("continent", text, {name: code for code, long in CONTINENTS.items() for name in (code, long)})


def purchases(texts: Iterable[str]) -> list[str] | None:
    """Kinds of purchase; `all` or `any` is None, no filter."""
    from schemas.raw_offer import PURCHASES

    words = listed(texts)
    if any(folded(word) in {"all", "any"} for word in words):
        return None
    return [one_of("purchase", word, {**{p: p for p in PURCHASES}, "preemptible": "spot"}) for word in words]


def moment(text: str, now: datetime, *, end_of_day: bool = False) -> datetime:
    """An instant in UTC: `2026-11-29T02:00Z`, `2026-11-29`, `now`, `today`, `yesterday`, `90d`, `12h`, `30m`, `2w` ago.

    A time without a zone is UTC. A day means its start, or its end where `end_of_day`: a table as of
    a day holds that day.
    """
    word = text.strip().casefold()
    if word == "now":
        return now
    if match := re.fullmatch(r"(\d{1,5})\s*([mhdw])", word):
        return now - int(match[1]) * SPANS[match[2]]
    named = {"today": 0, "yesterday": 1}
    try:
        past = named.get(word)
        day = word if past is None else (now.astimezone(UTC) - timedelta(days=past)).date().isoformat()
        at = datetime.fromisoformat(day.upper() if "t" in day else day)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageFault(
            f"no day or time {text!r}; write 2026-11-29, 2026-11-29T02:00Z, yesterday, 90d or 12h"
        ) from None
    if not YEARS[0] <= at.year <= YEARS[1]:
        raise UsageFault(f"{text!r} lies outside the years {YEARS[0]} to {YEARS[1]}; no price was published then")
    if end_of_day and re.fullmatch(r"[\d-]+|\d{4}-?w[\d-]+", day):
        return at + timedelta(days=1) - timedelta(microseconds=1)
    return at


def zone(text: str) -> tzinfo:
    """A time zone by its IANA name; names ignore case and separators."""
    from zoneinfo import ZoneInfo, available_timezones

    return ZoneInfo(one_of("time zone", text, sorted(available_timezones())))


def columns(texts: Iterable[str], known: Sequence[str], default: Sequence[str]) -> list[str]:
    """Columns to show, in order; a list that starts with `+` comes on top of the default ones."""
    joined = ",".join(texts).strip()
    names = [one_of("column", word, known) for word in listed([joined.removeprefix("+")])]
    return list(dict.fromkeys([*default, *names])) if joined.startswith("+") else names


def effective(**filters: Any) -> dict[str, Any]:
    """Filters for the `query` of an answer: only those that are set, in words."""
    return {
        name: [str(part) for part in value] if isinstance(value, list) else value
        for name, value in filters.items()
        if value is not None and value != [] and value is not False
    }

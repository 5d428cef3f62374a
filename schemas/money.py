"""Prices in words: amount, currency, what for (`per`), how long (`unit`). What a text does not say is None.

Separators. Two kinds in one number: the last is the decimal one. One kind, repeated: thousands. One, once: decimal,
unless exactly three digits follow a first part that is not 0. Then a comma parts thousands (`$1,499`), a dot decimals
(`$12.240`); but where the currency stands behind the number, as it does where people write commas for decimals, it is
the other way round (`1,499 €`, `2.199 €/Monat`; a dot keeps its meaning before `/h`, where thousands are no price).
Currencies without small change (₫, Rp, ₩) have thousands only. A locale, where the caller knows it, decides for itself.

Neither price-parser nor Babel is used: the first knows no unit, no `from`, no range, and was reported to take `,89 €`
for 89; the second reads a number only when it is told the locale, which a price text on a page does not tell.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Any

from schemas.money_words import (
    CURRENCY,
    DECIMAL_COMMA,
    FLOOR_BEFORE,
    FLOOR_BEHIND,
    MULTIPLES,
    NO_SMALL_CHANGE,
    OF_OTHER_THINGS,
    OLD_PRICE,
    PER_GPU,
    PER_INSTANCE,
    RANGE,
    REDUCED,
    UNDER,
    clean,
    find_unit,
    yuan_or_yen,
)

_LIMIT = Decimal(10) ** 13
"""amounts from here on cannot be stored, and are no rents"""


@dataclass(frozen=True, slots=True)
class Price:
    """What a text says of a price."""

    text: str
    amount: Decimal | None
    """None where the text holds no price, or several without saying which counts"""
    currency: str | None
    """ISO 4217; None for a sign that several share (¥, kr)"""
    per: str | None
    """instance or gpu"""
    unit: str | None
    """second, minute, hour, day, month or year"""
    from_: bool
    """a floor ("from", a range's lower end), not the price of anything in particular"""


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    digits: str
    sign: str | None
    behind: bool
    """the currency stands behind the number"""


_NUMBER = re.compile(
    r"(?<![\w.,'’])(?:\d{1,3}(?:[ '’]\d{3})+(?:[.,]\d{1,10})?|\d[\d.,]{0,24}\d|\d|[.,]\d{1,10})"
    r"(?:e[+-]?\d{1,3})?(?![\d%]|\s?%)",
    re.IGNORECASE,
)


@lru_cache(maxsize=65536)
def read_price(text: str, locale: str | None = None) -> Price:
    """Read the price that a text holds. Never raises. `locale` (`de`, `en-GB`) only settles ambiguous separators."""
    words = clean(text)
    found = _prices(words)
    if not found:
        return Price(text, None, None, None, None, False)
    chosen, low = _choose(words, found)
    if chosen is None:
        return Price(text, None, None, None, None, False)
    following = next((item.start for item in found if item.start > chosen.start), len(words))
    unit = find_unit(words[chosen.end : following]) or find_unit(words[chosen.end :])
    if unit is None and len(found) == 1:
        unit = find_unit(words[: chosen.start], leading=True)
    currency = _currency(chosen.sign, words)
    amount = _amount(chosen, currency, unit, locale)
    if amount is not None and (multiple := MULTIPLES.match(words, chosen.end)):
        amount = amount * Decimal(MULTIPLES.value(multiple))
    if amount is None or not amount.is_finite() or abs(amount) >= _LIMIT:
        return Price(text, None, None, None, None, False)
    per = "gpu" if PER_GPU.search(words) else "instance" if PER_INSTANCE.search(words) else None
    before, behind = words[: chosen.start], words[chosen.end :]
    floor = low or bool(FLOOR_BEFORE.search(before)) or bool(FLOOR_BEHIND.match(behind))
    return Price(text, amount, currency, per, unit, floor)


def as_json(price: Price) -> dict[str, Any]:
    """The object that `resolve price` prints: {text, amount, currency, per, unit, from}; the amount a JSON number where
    a double holds it exactly, else its digits as a string."""
    return {
        "text": price.text,
        "amount": None if price.amount is None else _json_number(price.amount),
        "currency": price.currency,
        "per": price.per,
        "unit": price.unit,
        "from": price.from_,
    }


def _json_number(amount: Decimal) -> int | float | str:
    if amount == amount.to_integral_value():
        return int(amount)
    return float(amount) if Decimal(repr(float(amount))) == amount else format(amount, "f")


def _prices(words: str) -> list[_Found]:
    """Numbers with a currency beside them; else the one number of a text that holds nothing but a price."""
    numbers = list(_NUMBER.finditer(words))
    signs = list(CURRENCY.finditer(words))
    prefix = bool(signs) and (not numbers or signs[0].start() < numbers[0].start())
    taken: dict[int, _Found] = {}
    for sign in signs:
        left = next(
            (n for n in reversed(numbers) if n.end() <= sign.start() and _only_space(words[n.end() : sign.start()])),
            None,
        )
        right = next(
            (n for n in numbers if n.start() >= sign.end() and _only_space(words[sign.end() : n.start()])), None
        )
        if left is not None and right is not None:
            near_left, near_right = sign.start() - left.end(), right.start() - sign.end()
            left, right = (
                (left, None) if near_left < near_right or (near_left == near_right and not prefix) else (None, right)
            )
        number = left or right
        if number is None:
            continue
        earlier = taken.get(number.start())
        if earlier is not None and not _more_telling(sign.group(), earlier.sign or ""):
            continue
        behind = left is not None if earlier is None else earlier.behind
        taken[number.start()] = _Found(number.start(), number.end(), number.group(), sign.group(), behind)
    found = [item for _, item in sorted(taken.items())]
    if not found:
        found = _lone(words, numbers)
    return [item for item in found if not _negative(words, item)]


def _only_space(between: str) -> bool:
    """Space, a minus, or a multiple ("1.5 triệu đồng") may stand between number and currency."""
    return len(between) <= 12 and (not between.strip(" -") or MULTIPLES.fullmatch(between) is not None)


def _more_telling(sign: str, than: str) -> bool:
    """`$100 AUD`: a code says more than a sign that many countries share."""
    return len(sign) >= 3 and than in {"$", "¥", "kr"}


def _lone(words: str, numbers: list[re.Match[str]]) -> list[_Found]:
    """A number without currency is a price only where nothing else stands beside it but a unit or `from`."""
    rest = _NUMBER.sub(" ", words)
    if find_unit(rest) or find_unit(rest, leading=True):
        rest = find_unit.strip(rest)
    rest = FLOOR_BEFORE.sub(" ", rest + " ")
    if not numbers or rest.strip(" .:~≈/-"):
        return []
    amounts = [n for n in numbers if n.start() == numbers[0].start()]
    # "2.0000/ 1 hour": the second number counts the unit
    if len(numbers) > 1 and not (len(numbers) == 2 and numbers[1].group() == "1"):
        return []
    return [_Found(n.start(), n.end(), n.group(), None, False) for n in amounts]


def _negative(words: str, item: _Found) -> bool:
    """A minus right before amount or currency, and not between two numbers, where it means a range."""
    before = words[: item.start].rstrip()
    if item.sign and not item.behind and before.endswith(item.sign):
        before = before[: -len(item.sign)].rstrip(" ") if not before[: -len(item.sign)].endswith("- ") else ""
    if not before.endswith("-"):
        return False
    return not re.search(r"\d\s?(?:[^\w\s\d]|[A-Za-z]{3})?(?:\s?/\s?\w{1,8})?\s*-$", before[-30:])


def _choose(words: str, found: list[_Found]) -> tuple[_Found | None, bool]:
    """The price that counts, and whether it is the low end of a range."""
    kept = [
        item for item in found if not OLD_PRICE.search(words[: item.start]) and not UNDER.search(words[: item.start])
    ]
    others = [item for item in kept if not OF_OTHER_THINGS.match(words, item.end)]
    kept = others or kept[:1]
    if not kept:
        return None, False
    if len(kept) == 1:
        # "$1.99-2.49": the second number of a range may lack its currency, and so may the first ("1,99 - 2,49 €")
        return _range_end(words, kept[0])
    return _of_several(words, kept)


def _of_several(words: str, kept: list[_Found]) -> tuple[_Found | None, bool]:
    """A range's low end; the reduced price behind a reduction; the first of several units; None where nothing tells."""
    first, second, last = kept[0], kept[1], kept[-1]
    if RANGE.fullmatch(words[first.end : second.start]):
        return first, True
    if REDUCED.search(words[first.end : last.start]):
        return last, False
    units = [find_unit(words[item.end : following.start]) for item, following in pairwise(kept)]
    units.append(find_unit(words[last.end :]))
    same = len({item.digits for item in kept}) == 1
    told_apart = units[0] is not None and len(set(units)) == len(units)
    return (first if same or told_apart else None), False


def _range_end(words: str, item: _Found) -> tuple[_Found, bool]:
    for number in _NUMBER.finditer(words):
        if number.start() > item.end and RANGE.fullmatch(words[item.end : number.start()]):
            return item, True
        if number.end() < item.start and RANGE.fullmatch(words[number.end() : item.start]):
            return _Found(number.start(), number.end(), number.group(), item.sign, item.behind), True
    return item, False


def _currency(sign: str | None, words: str) -> str | None:
    if sign is None:
        return None
    code = CURRENCY.code(sign)
    return yuan_or_yen(words) if code == "¥" else code


def _amount(item: _Found, currency: str | None, unit: str | None, locale: str | None) -> Decimal | None:
    mantissa, _, exponent = item.digits.lower().partition("e")
    number = re.sub("[ '’]", "", mantissa)
    plain = _plain(number, item, currency, unit, locale)
    if plain is None or (exponent and abs(int(exponent)) > 30):
        return None
    return Decimal(plain + (f"e{exponent}" if exponent else ""))


def _plain(number: str, item: _Found, currency: str | None, unit: str | None, locale: str | None) -> str | None:
    """The digits with a dot for decimals, or None where the separators make no number."""
    kinds = {c for c in number if c in ".,"}
    if not kinds:
        return number
    if len(kinds) == 2:
        decimal = max(kinds, key=number.rindex)
        whole, _, fraction = number.rpartition(decimal)
        thousands = (kinds - {decimal}).pop()
        if decimal in whole or not _grouped(whole, thousands):
            return None
        return f"{whole.replace(thousands, '')}.{fraction}"
    sign = kinds.pop()
    parts = number.split(sign)
    if len(parts) > 2:
        return "".join(parts) if _grouped(number, sign) else None
    whole, fraction = parts
    ambiguous = len(fraction) == 3 and whole.strip("0") != "" and len(whole) <= 3 and " " not in item.digits
    if ambiguous and _is_thousands(sign, item, currency, unit, locale):
        return whole + fraction
    return f"{whole or 0}.{fraction or 0}"


def _grouped(whole: str, sign: str) -> bool:
    """Groups of three, or the Indian two with a last three."""
    first, *groups = whole.split(sign)
    if not groups or not 1 <= len(first) <= 3 or len(groups[-1]) != 3:
        return False
    return all(len(group) == 3 for group in groups) or (
        len(first) <= 2 and all(len(group) == 2 for group in groups[:-1])
    )


def _is_thousands(sign: str, item: _Found, currency: str | None, unit: str | None, locale: str | None) -> bool:
    if locale:
        language = locale.replace("_", "-").lower()
        decimal = "," if language.split("-")[0] in DECIMAL_COMMA and not language.endswith("-ch") else "."
        return sign != decimal
    if currency in NO_SMALL_CHANGE:
        return True
    continental = item.behind and currency in DECIMAL_COMMA
    if sign == ",":
        return not continental
    return continental and unit not in {"second", "minute", "hour"}

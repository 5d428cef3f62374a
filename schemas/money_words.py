"""The words of prices in the languages that providers write: currencies, units, floors, ranges, old prices."""

from __future__ import annotations

import re
import unicodedata
from typing import ClassVar

from schemas.facts import word_set


def _table(pairs: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in pairs.split())


_CODES = sorted(
    word_set(
        "USD EUR GBP JPY CNY INR VND KRW AUD CAD NZD SGD HKD TWD CHF SEK NOK DKK ISK PLN CZK HUF RON BGN RUB "
        "UAH TRY ILS AED SAR QAR ZAR NGN BRL MXN CLP COP ARS PEN THB IDR MYR PHP KZT"
    )
)
_SIGNS = _table(
    "US$=USD AU$=AUD A$=AUD CA$=CAD C$=CAD HK$=HKD NT$=TWD SG$=SGD S$=SGD NZ$=NZD MX$=MXN R$=BRL CN¥=CNY "
    "JP¥=JPY $=USD €=EUR £=GBP ₹=INR ₫=VND ₩=KRW ₽=RUB ₺=TRY ₴=UAH ₪=ILS ฿=THB ₱=PHP ₦=NGN ₸=KZT ¥=¥ "
    "円=JPY 元=CNY 원=KRW"
)
_NAMES = _table(
    "RMB=CNY CNH=CNY zł=PLN Kč=CZK Ft=HUF Rs.=INR Rs=INR Rp=IDR RM=MYR Fr.=CHF руб.=RUB руб=RUB đồng=VND "
    "đ=VND euros=EUR euro=EUR dollars=USD yen=JPY yuan=CNY kr=kr"
)
DECIMAL_COMMA = word_set(
    "de fr es it nl pt pl cs sk sv da nb nn no fi ru uk tr vi id ro hu el bg hr sl et lv lt ca "
    "EUR PLN CZK HUF RON BGN RUB UAH TRY SEK NOK DKK"
)
"""languages that write a comma for decimals, and currencies that stand behind their numbers where they do"""

NO_SMALL_CHANGE = word_set("VND IDR KRW CLP COP JPY")


class _Currencies:
    """Signs, codes and names. A code or name must stand free of other letters; digits may touch it."""

    def __init__(self) -> None:
        self._codes = {**_SIGNS, **{code: code for code in _CODES}, **_NAMES}
        self._folded = {sign.lower(): code for sign, code in self._codes.items()}
        signs = "|".join(re.escape(sign) for sign in sorted(_SIGNS, key=len, reverse=True))
        words = "|".join(re.escape(word) for word in sorted([*_CODES, *_NAMES], key=len, reverse=True))
        self._pattern = re.compile(
            rf"(?:(?<![A-Za-z])|(?<=\b))(?:{signs})|(?<![^\W\d_])(?:{words})(?![^\W\d_])", re.IGNORECASE
        )

    def finditer(self, words: str) -> list[re.Match[str]]:
        return list(self._pattern.finditer(words))

    def code(self, sign: str) -> str | None:
        """ISO code; ¥ for the sign that two countries share; None for kr, that three share."""
        code = self._codes.get(sign) or self._folded.get(sign.lower())
        return None if code == "kr" else code


CURRENCY = _Currencies()


def yuan_or_yen(text: str) -> str | None:
    """¥ means what the words beside it say, and nothing without them."""
    yen = bool(re.search(r"円|JPY|\byen\b|時間", text, re.IGNORECASE))
    yuan = bool(re.search(r"元|CNY|RMB|\byuan\b|人民币|小时|个月", text, re.IGNORECASE))
    return "JPY" if yen and not yuan else "CNY" if yuan and not yen else None


class _Multiples:
    """`1,5 triệu`, `1.5万`, `1.2k`."""

    _values: ClassVar[dict[str, int]] = {
        **dict.fromkeys(("k", "nghìn", "ngàn", "천"), 10**3),
        **dict.fromkeys(("万", "萬", "만"), 10**4),
        "lakh": 10**5,
        **dict.fromkeys(("triệu", "million"), 10**6),
        **dict.fromkeys(("億", "亿"), 10**8),
    }
    _pattern = re.compile(
        r"k(?![a-z])|\s?(?:triệu|nghìn|ngàn|万|萬|만|천|億|亿|million(?![a-z])|lakh(?![a-z]))", re.IGNORECASE
    )

    def match(self, words: str, at: int) -> re.Match[str] | None:
        return self._pattern.match(words, at)

    def fullmatch(self, between: str) -> re.Match[str] | None:
        return self._pattern.fullmatch(between.rstrip())

    def value(self, match: re.Match[str]) -> int:
        return self._values[match.group().strip().lower()]


MULTIPLES = _Multiples()

_UNITS = {
    "second": r"seconds?|secs?|s|sekunden?|sek|secondes?|giây|秒|초",
    "minute": r"minutes?|mins?|minuten|phút|分钟|分鐘|分|분",
    "hour": r"hours?|hrs?|h|std|stunden?|heures?|giờ|時間|小时|小時|时|時|시간|or[ae]|horas?|uur|час(?:а|ов)?|ч|godz",
    "day": r"days?|d|tage?|jours?|ngày|日|天|일|d[ií]as?|день",
    "month": r"months?|mos?|mths?|mon|monate?|mois|tháng|个月|個月|ヶ月|か月|月|월|개월|mes|mese|мес(?:яц)?|maand|mies",
    "year": r"years?|yrs?|y|annum|jahre?|ans?|années?|năm|年|년|año|anno|год",
}
_ANY = "|".join(f"(?P<{unit}>{words})" for unit, words in _UNITS.items())
_THING = r"(?:gpu|card|instance|vm|server|node|droplet|machine|卡|台)"
_END = r"(?![^\W_])"
_CJK_UNITS = {
    "hour": r"小时|小時|時間|时|시간",
    "minute": r"分钟|分鐘|분",
    "second": r"秒|초",
    "day": r"天|日|일",
    "month": r"个月|個月|ヶ月|か月|月|월",
    "year": r"年|년",
}


class _Unit:
    """Finds the unit of time in what stands behind an amount (or, `leading`, before it)."""

    _behind = re.compile(
        rf"(?:/|\b(?:per|pro|je|par|a|an|each|every|por|al|à|mỗi|một|na)\b|每|毎|за|в)\s*(?:1\s+)?(?:{_THING}s?\s*(?:[-/·*]|per\b|\s)?\s*)?(?:1\s+)?(?:{_ANY}){_END}",
        re.IGNORECASE,
    )
    _words: ClassVar[dict[str, re.Pattern[str]]] = {
        "hour": re.compile(r"\bhourly\b|\bgpu-?h(?:ou)?rs?\b|stündlich|hàng giờ|时租", re.IGNORECASE),
        "minute": re.compile(r"\bminutely\b", re.IGNORECASE),
        "day": re.compile(r"\bdaily\b|täglich|日租|日額", re.IGNORECASE),
        "month": re.compile(r"\bmonthly\b|monatlich|mensuel|hàng tháng|月額|月额|月租|包月", re.IGNORECASE),
        "year": re.compile(r"\b(?:yearly|annually|annual)\b|jährlich|年額|包年", re.IGNORECASE),
    }
    _joined: ClassVar[dict[str, re.Pattern[str]]] = {
        unit: re.compile(rf"(?:每|毎|/|1)\s*(?:{words})|(?:{words})(?:あたり|당|/)", re.IGNORECASE)
        for unit, words in _CJK_UNITS.items()
    }
    _bare = re.compile(r"\s*(?P<hour>hr|hrs|h|hour|hours|std\.?|giờ)|\s*(?P<month>mo|month)", re.IGNORECASE)

    def __call__(self, words: str, leading: bool = False) -> str | None:
        words = words[:200] if not leading else words[-100:]
        if not leading and (match := self._behind.search(words)):
            return str(match.lastgroup)
        for group in (self._words, self._joined):
            for unit, pattern in group.items():
                if pattern.search(words):
                    return unit
        if leading and (match := self._behind.search(words)):
            return str(match.lastgroup)
        if not leading and (match := self._bare.fullmatch(words.rstrip(" ."))):
            return str(match.lastgroup)
        return None

    def strip(self, words: str) -> str:
        """The words without units and what a unit is said of."""
        for pattern in (self._behind, *self._words.values(), *self._joined.values()):
            words = pattern.sub(" ", words)
        words = re.sub(rf"(?:/|\bper\b)\s*{_THING}", " ", words, flags=re.IGNORECASE)
        return self._bare.sub(" ", words) if self._bare.fullmatch(words.strip(" .")) else words


find_unit = _Unit()

PER_GPU = re.compile(
    r"(?:/|\b(?:per|pro|je|par|mỗi|each|a)\b|每|毎)\s*(?:1\s*)?(?:gpu|卡|张|card\b)"
    r"|\bgpu[ -/]*(?:h|hr|hour|std|時間|小时)s?\b|\bgpu\s?あたり",
    re.IGNORECASE,
)
PER_INSTANCE = re.compile(
    r"(?:/|\b(?:per|pro|je|par|mỗi|each)\b|每)\s*(?:1\s*)?(?:instance|instanz|vm|server|node|droplet|machine|台|máy)",
    re.IGNORECASE,
)
FLOOR_BEFORE = re.compile(
    r"(?:\b(?:from|starting(?:\s+(?:at|from))?|starts?\s+(?:at|from)|as\s+low\s+as|at\s+least|ab|dès|à\s+partir\s+d[e']"
    r"|chỉ\s+từ|từ|от|desde|vanaf|od|a\s+partire\s+da|más de)"
    r"|最低|低至|仅需)\s*:?\s*(?:[^\W\d_]{0,3}[$€£₫¥₹₩₽]|[A-Z]{3}\s?|[A-Z]{3})?\s*$|[>≥]=?\s*(?:[$€£])?\s*$",
    re.IGNORECASE,
)
FLOOR_BEHIND = re.compile(
    r"\s?(?:[$€£₫¥₹₩₽円元원]|[A-Z]{3})?(?:\s?/\s?\w{1,8}|/小时|/時間|/月|/月間|/시간)?\s?(?:起|から|부터|～|~|\+(?!\s?\d))",
    re.IGNORECASE,
)
UNDER = re.compile(
    r"(?:\b(?:up\s+to|bis\s+zu|less\s+than|under|below|save|saving|jusqu'à|max\.?|over|saves?)|[<≤]=?)\s*\S{0,4}\s*$",
    re.IGNORECASE,
)
OLD_PRICE = re.compile(
    r"(?:\b(?:was|were|before|previously|formerly|instead\s+of|statt|früher|bisher|uvp|au\s+lieu\s+de|regular(?:ly)?"
    r"|list(?:\s+price)?|msrp|rrp|trước đây|giá gốc)|原价|原價|定価|通常)"
    r"\s*:?\s*\S{0,4}\s*$",
    re.IGNORECASE,
)
RANGE = re.compile(
    r"\s?(?:[$€£₫¥₹₩₽]|[A-Z]{3})?(?:\s?/\s?\w{1,8})?\s*(?:-|~|～|\bto\b|\bbis\b|\bà\b|đến|まで|から|至|到)\s*(?:[A-Z]{0,2}[$€£₫¥₹₩₽]|[A-Z]{3})?\s?",
    re.IGNORECASE,
)
REDUCED = re.compile(r"%\s*(?:off|rabatt|discount|de réduction)|\b(?:now|sale|jetzt|nur)\b|现价|特价", re.IGNORECASE)
OF_OTHER_THINGS = re.compile(
    r"\s?(?:[$€£¥]|[A-Z]{3})?\s?(?:/|per\s)\s*(?:gb|gib|tb|tib|vcpu|cpu|core|1m|million|token|image|request|ip)\b",
    re.IGNORECASE,
)

_STRUCK = re.compile(
    "(?:[^\u0334-\u0338][\u0334-\u0338])+|~~[^~]{0,80}~~|<(s|del|strike)\\b[^>]{0,80}>[^<]{0,80}</\\1>", re.IGNORECASE
)
_TAG = re.compile(r"<[^<>]{0,120}>")
_GLUED_CODE = re.compile(rf"\b(?:{'|'.join(_CODES)})(?=\d)")
_DASHES = re.compile("[‐‑‒–—―−﹣－]")


def clean(text: str) -> str:
    """The first 300 characters without struck-through prices, tags, odd spaces and dashes."""
    text = _TAG.sub(" ", _STRUCK.sub(" ", text[:300]))
    text = text.replace("&nbsp;", " ").replace("￥", "¥")
    text = unicodedata.normalize("NFKC", text)[:600]
    text = "".join(c for c in text if unicodedata.category(c) not in {"Cf", "Cc"} or c in "\t\n\r")
    text = _DASHES.sub("-", re.sub(r"\s+", " ", text))
    text = re.sub(r"\${2,}", "$", text)
    text = _GLUED_CODE.sub(r"\g<0> ", text)
    text = re.sub(r"(?<=\d)[.,]-(?!\d)", "", text)  # "99,-"
    return re.sub(r"(?<=\d) (?=[.,]\d{2,})", "", text).strip()

"""The offers as columns for the page's script: each a dictionary of its values and a number for each row.

A column is `{"d": [value, ...], "i": [number, ...]}`; number 0 is null, number n the nth value. The script
filters a text by looking at each distinct value once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from schemas.gpu_table import rows_by_model
from table.cells import safe
from table.jsontext import dumps
from table.offers import gpu_name, region_name
from table.view import Row

PRECISIONS = ("bf16", "fp8", "fp4", "int8")
Made = Callable[[Row], Any]


def _plain(name: str) -> Made:
    def value(row: Row) -> Any:
        found = row.get(name)
        return safe(found) if isinstance(found, str) else found

    return value


def precision(row: Row) -> str | None:
    """Number formats that the card computes in hardware, such as `bf16 fp8 int8`; None for a card that is not known.

    A format counts where every row of gpus.csv that the offer can mean has it.
    """
    rows = rows_by_model().get(row.get("gpu") or "", ())
    meant = [one for one in rows if row.get("form_factor") in (None, one.form_factor)] or rows
    if not meant:
        return None
    return " ".join(name for name in PRECISIONS if all(getattr(one, name) == "yes" for one in meant)) or "-"


def _flags(row: Row) -> str | None:
    return safe(", ".join(row["flags"])) if row.get("flags") else None


OFFER_COLUMNS: Mapping[str, Made] = {
    "gpu": gpu_name,
    "model": _plain("gpu"),
    "precision": precision,
    "region": lambda row: None if not any(row.get(n) for n in ("region", "zone", "country")) else region_name(row),
    "flags": _flags,
    **{
        name: _plain(name)
        for name in (
            *("provider", "gpu_count", "vram_gib", "usd_per_gpu_hour", "usd_per_hour", "purchase", "term_months"),
            *("tier", "country", "availability", "available_count", "interconnect", "network_gbps"),
            *("billing_increment_s", "minimum_billing_s", "vcpus", "ram_gib", "disk_gib", "kind", "instance_type"),
            *("segment", "vendor", "price", "currency", "price_unit", "interruption_rate", "reseller_of"),
            *("offer_key", "observations", "median_30d_usd", "low_90d_usd"),
        )
    },
}
"""column of the page: how its value is made of a row of offers"""


def encoded(values: Iterable[Any]) -> dict[str, Any]:
    """One column: its distinct values in the order of their first row, and their numbers; 0 is null."""
    numbers: dict[Any, int] = {}
    at = [0 if value is None else numbers.setdefault(value, len(numbers) + 1) for value in values]
    return {"d": list(numbers), "i": at}


def table(rows: Sequence[Row], made: Mapping[str, Made] = OFFER_COLUMNS) -> dict[str, Any]:
    """All columns of the rows."""
    return {name: encoded(map(make, rows)) for name, make in made.items()}


def script(name: str, value: Any) -> str:
    """A script that hands a value to the page as `window.<name>`; nothing in it can end the script or run."""
    text = compact(value).replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return f"window.{name}={text};\n"


def compact(value: Any) -> str:
    """JSON without blanks, so that 30,000 numbers stay small; numbers keep every digit."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{dumps(str(key))}:{compact(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        if all(type(part) is int for part in value):
            return str(list(value)).replace(" ", "")
        return "[" + ",".join(map(compact, value)) + "]"
    return dumps(value)

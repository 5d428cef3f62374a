"""The offers as columns for the page's script: each a dictionary of its values and a number for each row.

A column is `{"d": [value, ...], "i": [number, ...]}`; number 0 is null, number n the nth value. The script
filters a text by looking at each distinct value once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from schemas.gpu_table import rows_by_model
from table.cells import safe
from table.jsontext import dumps
from table.offers import gpu_name, region_name
from table.site.content import Content, Past
from table.view import Row

if TYPE_CHECKING:
    import pyarrow as pa

PRECISIONS = ("bf16", "fp8", "fp4", "int8")
Made = Callable[[Row], Any]


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


PLAIN = (
    *("provider", "gpu_count", "vram_gib", "usd_per_gpu_hour", "usd_per_hour", "purchase", "term_months", "tier"),
    *("country", "availability", "available_count", "interconnect", "network_gbps", "billing_increment_s"),
    *("minimum_billing_s", "vcpus", "ram_gib", "disk_gib", "kind", "instance_type", "segment", "vendor", "price"),
    *("currency", "price_unit", "interruption_rate", "reseller_of", "offer_key"),
)
"""columns of Offer that the page takes as they are"""
MADE: Mapping[str, Made] = {
    "gpu": gpu_name,
    "model": lambda row: None if row["gpu"] is None else safe(row["gpu"]),
    "precision": precision,
    "region": lambda row: None if not any(row[n] for n in ("region", "zone", "country")) else region_name(row),
    "flags": _flags,
}
"""columns that the page has besides: how each is made of a row"""


def table(content: Content) -> dict[str, dict[str, Any]]:
    """All columns of the offers."""
    found = {name: _encoded_arrow(content.table[name]) for name in PLAIN}
    found |= {name: encoded(map(make, content.rows)) for name, make in MADE.items()}
    pasts = [content.past.get(row["offer_key"]) for row in content.rows]
    found |= {name: encoded(past and getattr(past, name) for past in pasts) for name in Past._fields}
    return found


def _encoded_arrow(column: pa.ChunkedArray) -> dict[str, Any]:
    import pyarrow.compute as pc

    coded = column.combine_chunks().dictionary_encode()
    values = [safe(value) if isinstance(value, str) else value for value in coded.dictionary.to_pylist()]
    return {"d": values, "i": pc.add(pc.fill_null(coded.indices, -1), 1).to_pylist()}


def encoded(values: Iterable[Any]) -> dict[str, Any]:
    """One column: its distinct values in the order of their first row, and their numbers; 0 is null."""
    numbers: dict[Any, int] = {}
    at = [0 if value is None else numbers.setdefault(value, len(numbers) + 1) for value in values]
    return {"d": list(numbers), "i": at}


def script(name: str, value: Any) -> str:
    """A script that hands a value to the page as `window.<name>`; nothing in it can end the script or run."""
    # As a string for JSON.parse: a browser reads that in half the time of an object that stands in the script.
    text = json.dumps(compact(value)).replace("<", "\\u003c")
    return f"window.{name}=JSON.parse({text});\n"


def compact(value: Any) -> str:
    """JSON without blanks, so that 30,000 numbers stay small; numbers keep every digit."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{dumps(str(key))}:{compact(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        if all(type(part) is int for part in value):
            return str(value).replace(" ", "")
        return "[" + ",".join(map(compact, value)) + "]"
    return dumps(value)

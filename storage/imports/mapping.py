"""What stands in a CSV of somebody's own making, and what it means: a TOML file, read strictly.

[source]                        # whose it is; kept beside every scrape
name = "karpenter-aws"          # snapshots of one name follow one another
title = "prices in the source of Karpenter"
url = "https://github.com/aws/karpenter-provider-aws"
licence = "Apache-2.0"
credit = "the contributors of Karpenter"

[file]
observed_at = "generated_at"    # the column with the instant; what has no zone is UTC
provider = "aws"                # one provider for all rows (--provider wins), or
# provider_column = "cloud"     # the column that names it
# delimiter = ";"

[columns]                       # what the normaliser knows = the column of the file
instance_type = "instance_type"
region = "region"
purchase = "kind"
price = "usd_per_hour"

[constants]                     # what holds for every row
currency = "USD"
price_unit = "instance-hour"

[words.purchase]                # their words = ours; a row with another word is not read, and counted
ondemand = "on_demand"

[units]                         # what follows a bare number of theirs
# ram = "GiB"

[skip]                          # rows that are none of ours
# region = ["cn-north-1"]
"""

from __future__ import annotations

import difflib
import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from schemas.raw_offer import FIELD_NAMES
from storage.imports.told import Source

FOLDER = Path(__file__).parent / "mappings"
NEEDED = ("purchase", "price", "currency", "price_unit")
_TABLES = {
    "source": ("name", "title", "url", "licence", "credit"),
    "file": ("observed_at", "provider", "provider_column", "delimiter"),
}


class MappingError(ValueError):
    """A mapping that does not say what is needed, or says what nobody knows. One line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping:
    """See the module. `columns` and `constants` are keyed by names of RawOffer."""

    source: Source
    observed_at: str
    provider: str | None = None
    provider_column: str | None = None
    delimiter: str = ","
    columns: dict[str, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    words: dict[str, dict[str, str]] = field(default_factory=dict)
    units: dict[str, str] = field(default_factory=dict)
    skip: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def needed(self) -> list[str]:
        """Columns that the file must have."""
        told = [self.observed_at, *([self.provider_column] if self.provider_column else [])]
        return list(dict.fromkeys([*told, *self.columns.values(), *self.skip]))


def shipped() -> list[str]:
    """Names of the mappings that come with gpufare."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_mapping(name: str) -> Mapping:
    """A mapping from a TOML file, or one that comes with gpufare by its name. Raises MappingError."""
    path = Path(name)
    if not path.is_file():
        path = FOLDER / f"{name}.toml"
        if name not in shipped():
            raise MappingError(f"no mapping {name}: neither a file nor one of {', '.join(shipped())}")
    text = path.read_bytes()
    try:
        told = tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise MappingError(f"{path}: {' '.join(str(error).split())}") from error
    return _read(path, told, hashlib.sha256(text).hexdigest()[:12])


def _read(path: Path, told: dict[str, Any], version: str) -> Mapping:
    known = ("source", "file", "columns", "constants", "words", "units", "skip")
    _only(path, "", told, known)
    for name, keys in _TABLES.items():
        _only(path, f"{name}.", _table(path, told, name), keys)
    source, file = _table(path, told, "source"), _table(path, told, "file")
    for key in _TABLES["source"]:
        _text(path, f"source.{key}", source.get(key))
    names = {name: _table(path, told, name) for name in ("columns", "constants", "words", "units", "skip")}
    for name in ("columns", "constants", "words", "units"):
        _only(path, f"{name}.", names[name], FIELD_NAMES)
    for name in ("columns", "constants", "units"):
        for key, value in names[name].items():
            _text(path, f"{name}.{key}", value)
    _translations(path, names)
    twice = sorted(set(names["columns"]) & set(names["constants"]))
    if twice:
        raise MappingError(f"{path}: {twice[0]} stands under columns and under constants; keep one")
    lacking = [name for name in NEEDED if name not in names["columns"] | names["constants"]]
    if lacking:
        raise MappingError(f"{path}: {lacking[0]} is missing; name its column under [columns] or say it in [constants]")
    delimiter = file.get("delimiter", ",")
    if not isinstance(delimiter, str) or len(delimiter) != 1:
        raise MappingError(f"{path}: file.delimiter must be one sign, came {delimiter!r}")
    skip = {key: tuple(values) for key, values in names["skip"].items() if isinstance(values, list)}
    if len(skip) != len(names["skip"]):
        raise MappingError(f"{path}: [skip] holds lists, as region = ['cn-north-1']")
    return Mapping(
        source=Source(**source, version=version),
        observed_at=_text(path, "file.observed_at", file.get("observed_at")),
        provider=file.get("provider"),
        provider_column=file.get("provider_column"),
        delimiter=delimiter,
        columns=names["columns"],
        constants=names["constants"],
        words=names["words"],
        units=names["units"],
        skip=skip,
    )


def _translations(path: Path, names: dict[str, dict[str, Any]]) -> None:
    """Words and units belong to columns; a word is told in another."""
    for name in ("words", "units"):
        for key in names[name]:
            if key not in names["columns"]:
                raise MappingError(f"{path}: {name}.{key} without columns.{key}")
    for key, words in names["words"].items():
        for word, value in (words if isinstance(words, dict) else {"": words}).items():
            _text(path, f"words.{key}.{word}", value)


def _table(path: Path, told: dict[str, Any], name: str) -> dict[str, Any]:
    found = told.get(name, {})
    if not isinstance(found, dict):
        raise MappingError(f"{path}: {name} must be a table, [{name}]")
    return found


def _only(path: Path, where: str, told: dict[str, Any], known: Iterable[str]) -> None:
    for key in told:
        if key not in known:
            near = difflib.get_close_matches(key, list(known), n=1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"
            raise MappingError(f"{path}: unknown key {where}{key}; {hint}")


def _text(path: Path, key: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise MappingError(f"{path}: {key} must be a text, came {value!r}")
    return value

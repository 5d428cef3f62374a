"""Recordings (HAR) kept by their content: `<store>/recordings/<2 hex>/<sha256>.har.gz`, written whole or not at all.

The hash is that of the uncompressed HAR with its bodies inside, so one file is enough to replay a scrape, and the same
answers recorded twice are kept once.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from storage.errors import NotFound, StoreError, told
from storage.files import Files, join

if TYPE_CHECKING:
    from storage.lake import Lake

FOLDER = "recordings"
SUFFIX = ".har.gz"


class Recordings:
    """The recordings of one store."""

    def __init__(self, store: str, storage_options: dict[str, str] | None = None) -> None:
        self.store = store
        self.files = Files(store, storage_options)

    @classmethod
    def of(cls, lake: Lake) -> Recordings:
        """The recordings that lie beside the tables of a lake."""
        return cls(lake.path, lake.storage_options)

    def where(self, sha256: str) -> str:
        """Path or URL at which a recording with that hash lies or would lie."""
        return join(self.store, _below(sha256))

    def keep(self, har: Path) -> str:
        """Keep a HAR file, its bodies beside it put inside. Returns the hash. Raises StoreError."""
        with told("cannot keep", f"the recording {har}"):
            return self.keep_bytes(inlined(har))

    def keep_bytes(self, content: bytes) -> str:
        """Keep a HAR that is at hand. Returns its hash; what is kept already is not written again."""
        sha256 = hashlib.sha256(content).hexdigest()
        where = self.where(sha256)
        with told("cannot keep", f"the recording {where}"):
            if not self.has(sha256):
                # mtime 0: the same recording is the same file wherever it is kept
                self.files.write(_below(sha256), gzip.compress(content, compresslevel=6, mtime=0))
        return sha256

    def open(self, sha256: str) -> bytes:
        """The HAR with that hash. Raises NotFound, or StoreError where the file does not hold what its name says."""
        where = self.where(sha256)
        with told("cannot read", f"the recording {where}"):
            if not self.has(sha256):
                raise NotFound(f"no recording {sha256} at {where}; `gpufare verify` tells what is missing")
            packed = self.files.read(_below(sha256))
        fault = self._fault(sha256, packed)
        if fault:
            raise StoreError(f"the recording {where} {fault}; run `gpufare verify`")
        return gzip.decompress(packed)

    def has(self, sha256: str) -> bool:
        """Is a recording with that hash kept?"""
        return self.files.exists(_below(sha256))

    def delete(self, sha256: str) -> None:
        """Delete the recording with that hash; nothing where there is none. Raises StoreError."""
        with told("cannot delete", f"the recording {self.where(sha256)}"):
            self.files.delete(_below(sha256))

    def hashes(self) -> Iterator[str]:
        """Hashes by name of all that is kept, in order."""
        with told("cannot list", f"the recordings at {join(self.store, FOLDER)}"):
            names = self.files.names(FOLDER, SUFFIX)
        yield from (name.removesuffix(SUFFIX) for name in names)

    def verify(self) -> list[str]:
        """One line for each recording that does not hold what its name says."""
        faults = []
        for sha256 in self.hashes():
            where = self.where(sha256)
            with told("cannot read", f"the recording {where}"):
                fault = self._fault(sha256, self.files.read(_below(sha256)))
            if fault:
                faults.append(f"recording {where} {fault}; restore it from a copy, its scrape cannot be replayed")
        return faults

    @staticmethod
    def _fault(sha256: str, packed: bytes) -> str | None:
        try:
            content = gzip.decompress(packed)
        except (OSError, EOFError, zlib.error) as error:
            return f"cannot be unpacked ({' '.join(str(error).split())})"
        found = hashlib.sha256(content).hexdigest()
        return None if found == sha256 else f"holds {found[:12]}..., not what its name says"


def keep(lake: Lake, har: Path) -> str:
    """Keep a HAR file beside the tables of a lake. Returns its hash."""
    return Recordings.of(lake).keep(har)


def inlined(har: Path) -> bytes:
    """The HAR's bytes; bodies that it names by `_file` are read from beside it and put inside as text or base64."""
    content = har.read_bytes()
    if b'"_file"' not in content:
        return content
    log = json.loads(content)
    for entry in log["log"]["entries"]:
        for holder in (entry["response"].get("content"), entry["request"].get("postData")):
            if holder and (name := holder.pop("_file", None)):
                holder.update(_body((har.parent / name).read_bytes()))
    return json.dumps(log, ensure_ascii=False, separators=(",", ":")).encode()


def _below(sha256: str) -> str:
    return f"{FOLDER}/{sha256[:2]}/{sha256}{SUFFIX}"


def _body(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(content).decode("ascii"), "encoding": "base64"}

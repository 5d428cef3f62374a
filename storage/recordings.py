"""Recordings (HAR) kept by their content: `<store>/recordings/<2 hex>/<sha256>.har.gz`, written whole or not at all.

The hash is that of the uncompressed HAR with its bodies inside, so one file is enough to replay a scrape, and the same
answers recorded twice are kept once.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from storage.delta import is_remote, join
from storage.errors import NotFound, StoreError, told

if TYPE_CHECKING:
    from storage.lake import Lake

FOLDER = "recordings"
SUFFIX = ".har.gz"
PIECE = 1 << 16


class Recordings:
    """The recordings of one store."""

    def __init__(self, store: str, storage_options: dict[str, str] | None = None) -> None:
        self.store = store
        self.root = join(store, FOLDER)
        self.storage_options = storage_options

    @classmethod
    def of(cls, lake: Lake) -> Recordings:
        """The recordings that lie beside the tables of a lake."""
        return cls(lake.path, lake.storage_options)

    def where(self, sha256: str) -> str:
        """Path or URL at which a recording with that hash lies or would lie."""
        return join(self.root, sha256[:2], sha256 + SUFFIX)

    def keep(self, har: Path) -> str:
        """Keep a HAR file, its bodies beside it put inside. Returns the hash. Raises StoreError."""
        with told("cannot keep", f"the recording {har}"):
            return self.keep_bytes(inlined(har))

    def keep_bytes(self, content: bytes) -> str:
        """Keep a HAR that is at hand. Returns its hash; what is kept already is not written again."""
        sha256 = hashlib.sha256(content).hexdigest()
        where = self.where(sha256)
        with told("cannot keep", f"the recording {where}"):
            if not self._exists(where):
                # mtime 0: the same recording is the same file wherever it is kept
                self._write(where, gzip.compress(content, compresslevel=6, mtime=0))
        return sha256

    def open(self, sha256: str) -> bytes:
        """The HAR with that hash. Raises NotFound, or StoreError where the file does not hold what its name says."""
        where = self.where(sha256)
        with told("cannot read", f"the recording {where}"):
            if not self._exists(where):
                raise NotFound(f"no recording {sha256} at {where}; `gpufare verify` tells what is missing")
            packed = self._read(where)
        fault = self._fault(sha256, packed)
        if fault:
            raise StoreError(f"the recording {where} {fault}; run `gpufare verify`")
        return gzip.decompress(packed)

    def has(self, sha256: str) -> bool:
        """Is a recording with that hash kept?"""
        return self._exists(self.where(sha256))

    def hashes(self) -> Iterator[str]:
        """Hashes by name of all that is kept, in order."""
        if is_remote(self.root):
            import pyarrow.fs as pa_fs

            selector = pa_fs.FileSelector(FOLDER, allow_not_found=True, recursive=True)
            with told("cannot list", f"the recordings at {self.root}"):
                names = [info.base_name for info in self._filesystem().get_file_info(selector)]
        else:
            names = [path.name for path in Path(self.root).glob(f"*/*{SUFFIX}")]
        yield from sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX))

    def verify(self) -> list[str]:
        """One line for each recording that does not hold what its name says."""
        faults = []
        for sha256 in self.hashes():
            where = self.where(sha256)
            with told("cannot read", f"the recording {where}"):
                fault = self._fault(sha256, self._read(where))
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

    def _exists(self, where: str) -> bool:
        if not is_remote(self.root):
            return Path(where).is_file()
        import pyarrow.fs as pa_fs

        info = self._filesystem().get_file_info(self._below(where))
        return bool(info.type == pa_fs.FileType.File)

    def _read(self, where: str) -> bytes:
        if not is_remote(self.root):
            return Path(where).read_bytes()
        with self._filesystem().open_input_file(self._below(where)) as source:
            return bytes(source.read())

    def _write(self, where: str, content: bytes) -> None:
        if is_remote(self.root):  # an object appears whole or not at all
            # Arrow would pack what is named .gz once more; deltalake takes bytes only through a buffer, piece by piece.
            options = {"compression": None, "buffer_size": 2 * PIECE}
            with self._filesystem().open_output_stream(self._below(where), **options) as sink:
                for start in range(0, len(content), PIECE):
                    sink.write(content[start : start + PIECE])
            return
        target = Path(where)
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=".part-", delete=False) as part:
            try:
                part.write(content)
                part.flush()
                os.fsync(part.fileno())
            except OSError:
                Path(part.name).unlink(missing_ok=True)
                raise
        Path(part.name).rename(target)

    def _below(self, where: str) -> str:
        return where.removeprefix(self.store).lstrip("/")

    def _filesystem(self) -> Any:
        import pyarrow.fs as pa_fs
        from deltalake.fs import DeltaStorageHandler

        return pa_fs.PyFileSystem(DeltaStorageHandler(self.store, self.storage_options))


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


def _body(content: bytes) -> dict[str, str]:
    try:
        return {"text": content.decode("utf-8")}
    except UnicodeDecodeError:
        return {"text": base64.b64encode(content).decode("ascii"), "encoding": "base64"}

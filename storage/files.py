"""Whole files below a folder or the URL of an object store: there with all their bytes, or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

PIECE = 1 << 16


class Files:
    """Files below a root; every path is relative to it. What goes wrong is raised as OSError or Arrow's own error."""

    def __init__(self, root: str, storage_options: dict[str, str] | None = None) -> None:
        self.root = root
        self.storage_options = storage_options

    def exists(self, path: str) -> bool:
        """Is there a file?"""
        if not is_remote(self.root):
            return Path(self.root, path).is_file()
        import pyarrow.fs as pa_fs

        return bool(self._filesystem().get_file_info(path).type == pa_fs.FileType.File)

    def read(self, path: str) -> bytes:
        """All bytes of a file."""
        if not is_remote(self.root):
            return Path(self.root, path).read_bytes()
        with self._filesystem().open_input_file(path) as source:
            return bytes(source.read())

    def write(self, path: str, content: bytes | memoryview) -> None:
        """Put a file there, in one step for whoever reads."""
        if is_remote(self.root):  # an object appears whole or not at all
            # Arrow would pack what is named .gz once more; deltalake takes bytes only through a buffer, piece by piece.
            options = {"compression": None, "buffer_size": 2 * PIECE}
            with self._filesystem().open_output_stream(path, **options) as sink:
                for start in range(0, len(content), PIECE):
                    sink.write(content[start : start + PIECE])
            return
        target = Path(self.root, path)
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

    def delete(self, path: str) -> None:
        """Delete a file; nothing where there is none."""
        if not is_remote(self.root):
            Path(self.root, path).unlink(missing_ok=True)
        elif self.exists(path):
            self._filesystem().delete_file(path)

    def names(self, folder: str, suffix: str) -> list[str]:
        """Names of the files anywhere below a folder that end so, without their folders, in order."""
        if not is_remote(self.root):
            return sorted(path.name for path in Path(self.root, folder).rglob(f"*{suffix}"))
        import pyarrow.fs as pa_fs

        selector = pa_fs.FileSelector(folder, allow_not_found=True, recursive=True)
        found = [info.base_name for info in self._filesystem().get_file_info(selector)]
        return sorted(name for name in found if name.endswith(suffix))

    def _filesystem(self) -> Any:
        import pyarrow.fs as pa_fs
        from deltalake.fs import DeltaStorageHandler

        return pa_fs.PyFileSystem(DeltaStorageHandler(self.root, self.storage_options))


def join(root: str, *parts: str) -> str:
    """A path below the root, which may be a folder or the URL of an object store."""
    if is_remote(root):
        return "/".join((root.rstrip("/"), *parts))
    return str(Path(root, *parts))


def below(root: str, path: str) -> str:
    """The path that `join` made, as it stands below the root."""
    return path[len(root.rstrip("/")) + 1 :]


def is_remote(path: str) -> bool:
    """Is the path the URL of an object store?"""
    return "://" in path

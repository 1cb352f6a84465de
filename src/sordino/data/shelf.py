"""Tensors on disk under a bound, between the runs of one user: what `sordino.data.recent.Recent` is in memory."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import stat
import tempfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from sordino.data.cache import cache_root

__all__ = ["Shelf"]

_log = logging.getLogger(__name__)

_LOOKS: Final = 16
"""The folder is looked through after each such part of the bound is written."""

_CHECKSUM: Final = "checksum"


class Shelf:
    """A folder of safetensors files that only this user can read; those that were not used the longest leave first.

    Nothing here ever fails: what cannot be read is as if it had never been kept.

    | what happens | then |
    |---|---|
    | a process is killed while it writes | no file of that name is there; what it left counts, and leaves when it is old |
    | a file is cut off or damaged | its checksum says so, and it is removed |
    | several processes write at once | each file is whole; each further process may exceed the bound by a sixteenth |
    | the disk is full, or the folder cannot be written | what is there is still read; that no more is kept is logged once |
    | the folder is somebody else's, or a link | it is not touched, and that is logged once |

    Args:
        limit_bytes: most room on the disk; 0 reads and writes nothing.
        folder: made if absent; ``frames`` in the cache if not given.
    """

    def __init__(self, limit_bytes: int, *, folder: Path | None = None) -> None:
        self.folder = folder or cache_root() / "frames"
        self.limit_bytes = limit_bytes
        self._room = 0
        self._lock = Lock()
        self._reads = self._writes = limit_bytes > 0 and self._is_ours()

    def get(self, key: str) -> tuple[torch.Tensor, ...] | None:
        """What was put under ``key``, to the bit, if it is still there and whole."""
        path = self._path(key)
        try:
            content = path.read_bytes() if self._reads else None
        except OSError:
            return None
        if content is None:
            return None
        tensors = _unpacked(content)
        with suppress(OSError):
            if tensors is None:
                path.unlink()
            else:
                os.utime(path)  # used now
        return tensors

    def put(self, key: str, tensors: Sequence[torch.Tensor]) -> None:
        """Keeps some tensors, and removes others to stay within the bound.

        Args:
            key: says everything that they depend on.
            tensors: on the CPU.
        """
        if not self._writes:
            return
        content = _packed(tensors)
        if len(content) > self.limit_bytes:
            return
        try:
            with self._lock:
                if len(content) > self._room:
                    self._room = self._cleared(len(content))
                self._room -= len(content)
            self._write(self._path(key), content)
        except OSError as error:
            self._writes = False
            _log.warning("%s: nothing more is kept there (%s); it is computed instead.", self.folder, error.strerror)

    def _path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode(errors='surrogatepass')).hexdigest()}.safetensors"

    def _is_ours(self) -> bool:
        """Makes the folder, or checks that nobody else can look into it."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.folder.lstat()
            reason = (
                "" if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() else "it is not this user's folder"
            )
            if not reason:
                self.folder.chmod(0o700)
        except OSError as error:
            reason = str(error.strerror)
        if reason:
            _log.warning("%s: nothing is kept there (%s); it is computed instead.", self.folder, reason)
        return not reason

    def _cleared(self, size: int) -> int:
        """Removes what was used the longest ago; returns how many bytes may be written before the next look."""
        room = max(size, self.limit_bytes // _LOOKS)
        with self.folder.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # two that look at once would remove twice as much
            files = sorted(_used(self.folder), reverse=True)
            taken = sum(bytes_taken for _, bytes_taken, _ in files)
            while taken + room > self.limit_bytes and files:
                _, bytes_taken, path = files.pop()
                Path(path).unlink(missing_ok=True)
                taken -= bytes_taken
        return room

    def _write(self, path: Path, content: bytes) -> None:
        descriptor, partial = tempfile.mkstemp(dir=self.folder, suffix=".partial")  # readable by this user alone
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(partial).replace(path)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise


def _used(folder: Path) -> list[tuple[int, int, str]]:
    """When each file was used, its bytes and its path."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # another process has just removed it
                about = entry.stat(follow_symlinks=False)
                found.append((about.st_mtime_ns, about.st_size, entry.path))
    return found


def _packed(tensors: Sequence[torch.Tensor]) -> bytes:
    named = {str(index): tensor.contiguous() for index, tensor in enumerate(tensors)}
    return bytes(save({**named, _CHECKSUM: torch.tensor(_checksum(tensors))}))


def _unpacked(content: bytes) -> tuple[torch.Tensor, ...] | None:
    try:
        named = load(content)
        checksum = int(named.pop(_CHECKSUM))
        tensors = tuple(named[str(index)] for index in range(len(named)))
    except (SafetensorError, LookupError, ValueError, RuntimeError):
        return None
    return tensors if _checksum(tensors) == checksum else None


def _checksum(tensors: Sequence[torch.Tensor]) -> int:
    checksum = 0
    for tensor in tensors:
        checksum = zlib.crc32(f"{tensor.dtype} {tuple(tensor.shape)}".encode(), checksum)
        checksum = zlib.crc32(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data, checksum)
    return checksum

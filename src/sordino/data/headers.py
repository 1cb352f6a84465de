"""Lengths of recordings from their headers; those of a large corpus are read once and remembered in the cache."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np

from sordino.data.audio import audio_duration
from sordino.data.cache import cache_root
from sordino.errors import DataError

__all__ = ["MANY_RECORDINGS", "recording_lengths"]

MANY_RECORDINGS: Final = 5_000
"""So many headers take longer to read than their lengths take to find in the cache."""


def recording_lengths(paths: Collection[str]) -> Mapping[str, float]:
    """Seconds of each recording by its path; 0 where it is missing, empty, damaged or no audio.

    Of `MANY_RECORDINGS` and more the lengths are kept in the cache, under a digest of all names, sizes and times of last
    change, so that none is believed of a recording that changed.
    """
    if len(paths) < MANY_RECORDINGS:
        return {path: _length(path) for path in paths}
    file = cache_root() / "headers" / f"{_digest(paths)}.npy"
    with suppress(OSError, EOFError, ValueError):  # not there yet, or damaged
        return dict(zip(paths, np.load(file).tolist(), strict=True))
    lengths = {path: _length(path) for path in paths}
    with suppress(OSError):  # a cache that cannot be written costs time, no more
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{os.getpid()}.npy")
        np.save(draft, np.fromiter(lengths.values(), np.float64, len(lengths)))
        draft.replace(file)
    return lengths


def _length(path: str) -> float:
    try:
        return audio_duration(Path(path))
    except DataError:
        return 0.0


def _digest(paths: Collection[str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        try:
            state = os.stat(path)  # noqa: PTH116 - a million paths
        except OSError:
            digest.update(f"{path}\0absent\0".encode("utf-8", "surrogateescape"))
        else:
            digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()

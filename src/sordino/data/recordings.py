"""Which files of a folder are recordings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sordino.errors import DataError

__all__ = ["AUDIO_SUFFIXES", "recordings_in", "require_folder"]

AUDIO_SUFFIXES: Final = frozenset(
    (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".snd", ".caf", ".w64", ".rf64", ".sph")
)
"""Endings of the files that `sordino.data.read_audio` reads, in lower case."""

_NAMED: Final = 4


def require_folder(folder: Path) -> None:
    """Raises DataError unless there is a folder of that name."""
    if not folder.is_dir():
        kind = "a file, not a folder" if folder.exists() else "not there"
        raise DataError(f"{folder} is {kind}; name the folder that holds the recordings.")


def recordings_in(folder: Path) -> list[Path]:
    """The recordings in a folder and the folders below it, sorted; hidden files and folders are skipped.

    Raises:
        DataError: it is no folder, or holds no recording; names what it holds instead.
    """
    require_folder(folder)
    files = list(_files(folder))
    recordings = sorted(file for file in files if file.suffix.lower() in AUDIO_SUFFIXES)
    if not recordings:
        raise DataError(
            f"{folder} holds no recording: expected WAV, FLAC, OGG or MP3 files, found {_tally(files)}; name another "
            "folder, or convert what is there, e.g. with ffmpeg -i in.m4a out.wav."
        )
    return recordings


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place) / name for name in sorted(names) if not name.startswith("."))


def _tally(files: list[Path]) -> str:
    """What a folder holds, e.g. ``"12 .m4a and 3 .txt files"``."""
    counts = Counter(file.suffix.lower() or "unnamed" for file in files).most_common(_NAMED)
    return f"{' and '.join(f'{count} {suffix}' for suffix, count in counts)} files" if counts else "no file at all"

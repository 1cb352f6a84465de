"""The Free Spoken Digit Dataset's own layout: ``7_george_12.wav``.

Source: https://github.com/Jakobovski/free-spoken-digit-dataset (CC BY-SA 4.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sordino.data.corpora.fsdd import official_files, said_in
from sordino.data.source import SOURCES, TO_END, LeftOut, Source
from sordino.data.sources.folder import Folder
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["SpokenDigits"]


@SOURCES.register("fsdd")
@dataclass(frozen=True, slots=True)
class SpokenDigits(Source):
    """Free Spoken Digit Dataset: files named like 7_george_12.wav, or a copy of them with a manifest."""

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads digit and speaker from the names."""
        if (folder / "manifest.jsonl").is_file():
            yield from Folder(language="en").read(folder)
            return
        for file in official_files(folder):
            try:
                yield said_in(file, duration_s=TO_END)
            except DataError:
                yield LeftOut(file, "name", "is not named like 7_george_12.wav")

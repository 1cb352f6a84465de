"""Hugging Face's audiofolder: ``metadata.csv``, ``.jsonl`` or ``.parquet`` beside the audio.

Source: https://huggingface.co/docs/datasets/audio_dataset.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sordino.config import option
from sordino.data.recordings import require_folder
from sordino.data.source import SOURCES, SPLIT, LeftOut, Source
from sordino.data.sources.folder import Folder
from sordino.data.tables import TABLE_SUFFIXES, Table
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["AudioFolder"]

_SPLITS: Final = {
    "train": "train",
    "training": "train",
    "dev": "validation",
    "val": "validation",
    "valid": "validation",
    "validation": "validation",
    "test": "test",
    "testing": "test",
}


@SOURCES.register("audiofolder")
@dataclass(frozen=True, slots=True)
class AudioFolder(Source):
    """Hugging Face's audiofolder: tables called metadata beside the audio, and folders train, validation and test.

    The speaker must be a column, because folders mean splits here.
    """

    language: str = option("Language code of recordings for which the table gives none.", "")
    text_column: str = option("Column with the transcript.", "")
    speaker_column: str = option("Column with the speaker.", "")

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads table by table; ``split`` and the further columns become attributes."""
        require_folder(folder)
        tables = [Table(file) for file in _metadata(folder)]
        if not tables:
            raise DataError(
                f"{folder} has no metadata.csv, .jsonl or .parquet, neither itself nor in a folder such as train; add one "
                "with the columns file_name, transcription and speaker."
            )
        for table in tables:
            table.require("speaker", self.speaker_column)
        for table in tables:
            reader = Folder(
                language=self.language,
                table=table.path.name,
                text_column=self.text_column,
                speaker_column=self.speaker_column,
            )
            for item in reader.read(table.path.parent):
                split = _split(item.audio, folder)
                if isinstance(item, Utterance) and split and SPLIT not in item.attributes:
                    yield replace(item, attributes={**item.attributes, SPLIT: split})
                else:
                    yield item


def _metadata(folder: Path) -> Sequence[Path]:
    """The table of the whole folder, or else the one of each folder that has its own."""
    names = [f"metadata{suffix}" for suffix in TABLE_SUFFIXES if suffix != ".tsv"]
    places = [folder, *sorted(path for path in folder.rglob("*") if path.is_dir())]
    found: list[Path] = []
    for place in places:
        table = next((place / name for name in names if (place / name).is_file()), None)
        if table and not any(place.is_relative_to(outer.parent) for outer in found):
            found.append(table)
    return found


def _split(audio: Path, folder: Path) -> str:
    """The split whose folder the recording lies in, e.g. ``data/train``; empty if it lies in none."""
    parents = audio.relative_to(folder).parts[:-1] if audio.is_relative_to(folder) else ()
    return next((_SPLITS[name.lower()] for name in parents if name.lower() in _SPLITS), "")

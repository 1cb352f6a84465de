"""MELD's own layout: ``train_sent_emo.csv`` and its like, with ``dia0_utt0`` in a folder for each split.

MELD comes as MP4 files; their sound must be converted first, under the same names, since no reader of sound opens video.

Source: Poria et al., "MELD: a multimodal multi-party dataset for emotion recognition in conversations", ACL 2019.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, SPLIT, TO_END, LeftOut, Source
from sordino.data.tables import Table
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Meld"]

_NAME: Final = re.compile(r"dia\d+_utt\d+")
_SPLITS: Final = ("train", "dev", "test")
_COLUMNS: Final = ("Utterance", "Speaker", "Emotion", "Sentiment", "Dialogue_ID", "Utterance_ID")


@SOURCES.register("meld")
@dataclass(frozen=True, slots=True)
class Meld(Source):
    """MELD: dialogues of a television series in seven emotions, divided into train, dev and test."""

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads split by split; emotion, sentiment and dialogue are attributes."""
        tables = {split: _table(folder, split) for split in _SPLITS}
        if not any(tables.values()):
            raise DataError(
                f"{folder} has no train_sent_emo.csv, dev_sent_emo.csv or test_sent_emo.csv; name its folder."
            )
        rest = {split: dict[str, Path]() for split in _SPLITS}
        for file in recordings_in(folder):
            split = _split_of(file.relative_to(folder))
            if split is None or not _NAME.fullmatch(file.stem):
                yield LeftOut(file, "name", "does not lie in a split's folder under a name like dia0_utt0.wav")
            else:
                rest[split][file.stem] = file
        for split, path in tables.items():
            if path is not None:
                yield from _listed(path, split, rest[split])
            for file in rest[split].values():
                yield LeftOut(file, "unlisted", f"is not in {split}_sent_emo.csv")


def _table(folder: Path, split: str) -> Path | None:
    return next(iter(sorted(folder.rglob(f"{split}_sent_emo.csv"))), None)


def _split_of(path: Path) -> str | None:
    """The split whose name is part of a folder's, such as ``output_repeated_splits_test``."""
    parts = [part for folder in path.parts[:-1] for part in re.split(r"[_\W]+", folder)]
    return next((split for split in _SPLITS if split in parts), None)


def _listed(path: Path, split: str, files: dict[str, Path]) -> Iterator[Utterance | LeftOut]:
    """The rows of a table; takes what it finds out of ``files``."""
    table = Table(path)
    lacking = [name for name in _COLUMNS if name not in table.columns]
    if lacking:
        raise DataError(f"{path} has the columns {', '.join(table.columns)}: expected {lacking[0]} too; fetch it anew.")
    for row in table:
        if isinstance(row, LeftOut):
            yield row
            continue
        name = f"dia{row['Dialogue_ID']}_utt{row['Utterance_ID']}"
        audio = files.pop(name, None)
        if audio is None:
            yield LeftOut(path.parent / name, "missing", f"is in {path.name}, but no sound of it is in the folder")
            continue
        yield Utterance(
            audio=audio,
            text=row["Utterance"],
            speaker=row["Speaker"],
            language="en",
            duration_s=TO_END,
            attributes={
                SPLIT: split,
                "emotion": row["Emotion"],
                "sentiment": row["Sentiment"],
                "dialogue": f"{split}-{row['Dialogue_ID']}",
            },
        )

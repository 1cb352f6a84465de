"""nEMO's own layout: ``data.tsv`` with ``samples/EB0_anger_1.wav``.

Source: Christop, "nEMO: dataset of emotional speech in Polish", LREC-COLING 2024 (CC BY-NC-SA 4.0).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, TO_END, LeftOut, Source
from sordino.data.sources.folder import Folder
from sordino.data.tables import Table
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Nemo"]

_COLUMNS: Final = ("file_id", "emotion", "normalized_text", "speaker_id")


@SOURCES.register("nemo")
@dataclass(frozen=True, slots=True)
class Nemo(Source):
    """nEMO: Polish sentences acted in six emotions, all by each actor; or a copy of it with a manifest."""

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads the table; emotion, gender and age are attributes. The same sentences are said in every emotion."""
        if not (folder / "data.tsv").is_file() and (folder / "manifest.jsonl").is_file():
            yield from Folder(language="pl").read(folder)
            return
        if not (folder / "data.tsv").is_file():
            raise DataError(
                f"{folder} has no data.tsv and no manifest.jsonl; name the folder that holds data.tsv and samples."
            )
        table = Table(folder / "data.tsv")
        lacking = [name for name in _COLUMNS if name not in table.columns]
        if lacking:
            raise DataError(
                f"{table.path} has the columns {', '.join(table.columns)}: expected {lacking[0]} too; fetch it anew."
            )
        files = dict.fromkeys(recordings_in(folder))
        for row in table:
            if isinstance(row, LeftOut):
                yield row
                continue
            audio = folder / "samples" / row["file_id"]
            if audio not in files:
                yield LeftOut(audio, "missing", "is in data.tsv, but not in the folder")
                continue
            del files[audio]
            known = {key: row.get(key, "") for key in ("emotion", "gender", "age")}
            yield Utterance(
                audio=audio,
                text=row["normalized_text"],
                speaker=row["speaker_id"],
                language="pl",
                duration_s=TO_END,
                attributes={key: value for key, value in known.items() if value},
            )
        yield from (LeftOut(audio, "unlisted", "is not in data.tsv") for audio in files)

"""Anybody's own recordings: a folder with a metadata table, or with a text file beside each recording."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino._check import at_least
from sordino.config import option
from sordino.data.manifest import RESERVED_KEYS
from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, TO_END, LeftOut, Source
from sordino.data.tables import TABLE_SUFFIXES, Table
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Folder"]

_TABLES: Final = tuple(
    f"{name}{suffix}" for name in ("metadata", "transcripts", "manifest") for suffix in TABLE_SUFFIXES
)
_SIDECARS: Final = (".txt", ".lab")


@SOURCES.register("folder")
@dataclass(frozen=True, slots=True)
class Folder(Source):
    """A folder of recordings with a table of transcripts, or with a .txt or .lab file beside each recording.

    The table is ``metadata``, ``transcripts`` or ``manifest`` with the ending ``.csv``, ``.tsv``, ``.jsonl`` or
    ``.parquet``, or the only table there; its columns may have any of the usual names. Who speaks is its speaker column,
    or else the sub-folder that the recording lies in.
    """

    language: str = option("Language code of recordings for which the table gives none.", "")
    table: str = option("Name of the metadata table in the folder, if not one of the usual ones.", "")
    path_column: str = option("Column with the recording's path.", "")
    text_column: str = option("Column with the transcript.", "")
    speaker_column: str = option("Column with the speaker.", "")
    language_column: str = option("Column with the language code.", "")
    speaker_level: int = option("Which folder names the speaker: 1 is the first below the one given.", 1)

    def __post_init__(self) -> None:
        at_least("speaker_level", self.speaker_level, 1)

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads the table, or the text files if there is none."""
        recordings = recordings_in(folder)
        table = self._table(folder)
        found = self._beside(folder, recordings) if table is None else self._listed(folder, table, recordings)
        if table is None and not any(_sidecar(recording) for recording in recordings):
            raise DataError(_no_transcripts(folder, recordings))
        yield from found

    def _table(self, folder: Path) -> Table | None:
        if self.table:
            return Table(folder / self.table)
        usual = [folder / name for name in _TABLES if (folder / name).is_file()]
        others = sorted(path for path in folder.iterdir() if path.suffix.lower() in TABLE_SUFFIXES)
        if not usual and len(others) > 1:
            raise DataError(
                f"{folder} has the tables {', '.join(path.name for path in others)}; name the one with the transcripts: "
                f"--set table={others[0].name}"
            )
        return Table((usual or others)[0]) if usual or others else None

    def _listed(self, folder: Path, table: Table, recordings: Sequence[Path]) -> Iterator[Utterance | LeftOut]:
        """The rows of the table, then the recordings that it does not have."""
        path, text = table.require("path", self.path_column), table.require("text", self.text_column)
        speaker = table.column("speaker", self.speaker_column)
        language = table.column("language", self.language_column)
        named = {path, text, speaker, language, *RESERVED_KEYS}
        places = _Places(folder, recordings)
        rest = dict.fromkeys(recordings)
        for row in table:
            if isinstance(row, LeftOut):
                yield row
                continue
            audio = places.find(row.get(path, ""))
            if audio is None:
                reason = places.why_not(row.get(path, ""), table=table.path.name)
                yield LeftOut(folder / row.get(path, ""), "missing", reason)
                continue
            rest.pop(audio, None)
            try:
                offset_s, duration_s = _piece(row)
            except ValueError:
                yield LeftOut(audio, "piece", f"has an offset or duration in {table.path.name} that cannot be")
                continue
            yield Utterance(
                audio=audio,
                text=row.get(text, ""),
                speaker=row.get(speaker, "") if speaker else self._speaker(folder, audio),
                language=(row.get(language, "") if language else "") or self.language,
                offset_s=offset_s,
                duration_s=duration_s,
                attributes={key: value for key, value in row.items() if key not in named and value},
            )
        yield from (LeftOut(audio, "unlisted", f"is not in {table.path.name}") for audio in rest)

    def _beside(self, folder: Path, recordings: Sequence[Path]) -> Iterator[Utterance | LeftOut]:
        for audio in recordings:
            sidecar = _sidecar(audio)
            if sidecar is None:
                yield LeftOut(audio, "transcript", f"has no transcript beside it ({audio.stem}.txt)")
                continue
            try:
                text = " ".join(sidecar.read_text(encoding="utf-8-sig").split())
            except (OSError, UnicodeDecodeError):
                yield LeftOut(audio, "transcript", f"has a transcript that is no UTF-8 text ({sidecar.name})")
                continue
            speaker = self._speaker(folder, audio)
            yield Utterance(audio=audio, text=text, speaker=speaker, language=self.language, duration_s=TO_END)

    def _speaker(self, folder: Path, audio: Path) -> str:
        """The name of the sub-folder; empty where the recording does not lie deep enough."""
        parents = audio.relative_to(folder).parts[:-1] if audio.is_relative_to(folder) else ()
        return parents[self.speaker_level - 1] if len(parents) >= self.speaker_level else ""


class _Places:
    """Finds recordings by the names that tables give them.

    With or without folder and ending, in any Unicode form, and in other capitals where nothing has these: Windows and
    macOS take ``a.WAV`` for ``a.wav``.
    """

    def __init__(self, folder: Path, recordings: Sequence[Path]) -> None:
        self._folder = folder
        self._known: dict[str, Path | None] = {}
        for recording in recordings:
            whole = recording.relative_to(folder)
            for name in {whole.as_posix(), whole.with_suffix("").as_posix(), whole.name, whole.stem}:
                key = unicodedata.normalize("NFC", name)
                self._known[key] = None if key in self._known else recording  # None: several are called that
        self._known |= {
            unicodedata.normalize("NFC", recording.relative_to(folder).as_posix()): recording
            for recording in recordings
        }
        self._folded: dict[str, Path | None] = {}
        for key, found in self._known.items():
            folded = key.casefold()
            self._folded[folded] = found if self._folded.get(folded, found) == found else None

    def find(self, name: str) -> Path | None:
        """The recording called ``name``, or None where none is or several are."""
        key, direct = _key(name), self._folder / name
        found = self._known[key] if key in self._known else self._folded.get(key.casefold())
        return found or (direct if name and direct.is_file() else None)

    def why_not(self, name: str, *, table: str) -> str:
        """Why `find` finds nothing."""
        if _key(name).casefold() in self._folded:
            return f"is what several recordings are called; write their paths in {table}"
        return f"is in {table}, but not in the folder"


def _key(name: str) -> str:
    return unicodedata.normalize("NFC", name.replace("\\", "/").removeprefix("./"))


def _piece(row: Mapping[str, str]) -> tuple[float, float]:
    """Offset and duration in seconds where a row names a piece of a recording, as manifests do; or ValueError."""
    if "offset" not in row or "duration" not in row:
        return 0.0, TO_END
    offset_s, duration_s = float(row["offset"]), float(row["duration"])
    if not (0 <= offset_s < TO_END and duration_s > 0):
        raise ValueError(row)
    return offset_s, duration_s


def _sidecar(audio: Path) -> Path | None:
    return next((file for suffix in _SIDECARS if (file := audio.with_suffix(suffix)).is_file()), None)


def _no_transcripts(folder: Path, recordings: Sequence[Path]) -> str:
    chapters: Mapping[Path, None] = dict.fromkeys(recording.parent for recording in recordings)
    if any(next(chapter.glob("*.trans.txt"), None) for chapter in chapters):
        return f"{folder} is laid out like LibriSpeech; prepare it with: sordino data prepare librispeech {folder} OUT"
    below = [inner / name for inner in sorted(folder.iterdir()) for name in _TABLES if (inner / name).is_file()]
    if below:
        return f"{folder} has no table itself, but there is {below[0]}; name the folder {below[0].parent} instead."
    return (
        f"{folder} has {len(recordings)} recordings but no transcript: expected a table such as metadata.csv with the "
        f"columns path, text and speaker, or a text file beside each recording ({recordings[0].stem}.txt); add either."
    )

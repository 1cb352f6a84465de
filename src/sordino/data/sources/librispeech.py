"""LibriSpeech's own layout: ``SPEAKER/CHAPTER/SPEAKER-CHAPTER-0000.flac`` with ``SPEAKER-CHAPTER.trans.txt`` beside.

Source: https://www.openslr.org/12 (CC BY 4.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, TO_END, LeftOut, Source
from sordino.data.sources.folder import Folder
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["LibriSpeech"]

_GENDERS: Final = {"F": "female", "M": "male"}


@SOURCES.register("librispeech")
@dataclass(frozen=True, slots=True)
class LibriSpeech(Source):
    """LibriSpeech: one of its subsets, e.g. test-clean, or the folder above them, or a copy with a manifest."""

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads chapter by chapter; ``subset`` and, where SPEAKERS.TXT is there, ``gender`` become attributes."""
        recordings = recordings_in(folder)
        chapters: dict[Path, list[Path]] = {}
        for recording in recordings:
            chapters.setdefault(recording.parent, []).append(recording)
        if not any(_transcripts(chapter) for chapter in chapters):
            if (folder / "manifest.jsonl").is_file():
                yield from Folder(language="en").read(folder)
                return
            raise DataError(
                f"{folder} has no SPEAKER/CHAPTER folder with a file such as 84-121123.trans.txt; name a subset such as "
                "LibriSpeech/dev-clean, or prepare another layout with: sordino data prepare folder"
            )
        genders = _read_genders(folder)
        for chapter, inside in chapters.items():
            texts = {name: text for file in _transcripts(chapter) for name, text in _lines(file)}
            for audio in inside:
                if audio.stem not in texts:
                    yield LeftOut(audio, "transcript", "is not in its chapter's .trans.txt")
                    continue
                speaker = audio.stem.split("-")[0]
                attributes = {"subset": chapter.parent.parent.name, "gender": genders.get(speaker, "")}
                yield Utterance(
                    audio=audio,
                    text=texts[audio.stem],
                    speaker=speaker,
                    language="en",
                    duration_s=TO_END,
                    attributes={key: value for key, value in attributes.items() if value},
                )


def _transcripts(chapter: Path) -> list[Path]:
    return sorted(chapter.glob("*.trans.txt"))


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    """Utterance id and text of each line."""
    try:
        content = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read ({error}); copy it again.") from None
    for line in content.splitlines():
        name, _, text = line.partition(" ")
        yield name, text.strip()


def _read_genders(folder: Path) -> Mapping[str, str]:
    """Gender by speaker from ``SPEAKERS.TXT`` (``id | F | subset | minutes | name``) here or just above."""
    for place in (folder, folder.resolve().parent):
        if (place / "SPEAKERS.TXT").is_file():
            rows = (line.split("|") for line in (place / "SPEAKERS.TXT").read_text(encoding="utf-8").splitlines())
            fields = ([field.strip() for field in row] for row in rows if len(row) >= 2 and not row[0].startswith(";"))
            return {row[0]: _GENDERS[row[1]] for row in fields if row[1] in _GENDERS}
    return {}

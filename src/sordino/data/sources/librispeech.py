"""LibriSpeech's own layout: ``SPEAKER/CHAPTER/SPEAKER-CHAPTER-0000.flac`` with ``SPEAKER-CHAPTER.trans.txt`` beside.

Source: https://www.openslr.org/12 (CC BY 4.0).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sordino.data.lines import keyed_lines, read_genders
from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, SPLIT, TO_END, LeftOut, Source
from sordino.data.sources.folder import Folder
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["LibriSpeech"]


@SOURCES.register("librispeech")
@dataclass(frozen=True, slots=True)
class LibriSpeech(Source):
    """LibriSpeech: one of its subsets, e.g. test-clean, or the folder above them, or a copy with a manifest."""

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads chapter by chapter; the subset is the split, and where SPEAKERS.TXT is there ``gender`` is given."""
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
        genders = _genders(folder)
        for chapter, inside in chapters.items():
            yield from _chapter(chapter, inside, genders)


def _chapter(chapter: Path, recordings: Sequence[Path], genders: Mapping[str, str]) -> Iterator[Utterance | LeftOut]:
    texts: dict[str, str] = {}
    for file in _transcripts(chapter):
        try:
            for number, name, text in keyed_lines(file):
                if texts.setdefault(name, text) != text:
                    yield LeftOut(
                        file, "duplicate", f"has another transcript of {name} in line {number}; the first is used"
                    )
        except DataError as error:  # one damaged chapter of thousands; what it lacks is named below
            yield LeftOut(file, "transcript", f"cannot be used: {error}")
    for audio in recordings:
        if audio.stem not in texts:
            yield LeftOut(audio, "transcript", "is not in its chapter's .trans.txt")
            continue
        speaker = audio.stem.split("-")[0]
        attributes = {SPLIT: chapter.resolve().parent.parent.name, "gender": genders.get(speaker, "")}
        yield Utterance(
            audio=audio,
            text=texts.pop(audio.stem),
            speaker=speaker,
            language="en",
            duration_s=TO_END,
            attributes={key: value for key, value in attributes.items() if value},
        )
    for name in texts:
        yield LeftOut(chapter / f"{name}.flac", "missing", "has a transcript, but there is no such recording")


def _transcripts(chapter: Path) -> list[Path]:
    return sorted(chapter.glob("*.trans.txt"))


def _genders(folder: Path) -> Mapping[str, str]:
    return read_genders(folder / "SPEAKERS.TXT") or read_genders(folder.resolve().parent / "SPEAKERS.TXT")

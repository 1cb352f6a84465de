"""Multilingual LibriSpeech's own layout: ``mls_german/train/audio/SPEAKER/BOOK/SPEAKER_BOOK_000000.flac``.

| file | read as |
|---|---|
| ``train/transcripts.txt`` | name of the recording, tab, text |
| ``train/segments.txt`` | where in the original book the recording was cut from; not needed |
| ``train/limited_supervision/{9hr,1hr/*}/handles.txt`` | names of the recordings of a small training set |
| ``metainfo.txt`` | genders of the speakers |

Source: https://www.openslr.org/94 (CC BY 4.0); Pratap et al., "MLS: A Large-Scale Multilingual Dataset for Speech
Research", Interspeech 2020.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.config import option
from sordino.data.lines import keyed_lines, read_genders
from sordino.data.recordings import recordings_in, require_folder
from sordino.data.source import SOURCES, SPLIT, TO_END, LeftOut, Source
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["MultilingualLibriSpeech"]

_LANGUAGES: Final = {
    "dutch": "nl",
    "english": "en",
    "french": "fr",
    "german": "de",
    "italian": "it",
    "polish": "pl",
    "portuguese": "pt",
    "spanish": "es",
}
_TRANSCRIPTS: Final = "transcripts.txt"
_LIMITED: Final = "limited_supervision"


@SOURCES.register("mls")
@dataclass(frozen=True, slots=True)
class MultilingualLibriSpeech(Source):
    """Multilingual LibriSpeech: a language's folder, e.g. mls_german, one of its splits, or the folder above them."""

    limited: str = option(
        "Limited supervision: of train only 9hr, 1hr, one part such as 1hr/0, or 10hr for all of these together.", ""
    )
    language: str = option("Language code, where the folder is not called mls_german or the like.", "")

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads split by split; ``split``, ``book`` and, where metainfo.txt is there, ``gender`` become attributes."""
        require_folder(folder)
        splits = [file.parent for depth in ("", "*/", "*/*/") for file in sorted(folder.glob(depth + _TRANSCRIPTS))]
        if not splits:
            raise DataError(
                f"{folder} has no split with a {_TRANSCRIPTS}; name the folder of a language, such as mls_german, with "
                "train, dev and test inside."
            )
        handles = {split: self._handles(split) for split in splits}
        for split, names in handles.items():
            self._check_limited(split, names)
        if self.limited and not any(handles.values()):
            raise DataError(f"{folder} has no train with {_LIMITED}; leave limited out.")
        for split in splits:
            yield from self._split(split, handles[split])

    def _handles(self, split: Path) -> Mapping[str, None] | None:
        """Names of the recordings of the small training set, or None where all are used."""
        if not self.limited or not (split / _LIMITED).is_dir():
            return None
        below = split / _LIMITED / ("" if self.limited == "10hr" else self.limited)
        return {name: None for file in sorted(below.rglob("handles.txt")) for _, name, _ in keyed_lines(file)}

    def _check_limited(self, split: Path, names: Mapping[str, None] | None) -> None:
        """Raises DataError where a small training set is asked for, and one language would be left whole, or empty."""
        if self.limited and not names and (names is not None or split.resolve().name == "train"):
            raise DataError(
                f"{split} has no {_LIMITED}/{self.limited} with a handles.txt; choose 9hr, 1hr, 1hr/0 to 1hr/5 or 10hr, or "
                "leave limited out."
            )

    def _split(self, split: Path, wanted: Mapping[str, None] | None) -> Iterator[Utterance | LeftOut]:
        recordings = {file.stem: file for file in recordings_in(split / "audio")}
        language = self.language or _language(split)
        genders = read_genders(split.resolve().parent / "metainfo.txt")
        transcripts = split / _TRANSCRIPTS
        seen: set[str] = set()
        for number, name, text in keyed_lines(transcripts, "\t"):
            if wanted is not None and name not in wanted:
                continue
            if name in seen:
                yield LeftOut(transcripts, "duplicate", f"has {name} again in line {number}; the first is used")
                continue
            seen.add(name)
            match = re.fullmatch(r"(\d+)_(\d+)_\d+", name)
            if match is None:
                yield LeftOut(transcripts, "name", f"has {name!r} in line {number}: expected SPEAKER_BOOK_NUMBER")
                continue
            if name not in recordings:
                yield LeftOut(transcripts, "missing", f"has {name} in line {number}, but there is no such recording")
                continue
            speaker, book = match.groups()
            attributes = {SPLIT: split.resolve().name, "book": book, "gender": genders.get(speaker, "")}
            yield Utterance(
                audio=recordings[name],
                text=text,
                speaker=speaker,
                language=language,
                duration_s=TO_END,
                attributes={key: value for key, value in attributes.items() if value},
            )
        for name in (recordings if wanted is None else wanted).keys() - seen:
            yield LeftOut(recordings.get(name, split / _LIMITED / name), "transcript", f"is not in {_TRANSCRIPTS}")


def _language(split: Path) -> str:
    match = re.fullmatch(r"mls_([a-z]+?)(_opus)?", split.resolve().parent.name.lower())
    return _LANGUAGES.get(match.group(1), "") if match else ""

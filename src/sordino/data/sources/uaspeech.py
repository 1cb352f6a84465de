"""UASpeech's own layout: ``audio/F02/F02_B1_CW12_M5.wav``: speaker, block, word and microphone.

Source: Kim et al., "Dysarthric speech database for universal access research", Interspeech 2008.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino._check import one_of
from sordino.config import option
from sordino.data.lines import GENDERS, keyed_lines
from sordino.data.microphones import by_preference, preferred
from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, SPLIT, TO_END, LeftOut, Source
from sordino.data.tables import TABLE_SUFFIXES, Table
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["UASpeech"]

_NAME: Final = re.compile(r"(C?[FM]\d\d)_B([123])_([A-Z]+\d*)_(M\d)")
_MICROPHONES: Final = ("M2", "M3", "M4", "M5", "M6", "M7", "M8")
_VERSIONS: Final = ("original", "normalized", "noisereduce")
_SPLITS: Final[Mapping[str, str]] = {"1": "train", "2": "test", "3": "train"}
_KINDS: Final[Mapping[str, str]] = {"D": "digit", "C": "command", "L": "letter", "CW": "common", "UW": "uncommon"}
_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "very low": ("F03", "M01", "M04", "M12"),
    "low": ("F02", "M06", "M07", "M16"),
    "mid": ("F04", "M05", "M11"),
    "high": ("F05", "M08", "M09", "M10", "M14"),
}
_INTELLIGIBILITY: Final = {speaker: group for group, speakers in _GROUPS.items() for speaker in speakers}
"""Per cent of words that listeners understood, 0 to 25, to 50, to 75 and above, as the corpus has it by speaker."""


@SOURCES.register("uaspeech")
@dataclass(frozen=True, slots=True)
class UASpeech(Source):
    """UASpeech: single words of people with cerebral palsy and controls; blocks 1 and 3 train, block 2 tests.

    The words are read from the corpus's ``speaker_wordlist``, saved as CSV, or from its ``mlf`` folder. Each utterance
    counts once, unless ``every_microphone`` is set. ``intelligibility`` is very low, low, mid, high or control.
    """

    microphones: str = option("Microphones by preference, M2 to M8.", "M5,M6,M4,M7,M3,M8,M2")
    every_microphone: bool = option("Take the recordings of all these microphones.", default=False)
    version: str = option("Which copy of the recordings to read: original, normalized or noisereduce.", "original")

    def __post_init__(self) -> None:
        by_preference("microphones", self.microphones, _MICROPHONES)
        one_of("version", self.version, _VERSIONS)

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads speaker by speaker; the block gives the split, and its number, gender and kind of word are attributes."""
        recordings = [file for file in recordings_in(folder) if self._is_chosen(file.relative_to(folder))]
        if not any(_NAME.fullmatch(file.stem) for file in recordings):
            raise DataError(
                f"{folder} holds no recording of version {self.version!r} that is named like F02_B1_CW12_M5.wav; name the "
                "corpus's folder, or choose another version."
            )
        words = _Words(folder)
        yield from words.damaged
        takes: dict[tuple[str, str, str], dict[str, Path]] = {}
        for file in recordings:
            match = _NAME.fullmatch(file.stem)
            if match is None:
                yield LeftOut(file, "name", "is not named like F02_B1_CW12_M5.wav")
                continue
            speaker, block, word, microphone = match.groups()
            takes.setdefault((speaker, block, word), {})[microphone] = file
        order = by_preference("microphones", self.microphones, _MICROPHONES)
        for take, files in takes.items():
            chosen = preferred(files, order, every=self.every_microphone)
            if not chosen:
                yield LeftOut(next(iter(files.values())), "microphone", f"was recorded by none of {self.microphones}")
            for microphone, file in chosen.items():
                yield _utterance(file, take, microphone, words)

    def _is_chosen(self, path: Path) -> bool:
        return not set(path.parts) & (set(_VERSIONS) - {self.version})


def _utterance(file: Path, take: tuple[str, str, str], microphone: str, words: _Words) -> Utterance | LeftOut:
    speaker, block, word = take
    text = words.said(speaker, block, word)
    if not text:
        return LeftOut(file, "transcript", f"says {word}, which is not in {words.place}")
    control = speaker.startswith("C")
    attributes = {
        SPLIT: _SPLITS[block],
        "block": block,
        "microphone": microphone,
        "word_kind": _KINDS.get(word.rstrip("0123456789") if word[0] != "L" else "L", ""),
        "gender": GENDERS[speaker.removeprefix("C")[0].lower()],
        "intelligibility": "control" if control else _INTELLIGIBILITY.get(speaker, ""),
    }
    return Utterance(
        audio=file,
        text=text,
        speaker=speaker,
        language="en",
        duration_s=TO_END,
        attributes={key: value for key, value in attributes.items() if value},
    )


class _Words:
    """What was to be said, by the names that recordings have.

    Attributes:
        place: where it is written, for messages.
        damaged: rows of the word list that cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.damaged: list[LeftOut] = []
        lists = sorted(folder.rglob("speaker_wordlist.*"))
        table = next((path for path in lists if path.suffix.lower() in TABLE_SUFFIXES), None)
        labels = sorted(folder.rglob("*_word.mlf"))
        if table is not None:
            self.place, self._by_name = table.name, self._listed(Table(table))
        elif labels:
            self.place = "the word labels (*_word.mlf)"
            self._by_name = {name: word for file in labels for name, word in _labelled(file)}
        else:
            found = f"only {lists[0]}, a spreadsheet" if lists else "neither"
            raise DataError(
                f"{folder} has no speaker_wordlist.csv and no *_word.mlf, but {found}: expected one of them for what was "
                "said; save the sheet Word_filename as speaker_wordlist.csv, or name the folder that has audio and mlf."
            )

    def said(self, speaker: str, block: str, word: str) -> str:
        """The word; uncommon ones differ from block to block."""
        names = (f"{speaker}_B{block}_{word}", f"B{block}_{word}", word)
        return next((self._by_name[name] for name in names if name in self._by_name), "")

    def _listed(self, table: Table) -> Mapping[str, str]:
        columns = {name.strip().lower().replace(" ", "_"): name for name in table.columns}
        if not {"word", "file_name"} <= columns.keys():
            raise DataError(
                f"{table.path} has the columns {', '.join(table.columns)}: expected WORD and FILE NAME; save the sheet "
                "Word_filename of the corpus's spreadsheet."
            )
        words = {}
        for row in table:
            if isinstance(row, LeftOut):
                self.damaged.append(row)
            else:
                words[row.get(columns["file_name"], "")] = row.get(columns["word"], "")
        return words


def _labelled(file: Path) -> Iterator[tuple[str, str]]:
    """Names without the microphone, and words, of a master label file of HTK; a word may follow its two times."""
    name, words = "", list[str]()
    for _, first, rest in keyed_lines(file):
        if first.startswith('"'):
            name, words = first.strip('"').rsplit("/", 1)[-1].removesuffix(".lab").rsplit("_", 1)[0], []
        elif first == ".":
            yield name, " ".join(words)
        else:
            words.append(rest.split()[1] if first.isdigit() and len(rest.split()) > 1 else first)

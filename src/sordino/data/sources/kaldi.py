"""Kaldi's data folders: ``wav.scp``, ``text``, ``utt2spk`` and, where given, ``segments`` and ``spk2gender``.

Kaldi lets an entry of ``wav.scp`` be a command whose output is the recording. Such a command is never run: a data folder
from somebody else could hold any.

Source: https://kaldi-asr.org/doc/data_prep.html.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.config import option
from sordino.data.lines import GENDERS, keyed_lines
from sordino.data.recordings import require_folder
from sordino.data.source import SOURCES, SPLIT, TO_END, LeftOut, Source
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Kaldi"]

_SHOWN: Final = 60


@SOURCES.register("kaldi")
@dataclass(frozen=True, slots=True)
class Kaldi(Source):
    """A Kaldi data folder, or the folder above several, whose names are then the splits; shell pipes are never run."""

    language: str = option("Language code of the recordings.", "")
    root: Path | None = option("Folder that relative paths in wav.scp start from, if not the data folder itself.", None)

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads folder by folder; ``gender`` becomes an attribute where spk2gender is there."""
        require_folder(folder)
        alone = (folder / "wav.scp").is_file()
        places = [folder] if alone else sorted(file.parent for file in folder.glob("*/wav.scp"))
        if not places:
            raise DataError(
                f"{folder} has no wav.scp; name a Kaldi data folder, such as data/train, or the one above it."
            )
        for place in places:
            lacking = [name for name in ("text", "utt2spk") if not (place / name).is_file()]
            if lacking:
                raise DataError(
                    f"{place} has no {' and no '.join(lacking)}; a data folder needs wav.scp, text and utt2spk."
                )
        for place in places:
            yield from self._place(place, {SPLIT: place.name} if len(places) > 1 else {})

    def _place(self, place: Path, attributes: Mapping[str, str]) -> Iterator[Utterance | LeftOut]:
        texts = yield from _unique(place / "text")
        speakers = yield from _unique(place / "utt2spk")
        sounds = yield from _unique(place / "wav.scp")
        genders: Mapping[str, str] = {}
        if (place / "spk2gender").is_file():
            genders = yield from _unique(place / "spk2gender")
        pieces: Mapping[str, str] = {name: f"{name} 0 -1" for name in sounds}
        if (place / "segments").is_file():
            pieces = yield from _unique(place / "segments")
        for name, piece in pieces.items():
            found = self._audio(place, name, piece, sounds)
            if isinstance(found, LeftOut):
                yield found
                continue
            audio, offset_s, duration_s = found
            if name not in texts:
                yield LeftOut(audio, "transcript", f"has no transcript: {place / 'text'} lacks {name}")
                continue
            speaker = speakers.get(name, "")
            gender = genders.get(speaker, "").lower()
            yield Utterance(
                audio=audio,
                text=texts[name],
                speaker=speaker,
                language=self.language,
                offset_s=offset_s,
                duration_s=duration_s,
                attributes={**attributes, "gender": GENDERS.get(gender, gender)} if gender else attributes,
            )
        for name in texts.keys() - pieces.keys():
            yield LeftOut(place / "text", "missing", f"has {name}, for which there is no recording")
        for name in sounds.keys() - {recording for piece in pieces.values() for recording in piece.split()[:1]}:
            yield LeftOut(place / "wav.scp", "unlisted", f"has {name}, of which segments names no piece")

    def _audio(
        self, place: Path, name: str, piece: str, sounds: Mapping[str, str]
    ) -> tuple[Path, float, float] | LeftOut:
        """Recording, offset and duration of an utterance."""
        recording, *span = piece.split() or [""]
        sound = sounds.get(recording)
        if sound is None:
            return LeftOut(place / "segments", "missing", f"has {name} in {recording!r}, which wav.scp does not name")
        if sound.endswith("|") or sound.startswith("|"):
            return LeftOut(
                place / "wav.scp",
                "pipe",
                f"has a shell command for {recording} ({sound[:_SHOWN]!r}), which is never run; write its output to a WAV "
                "or FLAC file once, and name that file instead",
            )
        audio = (self.root or place) / sound
        if re.search(r":\d+$", sound) and not audio.is_file():
            reason = f"has a place in an archive for {recording} ({sound!r}); extract it to a WAV or FLAC file"
            return LeftOut(place / "wav.scp", "archive", reason)
        if not audio.is_file():
            hint = "" if Path(sound).is_absolute() else "; say where relative paths start with --set root=..."
            return LeftOut(audio, "missing", f"is named in {place / 'wav.scp'}, but does not exist{hint}")
        if len(span) > 2:
            return LeftOut(audio, "channel", f"has a channel for {name} in segments; write each channel to a file")
        return _piece(audio, name, span)


def _piece(audio: Path, name: str, span: list[str]) -> tuple[Path, float, float] | LeftOut:
    try:
        start_s, end_s = (float(value) for value in span)
    except ValueError:
        return LeftOut(audio, "piece", f"has a line for {name} in segments without start and end in seconds")
    duration_s = TO_END if end_s == -1 else end_s - start_s
    if not (0 <= start_s < TO_END and duration_s > 0):
        return LeftOut(audio, "piece", f"has an empty piece for {name} in segments, from {span[0]} to {span[1]} s")
    return audio, start_s, duration_s


def _unique(file: Path) -> Generator[LeftOut, None, Mapping[str, str]]:
    """Returns what a file says of each name; yields the names that it has twice."""
    values: dict[str, str] = {}
    for number, name, value in keyed_lines(file):
        if name in values:
            yield LeftOut(file, "duplicate", f"has {name} again in line {number}; the first is used")
        else:
            values[name] = value
    return values

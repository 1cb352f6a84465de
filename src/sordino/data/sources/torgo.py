"""TORGO's own layout: ``F01/Session1/wav_arrayMic/0001.wav`` with ``F01/Session1/prompts/0001.txt``.

Source: Rudzicz, Namasivayam and Wolff, "The TORGO database of acoustic and articulatory speech from speakers with
dysarthria", Language Resources and Evaluation 2012.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.config import option
from sordino.data.lines import GENDERS
from sordino.data.microphones import by_preference, preferred
from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, TO_END, LeftOut, Source
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Torgo"]

_SPEAKER: Final = re.compile(r"[FM]C?\d\d")
_FOLDERS: Final[Mapping[str, str]] = {"wav_arrayMic": "array", "wav_headMic": "head"}
_PICTURE: Final = re.compile(r"\.(jpe?g|gif|png|bmp)$", re.IGNORECASE)
_REMARK: Final = re.compile(r"\[[^\]]*\]?")
_NOTHING_SAID: Final = "xxx"
_SEVERITY: Final[Mapping[str, str]] = {
    "F01": "severe",
    "M01": "severe",
    "M02": "severe",
    "M04": "severe",
    "F03": "moderate",
    "M05": "moderate",
    "F04": "mild",
    "M03": "mild",
}
"""As most papers group the speakers, with moderate to severe as moderate; the corpus itself has ratings, not groups."""


@SOURCES.register("torgo")
@dataclass(frozen=True, slots=True)
class Torgo(Source):
    """TORGO: words and sentences of people with dysarthria and controls, by speaker and session.

    Remarks in brackets are taken out of a prompt. Prompts that are an instruction or a picture say nothing about the
    words that were spoken, and are left out. Each utterance counts once, unless ``every_microphone`` is set. ``severity``
    is mild, moderate, severe or control.
    """

    microphones: str = option("Microphones by preference, array and head.", "array,head")
    every_microphone: bool = option("Take the recordings of both microphones.", default=False)

    def __post_init__(self) -> None:
        by_preference("microphones", self.microphones, _FOLDERS.values())

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads session by session; session, microphone, gender and severity are attributes."""
        sessions: dict[Path, dict[str, dict[str, Path]]] = {}
        for file in recordings_in(folder):
            if file.parent.name in _FOLDERS and _SPEAKER.fullmatch(file.parent.parent.parent.name):
                takes = sessions.setdefault(file.parent.parent, {})
                takes.setdefault(file.stem, {})[_FOLDERS[file.parent.name]] = file
        if not sessions:
            raise DataError(
                f"{folder} has no folder such as F01/Session1/wav_arrayMic with recordings; name the corpus's folder, or "
                "prepare another layout with: sordino data prepare folder"
            )
        for session, takes in sessions.items():
            yield from self._session(session, takes)

    def _session(self, session: Path, takes: Mapping[str, Mapping[str, Path]]) -> Iterator[Utterance | LeftOut]:
        order = by_preference("microphones", self.microphones, _FOLDERS.values())
        speaker = session.parent.name
        attributes = {
            "session": session.name,
            "gender": GENDERS[speaker[0].lower()],
            "severity": "control" if speaker[1] == "C" else _SEVERITY.get(speaker, ""),
        }
        known = {key: value for key, value in attributes.items() if value}
        for take, files in takes.items():
            chosen = preferred(files, order, every=self.every_microphone)
            if not chosen:
                yield LeftOut(next(iter(files.values())), "microphone", f"was recorded by none of {self.microphones}")
            for microphone, file in chosen.items():
                text = _said(session / "prompts" / f"{take}.txt", file)
                yield (
                    text
                    if isinstance(text, LeftOut)
                    else Utterance(
                        audio=file,
                        text=text,
                        speaker=speaker,
                        language="en",
                        duration_s=TO_END,
                        attributes=known | {"microphone": microphone},
                    )
                )
        for prompt in sorted((session / "prompts").glob("*.txt")):
            if prompt.stem not in takes:
                missing = session / f"wav_{order[0]}Mic" / f"{prompt.stem}.wav"
                yield LeftOut(missing, "missing", "has a prompt, but no microphone recorded it")


def _said(prompt: Path, audio: Path) -> str | LeftOut:
    """The words of a prompt, or why there are none."""
    try:
        text = " ".join(prompt.read_text(encoding="utf-8-sig", errors="replace").split())
    except OSError:
        return LeftOut(audio, "transcript", f"has no prompt {prompt.name}")
    if _PICTURE.search(text):
        return LeftOut(audio, "picture", f"describes a picture, {text}: what was said is not written down")
    words = " ".join(_REMARK.sub(" ", text).split())
    if text and not words:
        return LeftOut(audio, "instruction", f"has an instruction for a prompt: {text}")
    if words.lower() == _NOTHING_SAID:
        return LeftOut(audio, "transcript", f"has the prompt {text!r}, which stands for none")
    return words

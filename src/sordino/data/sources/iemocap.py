"""IEMOCAP's own layout: ``Session1/sentences/wav/Ses01F_impro01/Ses01F_impro01_F000.wav`` with ``dialog`` beside.

What was said is in ``dialog/transcriptions``, what was felt in ``dialog/EmoEvaluation``, a file for each dialogue.

Source: Busso et al., "IEMOCAP: interactive emotional dyadic motion capture database", Language Resources and Evaluation
2008.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.data.lines import GENDERS, keyed_lines
from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, TO_END, LeftOut, Source
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Iemocap"]

_NAME: Final = re.compile(r"(Ses\d\d)[FM]_((?:impro|script)\w+)_([FM])\d{3}")
_LABEL: Final = re.compile(
    r"\[[\d.]+ - [\d.]+\]\t(?P<name>\S+)\t(?P<emotion>\w+)\t"
    r"\[(?P<valence>[\d.]+), (?P<activation>[\d.]+), (?P<dominance>[\d.]+)\]"
)
_EMOTIONS: Final[Mapping[str, str]] = {
    "neu": "neutral",
    "hap": "happiness",
    "exc": "excitement",
    "sad": "sadness",
    "ang": "anger",
    "fru": "frustration",
    "fea": "fear",
    "sur": "surprise",
    "dis": "disgust",
    "oth": "other",
}
"""Whatever the raters did not agree on, ``xxx``, has none."""


@SOURCES.register("iemocap")
@dataclass(frozen=True, slots=True)
class Iemocap(Source):
    """IEMOCAP: five pairs of actors, improvised and scripted dialogues, emotions as the raters agreed on them."""

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads dialogue by dialogue; emotion, valence, activation, dominance, gender and session are attributes."""
        dialogues: dict[Path, list[Path]] = {}
        for file in recordings_in(folder):
            if file.parent.parent.name == "wav" and _NAME.fullmatch(file.stem):
                dialogues.setdefault(file.parent, []).append(file)
        if not dialogues:
            raise DataError(
                f"{folder} has no folder such as Session1/sentences/wav/Ses01F_impro01 with recordings; name the corpus's "
                "folder."
            )
        for dialogue, files in dialogues.items():
            session = dialogue.parents[2]
            said = _said(session / "dialog" / "transcriptions" / f"{dialogue.name}.txt")
            felt = _felt(session / "dialog" / "EmoEvaluation" / f"{dialogue.name}.txt")
            for file in files:
                yield _utterance(file, said, felt)


def _utterance(file: Path, said: Mapping[str, str], felt: Mapping[str, Mapping[str, str]]) -> Utterance | LeftOut:
    match = _NAME.fullmatch(file.stem)
    if match is None or file.stem not in said:
        return LeftOut(file, "transcript", "is not in its dialogue's transcriptions")
    session, dialogue, side = match.groups()
    kind = "script" if dialogue.startswith("script") else "improvised"
    fixed = {"gender": GENDERS[side.lower()], "session": session, "kind": kind}
    return Utterance(
        audio=file,
        text=said[file.stem],
        speaker=f"{session}{side}",
        language="en",
        duration_s=TO_END,
        attributes=fixed | dict(felt.get(file.stem, {})),
    )


def _said(path: Path) -> Mapping[str, str]:
    """Words by utterance: ``Ses01F_impro01_F000 [006.2901-008.2357]: Excuse me.``; empty where there is no file."""
    if not path.is_file():
        return {}
    return {name: rest.partition("]:")[2].strip() for _, name, rest in keyed_lines(path) if rest.startswith("[")}


def _felt(path: Path) -> Mapping[str, Mapping[str, str]]:
    """Emotion and dimensions by utterance, from the summary lines that begin with the times."""
    if not path.is_file():
        return {}
    labels = {}
    for match in _LABEL.finditer(path.read_text(encoding="utf-8", errors="replace")):
        found = match.groupdict()
        emotion = _EMOTIONS.get(found.pop("emotion"))
        name = found.pop("name")
        labels[name] = found | ({"emotion": emotion} if emotion else {})
    return labels

"""CREMA-D's own layout: ``AudioWAV/1001_DFA_ANG_XX.wav`` with ``VideoDemographics.csv``.

Source: Cao et al., "CREMA-D: Crowd-sourced emotional multimodal actors dataset", IEEE Transactions on Affective Computing
2014 (Open Database License).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, TO_END, LeftOut, Source
from sordino.data.tables import Table
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["CremaD"]

_NAME: Final = re.compile(r"(\d{4})_([A-Z]{3})_([A-Z]{3})_(LO|MD|HI|XX|X)")
_EMOTIONS: Final[Mapping[str, str]] = {
    "ANG": "anger", "DIS": "disgust", "FEA": "fear", "HAP": "happiness", "NEU": "neutral", "SAD": "sadness"
}  # fmt: skip
_INTENSITIES: Final[Mapping[str, str]] = {"LO": "low", "MD": "medium", "HI": "high"}
_SENTENCES: Final[Mapping[str, str]] = {
    "IEO": "it's eleven o'clock",
    "TIE": "that is exactly what happened",
    "IOM": "i'm on my way to the meeting",
    "IWW": "i wonder what this is about",
    "TAI": "the airplane is almost full",
    "MTI": "maybe tomorrow it will be cold",
    "IWL": "i would like a new alarm clock",
    "ITH": "i think i have a doctor's appointment",
    "DFA": "don't forget a jacket",
    "ITS": "i think i've seen this before",
    "TSI": "the surface is slick",
    "WSI": "we'll stop in a couple of minutes",
}


@SOURCES.register("crema-d")
@dataclass(frozen=True, slots=True)
class CremaD(Source):
    """CREMA-D: twelve English sentences acted by 91 actors in six emotions."""

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads the names; emotion and intensity are attributes, and gender and age where the actors' table is there."""
        recordings = recordings_in(folder)
        if not any(_NAME.fullmatch(file.stem) for file in recordings):
            raise DataError(
                f"{folder} holds no recording that is named like 1001_DFA_ANG_XX.wav; name the corpus's folder."
            )
        actors = _actors(folder / "VideoDemographics.csv")
        for file in recordings:
            match = _NAME.fullmatch(file.stem)
            if match is None or match[2] not in _SENTENCES or match[3] not in _EMOTIONS:
                yield LeftOut(file, "name", "is not named like 1001_DFA_ANG_XX.wav")
                continue
            actor, sentence, emotion, level = match.groups()
            known = {"emotion": _EMOTIONS[emotion], "intensity": _INTENSITIES.get(level, "")} | actors.get(actor, {})
            yield Utterance(
                audio=file,
                text=_SENTENCES[sentence],
                speaker=actor,
                language="en",
                duration_s=TO_END,
                attributes={key: value for key, value in known.items() if value},
            )


def _actors(path: Path) -> Mapping[str, dict[str, str]]:
    """Gender and age by actor; empty where there is no table."""
    if not path.is_file():
        return {}
    rows = (row for row in Table(path) if not isinstance(row, LeftOut))
    return {row.get("ActorID", ""): {"gender": row.get("Sex", "").lower(), "age": row.get("Age", "")} for row in rows}

"""RAVDESS's own layout: ``Actor_12/03-01-06-01-02-01-12.wav``, everything about a recording in seven numbers of its name.

Source: Livingstone and Russo, "The Ryerson Audio-Visual Database of Emotional Speech and Song", PLoS ONE 2018
(CC BY-NC-SA 4.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sordino.config import option
from sordino.data.recordings import recordings_in
from sordino.data.source import SOURCES, TO_END, LeftOut, Source
from sordino.data.utterance import Utterance
from sordino.errors import DataError

__all__ = ["Ravdess"]

_NAME: Final = re.compile(r"(0[123])-(0[12])-(0[1-8])-(0[12])-(0[12])-(0[12])-(\d\d)")
_EMOTIONS: Final = ("neutral", "calm", "happiness", "sadness", "anger", "fear", "disgust", "surprise")
_INTENSITIES: Final[Mapping[str, str]] = {"01": "normal", "02": "strong"}
_STATEMENTS: Final[Mapping[str, str]] = {"01": "kids are talking by the door", "02": "dogs are sitting by the door"}
_SONG: Final = "02"


@SOURCES.register("ravdess")
@dataclass(frozen=True, slots=True)
class Ravdess(Source):
    """RAVDESS: two English sentences acted by 24 actors in eight emotions, most of them in two intensities."""

    song: bool = option("Take the sung recordings too; by default they are left out.", default=False)

    def read(self, folder: Path) -> Iterator[Utterance | LeftOut]:
        """Reads the names; emotion, intensity, gender, and whether it is speech or song, are attributes."""
        recordings = recordings_in(folder)
        if not any(_NAME.fullmatch(file.stem) for file in recordings):
            raise DataError(
                f"{folder} holds no recording that is named like 03-01-06-01-02-01-12.wav; name the corpus's folder."
            )
        for file in recordings:
            match = _NAME.fullmatch(file.stem)
            if match is None:
                yield LeftOut(file, "name", "is not named like 03-01-06-01-02-01-12.wav")
                continue
            _, channel, emotion, intensity, statement, _, actor = match.groups()
            if channel == _SONG and not self.song:
                yield LeftOut(file, "song", "is sung")
                continue
            yield Utterance(
                audio=file,
                text=_STATEMENTS[statement],
                speaker=f"Actor_{actor}",
                language="en",
                duration_s=TO_END,
                attributes={
                    "emotion": _EMOTIONS[int(emotion) - 1],
                    "intensity": _INTENSITIES[intensity],
                    "channel": "song" if channel == _SONG else "speech",
                    "gender": "male" if int(actor) % 2 else "female",
                },
            )

"""Speech with emotions, read straight from the folder that a corpus comes in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sordino._check import at_least, one_of
from sordino.config import option
from sordino.data.corpus import CORPORA, Corpus, Splits, within_window
from sordino.data.holding_out import hold_out_speakers
from sordino.data.listening import glance
from sordino.data.preparing import prepare
from sordino.data.source import SOURCES
from sordino.errors import DataError

__all__ = ["EMOTION", "EmotionalSpeech"]

EMOTION = "emotion"
"""Attribute that names an utterance's emotion."""


@CORPORA.register("emotional-speech")
@dataclass(frozen=True, slots=True)
class EmotionalSpeech(Corpus):
    """Acted or spontaneous emotions, some speakers held out altogether.

    Every utterance has the attribute ``emotion``. Utterances without one, or with one that is not asked for, are left out
    and counted.
    """

    path: Path = option("Folder of the corpus, as it is distributed, or with a manifest.")
    layout: str = option(
        "Its layout, one of those that data prepare knows: nemo, ravdess, crema-d, iemocap, meld ...", "nemo"
    )
    emotions: tuple[str, ...] = option("Emotions to keep; all if none is named.", ())
    test_speakers: int = option("Speakers kept for the test.", 2)
    seed: int = option("Fixes which.", 0)

    def __post_init__(self) -> None:
        one_of("data.corpus.layout", self.layout, SOURCES.names())
        at_least("data.corpus.test_speakers", self.test_speakers, 1)

    def load(self, window_s: float) -> Splits:
        prepared = prepare(SOURCES.get(self.layout)().read(self.path.expanduser()), hear=glance)
        found = [
            utterance for utterance in prepared.utterances if self._is_wanted(utterance.attributes.get(EMOTION, ""))
        ]
        if not found:
            named = sorted({utterance.attributes.get(EMOTION, "none") for utterance in prepared.utterances})
            raise DataError(
                f"{self.path} has no utterance with an emotion of {', '.join(self.emotions) or 'any kind'}, but with "
                f"{', '.join(named)}; choose data.corpus.emotions among them, or another data.corpus.layout."
            )
        notes = [f"left out {len(items)} recordings: {kind}." for kind, items in prepared.kinds.items()]
        if len(found) < len(prepared.utterances):
            notes.append(f"left out {len(prepared.utterances) - len(found)} utterances without a wanted emotion.")
        division = hold_out_speakers(found, self.test_speakers, seed=self.seed)
        train, long = within_window(division.train, window_s)
        if not train:
            raise DataError(
                f"model.window_s = {window_s}: no training utterance of {self.path} fits into it; raise it."
            )
        return Splits(train=train, test=division.test, test_is=division.test_is, notes=(*notes, *long))

    def _is_wanted(self, emotion: str) -> bool:
        return bool(emotion) and (not self.emotions or emotion in self.emotions)

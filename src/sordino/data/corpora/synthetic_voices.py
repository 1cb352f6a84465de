"""The default population: synthetic people who say digit strings, rendered once and kept in the cache."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sordino._check import at_least, one_of, positive
from sordino.config import option
from sordino.data import espeak
from sordino.data.corpus import CORPORA, Corpus, Splits
from sordino.data.digits import DIGITS, digit_string
from sordino.data.rendered import rendered, spoken
from sordino.data.rendering import Job
from sordino.data.synthetic import LANGUAGES, Voice, federated_voices, held_out_voices
from sordino.data.utterance import Utterance
from sordino.errors import ConfigError
from sordino.seeds import Seeds

__all__ = ["SyntheticVoices"]

_RENDERING: Final = 1
"""Raise when the same options come to mean other samples."""


@CORPORA.register("synthetic-voices")
@dataclass(frozen=True, slots=True)
class SyntheticVoices(Corpus):
    """Noisy synthetic voices saying digit strings; test voices have timbres that no training voice has.

    Needs the extra ``synthetic``. About 4,000 utterances render in 20 s on 2 CPUs, once.
    """

    voices: int = option("Training speakers.", 300)
    utterances_per_voice: int = option("Training utterances of each.", 12)
    held_out_voices: int = option("Test speakers, with timbres of their own.", 60)
    utterances_per_held_out_voice: int = option("Test utterances of each.", 8)
    seen_utterances_per_voice: int = option("Utterances of each training speaker held out of training.", 1)
    languages: tuple[str, ...] = option("Languages, drawn uniformly for each voice.", LANGUAGES)
    digits: tuple[int, int] = option("Fewest and most digits an utterance.", (1, 4))
    seed: int = option("Fixes voices, texts and acoustic noise.", 0)

    def __post_init__(self) -> None:
        for field in ("voices", "utterances_per_voice", "held_out_voices", "utterances_per_held_out_voice"):
            at_least(f"data.corpus.{field}", getattr(self, field), 1)
        at_least("data.corpus.seen_utterances_per_voice", self.seen_utterances_per_voice, 0)
        if not self.languages:
            raise ConfigError(f"data.corpus.languages is empty; choose among {', '.join(DIGITS)}.")
        for language in self.languages:
            one_of("data.corpus.languages", language, DIGITS)
        at_least("data.corpus.digits", self.digits[0], 1)
        at_least("data.corpus.digits", self.digits[1], self.digits[0])

    def load(self, window_s: float) -> Splits:
        positive("model.window_s", window_s)
        key = dataclasses.asdict(self) | {"window_s": window_s, "espeak": espeak.version(), "rendering": _RENDERING}
        splits = rendered(self.name, key, lambda: self._plan(window_s))
        train, test, seen = (splits.get(name, ()) for name in ("train", "test", "seen"))
        return Splits(train=train, test=test, seen=seen, test_is="held-out voices")

    def _plan(self, window_s: float) -> Iterator[tuple[Job, Utterance]]:
        for split, speaker, voice, count in self._speakers():
            for index in range(count):
                seeds = Seeds(self.seed).at("synthetic-voices", split, speaker, index)
                low, high = self.digits
                text = digit_string(voice.language, seeds.at("text").generator(), low=low, high=high)
                job = Job(f"{speaker}/{split}-{index:03d}.flac", voice, text, seeds, window_s)
                yield job, spoken(job, speaker, {"timbre": voice.timbre, "split": split})

    def _speakers(self) -> Iterator[tuple[str, str, Voice, int]]:
        """Split, name, voice and number of utterances."""
        seeds = Seeds(self.seed)
        for index, voice in enumerate(federated_voices(self.voices, seeds, languages=self.languages)):
            yield "train", f"voice-{index:04d}", voice, self.utterances_per_voice
            yield "seen", f"voice-{index:04d}", voice, self.seen_utterances_per_voice
        for index, voice in enumerate(held_out_voices(self.held_out_voices, seeds, languages=self.languages)):
            yield "test", f"held-out-{index:04d}", voice, self.utterances_per_held_out_voice

"""Any texts, read aloud by synthetic voices: public speech in the language and the letters that a recogniser is to write."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from sordino._check import at_least, one_of, positive
from sordino.config import Choice, option
from sordino.data import espeak
from sordino.data.corpus import CORPORA, Corpus, Splits
from sordino.data.rendered import rendered, spoken
from sordino.data.rendering import Job
from sordino.data.synthetic import Voice, federated_voices, held_out_voices
from sordino.data.texts.base import TEXTS, TextSet
from sordino.data.utterance import Utterance
from sordino.errors import DataError
from sordino.seeds import Seeds

__all__ = ["SpokenTexts"]

_RENDERING: Final = 1
"""Raise when the same options come to mean other samples."""

_SPOKEN_OTHERWISE: Final = re.compile(r"[\d$€£%&@]")
"""What is said in other letters than it is written in."""

_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")


@CORPORA.register("spoken-texts")
@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenTexts(Corpus):
    """Noisy synthetic voices reading texts, to give a new output layer its letters before anybody's own speech is touched.

    A text with a figure or a sign of currency is left out: it is not said as it is written. Punctuation is not read. Test
    voices have timbres that no training voice has, and read any of the same texts. Needs the extra ``synthetic``.
    """

    texts: Annotated[TextSet, Choice(TEXTS)] = option('What is read, such as {method = "jsonl", path = "texts.jsonl"}.')
    language: str = option('What the voices speak: espeak-ng\'s name of the language, such as "en" or "pl".')
    voices: int = option("Training voices.", 100)
    utterances_per_voice: int = option("Texts that each reads.", 10)
    held_out_voices: int = option("Test voices, with timbres of their own.", 10)
    most_words: int = option("A text is read to this word.", 10)
    seed: int = option("Fixes voices, who reads what and acoustic noise.", 0)

    def __post_init__(self) -> None:
        for field in ("voices", "utterances_per_voice", "held_out_voices", "most_words"):
            at_least(f"data.corpus.{field}", getattr(self, field), 1)

    def load(self, window_s: float) -> Splits:
        positive("model.window_s", window_s)
        one_of("data.corpus.language", self.language, espeak.languages())
        texts = self._readable()
        key = {
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "texts"},
            "texts": hashlib.sha256("\n".join(texts).encode()).hexdigest(),
            "window_s": window_s,
            "espeak": espeak.version(),
            "rendering": _RENDERING,
        }
        splits = rendered(self.name, key, lambda: self._plan(texts, window_s))
        return Splits(train=splits["train"], test=splits["test"], test_is="held-out voices")

    def _readable(self) -> Sequence[str]:
        """The texts as they are read, each once."""
        read = [text for example in self.texts.read() for text in example.text.splitlines()]
        said = [" ".join(_WORD.findall(text)[: self.most_words]) for text in read if not _SPOKEN_OTHERWISE.search(text)]
        kept = tuple(dict.fromkeys(text for text in said if text))
        if not kept:
            raise DataError(
                f"data.corpus.texts: none of {len(read)} texts can be read aloud as it is written, without figures and "
                "signs: expected some; give others, with numbers in words."
            )
        return kept

    def _plan(self, texts: Sequence[str], window_s: float) -> Iterator[tuple[Job, Utterance]]:
        for split, speaker, voice in self._speakers():
            reading = Seeds(self.seed).at("spoken-texts", split, speaker)
            chosen = reading.at("texts").generator().integers(len(texts), size=self.utterances_per_voice)
            for index, place in enumerate(chosen.tolist()):
                file = f"{speaker}/{split}-{index:03d}.flac"
                job = Job(file, voice, texts[place], reading.at(index), window_s)
                yield job, spoken(job, speaker, {"timbre": voice.timbre, "split": split, "synthetic": "espeak-ng"})

    def _speakers(self) -> Iterator[tuple[str, str, Voice]]:
        """Split, name and voice; more of them never change those that are there."""
        seeds = Seeds(self.seed).at("spoken-texts")
        for index, voice in enumerate(federated_voices(self.voices, seeds, languages=(self.language,))):
            yield "train", f"voice-{index:04d}", voice
        for index, voice in enumerate(held_out_voices(self.held_out_voices, seeds, languages=(self.language,))):
            yield "test", f"held-out-{index:04d}", voice

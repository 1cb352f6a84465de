"""Synthetic people whose speech is slow, halting, unsteady and blurred, in groups of severity."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from sordino._check import at_least, one_of, positive
from sordino.config import option
from sordino.data import espeak
from sordino.data.atypical import Impairment
from sordino.data.corpus import CORPORA, Corpus, Splits, within_window
from sordino.data.digits import DIGITS, digit_string
from sordino.data.rendered import rendered, spoken
from sordino.data.rendering import Job
from sordino.data.synthetic import Voice, federated_voices
from sordino.data.utterance import Utterance
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds

__all__ = ["SEVERITIES", "AtypicalVoices", "Severity"]

_RENDERING: Final = 1
"""Raise when the same options come to mean other samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Severity:
    """Least and most of everything that a speaker of one group may have; see `Impairment`. ``rate`` is words a minute."""

    rate: tuple[int, int]
    pause_s: tuple[float, float]
    pitch_spread: tuple[float, float]
    tremor: tuple[float, float]
    blur: tuple[float, float]

    def draw(self, rng: np.random.Generator) -> tuple[int, Impairment]:
        """One speaker's rate and impairment, each part uniform."""
        rate = int(rng.integers(self.rate[0], self.rate[1] + 1))
        parts = {
            name: float(rng.uniform(*getattr(self, name))) for name in ("pause_s", "pitch_spread", "tremor", "blur")
        }
        return rate, Impairment(**parts)


SEVERITIES: Final[Mapping[str, Severity]] = {
    "typical": Severity(rate=(150, 220), pause_s=(0, 0), pitch_spread=(0, 0), tremor=(0, 0), blur=(0, 0)),
    "mild": Severity(rate=(120, 150), pause_s=(0.05, 0.15), pitch_spread=(3, 6), tremor=(0.01, 0.03), blur=(0.1, 0.25)),
    "moderate": Severity(
        rate=(100, 120), pause_s=(0.15, 0.3), pitch_spread=(6, 12), tremor=(0.03, 0.06), blur=(0.25, 0.45)
    ),
    "severe": Severity(
        rate=(80, 100), pause_s=(0.3, 0.6), pitch_spread=(12, 20), tremor=(0.06, 0.12), blur=(0.45, 0.65)
    ),
}
"""The groups by name, the least severe first. The ranges were chosen for the sound, not measured on anybody."""


@CORPORA.register("atypical-voices")
@dataclass(frozen=True, slots=True)
class AtypicalVoices(Corpus):
    """Synthetic atypical speakers saying digit strings; each is trained on and tested on other clips.

    They are no patients: rate, pauses, pitch and articulation of synthetic voices are changed by group, and every clip
    says so (``synthetic``). ``severity`` is the group. Speech is never hurried to fit into the window; training clips that
    do not fit are left out and counted. Needs the extra ``synthetic``.
    """

    speakers: int = option("Speakers of each group of severity.", 8)
    groups: tuple[str, ...] = option(
        "Groups of severity: mild, moderate and severe, and typical for speakers without impairment.",
        ("mild", "moderate", "severe"),
    )
    utterances_per_speaker: int = option("Training utterances of each.", 24)
    test_utterances_per_speaker: int = option("Test utterances of each.", 8)
    languages: tuple[str, ...] = option("Languages, drawn uniformly for each speaker.", ("en",))
    digits: tuple[int, int] = option("Fewest and most digits an utterance.", (1, 2))
    seed: int = option("Fixes speakers, texts and all chance in how they are said.", 0)

    def __post_init__(self) -> None:
        for field in ("speakers", "utterances_per_speaker", "test_utterances_per_speaker"):
            at_least(f"data.corpus.{field}", getattr(self, field), 1)
        for field, known in (("groups", SEVERITIES), ("languages", DIGITS)):
            if not getattr(self, field):
                raise ConfigError(f"data.corpus.{field} is empty; choose among {', '.join(known)}.")
            for name in getattr(self, field):
                one_of(f"data.corpus.{field}", name, known)
        at_least("data.corpus.digits", self.digits[0], 1)
        at_least("data.corpus.digits", self.digits[1], self.digits[0])

    def load(self, window_s: float) -> Splits:
        positive("model.window_s", window_s)
        ranges = {name: dataclasses.asdict(SEVERITIES[name]) for name in self.groups}
        key = dataclasses.asdict(self) | {"ranges": ranges, "espeak": espeak.version(), "rendering": _RENDERING}
        splits = rendered(self.name, key, self._plan)
        train, notes = within_window(splits["train"], window_s)
        if not train:
            raise DataError(
                f"model.window_s = {window_s}: none of {len(splits['train'])} training clips of data.corpus fits into it; "
                "raise it, or lower data.corpus.digits."
            )
        return Splits(train=train, test=splits["test"], test_is="held-out clips of training speakers", notes=notes)

    def _plan(self) -> Iterator[tuple[Job, Utterance]]:
        counts = {"train": self.utterances_per_speaker, "test": self.test_utterances_per_speaker}
        for group, speaker, voice, impairment in self._speakers():
            attributes = {"severity": group, "timbre": voice.timbre, "synthetic": "espeak-ng"}
            for split, count in counts.items():
                for index in range(count):
                    seeds = Seeds(self.seed).at("atypical-voices", split, speaker, index)
                    low, high = self.digits
                    text = digit_string(voice.language, seeds.at("text").generator(), low=low, high=high)
                    file = f"{speaker}/{split}-{index:03d}.flac"
                    job = Job(file, voice, text, seeds, window_s=math.inf, impairment=impairment)
                    yield job, spoken(job, speaker, attributes | {"split": split})

    def _speakers(self) -> Iterator[tuple[str, str, Voice, Impairment]]:
        """Group, name, voice and impairment; more speakers, or other groups, never change those that are there."""
        for group in dict.fromkeys(self.groups):
            seeds = Seeds(self.seed).at("atypical-voices", group)
            for index, voice in enumerate(federated_voices(self.speakers, seeds, languages=self.languages)):
                rate, impairment = SEVERITIES[group].draw(seeds.at("impairment", index).generator())
                yield group, f"{group}-{index:02d}", dataclasses.replace(voice, rate=rate), impairment

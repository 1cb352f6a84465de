"""Transcripts as numbers that an inverse can learn, back again, and how much of them an attacker has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import DataError
from sordino.evaluation.significance import speaker_interval
from sordino.evaluation.wer import Errors, pooled, word_errors
from sordino.seeds import Seeds

__all__ = ["Recovery", "Transcripts", "score_recovery"]


class Transcripts:
    """Transcripts as targets, and back.

    A transcript becomes the presence of each word and, for each place, the word that stands there or that none does.

    Args:
        known: the attacker's transcripts; words that are in none of them are never named.
        places: words of a transcript that are looked for in order; as many as the longest has if not given.

    Attributes:
        words: all that are known, sorted.
    """

    def __init__(self, known: Sequence[str], *, places: int = 0) -> None:
        self.words = sorted({word for text in known for word in text.split()})
        self.places = places or max((len(text.split()) for text in known), default=0)
        if not self.words:
            raise DataError("the attacker's transcripts hold no word; give recordings with text.")
        self._index = {word: index for index, word in enumerate(self.words)}

    def targets(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """float64 [texts, words + places * (words + 1)]; unknown words leave no mark."""
        num = len(self.words)
        rows = np.zeros((len(texts), num + self.places * (num + 1)))
        for row, text in zip(rows, texts, strict=True):
            placed = row[num:].reshape(self.places, num + 1)
            said = text.split()
            for place in range(self.places):
                placed[place, self._index.get(said[place], num) if place < len(said) else num] = 1
            row[[self._index[word] for word in said if word in self._index]] = 1
        return rows

    def likeliest(self, scores: npt.NDArray[np.float64], *, count: int) -> set[str]:
        """The ``count`` words that one transcript most likely holds, in whatever order."""
        order = np.argsort(-scores[: len(self.words)], kind="stable")
        return {self.words[index] for index in order[:count]}

    def text(self, scores: npt.NDArray[np.float64]) -> str:
        """One transcript as it was most likely said, place by place."""
        placed = scores[len(self.words) :].reshape(self.places, len(self.words) + 1)
        return " ".join(self.words[index] for index in placed.argmax(axis=1) if index < len(self.words))


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """How much of what was said an attacker has.

    Attributes:
        words: share of the different words of each transcript that are among as many named ones.
        words_ci95: over speakers; None for a single one.
        chance: the same of whoever always names the words that are most frequent in public.
        wer: word error rate of the text as put together.
        wer_ci95: likewise.
        blind_wer: of the most frequent public text, for every transcript.
        right: words that were named rightly.
        tried: words.
    """

    words: float
    words_ci95: tuple[float, float] | None
    chance: float
    wer: float
    wer_ci95: tuple[float, float] | None
    blind_wer: float
    right: int
    tried: int

    def to_json(self) -> dict[str, Any]:
        """``success``, ``chance`` and ``ci95`` of the words, and the error rates of the text."""
        return {
            "success": self.words,
            "chance": self.chance,
            "ci95": list(self.words_ci95 or (0.0, 1.0)),
            "right": self.right,
            "tried": self.tried,
            "wer": self.wer,
            "wer_ci95": list(self.wer_ci95 or (0.0, 1.0)),
            "blind_wer": self.blind_wer,
        }


def score_recovery(
    transcripts: Transcripts,
    scores: npt.NDArray[np.float64],
    *,
    said: Sequence[str],
    speakers: Sequence[str],
    public: Sequence[str],
    seeds: Seeds,
) -> Recovery:
    """Compares what the attacker made of some updates with what was said.

    The attacker is told how many different words a transcript has, and nothing else.

    Args:
        transcripts: the attacker's words.
        scores: of each victim's transcript, as an inverse gives them.
        said: the victims' transcripts.
        speakers: who said them; intervals are over these.
        public: the attacker's own transcripts, for what chance can do.
        seeds: of the intervals.

    Shape:
        scores: [utterances, words + places * (words + 1)]
    """
    blind = transcripts.targets(public).mean(axis=0)
    likeliest = max(sorted(set(public)), key=public.count)
    found, lucky, wrong, without = (dict[str, Errors]() for _ in range(4))
    for text, speaker, row in zip(said, speakers, scores, strict=True):
        words = set(text.split())
        _add(found, speaker, _missed(words, transcripts.likeliest(row, count=len(words))))
        _add(lucky, speaker, _missed(words, transcripts.likeliest(blind, count=len(words))))
        _add(wrong, speaker, word_errors(text, transcripts.text(row)))
        _add(without, speaker, word_errors(text, likeliest))
    missed, wer = pooled(found.values()), pooled(wrong.values())
    bounds = speaker_interval(found, seeds=seeds).bounds
    return Recovery(
        words=1 - missed.rate,
        words_ci95=bounds and (1 - bounds[1], 1 - bounds[0]),
        chance=1 - pooled(lucky.values()).rate,
        wer=wer.rate,
        wer_ci95=speaker_interval(wrong, seeds=seeds).bounds,
        blind_wer=pooled(without.values()).rate,
        right=missed.words - missed.total,
        tried=missed.words,
    )


def _missed(words: set[str], named: set[str]) -> Errors:
    return Errors(deletions=len(words - named), words=len(words))


def _add(counts: dict[str, Errors], speaker: str, errors: Errors) -> None:
    counts[speaker] = counts.get(speaker, Errors()) + errors

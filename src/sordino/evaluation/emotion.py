"""How well emotions are told apart, and how near a sentiment is guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import DataError
from sordino.evaluation.significance import Interval, difference_interval, speaker_interval
from sordino.evaluation.wer import Errors, pooled
from sordino.seeds import Seeds

__all__ = [
    "EmotionReport",
    "SentimentReport",
    "accuracy_change",
    "emotion_report",
    "sentiment_report",
    "wrong_by_speaker",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmotionReport:
    """Scores of emotions, as fractions.

    Attributes:
        accuracy: of all utterances together, which the field calls weighted accuracy.
        unweighted_accuracy: mean over the emotions of the share that was recognised: each emotion counts alike.
        macro_f1: mean over the emotions of F1.
        interval: of ``accuracy``, over speakers.
        chance: accuracy of whoever always says the most frequent emotion of the references.
        utterances: how many.
    """

    accuracy: float
    unweighted_accuracy: float
    macro_f1: float
    interval: Interval
    chance: float
    utterances: int

    def to_json(self) -> dict[str, Any]:
        """The scores, with ``ci95`` in place of the interval."""
        scores = asdict(self)
        del scores["interval"]
        return scores | {"ci95": self.interval.bounds and list(self.interval.bounds), "note": self.interval.note}


@dataclass(frozen=True, slots=True, kw_only=True)
class SentimentReport:
    """Scores of a sentiment in [-3, 3].

    Attributes:
        mean_absolute_error: in the sentiment's own units.
        correlation: Pearson's; None where either side never changes.
        same_sign: share of the references other than 0 whose sign was guessed.
        utterances: how many.
    """

    mean_absolute_error: float
    correlation: float | None
    same_sign: float | None
    utterances: int

    def to_json(self) -> dict[str, Any]:
        """The scores."""
        return asdict(self)


def wrong_by_speaker(truth: Sequence[str], guesses: Sequence[str], speakers: Sequence[str]) -> Mapping[str, Errors]:
    """Wrong answers of each speaker's utterances, counted as substitutions among as many words as there are utterances.

    Raises:
        DataError: no utterance, or the three differ in length.
    """
    _require_equal(truth, guesses, speakers)
    counts: dict[str, Errors] = {}
    for true, guess, speaker in zip(truth, guesses, speakers, strict=True):
        counts[speaker] = counts.get(speaker, Errors()) + Errors(substitutions=int(true != guess), words=1)
    return counts


def emotion_report(
    truth: Sequence[str], guesses: Sequence[str], *, speakers: Sequence[str], seeds: Seeds
) -> EmotionReport:
    """Scores guessed emotions; an emotion that is not among the references counts as wrong and as nothing else.

    Raises:
        DataError: no utterance, or the three differ in length.
    """
    from sklearn.metrics import f1_score, recall_score

    by_speaker = wrong_by_speaker(truth, guesses, speakers)
    emotions = sorted(set(truth))
    scored = {"labels": emotions, "average": "macro", "zero_division": 0.0}
    wrong = speaker_interval(by_speaker, seeds=seeds)
    return EmotionReport(
        accuracy=1 - pooled(by_speaker.values()).rate,
        unweighted_accuracy=float(recall_score(truth, guesses, **scored)),
        macro_f1=float(f1_score(truth, guesses, **scored)),
        interval=Interval(wrong.bounds and (1 - wrong.bounds[1], 1 - wrong.bounds[0]), wrong.note),
        chance=max(truth.count(emotion) for emotion in emotions) / len(truth),
        utterances=len(truth),
    )


def accuracy_change(
    truth: Sequence[str], before: Sequence[str], after: Sequence[str], *, speakers: Sequence[str], seeds: Seeds
) -> tuple[float, Interval]:
    """By how much accuracy rises from ``before`` to ``after`` on the same utterances, with the interval over speakers.

    Raises:
        DataError: no utterance, or lengths differ.
    """
    first, second = (wrong_by_speaker(truth, guesses, speakers) for guesses in (before, after))
    change = pooled(first.values()).rate - pooled(second.values()).rate
    return change, difference_interval(first, second, seeds=seeds)


def sentiment_report(truth: npt.NDArray[np.float64], guesses: npt.NDArray[np.float64]) -> SentimentReport:
    """Scores guessed sentiments.

    Shape:
        truth, guesses: [utterances]

    Raises:
        DataError: no utterance, lengths differ, or a value is not finite.
    """
    _require_equal(truth, guesses)
    if not (np.isfinite(truth).all() and np.isfinite(guesses).all()):
        raise DataError("a sentiment is not a finite number; leave that utterance out, or correct its label.")
    varies = len(truth) > 1 and np.ptp(truth) > 0 and np.ptp(guesses) > 0
    signed = truth != 0
    return SentimentReport(
        mean_absolute_error=float(np.abs(truth - guesses).mean()),
        correlation=float(np.corrcoef(truth, guesses)[0, 1]) if varies else None,
        same_sign=float((np.sign(guesses) == np.sign(truth))[signed].mean()) if signed.any() else None,
        utterances=len(truth),
    )


def _require_equal(*sides: Sequence[Any] | npt.NDArray[np.float64]) -> None:
    lengths = [len(side) for side in sides]
    if not lengths[0] or len(set(lengths)) > 1:
        raise DataError(
            f"references, guesses and speakers number {', '.join(map(str, lengths))}: expected equally many, at least 1; "
            "score the utterances that were guessed."
        )

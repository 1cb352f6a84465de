"""Every subset of modalities that somebody may be left with, scored one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sordino.errors import DataError
from sordino.evaluation.emotion import EmotionReport, accuracy_change, emotion_report
from sordino.evaluation.significance import Interval
from sordino.seeds import Seeds

__all__ = ["MaskReport", "all_masks", "mask_name", "score_masks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskReport:
    """One subset of the modalities.

    Attributes:
        present: the modalities that were there.
        scores: of the emotions.
        change: accuracy less that with every modality.
        change_interval: of ``change``, over speakers, paired.
    """

    present: tuple[str, ...]
    scores: EmotionReport
    change: float
    change_interval: Interval

    def to_json(self) -> dict[str, Any]:
        """The scores, and the change from all modalities."""
        bounds = self.change_interval.bounds
        return self.scores.to_json() | {"change": self.change, "change_ci95": bounds and list(bounds)}


def all_masks(modalities: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The 2^M - 1 subsets that are not empty, the larger first, each in the order given.

    Raises:
        DataError: a modality is named twice, or none is.
    """
    if not modalities or len(set(modalities)) < len(modalities):
        raise DataError(
            f"modalities {', '.join(modalities) or 'none'}: expected at least one, each once; correct the list."
        )
    return tuple(subset for size in range(len(modalities), 0, -1) for subset in combinations(modalities, size))


def mask_name(present: Sequence[str]) -> str:
    """What a subset is called in results: its modalities joined by ``+``."""
    return "+".join(present)


def score_masks(
    guess: Callable[[tuple[str, ...]], Sequence[str]],
    modalities: Sequence[str],
    *,
    truth: Sequence[str],
    speakers: Sequence[str],
    seeds: Seeds,
) -> Mapping[str, MaskReport]:
    """Scores every subset of the modalities on the same utterances.

    Args:
        guess: the emotions that the model names when only these modalities are there.
        modalities: all of them.
        truth: the emotions.
        speakers: who spoke.
        seeds: of the intervals.

    Returns:
        The reports by `mask_name`, all modalities first.
    """
    guesses = {present: guess(present) for present in all_masks(modalities)}
    whole = guesses[tuple(modalities)]
    reports = {}
    for present, named in guesses.items():
        own = seeds.at("masks", mask_name(present))
        change, interval = accuracy_change(truth, whole, named, speakers=speakers, seeds=own)
        scores = emotion_report(truth, named, speakers=speakers, seeds=own)
        reports[mask_name(present)] = MaskReport(
            present=present, scores=scores, change=change, change_interval=interval
        )
    return reports

"""How well words were written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from sordino.data import Utterance
from sordino.evaluation import Interval, Sample, WerReport, difference_interval, score
from sordino.evaluation.ctc import Decoder, DecodingOptions
from sordino.models.ctc import Units
from sordino.seeds import Seeds

__all__ = ["Recognition", "WordJudge"]


@dataclass(frozen=True)
class Recognition:
    """Word and character error rates of a test set.

    Attributes:
        report: the counts.
        seeds: of the bootstrap.
    """

    report: WerReport
    seeds: Seeds

    def against(self, other: Recognition) -> _Difference:
        """The difference of word error rates, paired by speaker; below 0 is better than the other."""
        interval = difference_interval(self.report.by_speaker, other.report.by_speaker, seeds=self.seeds)
        return _Difference(self.report.wer - other.report.wer, interval)

    def to_json(self) -> dict[str, Any]:
        """``wer`` with the interval of the bootstrap over speakers, null for a single one, and ``cer``."""
        bounds = self.report.ci95
        return {"wer": self.report.wer, "wer_ci95": None if bounds is None else list(bounds), "cer": self.report.cer}


@dataclass(frozen=True)
class _Difference:
    wer: float
    interval: Interval

    def to_json(self) -> dict[str, Any]:
        """``wer`` and its interval."""
        bounds = self.interval.bounds
        return {"wer": self.wer, "wer_ci95": None if bounds is None else list(bounds)}


@dataclass(frozen=True)
class WordJudge:
    """Judges distributions over units by what was said.

    Attributes:
        utterances: the test recordings, in order.
        lengths: frames of each.
        units: what is written.
        seeds: of the bootstrap.
    """

    utterances: Sequence[Utterance]
    lengths: Sequence[int]
    units: Units
    seeds: Seeds

    def __call__(self, scores: torch.Tensor) -> Recognition:
        """Figures of the likeliest unit of each frame; scores float32 [recordings, longest, units]."""
        decoder = Decoder(self.units, DecodingOptions())
        samples = [
            Sample(
                key=one.key,
                speaker=one.speaker,
                reference=one.text,
                hypothesis=decoder(log_probs[:length]),
                language=one.language,
            )
            for one, log_probs, length in zip(self.utterances, scores, self.lengths, strict=True)
        ]
        return Recognition(score(samples, seeds=self.seeds), self.seeds)

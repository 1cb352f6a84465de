"""BLEU of written texts, pooled over all of them, with an interval over the texts that were tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino._check import at_least
from sordino.errors import ConfigError, DataError
from sordino.seeds import Seeds

__all__ = ["Bleu", "bleu"]

Counts: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Bleu:
    """BLEU of some texts, from 0 to 100, and of resamples of them.

    Attributes:
        found: of the texts themselves.
        drawn: of each resample; two sets of texts with the same references and seeds are resampled alike.

    Shape:
        drawn: float64 [resamples]
    """

    found: float
    drawn: npt.NDArray[np.float64]

    def against(self, other: Bleu) -> Bleu:
        """The difference to other texts with the same references, paired."""
        return Bleu(self.found - other.found, self.drawn - other.drawn)

    def to_json(self) -> dict[str, Any]:
        """The figure with the 95 % percentile interval of the bootstrap."""
        return {"bleu": self.found, "bleu_ci95": np.quantile(self.drawn, [0.025, 0.975]).tolist()}


def bleu(written: Sequence[str], references: Sequence[str], *, seeds: Seeds, resamples: int = 200) -> Bleu:
    """Corpus BLEU-4 as sacrebleu counts it: 13a tokens, case kept, exponential smoothing.

    Args:
        written: texts.
        references: what each should be.
        seeds: of the resamples.
        resamples: number of draws of as many texts as there are, with replacement.

    Raises:
        ConfigError: sacrebleu is not installed, or fewer than 1 resample.
        DataError: no text, or not as many references.
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise ConfigError("BLEU needs sacrebleu; install it with: pip install 'sordino[split]'.") from None
    at_least("resamples", resamples, 1)
    if not written or len(written) != len(references):
        raise DataError(
            f"{len(written)} written texts for {len(references)} references: expected one each, at least one; score all."
        )
    counter = BLEU(effective_order=True)  # of single texts only what it counts is used
    scores = [counter.sentence_score(text, [reference]) for text, reference in zip(written, references, strict=True)]
    counts = np.array([[*one.counts, *one.totals, one.sys_len, one.ref_len] for one in scores], dtype=np.int64)
    random = seeds.at("bleu").generator()
    drawn = [_pooled(counts[random.integers(len(counts), size=len(counts))]) for _ in range(resamples)]
    return Bleu(_pooled(counts), np.array(drawn))


def _pooled(counts: Counts) -> float:
    """BLEU of what was counted of each text: matches and n-grams of orders 1 to 4, and both lengths."""
    from sacrebleu.metrics.bleu import BLEU

    *grams, written, reference = counts.sum(axis=0).tolist()
    return float(BLEU.compute_bleu(grams[:4], grams[4:], written, reference, smooth_method="exp").score)

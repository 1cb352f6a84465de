"""How well labels were told."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sordino.evaluation.classification import Classification, classification
from sordino.seeds import Seeds

__all__ = ["LabelJudge"]


@dataclass(frozen=True)
class LabelJudge:
    """Judges scores of labels by the right ones.

    Attributes:
        labels: the right ones, int64 [sequences].
        seeds: of the bootstrap; the same draws for all methods.
    """

    labels: torch.Tensor
    seeds: Seeds

    def __call__(self, scores: torch.Tensor) -> Classification:
        """Figures of probabilities [sequences, labels]."""
        shares = scores.double().numpy()
        return classification(shares / shares.sum(axis=1, keepdims=True), self.labels.numpy(), seeds=self.seeds)

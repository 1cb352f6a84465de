"""How well labels are told apart: accuracy and area under the curve, with intervals over the sequences that were tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino._check import at_least
from sordino.errors import DataError
from sordino.seeds import Seeds

__all__ = ["Classification", "classification"]

Scores: TypeAlias = npt.NDArray[np.float64]
Labels: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Classification:
    """Area under the curve and accuracy of a classifier, and of resamples of the sequences.

    The area under the receiver operating characteristic is the mean over the labels of each against the rest; accuracy is
    the share of sequences whose likeliest label is right.

    Attributes:
        found: on the sequences themselves.
        drawn: on each resample; two classifiers of the same labels and seeds are on the same ones.

    Shape:
        found: float64 [2]
        drawn: float64 [resamples, 2]
    """

    found: npt.NDArray[np.float64]
    drawn: npt.NDArray[np.float64]

    def against(self, other: Classification) -> Classification:
        """The differences to another classifier on the same sequences, paired."""
        return Classification(self.found - other.found, self.drawn - other.drawn)

    def to_json(self) -> dict[str, Any]:
        """Both figures, each with the 95 % percentile interval of the bootstrap, or null if no resample had all labels."""
        result: dict[str, Any] = {}
        for index, name in enumerate(("auc", "accuracy")):
            result[name] = float(self.found[index])
            bounds = np.quantile(self.drawn[:, index], [0.025, 0.975]).tolist() if len(self.drawn) else None
            result[f"{name}_ci95"] = bounds
        return result


def classification(scores: Scores, labels: Labels, *, seeds: Seeds, resamples: int = 200) -> Classification:
    """Figures of a classifier.

    Args:
        scores: a probability for each label.
        labels: the right ones.
        seeds: of the resamples.
        resamples: number of draws of as many sequences as there are, with replacement; those that lack a label are left out.

    Shape:
        scores: float64 [sequences, labels]
        labels: int64 [sequences]

    Raises:
        DataError: shapes that do not fit, or a label that does not occur.
        ConfigError: fewer than 1 resample.
    """
    at_least("resamples", resamples, 1)
    if scores.ndim != 2 or len(scores) != len(labels) or set(labels.tolist()) != set(range(scores.shape[1])):
        raise DataError(
            f"scores of shape {scores.shape} for {len(labels)} sequences with labels {sorted(set(labels.tolist()))}: "
            "expected a row a sequence, and every label among them; test more sequences."
        )
    random, kinds = seeds.at("classification").generator(), scores.shape[1]
    draws = [random.integers(len(labels), size=len(labels)) for _ in range(resamples)]
    drawn = [_figures(scores[rows], labels[rows]) for rows in draws if len(set(labels[rows].tolist())) == kinds]
    return Classification(_figures(scores, labels), np.array(drawn).reshape(-1, 2))


def _figures(scores: Scores, labels: Labels) -> npt.NDArray[np.float64]:
    """AUC and accuracy."""
    from sklearn.metrics import accuracy_score, roc_auc_score

    kinds = scores.shape[1]
    counted = [1] if kinds == 2 else list(range(kinds))  # of two labels the areas are the same
    auc = roc_auc_score(np.eye(kinds, dtype=int)[labels][:, counted], scores[:, counted], average="macro")
    return np.array([auc, accuracy_score(labels, scores.argmax(axis=1))])

"""Was a modality ever collected? An attacker with models of both kinds learns to tell, and is shown others."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sordino.errors import DataError
from sordino.evaluation.attacks.one_run import Success

__all__ = ["modality_presence"]

_FEWEST: Final = 3


def modality_presence(exposed: npt.NDArray[np.float64], never: npt.NDArray[np.float64]) -> Success:
    """Tells models that once had a modality from models that never did, each pair by what was learnt from all others.

    What the attacker sees of a model is a vector: parameters, outputs on inputs of the attacker's choice, or both. A
    logistic regression on all pairs but one says which of the two left out is the exposed one; where it finds both alike,
    as exact deletion makes them, the answer counts half.

    | case | success |
    |---|---|
    | both models of each pair equal | chance, exactly |
    | told apart every time | 1 |

    Args:
        exposed: what is seen of models that had the modality, after it was taken out.
        never: likewise of their twins that never had it.

    Shape:
        exposed, never: [pairs, features]

    Raises:
        DataError: fewer than 3 pairs, or the shapes differ.
    """
    if exposed.shape != never.shape or exposed.ndim != 2 or len(exposed) < _FEWEST:
        raise DataError(
            f"models seen have shapes {exposed.shape} and {never.shape}: expected [pairs, features] twice, with at least "
            f"{_FEWEST} pairs; train more pairs."
        )
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    halves = 0
    for left_out in range(len(exposed)):
        rest = np.arange(len(exposed)) != left_out
        seen = np.concatenate([exposed[rest], never[rest]])
        is_exposed = np.repeat([True, False], rest.sum())
        judge = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(seen, is_exposed)
        first, second = judge.decision_function(np.stack([exposed[left_out], never[left_out]]))
        halves += int(first > second) + int(first >= second)
    return Success(right=halves // 2, tried=len(exposed), chance=0.5)

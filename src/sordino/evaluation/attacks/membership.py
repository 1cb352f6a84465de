"""Who took part? An attacker with the final model, the starting model and somebody's recordings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.evaluation.attacks.one_run import Success

__all__ = ["loss_drop"]


def loss_drop(
    before: npt.NDArray[np.float64], after: npt.NDArray[np.float64], included: npt.NDArray[np.bool_]
) -> Success:
    """Says of the half of the people whose loss fell most that they took part.

    Measuring from the starting model takes out how hard a person is to understand, as calibrated thresholds do; the attacker
    needs no coin to find the middle, since each was fair.

    Args:
        before: mean loss of each person's recordings under the starting model.
        after: likewise under the final model.
        included: the coins, read only to count right answers.

    Shape:
        before, after, included: [people]

    Source: Yeom et al., Privacy Risk in Machine Learning, 2018, for the threshold; Watson et al., On the Importance of
    Difficulty Calibration in Membership Inference Attacks, 2022, for the difference.
    """
    fall = before - after
    guessed = np.zeros_like(included)
    guessed[np.argsort(-fall, kind="stable")[: len(fall) // 2]] = True
    return Success(right=int((guessed == included).sum()), tried=len(included), chance=0.5)

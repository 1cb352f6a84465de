"""Who took part? An attacker who ran the training again, with and without each person, and compares.

For each person, the shadow runs give two distributions of a score, here how far the loss fell: of runs with the person, and
of runs without. With few runs each has a mean of its own, and all people share one variance. The logarithm of the likelihood
ratio of what the real model shows then says which it was.

Source: Carlini et al., "Membership inference attacks from first principles", 2022, section on fewer shadow models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sordino.errors import DataError
from sordino.evaluation.attacks.one_run import Success

__all__ = ["Lira", "likelihood_ratio"]

_SMALLEST_STD: Final = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Lira:
    """What came out.

    Attributes:
        guessed: of everybody, whether they took part.
        area: probability that somebody who did scores above somebody who did not; None if all did, or nobody.
        shadows: number of runs that the attacker made.
    """

    guessed: Success
    area: float | None
    shadows: int

    def to_json(self) -> dict[str, Any]:
        """``success``, ``chance`` and ``ci95`` of guessing, with the area under the curve."""
        return {**self.guessed.to_json(), "area": self.area, "shadows": self.shadows}


def likelihood_ratio(
    shadows: npt.NDArray[np.float64],
    taken: npt.NDArray[np.bool_],
    observed: npt.NDArray[np.float64],
    included: npt.NDArray[np.bool_],
) -> Lira:
    """Compares each person's score under the real model with those of shadow runs.

    Somebody whom the shadow runs never had, or always, is guessed by the mean shift of all others.

    Args:
        shadows: scores of everybody in each shadow run.
        taken: who was in which of them.
        observed: scores under the real model.
        included: the coins of the real run, read only to count right answers.

    Shape:
        shadows, taken: [runs, people]
        observed, included: [people]

    Raises:
        DataError: fewer than two shadow runs, or shapes that do not fit.
    """
    if shadows.shape != taken.shape or len(shadows) < 2 or shadows.shape[1:] != observed.shape:
        raise DataError(
            f"shadow scores of shape {shadows.shape} for {len(observed)} people: expected [runs, people] with at least two "
            "runs; run more shadows."
        )
    centre = shadows.mean(axis=0)
    counts = np.stack([(~taken).sum(axis=0), taken.sum(axis=0)])
    sums = np.stack([np.where(taken, 0, shadows).sum(axis=0), np.where(taken, shadows, 0).sum(axis=0)])
    known = (counts > 0).all(axis=0)
    means = sums / np.maximum(counts, 1)
    shift = float((means[1] - means[0])[known].mean()) if known.any() else 0.0
    means = np.where(known, means, np.stack([centre - shift / 2, centre + shift / 2]))
    residual = shadows - np.where(taken, means[1], means[0])
    std = max(float(residual.std()), _SMALLEST_STD)
    odds = ((observed - means[0]) ** 2 - (observed - means[1]) ** 2) / (2 * std**2)
    right = int(((odds > 0) == included).sum())
    return Lira(
        guessed=Success(right=right, tried=len(observed), chance=0.5),
        area=_area(odds, included),
        shadows=len(shadows),
    )


def _area(odds: npt.NDArray[np.float64], included: npt.NDArray[np.bool_]) -> float | None:
    if included.all() or not included.any():
        return None
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(included, odds))

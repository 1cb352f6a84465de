"""From a client's update back to what was said: an inverse that is learnt from updates which the attacker makes.

Whoever knows the model, as every participant does, can compute the update of any recording. From n public recordings, their
updates ``x_i`` and whatever is to be known of them, ``y_i`` (which words were said and where, how loud each band was), a
linear inverse follows in closed form, and needs nothing of the victim but the update:

    y(x) = mean(y) + (y - mean(y))^T (X X^T + lambda I)^-1 X x,      lambda = ridge mean(|x_i|^2) + n s^2

for updates divided, coordinate by coordinate, by the noise's standard deviation in units of s. The second part of lambda is
what noise of variance s^2 on every coordinate adds to the inner products on average, so the inverse is the best linear one
for the noise that it will meet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sordino._check import positive
from sordino.errors import DataError

__all__ = ["Inverse", "learn_inverse"]

_RIDGE: Final = 0.05

Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Inverse:
    """Says of updates what the attacker's own updates were like.

    Attributes:
        known: the attacker's updates, float32 [shadows, size].
        weights: of each for each number that is said, float64 [shadows, targets].
        mean: of the targets, float64 [targets].
        scale: what each coordinate is divided by, float32 [size].
    """

    known: Matrix
    weights: npt.NDArray[np.float64]
    mean: npt.NDArray[np.float64]
    scale: Matrix

    def __call__(self, updates: Matrix) -> npt.NDArray[np.float64]:
        """Targets of some updates.

        Shape:
            updates: float32 [victims, size]
            result: float64 [victims, targets]
        """
        inner = (updates / self.scale) @ self.known.T
        return np.asarray(self.mean + inner.astype(np.float64) @ self.weights)


def learn_inverse(
    updates: Matrix, targets: npt.NDArray[np.float64], *, noise_stds: Matrix | float = 0.0, ridge: float = _RIDGE
) -> Inverse:
    """Learns from the attacker's own updates, which have no noise on them, for victims' updates that have.

    Args:
        updates: bounded as the victims' are.
        targets: what is known of each.
        noise_stds: standard deviation of the noise that victims' updates carry, one for all or one a coordinate.
        ridge: share of the updates' mean squared norm that is added for what no linear inverse can explain.

    Shape:
        updates: float32 [shadows, size]
        targets: float64 [shadows, targets]
        noise_stds: float32 [size]

    Raises:
        DataError: fewer than two updates, or as many targets as there are not updates.
    """
    if len(updates) != len(targets) or len(updates) < 2:
        raise DataError(
            f"{len(updates)} updates of the attacker's with {len(targets)} targets: expected equally many, at least 2; "
            "make more."
        )
    stds = np.broadcast_to(np.asarray(noise_stds, np.float32), updates.shape[1:])
    level = float(np.sqrt(np.mean(np.square(stds, dtype=np.float64))))
    scale: Matrix = np.where(stds > 0, stds / np.float32(level or 1), np.float32(1)).astype(np.float32)
    known: Matrix = updates / scale
    inner = (known @ known.T).astype(np.float64)
    load = positive("ridge", ridge) * float(np.trace(inner)) / len(inner) + len(inner) * level**2
    mean = targets.mean(axis=0)
    weights = np.linalg.solve(inner + load * np.eye(len(inner)), targets - mean)
    return Inverse(known, weights, mean, scale)

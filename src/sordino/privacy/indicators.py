"""Clip indicators: how many clients were clipped, as a few more coordinates of a round's Gaussian release.

Each client adds ``b - 1/2`` in {-1/2, 1/2} for every indicator b, so m indicators move their sum by at most ``sqrt(m) / 2``
in L2 norm when a client is added or left out. With noise of standard deviation ``r z_s sqrt(m) / 2`` on each they are a
Gaussian mechanism of multiplier ``r z_s`` beside the update's of multiplier z_s, and both together are one of multiplier z:

    z**-2 = z_s**-2 + (r z_s)**-2,   so   z_s = z sqrt(1 + r**-2).

The ledger is charged for z. At r = 10 the update's own noise grows by half a percent.

Source: Andrew et al., Differentially Private Learning with Adaptive Clipping, 2021, theorem 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["NOISE_RATIO", "indicator_std", "rates", "update_multiplier"]

NOISE_RATIO: Final = 10.0
"""r: how much noisier the indicators are than the update, both relative to their sensitivity."""


def update_multiplier(noise_multiplier: float, *, count: int) -> float:
    """z_s: the update's own noise multiplier, when it and ``count`` indicators are to cost z together."""
    return noise_multiplier * math.sqrt(1 + NOISE_RATIO**-2) if count else noise_multiplier


def indicator_std(noise_multiplier: float, *, count: int) -> float:
    """Standard deviation of the noise on each of ``count`` summed indicators."""
    return NOISE_RATIO * update_multiplier(noise_multiplier, count=count) * math.sqrt(count) / 2


def rates(noisy_sum: npt.NDArray[np.float64], *, expected_cohort: float) -> Sequence[float]:
    """Fractions of the cohort, ``1/2 + sum (b - 1/2) / n``; noise may drive them out of [0, 1]."""
    return [float(value) for value in 0.5 + noisy_sum / expected_cohort]

"""Clip indicators: how many clients were clipped, as a few more coordinates of a round's Gaussian release.

Each client adds ``b - a`` for every indicator b, where a is the rate that the reader of this indicator steers to. So the
sum is zero where that rate is met, however many clients answer: counted from anywhere else, drop-outs, or a population
declared larger than it is, would shift the rate at which the reader comes to rest. When a client is added or left out the m
sums move by at most ``D = sqrt(sum max(a, 1 - a)**2)`` in L2 norm, ``sqrt(m) / 2`` for a = 1/2; by at most 2 D when one is
replaced. With noise of standard deviation ``r z_s D`` on each they are a Gaussian mechanism of multiplier ``r z_s`` beside
the update's of multiplier z_s, and both together are one of multiplier z:

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

__all__ = ["NOISE_RATIO", "indicator_std", "rates", "sensitivity", "update_multiplier"]

NOISE_RATIO: Final = 10.0
"""r: how much noisier the indicators are than the update, both relative to their sensitivity."""


def update_multiplier(noise_multiplier: float, *, count: int) -> float:
    """z_s: the update's own noise multiplier, when it and ``count`` indicators are to cost z together."""
    return noise_multiplier * math.sqrt(1 + NOISE_RATIO**-2) if count else noise_multiplier


def sensitivity(aims: Sequence[float]) -> float:
    """D: how far one client moves the sums of indicators counted from these rates, in L2 norm."""
    return math.hypot(*(max(aim, 1 - aim) for aim in aims))


def indicator_std(noise_multiplier: float, *, aims: Sequence[float]) -> float:
    """Standard deviation of the noise on the sum of each indicator."""
    return NOISE_RATIO * update_multiplier(noise_multiplier, count=len(aims)) * sensitivity(aims)


def rates(noisy_sum: npt.NDArray[np.float64], *, aims: Sequence[float], expected_cohort: float) -> Sequence[float]:
    """Fractions ``a + sum (b - a) / n`` of the cohort; noise may drive them out of [0, 1].

    Whoever of the expected cohort does not answer counts as a.
    """
    return [float(value) for value in np.array(aims) + noisy_sum / expected_cohort]

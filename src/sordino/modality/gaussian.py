"""The Gaussian mechanism in closed form, in terms of its noise multiplier ``z = sigma / sensitivity``.

    delta(epsilon) = Phi(1/(2z) - epsilon z) - e^epsilon Phi(-1/(2z) - epsilon z)

Several releases compose to one with ``z = (sum z_i^-2)^(-1/2)``, exactly. The simple conversion of zCDP and the classical
calibration are here for what publications state: the first is looser, and the second is proven below epsilon 1 only.

| figure | at epsilon 1, delta 1e-5 | at epsilon 10, delta 1e-5 |
|---|---|---|
| `analytic_multiplier` | 3.731 | 0.4999 |
| `classical_multiplier` | 4.845 | 0.4845, whose delta is 2.3e-5: more than claimed |

Source: Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, ICML 2018, theorem 8; Bun and Steinke,
Concentrated Differential Privacy, 2016, proposition 1.3; Dong, Roth and Su, Gaussian Differential Privacy, 2022.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from sordino._check import fraction, positive

__all__ = [
    "analytic_multiplier",
    "classical_multiplier",
    "composed_multiplier",
    "gaussian_delta",
    "gaussian_epsilon",
    "zcdp",
    "zcdp_epsilon",
]

_MOST_EPSILON = 1e9


def gaussian_delta(epsilon: float, *, noise_multiplier: float) -> float:
    """The smallest delta of one release at ``epsilon``; 1 without noise, 0 if nothing is released (z infinite)."""
    from scipy.special import log_ndtr

    if noise_multiplier == 0 or math.isinf(noise_multiplier):
        return float(noise_multiplier == 0)
    near, far = 0.5 / noise_multiplier, epsilon * noise_multiplier
    first, second = float(log_ndtr(near - far)), epsilon + float(log_ndtr(-near - far))
    # exp(first) - exp(second), where both may be next to each other or next to nothing
    return max(0.0, -math.expm1(second - first) * math.exp(first)) if second < first else 0.0


def gaussian_epsilon(noise_multiplier: float, *, delta: float) -> float:
    """The exact epsilon at ``delta`` of one release; infinite without noise."""
    from scipy.optimize import brentq

    fraction("delta", delta)
    if noise_multiplier == 0:
        return math.inf
    if gaussian_delta(0.0, noise_multiplier=noise_multiplier) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, noise_multiplier=noise_multiplier) > delta:
        high *= 2
        if high > _MOST_EPSILON:
            return math.inf
    found: float = brentq(
        lambda epsilon: gaussian_delta(epsilon, noise_multiplier=noise_multiplier) - delta, 0.0, high, xtol=1e-12
    )
    return found


def analytic_multiplier(epsilon: float, *, delta: float) -> float:
    """The least noise multiplier with delta(epsilon) at most ``delta``: sigma for each unit of sensitivity.

    Raises:
        ConfigError: epsilon not above 0, or delta outside (0, 1).
    """
    from scipy.optimize import brentq

    positive("epsilon", epsilon)
    fraction("delta", delta)

    def excess(log_z: float) -> float:
        return gaussian_delta(epsilon, noise_multiplier=math.exp(log_z)) - delta

    low, high = 0.0, 0.0
    while excess(low) <= 0:
        low -= 1.0
    while excess(high) > 0:
        high += 1.0
    z = math.exp(brentq(excess, low, high, xtol=1e-12))
    while gaussian_delta(epsilon, noise_multiplier=z) > delta:
        z *= 1 + 1e-12
    return z


def classical_multiplier(epsilon: float, *, delta: float) -> float:
    """``sqrt(2 ln(1.25 / delta)) / epsilon``, as published; not proven from epsilon 1 on, and false at 10."""
    positive("epsilon", epsilon)
    fraction("delta", delta)
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def composed_multiplier(multipliers: Iterable[float]) -> float:
    """``(sum z_i^-2)^(-1/2)``: the one release that these amount to; infinite if there is none."""
    values = list(multipliers)
    if 0.0 in values:
        return 0.0
    squares = math.fsum(z**-2 for z in values)
    return squares**-0.5 if squares else math.inf


def zcdp(noise_multiplier: float) -> float:
    """``rho = 1 / (2 z^2)`` of one release; those of several add up."""
    return 0.5 / noise_multiplier**2


def zcdp_epsilon(rho: float, *, delta: float) -> float:
    """``rho + 2 sqrt(rho ln(1/delta))``, the simple conversion: valid, and above the exact figure."""
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))

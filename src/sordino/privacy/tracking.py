"""A clip norm that follows the size of the updates, read from accounted clip indicators."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sordino._check import at_most, fraction, positive
from sordino.config import option

__all__ = ["Tracking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tracking:
    """Moves C towards a quantile of the update norms: ``C <- C exp(-eta (below - quantile))``.

    ``below`` is the released fraction of clients whose update was no larger than C; whoever of the expected cohort does not
    answer counts as ``quantile``, and so pulls no way. Too many of them, and C shrinks; too few, and it grows; it rests
    where ``quantile`` of the updates are no larger than C. Each client's indicator is one more
    coordinate of the round's Gaussian release (`sordino.privacy.indicators`), so following it costs nothing further.

    Source: Andrew et al., Differentially Private Learning with Adaptive Clipping, 2021, equation 2 and theorem 1.
    """

    quantile: float = option("Fraction of the updates that C leaves unclipped.", 0.5)
    eta: float = option("Step size of the logarithm of C.", 0.2)

    def __post_init__(self) -> None:
        fraction("privacy.tracking.quantile", self.quantile)
        at_most("privacy.tracking.eta", positive("privacy.tracking.eta", self.eta), 10)

    def follow(self, clip_norm: float, *, over_rate: float) -> float:
        """C of the next round, from the fraction of clients above it; what noise drove out of [0, 1] is cut."""
        below = 1 - min(max(over_rate, 0.0), 1.0)
        return clip_norm * math.exp(-self.eta * (below - self.quantile))

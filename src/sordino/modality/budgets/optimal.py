"""The division with the least harm."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sordino.modality.budgets.base import BUDGETS, Budget, Demand, divided

__all__ = ["Optimal"]


@BUDGETS.register("optimal")
@dataclass(frozen=True, slots=True)
class Optimal(Budget):
    """``rho_s`` in proportion to ``D_s sqrt(w_s d_s)``.

    It minimises the harm ``sum_s w_s d_s sigma_s^2`` with ``sigma_s^2 = D_s^2 / (2 rho_s)`` under ``sum_s rho_s = rho``.
    """

    def multipliers(self, demands: Sequence[Demand], *, epsilon: float, delta: float) -> Sequence[float]:
        """From each part's sensitivity, weight and size; equal shares if all of them are harmless."""
        shares = [demand.sensitivity * math.sqrt(demand.weight * demand.dimensions) for demand in demands]
        return divided(shares if any(shares) else [1.0] * len(shares), epsilon=epsilon, delta=delta)

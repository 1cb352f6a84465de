"""What every division of a budget shares: it names multipliers, and only this file lets them through."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from sordino._registry import Registry
from sordino.errors import PrivacyError
from sordino.modality.gaussian import analytic_multiplier, composed_multiplier, gaussian_epsilon

__all__ = ["BUDGETS", "Budget", "Demand", "divided"]

BUDGETS: Registry[Budget] = Registry("budget", package="sordino.modality.budgets")
"""All divisions by name, the values of ``modality.mode.budget``."""

_ROUNDING = 1e-5


@dataclass(frozen=True, slots=True)
class Demand:
    """One part that wants to be released.

    Attributes:
        name: of the part, e.g. a stage or a tier.
        sensitivity: D.
        weight: w, the harm of noise of variance 1 on a coordinate, measured on public data.
        dimensions: d, number of coordinates.
    """

    name: str
    sensitivity: float
    weight: float
    dimensions: int


class Budget(ABC):
    """Divides (epsilon, delta) over parts. Members are frozen dataclasses whose fields are their options.

    Formal guarantee: whatever `multipliers` returns, the parts released with what `divide` returns are jointly
    (epsilon, delta)-private: their multipliers are composed exactly and refused if that is more.
    """

    name: ClassVar[str]

    @abstractmethod
    def multipliers(self, demands: Sequence[Demand], *, epsilon: float, delta: float) -> Sequence[float]:
        """Noise multiplier of each part; infinite for one that shall not be released."""

    @final
    def divide(self, demands: Sequence[Demand], *, epsilon: float, delta: float) -> Mapping[str, float]:
        """Noise multiplier by part.

        Raises:
            PrivacyError: together the parts would cost more than epsilon at delta.
        """
        found = list(self.multipliers(demands, epsilon=epsilon, delta=delta))
        joint = gaussian_epsilon(composed_multiplier(found), delta=delta)
        if not (len(found) == len(demands) and joint <= epsilon * (1 + _ROUNDING)):
            raise PrivacyError(
                f"budget {self.name!r} returned {len(found)} multipliers for {len(demands)} parts, with a joint epsilon "
                f"of {joint:.4g}: expected one for each, and at most {epsilon:g} at delta {delta:g}; choose another budget."
            )
        return {demand.name: z for demand, z in zip(demands, found, strict=True)}


def divided(shares: Sequence[float], *, epsilon: float, delta: float) -> list[float]:
    """Multipliers that use the whole budget, each part's rho in proportion to its share; infinite where that is 0."""
    total = math.fsum(shares)
    whole = analytic_multiplier(
        epsilon * (1 - _ROUNDING), delta=delta
    )  # the ledger's grid is a little above the formula
    return [whole * math.sqrt(total / share) if share > 0 else math.inf for share in shares]

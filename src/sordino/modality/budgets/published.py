"""The published division."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sordino._check import fraction
from sordino.config import option
from sordino.errors import ConfigError
from sordino.modality.budgets.base import BUDGETS, Budget, Demand
from sordino.modality.gaussian import analytic_multiplier, classical_multiplier

__all__ = ["Published"]


@BUDGETS.register("published")
@dataclass(frozen=True, slots=True)
class Published(Budget):
    """Each stage calibrated by itself: .7 of epsilon for the features, .3 for the classification, both at the full delta.

    What the two cost together is less than epsilon, and the rest is left unused: at epsilon 1 and delta 1e-5, .777 with the
    analytic calibration and .558 with the classical one. The fusion stage is not released.

    Source: arXiv 2602.16144.
    """

    features: float = option("Part of epsilon for the feature stage.", 0.7)
    formula: Literal["analytic", "classical"] = option(
        "Calibration; the classical formula is refused where it breaks its claim.", "analytic"
    )

    def __post_init__(self) -> None:
        fraction("modality.mode.budget.features", self.features)

    def multipliers(self, demands: Sequence[Demand], *, epsilon: float, delta: float) -> Sequence[float]:
        """Raises ConfigError if the parts are not the stages."""
        fractions = {"features": self.features, "classification": 1 - self.features}
        if not set(fractions) <= {demand.name for demand in demands}:
            raise ConfigError(
                'modality.mode.budget = "published" is for the stages features and classification; set parts = "stages", or '
                "another budget."
            )
        multiplier = {"analytic": analytic_multiplier, "classical": classical_multiplier}[self.formula]
        return [
            multiplier(fractions[demand.name] * epsilon, delta=delta) if demand.name in fractions else math.inf
            for demand in demands
        ]

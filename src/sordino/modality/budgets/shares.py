"""A division by given shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sordino._check import at_least, did_you_mean
from sordino.config import option
from sordino.errors import ConfigError
from sordino.modality.budgets.base import BUDGETS, Budget, Demand, divided

__all__ = ["Shares"]


@BUDGETS.register("shares")
@dataclass(frozen=True, slots=True)
class Shares(Budget):
    """``rho_s`` in given proportions: what each stage, or each tier of importance, may cost."""

    of: Mapping[str, float] = option(
        "Share of each part by its name; only ratios matter, and 0 leaves a part unreleased."
    )

    def __post_init__(self) -> None:
        for name, share in self.of.items():
            at_least(f"modality.mode.budget.of.{name}", share, 0)
        if not any(self.of.values()):
            raise ConfigError(
                "modality.mode.budget.of has no share above 0; give at least one part some of the budget."
            )

    def multipliers(self, demands: Sequence[Demand], *, epsilon: float, delta: float) -> Sequence[float]:
        """Raises ConfigError if the shares are not for these parts."""
        known = [demand.name for demand in demands]
        for name in self.of:
            if name not in known:
                raise ConfigError(
                    f"modality.mode.budget.of.{name}: there is no such part{did_you_mean(name, known)}; name some of "
                    f"{', '.join(known)}."
                )
        return divided([self.of.get(name, 0.0) for name in known], epsilon=epsilon, delta=delta)

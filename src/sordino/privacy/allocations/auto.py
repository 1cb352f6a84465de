"""Bounds for the components that divide themselves fairly while the run goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sordino._check import at_most, fraction, positive
from sordino.config import option
from sordino.layout import ParameterLayout
from sordino.privacy.allocations.base import ALLOCATIONS, Allocation, AllocationState, Blocks, ReleasedNorms

__all__ = ["Auto", "max_min_fair"]

_LEAST_DEMAND = 1e-3


@ALLOCATIONS.register("auto")
@dataclass(frozen=True, slots=True)
class Auto(Allocation):
    """Every component is clipped as one vector; C**2 is divided max-min fairly by what each of them demands.

    A component demands the bound that leaves ``quantile`` of the clients unclipped there. The demand d_c, a fraction of C,
    starts at all of it and follows the released clip rates: ``d_c <- (C_c / C) exp(eta (clip rate - (1 - quantile)))``.
    Whoever demands less than an equal share gets what it demands, and the others divide the rest evenly:
    ``C_c = C min(d_c, level)`` with the level at which the squares add up to C**2.

    *No component starves*: with M components, ``C_c >= C min(d_c, 1 / sqrt M)``. A large one can thus never push a small one
    below what the small one needs, as one joint bound does; and it is never cut to less than ``1 / sqrt M`` of what it would
    have alone, while a fixed fraction may cut it to anything. *No hand-set fraction*: where a component turns out small,
    what it leaves goes to the others. *Cost*: one accounted indicator a component (`sordino.privacy.indicators`).

    Source: max-min fairness as in Bertsekas and Gallager, Data Networks, section 6.5.2; clip indicators of Andrew et al.,
    Differentially Private Learning with Adaptive Clipping, 2021.
    """

    quantile: float = option("Fraction of the clients that a component's bound should leave unclipped.", 0.5)
    eta: float = option("Step size of the logarithm of a component's demand.", 1.0)

    def __post_init__(self) -> None:
        fraction("privacy.allocation.quantile", self.quantile)
        at_most("privacy.allocation.eta", positive("privacy.allocation.eta", self.eta), 10)

    def blocks(self, layout: ParameterLayout) -> Blocks:
        """One block a component, whatever the grouping; a component of empty tensors among them."""
        return layout.grouped("component").groups

    @property
    def reads_clip_rates(self) -> bool:
        """Always."""
        return True

    @property
    def aimed_clip_rate(self) -> float:
        """What the quantile leaves."""
        return 1 - self.quantile

    def observe(self, state: AllocationState, released: ReleasedNorms) -> AllocationState:
        """Moves each demand by its clip rate; what noise drove out of [0, 1] is cut."""
        bounds = max_min_fair(state.statistics.get("demand", (1.0,) * len(released.clip_rate)))
        demand = tuple(
            min(max(bound * math.exp(self.eta * (min(max(rate, 0.0), 1.0) - 1 + self.quantile)), _LEAST_DEMAND), 1.0)
            for bound, rate in zip(bounds, released.clip_rate, strict=True)
        )
        return AllocationState(state.rounds + 1, {"demand": demand})

    def shares(self, blocks: Blocks, state: AllocationState) -> Sequence[float]:
        """The squares of the fair bounds."""
        demand = state.statistics.get("demand", (1.0,) * len(blocks))
        return [bound * bound for bound in max_min_fair(demand)]


def max_min_fair(demand: Sequence[float]) -> tuple[float, ...]:
    """Bounds ``min(d_c, level)`` whose squares add up to 1; all scaled up alike where the demands do not reach it.

    Args:
        demand: what each would take, as a fraction of C, above 0.
    """
    left, level = 1.0, 0.0
    ascending = sorted(demand)
    for index, wanted in enumerate(ascending):
        level = math.sqrt(left / (len(ascending) - index))
        if wanted > level:
            break
        left = max(left - wanted * wanted, 0.0)
    else:
        scale = math.sqrt(math.fsum(d * d for d in demand))
        return tuple(d / scale for d in demand)
    return tuple(min(d, level) for d in demand)
